//! Dispositions of packets whose route or path leads to no neighbor: the step from a hop to an arc, shared by all nodes
//! that choose a route or a path.

use quiver_engine::{ArcSpec, Isa, LANES, Lanes, Mask, Mask8, PacketLanes, Slots, To, unlikely};

use crate::family::Family;
use crate::fault::Fault;
use crate::fib::hop;
use crate::fib::rows::GroupRow;

/// Hops that are no adjacency, and none of a kind that a room has registered.
const ENDS: usize = hop::FIRST_ADJACENCY as usize;

/// Disposition of a packet: its arc, and its `hop` from there on, which holds the fault to report to the sender, if
/// any.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Disposition {
    /// The arc.
    pub arc: u16,
    /// The fault, or the hop as it was.
    pub hop: u32,
}

/// A node's dispositions of packets by hop.
#[derive(Clone, Debug)]
pub struct Dispositions([Disposition; ENDS]);

/// The arc of routes that say drop.
const DROP: &str = "route-drop";
/// The arcs of what leads nowhere: a route, or a path of a policy.
const UNRESOLVED: [&str; 2] = ["unresolved-route", "unresolved-path"];

impl Dispositions {
    /// Those of a node with these arcs: to local packets' feature arc, to the node that tells senders, `route-drop`, and
    /// `unresolved-route` or `unresolved-path`. Packets that stay on their link go the family's way, if the node has an arc for it.
    ///
    /// # Panics
    /// If an arc is missing: a programming error, named.
    pub fn of<F: Family>(arcs: &[ArcSpec]) -> Dispositions {
        let find = |is_meant: &dyn Fn(&ArcSpec) -> bool| arcs.iter().position(is_meant).map(|arc| arc as u16);
        let has = |is_meant: &dyn Fn(&ArcSpec) -> bool, what: &str| {
            find(is_meant).unwrap_or_else(|| panic!("no arc {what} among {arcs:?}"))
        };
        let local = has(&|arc| arc.to == To::Features(F::NAMES.local), "to local packets");
        let told = has(&|arc| arc.to == To::Node(F::NAMES.error), "to the node that tells senders");
        let dropped = has(&|arc| arc.is_drop() && arc.name == DROP, DROP);
        let unresolved = has(&|arc| arc.is_drop() && UNRESOLVED.contains(&arc.name), UNRESOLVED[0]);
        let on_link = find(&|arc| *arc == F::ON_LINK).unwrap_or(unresolved);
        let of = |hop| match hop {
            hop::NO_ROUTE => Disposition { arc: told, hop: Fault::NETWORK.0 },
            hop::UNREACHABLE => Disposition { arc: told, hop: F::UNREACHABLE.0 },
            hop::PROHIBIT => Disposition { arc: told, hop: Fault::PROHIBITED.0 },
            hop::LOCAL => Disposition { arc: local, hop },
            hop::DROP => Disposition { arc: dropped, hop },
            hop::BROADCAST | hop::LINK_LOCAL => Disposition { arc: on_link, hop },
            _ => Disposition { arc: unresolved, hop },
        };
        Dispositions(std::array::from_fn(|hop| of(hop as u32)))
    }
    /// That of a packet whose hop is no adjacency.
    pub fn of_hop(&self, hop: u32) -> Disposition {
        self.0[hop as usize % ENDS]
    }
    /// Has those packets leave whose hop is no adjacency.
    #[inline(always)]
    pub fn part<I: Isa>(&self, p: &mut PacketLanes<I>, packets: Mask<I>) {
        let ends = p.hop.lt(hop::FIRST_ADJACENCY) & packets & p.live;
        if ends.any() {
            unlikely();
            let (mut hops, mut arcs) = (p.hop.array(), p.next.array());
            self.of_each(ends.bits(), &mut hops, &mut arcs);
            p.hop = p.hop.with(&hops);
            p.leave_each(ends, p.next.with(&arcs));
        }
    }
    #[cold]
    #[inline(never)]
    fn of_each(&self, ends: Mask8, hops: &mut [u32; LANES], arcs: &mut [u32; LANES]) {
        for lane in ends {
            let Disposition { arc, hop } = self.of_hop(hops[lane]);
            (hops[lane], arcs[lane]) = (hop, arc.into());
        }
    }
}

/// Hops of eight groups of paths, by the flows of packets where a group has several.
#[inline(always)]
pub fn hops<F: Family, I: Isa>(p: &PacketLanes<I>, groups: Lanes<I>, rows: Slots<'_, GroupRow>) -> Lanes<I> {
    let (each, mut first) = (groups.pick(rows), [0; LANES]);
    for lane in 0..LANES {
        first[lane] = each.row(lane).first();
    }
    let mut found = groups.with(&first);
    if (found & hop::MANY).ne(0).any() {
        let (buckets, mut chosen) = (F::flow_hash(p).each(), [0; LANES]);
        for lane in 0..LANES {
            chosen[lane] = each.row(lane).hop(buckets.at(lane));
        }
        found = groups.with(&chosen);
    }
    // A group that is newer than the rows leads nowhere yet.
    found.replace(groups.gt(rows.last()), hop::UNRESOLVED)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::node::{again, lookup};
    use quiver_wire::{V4, V6};

    #[test]
    fn hops_end_by_the_arcs_that_say_so() {
        let of = Dispositions::of::<V4>(lookup::Next::arcs::<V4>());
        let arc = |hop| lookup::Next::arcs::<V4>()[usize::from(of.of_hop(hop).arc)];
        assert_eq!(of.of_hop(hop::NO_ROUTE).hop, Fault::NETWORK.0);
        assert_eq!(of.of_hop(hop::UNREACHABLE).hop, V4::UNREACHABLE.0);
        assert_eq!(of.of_hop(hop::PROHIBIT).hop, Fault::PROHIBITED.0);
        for told in [hop::NO_ROUTE, hop::UNREACHABLE, hop::PROHIBIT] {
            assert_eq!(arc(told).to, To::Node("icmp4-error"));
        }
        assert_eq!((arc(hop::LOCAL).to, of.of_hop(hop::LOCAL).hop), (To::Features("ip4-local"), hop::LOCAL));
        assert_eq!(arc(hop::DROP).name, "route-drop");
        assert_eq!((arc(hop::BROADCAST), arc(hop::LINK_LOCAL)), (V4::ON_LINK, V4::ON_LINK));
        for nowhere in hop::LINK_LOCAL + 1..hop::FIRST_ADJACENCY {
            assert_eq!((arc(nowhere).name, of.of_hop(nowhere).hop), ("unresolved-route", nowhere));
        }
        assert_eq!(arc(hop::UNRESOLVED).name, "unresolved-route");
    }

    #[test]
    fn a_node_without_an_arc_for_links_has_nowhere_to_go_there() {
        let arcs: Vec<ArcSpec> = again::Next::arcs::<V6>().iter().copied().filter(|arc| *arc != V6::ON_LINK).collect();
        let of = Dispositions::of::<V6>(&arcs);
        assert_eq!(of.of_hop(hop::LINK_LOCAL).arc, of.of_hop(hop::UNRESOLVED).arc);
    }

    #[test]
    #[should_panic(expected = "no arc to local packets")]
    fn a_missing_arc_is_named() {
        Dispositions::of::<V4>(&[]);
    }
}
