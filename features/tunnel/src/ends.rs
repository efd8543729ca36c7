//! The two ends of a tunnel.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use quiver_wire::{Ip4Header, Ip6Header, UdpHeader};

/// The outer addresses of datagrams, source and destination, which are of one family.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Ends {
    /// Of IPv4.
    V4(Ipv4Addr, Ipv4Addr),
    /// Of IPv6.
    V6(Ipv6Addr, Ipv6Addr),
}

impl Ends {
    /// Two addresses; None if they are not of one family.
    pub fn new(source: IpAddr, destination: IpAddr) -> Option<Ends> {
        match (source, destination) {
            (IpAddr::V4(source), IpAddr::V4(destination)) => Some(Ends::V4(source, destination)),
            (IpAddr::V6(source), IpAddr::V6(destination)) => Some(Ends::V6(source, destination)),
            _ => None,
        }
    }
    /// The source.
    pub fn source(&self) -> IpAddr {
        match *self {
            Ends::V4(source, _) => source.into(),
            Ends::V6(source, _) => source.into(),
        }
    }
    /// The destination.
    pub fn destination(&self) -> IpAddr {
        match *self {
            Ends::V4(_, destination) => destination.into(),
            Ends::V6(_, destination) => destination.into(),
        }
    }
    /// Bytes of an IP header and UDP's.
    pub const fn length(&self) -> usize {
        size_of::<UdpHeader>()
            + match self {
                Ends::V4(..) => size_of::<Ip4Header>(),
                Ends::V6(..) => size_of::<Ip6Header>(),
            }
    }
    /// Whether the destination is a group of hosts.
    pub fn is_multicast(&self) -> bool {
        self.destination().is_multicast()
    }
}
