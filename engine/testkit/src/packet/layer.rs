//! One layer of a packet, of any kind.
use super::place::ExtensionKind;
use super::pseudo_header::Ends;
use super::{Arp, Ethernet, Extension6, Fragment6, Icmp4, Icmp6, Ip4, Ip6, Nd, Padding, Payload, Ra, Tcp, Udp, Vlan};
use quiver_wire::ip6::extension;
use quiver_wire::{EtherType, IpProtocol};
use std::fmt;

/// One layer of a packet.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(missing_docs, reason = "each variant is documented at the type that it holds")]
pub enum Layer {
    Ethernet(Ethernet),
    Vlan(Vlan),
    Arp(Arp),
    Ip4(Ip4),
    Icmp4(Icmp4),
    Ip6(Ip6),
    Extension6(Extension6),
    Fragment6(Fragment6),
    Icmp6(Icmp6),
    Nd(Nd),
    Ra(Ra),
    Udp(Udp),
    Tcp(Tcp),
    Payload(Payload),
    Padding(Padding),
}

macro_rules! layers {
    ($($layer:ident)+) => {
        $(
            impl From<$layer> for Layer {
                fn from(layer: $layer) -> Layer {
                    Layer::$layer(layer)
                }
            }
        )+
        impl fmt::Display for Layer {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                match self {
                    $(Layer::$layer(layer) => fmt::Display::fmt(layer, f),)+
                }
            }
        }
    };
}
layers!(Ethernet Vlan Arp Ip4 Icmp4 Ip6 Extension6 Fragment6 Icmp6 Nd Ra Udp Tcp Payload Padding);

impl Layer {
    /// The ethertype that announces the layer, if there is one.
    pub(super) fn ethertype(&self) -> Option<EtherType> {
        match self {
            Layer::Vlan(Vlan { service: false, .. }) => Some(EtherType::DOT1Q),
            Layer::Vlan(Vlan { service: true, .. }) => Some(EtherType::DOT1AD),
            Layer::Arp(_) => Some(EtherType::ARP),
            Layer::Ip4(_) => Some(EtherType::IP4),
            Layer::Ip6(_) => Some(EtherType::IP6),
            _ => None,
        }
    }

    /// The protocol number of the layer, if it is one that IP carries.
    pub(super) fn protocol(&self) -> Option<IpProtocol> {
        match self {
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

    /// Whether it is the inside of a message of Neighbour Discovery.
    pub(super) fn is_discovery(&self) -> bool {
        matches!(self, Layer::Nd(_) | Layer::Ra(_))
    }

    /// The addresses, if it is an IP header.
    pub(super) fn ends(&self) -> Option<Ends> {
        match self {
            Layer::Ip4(ip) => Some(Ends::Ip4(ip.source, ip.destination)),
            Layer::Ip6(ip) => Some(Ends::Ip6(ip.source, ip.destination)),
            _ => None,
        }
    }
}
