//! Families of traffic profiles, and CSIT's addresses for their two sides.

use std::net::Ipv4Addr;

use quiver_wire::MacAddress;

use crate::stream::PgStream;

/// The numbers of a name: one, or two.
pub(super) type Numbers = [u32; 2];
/// In place of a number that a name does not have.
pub(super) const NONE: u32 = 0;
/// A family of profiles.
pub struct Family {
    /// The names: `#` stands for a number such as `100`, `100k`.
    pub name: &'static str,
    /// Description of its packets.
    pub what: &'static str,
    /// The greatest numbers.
    pub most: Numbers,
    /// Whether something comes back.
    pub has_reverse: bool,
    /// Sets the fields of packets from the first station to the second.
    pub(super) fields: fn(&mut PgStream, [Ends; 2], Numbers),
}

/// The addresses of one of the two sides.
#[derive(Clone, Copy)]
pub(super) struct Ends {
    /// 0 for the first side, 1 for the second.
    pub number: usize,
    /// First address of a side with many addresses.
    pub wide: Ipv4Addr,
    /// First address of a side with up to 254 addresses.
    pub narrow: Ipv4Addr,
    /// First MAC address of a side's stations.
    pub stations: MacAddress,
    pub ports: u16,
    /// VLAN of a side.
    pub vlan: u16,
    /// MAC address of the first network function that packets from here go to.
    pub functions: MacAddress,
    /// Where DPDK's l3fwd routes to the other side.
    pub forwarded: Ipv4Addr,
}

pub(super) const ENDS: [Ends; 2] = [
    Ends {
        number: 0,
        wide: Ipv4Addr::new(10, 0, 0, 0),
        narrow: Ipv4Addr::new(10, 10, 10, 0),
        stations: MacAddress([0xca, 0xfe, 0, 0, 0, 0]),
        ports: 1001,
        vlan: 100,
        functions: MacAddress([2, 2, 0, 0, 0x12, 0]),
        forwarded: Ipv4Addr::new(198, 18, 0, 0),
    },
    Ends {
        number: 1,
        wide: Ipv4Addr::new(20, 0, 0, 0),
        narrow: Ipv4Addr::new(20, 20, 20, 0),
        stations: MacAddress([0xfa, 0xce, 0, 0, 0, 0]),
        ports: 2001,
        vlan: 200,
        functions: MacAddress([2, 2, 0, 0, 2, 0]),
        forwarded: Ipv4Addr::new(198, 18, 1, 0),
    },
];
