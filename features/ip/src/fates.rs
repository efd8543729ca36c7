//! Packets whose next hop is no neighbour: the arcs by which they leave stages that choose a path without a lookup.

use quiver_engine::{Isa, LANES, Lanes, Mask, PacketLanes, Slots, unlikely};

use crate::family::Family;
use crate::fault::Fault;
use crate::fib::hop;
use crate::fib::rows::GroupRow;

/// A stage's arcs for such packets.
#[derive(Clone, Copy, Debug)]
pub struct Fates {
    /// Those for us.
    pub local: u16,
    /// Those whose senders are told that there is no way.
    pub unreachable: u16,
    /// Those whose senders are told that the way is closed to them.
    pub prohibited: u16,
    /// Those of paths that say drop.
    pub drop: u16,
    /// Those of paths that lead nowhere.
    pub unresolved: u16,
}

impl Fates {
    /// Has those packets leave whose hop is no adjacency, and notes there what their senders are told.
    #[inline(always)]
    pub fn part<F: Family, I: Isa>(&self, p: &mut PacketLanes<I>, packets: Mask<I>) {
        let odd = p.hop.lt(hop::FIRST_ADJACENCY) & packets & p.live;
        if odd.any() {
            unlikely();
            let hops = p.hop;
            let fate = |hop: u32| hops.eq(hop) & odd;
            let (unreachable, prohibited) = (fate(hop::UNREACHABLE), fate(hop::PROHIBIT));
            p.hop = hops.replace(unreachable, F::UNREACHABLE.0).replace(prohibited, Fault::PROHIBITED.0);
            p.leave(fate(hop::LOCAL), self.local);
            p.leave(unreachable, self.unreachable);
            p.leave(prohibited, self.prohibited);
            p.leave(fate(hop::DROP), self.drop);
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
