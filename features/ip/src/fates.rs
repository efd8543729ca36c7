//! From a hop that is no adjacency to an arc: what becomes of packets whose route leads to no neighbor, in every node that chooses
//! a route or a path.

use quiver_engine::{ArcSpec, Isa, LANES, Lanes, Mask, PacketLanes, Slots, To, unlikely};

use crate::family::Family;
use crate::fault::Fault;
use crate::fib::hop;
use crate::fib::rows::GroupRow;

/// A node's arcs for such packets.
#[derive(Clone, Copy, Debug)]
pub struct Fates {
    /// Those for us.
    local: u16,
    /// Those whose senders are told why they go no further.
    told: u16,
    /// Those of routes that say drop.
    drop: u16,
    /// Those for a link and not for a host beyond it.
    on_link: u16,
    /// Those of paths that lead nowhere.
    unresolved: u16,
}

/// The name of the arc of routes that say drop.
const DROP: &str = "route-drop";

impl Fates {
    /// Those of a node with arcs onto the arc of local packets, to the node that tells senders, `route-drop`, and one more drop for
    /// what leads nowhere; packets for a link go there, too, if the node has no arc for them.
    ///
    /// # Panics
    /// If an arc is missing: a programming error, named.
    pub fn of<F: Family>(arcs: &[ArcSpec]) -> Fates {
        let find = |is_meant: &dyn Fn(&ArcSpec) -> bool| arcs.iter().position(is_meant).map(|arc| arc as u16);
        let has = |arc: Option<u16>, what: &str| arc.unwrap_or_else(|| panic!("no arc {what} among {arcs:?}"));
        let unresolved = find(&|arc| arc.is_drop() && matches!(arc.name, "unresolved-route" | "unresolved-path"));
        let unresolved = has(unresolved, "for what leads nowhere");
        Fates {
            local: has(find(&|arc| arc.to == To::Features(F::NAMES.local)), "for local packets"),
            told: has(find(&|arc| arc.to == To::Node(F::NAMES.error)), "to the node that tells senders"),
            drop: has(find(&|arc| arc.is_drop() && arc.name == DROP), DROP),
            on_link: find(&|arc| *arc == F::ON_LINK).unwrap_or(unresolved),
            unresolved,
        }
    }
    /// The arc of a packet whose hop is no adjacency, and what its sender is told.
    pub fn arc<F: Family>(&self, hop: u32) -> (u16, Option<Fault>) {
        match hop {
            hop::NO_ROUTE => (self.told, Some(Fault::NETWORK)),
            hop::UNREACHABLE => (self.told, Some(F::UNREACHABLE)),
            hop::PROHIBIT => (self.told, Some(Fault::PROHIBITED)),
            hop::LOCAL => (self.local, None),
            hop::DROP => (self.drop, None),
            hop::BROADCAST | hop::LINK_LOCAL => (self.on_link, None),
            _ => (self.unresolved, None),
        }
    }
    /// Has those packets leave whose hop is no adjacency, and notes there what their senders are told.
    #[inline(always)]
    pub fn part<F: Family, I: Isa>(&self, p: &mut PacketLanes<I>, packets: Mask<I>) {
        let odd = p.hop.lt(hop::FIRST_ADJACENCY) & packets & p.live;
        if odd.any() {
            unlikely();
            let hops = p.hop;
            for hop in hop::NO_ROUTE..=hop::LINK_LOCAL {
                let (arc, told) = self.arc::<F>(hop);
                let those = hops.eq(hop) & odd;
                p.hop = told.map_or(p.hop, |told| p.hop.replace(those, told.0));
                p.leave(those, arc);
            }
            p.leave(odd, self.unresolved);
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
