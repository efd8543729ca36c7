//! Hops: what a group's buckets hold, and a lookup puts into a packet's `hop` column.
//!
//! Small numbers are the fates of packets that no neighbour gets; from [`FIRST_ADJACENCY`] on they are adjacencies. A number
//! with the highest bit set says where to look again ([`Again`]).

use quiver_engine::{Isa, Lanes, Mask};

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

/// Where a packet is to be looked up again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Again {
    /// By its destination, in the table of this slot.
    Destination(u16),
    /// By its source, in the table of this slot.
    Source(u16),
    /// As if this interface had received it.
    Received(u16),
    /// Not at all: its frame goes on in layer 2, by this interface.
    Bridged(u16),
    /// When this encapsulation has put it into a packet of ours, which has its own way.
    Encapsulated(u16),
    /// By the way to a next hop of the other family.
    Crossing(u16),
}

impl Again {
    /// As a bucket has it.
    pub const fn hop(self) -> u32 {
        let (kind, number) = match self {
            Again::Destination(slot) => (0, slot),
            Again::Source(slot) => (1, slot),
            Again::Received(interface) => (2, interface),
            Again::Bridged(interface) => (3, interface),
            Again::Encapsulated(number) => (4, number),
            Again::Crossing(number) => (5, number),
        };
        AGAIN | kind << 16 | number as u32
    }
    /// What a bucket has, if it is one of these.
    #[inline]
    pub const fn of(hop: u32) -> Option<Again> {
        if hop & AGAIN == 0 {
            return None;
        }
        let number = hop as u16;
        Some(match hop >> 16 & 7 {
            0 => Again::Destination(number),
            1 => Again::Source(number),
            2 => Again::Received(number),
            3 => Again::Bridged(number),
            4 => Again::Encapsulated(number),
            _ => Again::Crossing(number),
        })
    }
}

/// What `show ip fib` and traces call a hop that is no adjacency.
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
            Again::Destination(0),
            Again::Source(4095),
            Again::Received(u16::MAX),
            Again::Bridged(7),
            Again::Encapsulated(u16::MAX),
            Again::Crossing(3),
        ];
        for again in all {
            assert_eq!(Again::of(again.hop()), Some(again));
        }
        assert_eq!((Again::of(NO_ROUTE), Again::of(FIRST_ADJACENCY)), (None, None));
    }
}
