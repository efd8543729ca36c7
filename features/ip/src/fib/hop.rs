//! Hops: what a group's buckets hold, and a lookup puts into a packet's `hop` column.
//!
//! Small numbers are the fates of packets that no neighbour gets; from [`FIRST_ADJACENCY`] on they are adjacencies. A number
//! with the highest bit set is a kind of next hop and an index ([`Continuation`]): 6 bits and 24 bits.

use quiver_engine::{INTERFACES_MAX, Isa, Lanes, Mask};

/// No route contains the destination.
pub const NO_ROUTE: u32 = 0;
/// A route says drop.
pub const DROP: u32 = 1;
/// A route says unreachable.
pub const UNREACHABLE: u32 = 2;
/// A route says prohibited.
pub const PROHIBIT: u32 = 3;
/// The packet is for us.
pub const LOCAL: u32 = 4;
/// The packet is for everybody on a link of ours.
pub const BROADCAST: u32 = 5;
/// There is a route, but nothing that it could lead to: no path is resolved, or its link is down.
pub const UNRESOLVED: u32 = 6;
/// The packet is for somebody on the link that it is on.
pub const LINK_LOCAL: u32 = 7;
/// The first adjacency.
pub const FIRST_ADJACENCY: u32 = 16;

/// Set in hops that are no end: the packet is to be looked up again. No adjacency has such a number, so `ip4-rewrite` and
/// `ip6-rewrite` let go of these packets as of others without a neighbour. Those that end at a neighbour in another table the
/// lookup follows itself, and asks once for eight packets whether there are any.
pub const AGAIN: u32 = 1 << 31;

/// Set in the first bucket of a group whose buckets have several hops: of others no packet's flow matters.
pub const MANY: u32 = 1 << 30;

/// The hops that are no adjacency: a number below the first one, or one with a bit above those of adjacencies. Both wrap around to what
/// is above all others.
#[inline(always)]
pub fn others<I: Isa>(hops: Lanes<I>) -> Mask<I> {
    (hops - FIRST_ADJACENCY).gt(MANY - FIRST_ADJACENCY - 1)
}

/// Where a packet goes on that has no neighbor yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Continuation {
    /// It is looked up by its destination, in the table of this slot.
    Destination(u16),
    /// By its source, in the table of this slot.
    Source(u16),
    /// As if this interface had received it.
    Received(u32),
    /// By the way to a next hop of the other family.
    Crossing(u16),
    /// It is for the node of a kind that a room has registered.
    Kind(KindHop),
}

// An index may be an interface.
const _: () = assert!(INTERFACES_MAX <= KindHop::INDEXES);

/// The kinds that are IP's own come first, as [`Continuation`] says them.
const DESTINATION: u8 = 0;
const SOURCE: u8 = 1;
const RECEIVED: u8 = 2;
pub(crate) const CROSSING: u8 = 3;
/// Number of IP's own kinds.
pub(crate) const OWN: u8 = 4;

/// A next hop of a kind that a room has registered: the number of the kind, and an index that the room knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct KindHop {
    kind: u8,
    index: u32,
}

impl KindHop {
    /// Numbers of kinds.
    pub const KINDS: usize = 1 << 6;
    /// Indexes that a kind has at most.
    pub const INDEXES: u32 = 1 << 24;
    /// Set in the number of a kind whose index is the interface by which packets leave.
    pub(crate) const OF_INTERFACE: u8 = 1 << 4;
    /// Set in the number of a kind whose packets go on inside others: packets of either family can take such a way.
    pub(crate) const INSIDE: u8 = 1 << 5;

    pub(crate) const fn new(kind: u8, index: u32) -> KindHop {
        KindHop { kind: kind % Self::KINDS as u8, index: index % Self::INDEXES }
    }
    /// Decodes a bucket, if it is the hop of a kind.
    #[inline]
    pub const fn of(hop: u32) -> Option<KindHop> {
        if hop & AGAIN == 0 { None } else { Some(KindHop::new((hop >> 24) as u8, hop)) }
    }
    /// The number of the kind.
    pub const fn kind(self) -> u8 {
        self.kind
    }
    /// The index.
    pub const fn index(self) -> u32 {
        self.index
    }
    /// As a bucket has it.
    pub const fn hop(self) -> u32 {
        AGAIN | (self.kind as u32) << 24 | self.index
    }
    /// The interface by which its packets leave, if it says so.
    pub const fn interface(self) -> Option<u32> {
        if self.kind & Self::OF_INTERFACE != 0 { Some(self.index) } else { None }
    }
    /// Whether its packets go on inside others.
    pub const fn is_inside(self) -> bool {
        self.kind & Self::INSIDE != 0
    }
}

impl Continuation {
    /// As a bucket has it.
    pub const fn hop(self) -> u32 {
        let (kind, number) = match self {
            Continuation::Destination(slot) => (DESTINATION, slot as u32),
            Continuation::Source(slot) => (SOURCE, slot as u32),
            Continuation::Received(interface) => (RECEIVED, interface),
            Continuation::Crossing(number) => (CROSSING, number as u32),
            Continuation::Kind(of_kind) => return of_kind.hop(),
        };
        KindHop::new(kind, number).hop()
    }
    /// Decodes a bucket, if it is one of these hops.
    #[inline]
    pub const fn of(hop: u32) -> Option<Continuation> {
        let Some(of_kind) = KindHop::of(hop) else { return None };
        let number = of_kind.index as u16;
        Some(match of_kind.kind {
            DESTINATION => Continuation::Destination(number),
            SOURCE => Continuation::Source(number),
            RECEIVED => Continuation::Received(of_kind.index),
            CROSSING => Continuation::Crossing(number),
            OWN.. => Continuation::Kind(of_kind),
        })
    }
}

/// The numbers that kinds can have which rooms register, for kinds with these flags.
pub(crate) fn numbers(flags: u8) -> std::ops::Range<u8> {
    let first = if flags == 0 { OWN } else { 0 };
    (flags | first)..(flags | (KindHop::OF_INTERFACE - 1)) + 1
}

/// Name of a hop that is no adjacency, for `show ip fib` and traces.
pub fn name(hop: u32) -> Option<&'static str> {
    Some(match hop {
        NO_ROUTE => "no-route",
        DROP => "drop",
        UNREACHABLE => "unreachable",
        PROHIBIT => "prohibit",
        LOCAL => "local",
        BROADCAST => "broadcast",
        UNRESOLVED => "unresolved",
        LINK_LOCAL => "link-local",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_to_look_again_fits_a_bucket() {
        let all = [
            Continuation::Destination(0),
            Continuation::Source(4095),
            Continuation::Received(INTERFACES_MAX - 1),
            Continuation::Crossing(3),
            Continuation::Kind(KindHop::new(OWN, 0)),
            Continuation::Kind(KindHop::new(KindHop::OF_INTERFACE, 7)),
            Continuation::Kind(KindHop::new(KindHop::INSIDE | 3, KindHop::INDEXES - 1)),
        ];
        for again in all {
            assert_eq!(Continuation::of(again.hop()), Some(again));
        }
        assert_eq!((Continuation::of(NO_ROUTE), Continuation::of(FIRST_ADJACENCY)), (None, None));
        assert!(
            all.iter().all(|again| again.hop() & MANY == 0),
            "the bit says something else of a group's first bucket"
        );
    }
}
