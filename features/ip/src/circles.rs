//! Ways over both families that lead back to where they began: a route of IPv4 by a next hop of IPv6 to which a route leads by a
//! next hop of IPv4 that the first route covers. Such a way is none, as a recursive path is none that leads through its own route.
//!
//! What leads where does not depend on what is up, so ways do not come and go by turns. Each way is followed through the groups of
//! both families whenever groups lead through others than before, in a family that is led through and leads back; where only one
//! family has next hops of the other, nothing is ever followed.

use std::collections::BTreeSet;

use quiver_control::Control;
use quiver_wire::{V4, V6};

use crate::crossing::Crossings;
use crate::family::Family;
use crate::fib::Way;
use crate::fib::group::Groups;
use crate::room::Ip;

/// A group: of IPv4, or of IPv6.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum At {
    Ip4(u32),
    Ip6(u32),
}

/// The groups of both families, and their ways to each other.
struct Map<'a> {
    ip4: (&'a Groups<V4>, &'a Crossings<V4>),
    ip6: (&'a Groups<V6>, &'a Crossings<V6>),
}

/// Has no route use ways that lead in a circle, and use those again that do not any more.
pub(crate) fn exclude(control: &Control) {
    let (of_ip4, of_ip6) = {
        let (ip4, ip6) = (control.room::<Ip<V4>>(), control.room::<Ip<V6>>());
        let (ways4, ways6) = (control.room::<Crossings<V4>>(), control.room::<Crossings<V6>>());
        let map = Map { ip4: (&ip4.fib.groups, &ways4), ip6: (&ip6.fib.groups, &ways6) };
        // A way of a family leads to a group of the other one.
        let of_ip4 = ways4.ways().filter(|(_, group)| map.circles(At::Ip6(*group))).map(|(way, _)| way).collect();
        let of_ip6 = ways6.ways().filter(|(_, group)| map.circles(At::Ip4(*group))).map(|(way, _)| way).collect();
        (of_ip4, of_ip6)
    };
    control.room_mut::<Ip<V4>>().fib.set_circling(of_ip4);
    control.room_mut::<Ip<V6>>().fib.set_circling(of_ip6);
}

impl Map<'_> {
    /// Whether a group leads back to itself.
    fn circles(&self, start: At) -> bool {
        let (mut seen, mut ahead) = (BTreeSet::new(), self.next(start));
        while let Some(at) = ahead.pop() {
            if at == start {
                return true;
            }
            if seen.insert(at) {
                ahead.extend(self.next(at));
            }
        }
        false
    }
    /// The groups to which the paths of a group lead.
    fn next(&self, at: At) -> Vec<At> {
        match at {
            At::Ip4(group) => next(self.ip4, group, At::Ip4, At::Ip6),
            At::Ip6(group) => next(self.ip6, group, At::Ip6, At::Ip4),
        }
    }
}

fn next<F: Family>(
    (groups, ways): (&Groups<F>, &Crossings<F>),
    group: u32,
    own: fn(u32) -> At,
    other: fn(u32) -> At,
) -> Vec<At> {
    let Some(group) = groups.get(group) else { return vec![] };
    let crossed = group.crossed().filter_map(|way: Way| ways.group(way));
    group.through().map(own).chain(crossed.map(other)).collect()
}
