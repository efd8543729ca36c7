//! The differences between the families: multicast ranges, and names of nodes and objects.

use std::net::{Ipv4Addr, Ipv6Addr};

use quiver_ip::Family;
use quiver_wire::{V4, V6};

/// A family whose groups are forwarded.
pub trait Multicast: Family {
    /// The kind of its routes.
    const ROUTES: &'static str;
    /// The node that finds the route of a packet.
    const FORWARD: &'static str;
    /// The node that puts the header of a link before a packet for a group.
    const REWRITE: &'static str;
    /// VPP's name for the count of packets that no route accepted.
    const REFUSED: &'static str;
    /// A group, to be shown where an error says what would be right.
    const EXAMPLE_GROUP: &'static str;
    /// The groups of every router, which clients find in each table, and the lengths of their prefixes.
    const STANDING: &'static [(Self::Address, u8)];

    /// Whether an address is a group's.
    fn is_group(address: Self::Address) -> bool;
    /// Whether a group is on one link only, which its packets never leave (RFC 5771, 4; RFC 4291, 2.7).
    fn is_of_link(group: Self::Address) -> bool;
}

impl Multicast for V4 {
    const ROUTES: &'static str = "multicast-routes";
    const FORWARD: &'static str = "ip4-mfib-forward";
    const REWRITE: &'static str = "ip4-rewrite-mcast";
    const REFUSED: &'static str = "/err/ip4-input/rpf_failure";
    const EXAMPLE_GROUP: &'static str = "232.1.1.1";
    const STANDING: &'static [(Ipv4Addr, u8)] = &[(Ipv4Addr::new(224, 0, 0, 1), 32), (Ipv4Addr::new(224, 0, 0, 2), 32)];

    fn is_group(address: Ipv4Addr) -> bool {
        address.is_multicast()
    }
    fn is_of_link(group: Ipv4Addr) -> bool {
        group.octets()[..3] == [224, 0, 0]
    }
}

impl Multicast for V6 {
    const ROUTES: &'static str = "ip6-multicast-routes";
    const FORWARD: &'static str = "ip6-mfib-forward";
    const REWRITE: &'static str = "ip6-rewrite-mcast";
    const REFUSED: &'static str = "/err/ip6-input/rpf_failure";
    const EXAMPLE_GROUP: &'static str = "ff3e::1";
    /// All nodes, all routers, all that speak MLDv2, and the groups by which neighbours ask for each other.
    const STANDING: &'static [(Ipv6Addr, u8)] = &[
        (Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 0, 1), 128),
        (Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 0, 2), 128),
        (Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 0, 0x16), 128),
        (Ipv6Addr::new(0xff02, 0, 0, 0, 0, 1, 0xff00, 0), 104),
    ];

    fn is_group(address: Ipv6Addr) -> bool {
        address.is_multicast()
    }
    fn is_of_link(group: Ipv6Addr) -> bool {
        // Interface-local groups, which no other router forwards, go where routes say: who configures one means it.
        const LINK_LOCAL: u8 = 2;
        group.octets()[1] & 0x0f == LINK_LOCAL
    }
}
