//! What both versions of IP share: addresses for pseudo headers, and the numbers that announce what is inside.
use super::{Extension6, ExtensionKind, Layer};
use quiver_wire::ip6::extension;
use quiver_wire::{IpProtocol, Sum, checksum};
use std::net::{Ipv4Addr, Ipv6Addr};

/// Source and destination of an IP header.
#[derive(Debug, Clone, Copy)]
pub(super) enum Ends {
    Ip4(Ipv4Addr, Ipv4Addr),
    Ip6(Ipv6Addr, Ipv6Addr),
}

impl Ends {
    /// The addresses of `layer`, if it is an IP header.
    pub(super) fn of(layer: &Layer) -> Option<Ends> {
        match layer {
            Layer::Ip4(ip) => Some(Ends::Ip4(ip.source, ip.destination)),
            Layer::Ip6(ip) => Some(Ends::Ip6(ip.source, ip.destination)),
            _ => None,
        }
    }
}

/// The sum of the pseudo header, or zero without an IP header outside.
pub(super) fn pseudo_header(ends: Option<Ends>, protocol: IpProtocol, length: u32) -> Sum {
    match ends {
        Some(Ends::Ip4(source, destination)) => checksum::pseudo_header4(source, destination, protocol, length),
        Some(Ends::Ip6(source, destination)) => checksum::pseudo_header6(source, destination, protocol, length),
        None => Sum::default(),
    }
}

/// The protocol number of `layer`, if it is one that IP carries.
pub(super) fn announcing(layer: &Layer) -> Option<IpProtocol> {
    match layer {
        Layer::Icmp4(_) => Some(IpProtocol::ICMP4),
        Layer::Icmp6(_) => Some(IpProtocol::ICMP6),
        Layer::Ip4(_) => Some(IpProtocol::IP4),
        Layer::Ip6(_) => Some(IpProtocol::IP6),
        Layer::Extension6(Extension6 { kind: ExtensionKind::HopByHop, .. }) => Some(extension::HOP_BY_HOP),
        Layer::Extension6(Extension6 { kind: ExtensionKind::Routing, .. }) => Some(extension::ROUTING),
        Layer::Extension6(Extension6 { kind: ExtensionKind::Destination, .. }) => Some(extension::DESTINATION),
        Layer::Fragment6(_) => Some(extension::FRAGMENT),
        Layer::Tcp(_) => Some(IpProtocol::TCP),
        Layer::Udp(_) => Some(IpProtocol::UDP),
        _ => None,
    }
}
