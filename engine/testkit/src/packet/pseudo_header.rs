//! The pseudo header of checksums above IP.
use quiver_wire::{IpProtocol, Sum, checksum};
use std::net::{Ipv4Addr, Ipv6Addr};

/// Source and destination of an IP header.
#[derive(Debug, Clone, Copy)]
pub(super) enum Ends {
    Ip4(Ipv4Addr, Ipv4Addr),
    Ip6(Ipv6Addr, Ipv6Addr),
}

/// The sum of the pseudo header, or zero without an IP header outside.
pub(super) fn pseudo_header(ends: Option<Ends>, protocol: IpProtocol, length: u32) -> Sum {
    match ends {
        Some(Ends::Ip4(source, destination)) => checksum::pseudo_header4(source, destination, protocol, length),
        Some(Ends::Ip6(source, destination)) => checksum::pseudo_header6(source, destination, protocol, length),
        None => Sum::default(),
    }
}
