//! Hops: what a group's buckets hold, and a lookup puts into a packet's `hop` column.
//!
//! Small numbers are the fates of packets that no neighbour gets; from [`FIRST_ADJACENCY`] on they are adjacencies.

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
