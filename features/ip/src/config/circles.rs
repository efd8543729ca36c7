//! The task that follows next hops of the other family: it finds out which are reachable, and which form a loop.
//!
//! Paths across both families can loop: an IPv4 route has an IPv6 next hop, whose route has an IPv4 next hop that the
//! first route covers. A looping path is unresolved, like a recursive path through its own route.
//!
//! Loops do not depend on interface states, so looping paths do not flap. All paths are followed together through the
//! groups of both families. Each group is visited once, whenever the dependencies between groups change in a family
//! that is led through and leads back. If only one family has next hops of the other, nothing is followed.

use std::collections::{HashMap, HashSet};
use std::hash::Hash;

use quiver_control::Control;
use quiver_wire::{V4, V6};

use crate::config::crossing::Crossings;
use crate::config::room::Ip;
use crate::family::Family;
use crate::fib::CrossFamilyHop;
use crate::fib::group::Groups;

/// A group: of IPv4, or of IPv6.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum At {
    Ip4(u32),
    Ip6(u32),
}

pub(super) fn register(control: &Control) {
    control.spawn("ways to next hops of the other family", follow::<V4>(control.clone()));
    control.spawn("ways to next hops of the other family", follow::<V6>(control.clone()));
}

/// Has routes use ways to the other family while they lead somewhere there.
async fn follow<F: Family>(control: Control) {
    loop {
        let turns = control.room::<Ip<F::Other>>().fib.groups.turns().changed();
        let (turned, is_reshaped) = {
            let groups = &mut control.room_mut::<Ip<F::Other>>().fib.groups;
            (groups.take_turned(), groups.take_reshaped())
        };
        if is_reshaped {
            exclude(&control);
        }
        let ways: Vec<(CrossFamilyHop, u32)> = {
            let crossings = control.room::<Crossings<F>>();
            crossings.ways().filter(|(_, group)| turned.contains(group)).collect()
        };
        for (way, group) in ways {
            let leads = control.room::<Ip<F::Other>>().fib.groups.leads(group);
            control.room_mut::<Ip<F>>().fib.set_way(way, leads);
        }
        turns.await;
    }
}

/// Has no route use ways that lead in a circle, and use those again that do not any more.
fn exclude(control: &Control) {
    let (of_ip4, of_ip6) = {
        let (ip4, ip6) = (control.room::<Ip<V4>>(), control.room::<Ip<V6>>());
        let (ways4, ways6) = (control.room::<Crossings<V4>>(), control.room::<Crossings<V6>>());
        let next = |at| match at {
            At::Ip4(group) => next((&ip4.fib.groups, &ways4), group, At::Ip4, At::Ip6),
            At::Ip6(group) => next((&ip6.fib.groups, &ways6), group, At::Ip6, At::Ip4),
        };
        // A way of a family leads to a group of the other one.
        let of_ip4 = || ways4.ways().map(|(way, group)| (way, At::Ip6(group)));
        let of_ip6 = || ways6.ways().map(|(way, group)| (way, At::Ip4(group)));
        let circling = in_circles(of_ip4().chain(of_ip6()).map(|(_, at)| at), next);
        let circles = |(way, at): (CrossFamilyHop, At)| circling.contains(&at).then_some(way);
        (of_ip4().filter_map(circles).collect(), of_ip6().filter_map(circles).collect())
    };
    control.room_mut::<Ip<V4>>().fib.set_circling(of_ip4);
    control.room_mut::<Ip<V6>>().fib.set_circling(of_ip6);
}

/// The groups to which the paths of a group lead.
fn next<F: Family>(
    (groups, ways): (&Groups<F>, &Crossings<F>),
    group: u32,
    own: fn(u32) -> At,
    other: fn(u32) -> At,
) -> Vec<At> {
    let Some(group) = groups.get(group) else { return vec![] };
    let crossed = group.crossed().filter_map(|way: CrossFamilyHop| ways.group(way));
    group.through().map(own).chain(crossed.map(other)).collect()
}

/// A node on the path that [`in_circles`] follows.
struct Step<N> {
    node: N,
    /// Its number, and the lowest of those that it leads to and that lead to it.
    number: usize,
    lowest: usize,
    ahead: std::vec::IntoIter<N>,
}

/// Which nodes lead back to themselves, of these and all that they lead to. They are those that are strongly connected to others or
/// lead straight to themselves; Tarjan's algorithm finds them all, asking for each node's `next` ones once. A path may be
/// long, so it lies on the heap.
fn in_circles<N: Copy + Eq + Hash>(starts: impl Iterator<Item = N>, mut next: impl FnMut(N) -> Vec<N>) -> HashSet<N> {
    let mut found = HashSet::new();
    // The number of each node that was met, in that order; none any more when all is known that it is connected to.
    let mut numbers = HashMap::<N, Option<usize>>::new();
    // Those that have a number, in the order of these.
    let mut open = vec![];
    let mut path: Vec<Step<N>> = vec![];
    for start in starts {
        let mut met = (!numbers.contains_key(&start)).then_some(start);
        loop {
            if let Some(node) = met.take() {
                let number = numbers.len();
                numbers.insert(node, Some(number));
                open.push(node);
                path.push(Step { node, number, lowest: number, ahead: next(node).into_iter() });
            }
            let Some(step) = path.last_mut() else { break };
            if let Some(to) = step.ahead.next() {
                match numbers.get(&to) {
                    None => met = Some(to),
                    Some(None) => {}
                    Some(Some(number)) => {
                        step.lowest = step.lowest.min(*number);
                        if to == step.node {
                            found.insert(to);
                        }
                    }
                }
                continue;
            }
            let Step { node, number, lowest, .. } = *step;
            path.pop();
            if let Some(before) = path.last_mut() {
                before.lowest = before.lowest.min(lowest);
            }
            if lowest == number {
                // Nothing leads from here to what was met before: those that are connected are all met.
                let first = open.iter().rposition(|at| *at == node).unwrap_or_default();
                let connected = open.split_off(first);
                connected.iter().for_each(|at| _ = numbers.insert(*at, None));
                if connected.len() > 1 {
                    found.extend(connected);
                }
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Those that lead back to themselves, each by a search of its own.
    fn naive(edges: &[Vec<usize>]) -> HashSet<usize> {
        let circles = |start: &usize| {
            let (mut seen, mut ahead) = (HashSet::new(), edges[*start].clone());
            while let Some(at) = ahead.pop() {
                if seen.insert(at) {
                    ahead.extend(&edges[at]);
                }
            }
            seen.contains(start)
        };
        (0..edges.len()).filter(circles).collect()
    }

    proptest! {
        #[test]
        fn all_circles_are_found_and_nothing_else(
            pairs in proptest::collection::vec((0usize..12, 0usize..12), 0..30),
            starts in proptest::collection::vec(0usize..12, 0..12),
        ) {
            let mut edges = vec![vec![]; 12];
            pairs.iter().for_each(|(from, to)| edges[*from].push(*to));
            let expected = naive(&edges);
            prop_assert_eq!(&in_circles(0..12, |at| edges[at].clone()), &expected);
            // From some, what these lead to.
            let found = in_circles(starts.iter().copied(), |at| edges[at].clone());
            prop_assert!(found.is_subset(&expected));
            let of_starts = starts.iter().filter(|start| expected.contains(start));
            prop_assert!(of_starts.copied().all(|start| found.contains(&start)));
        }
    }

    #[test]
    fn a_long_chain_of_circles_is_followed_once() {
        // Each leads to the next one; of ten the last leads back to the sixth, and the fourth to itself. The whole ends in a circle.
        const LENGTH: usize = 200_000;
        let next = |at: usize| {
            let on = if at + 1 < LENGTH { at + 1 } else { LENGTH - 3 };
            match at % 10 {
                9 => vec![on, at - 4],
                3 => vec![at, on],
                _ => vec![on],
            }
        };
        let (mut nodes, mut edges) = (0, 0);
        let counted = |at| {
            let next = next(at);
            (nodes, edges) = (nodes + 1, edges + next.len());
            next
        };
        // All ways ask, as each route's does: from the end, from the beginning, and again.
        let found = in_circles((0..LENGTH).rev().chain(0..LENGTH).chain([7]), counted);
        assert_eq!((nodes, edges), (LENGTH, LENGTH + LENGTH / 5), "each node is asked once");
        assert_eq!(found, (0..LENGTH).filter(|at| matches!(at % 10, 3 | 5..10)).collect());
        let mut asked = 0;
        let found = in_circles(0..LENGTH, |at| {
            asked += 1;
            next(at)
        });
        assert_eq!((asked, found.len()), (LENGTH, LENGTH / 10 * 6), "along the whole chain");
    }
}
