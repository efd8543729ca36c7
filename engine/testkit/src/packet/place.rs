//! The place of a dissection, and one step of it.
use super::pseudo_header::Ends;
use quiver_wire::ip6::extension;
use quiver_wire::{EtherType, IpProtocol};

/// Which extension header it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExtensionKind {
    /// Options that every router on the way may look at (RFC 8200, 4.3): `hbh`.
    HopByHop,
    /// Where the packet is to go on its way (RFC 8200, 4.4): `routing`.
    Routing,
    /// Options for the destination (RFC 8200, 4.6): `dstopt`.
    Destination,
}

/// Type of the bytes at a place.
#[derive(Debug, Clone, Copy)]
pub(super) enum Next {
    Ethernet,
    Dot1q,
    Dot1ad,
    Arp,
    Ip4,
    Ip6,
    Extension6(ExtensionKind),
    Fragment6,
    Icmp4,
    Icmp6,
    Nd,
    Ra,
    Udp,
    Tcp,
    Payload,
}

impl Next {
    pub(super) fn from_ethertype(ethertype: EtherType) -> Next {
        match ethertype {
            EtherType::DOT1Q => Next::Dot1q,
            EtherType::DOT1AD => Next::Dot1ad,
            EtherType::ARP => Next::Arp,
            EtherType::IP4 => Next::Ip4,
            EtherType::IP6 => Next::Ip6,
            _ => Next::Payload,
        }
    }

    pub(super) fn from_protocol(protocol: IpProtocol) -> Next {
        match protocol {
            IpProtocol::ICMP4 => Next::Icmp4,
            IpProtocol::ICMP6 => Next::Icmp6,
            IpProtocol::IP4 => Next::Ip4,
            IpProtocol::IP6 => Next::Ip6,
            extension::HOP_BY_HOP => Next::Extension6(ExtensionKind::HopByHop),
            extension::ROUTING => Next::Extension6(ExtensionKind::Routing),
            extension::DESTINATION => Next::Extension6(ExtensionKind::Destination),
            extension::FRAGMENT => Next::Fragment6,
            IpProtocol::UDP => Next::Udp,
            IpProtocol::TCP => Next::Tcp,
            _ => Next::Payload,
        }
    }
}

/// Position of the dissection.
#[derive(Debug, Clone, Copy)]
pub(super) struct Place<'a> {
    pub next: Next,
    /// Remaining bytes.
    pub bytes: &'a [u8],
    /// Source and destination of the IP header before, for the pseudo header.
    pub ends: Option<Ends>,
    /// Whether the packet is here to its end, so that checksums can be judged.
    pub whole: bool,
}

impl<'a> Place<'a> {
    /// The place behind a header.
    pub(super) fn then(&self, next: Next, bytes: &'a [u8]) -> Place<'a> {
        Place { next, bytes, ..*self }
    }

    /// Splits the bytes behind an IP header into its payload and padding, by the header's length. Only the link pads:
    /// quoted or encapsulated packets have no padding, and neither have packets shorter than their length.
    pub(super) fn measured(&self, rest: &'a [u8], length: usize) -> (&'a [u8], &'a [u8]) {
        rest.split_at_checked(length).filter(|_| self.ends.is_none()).unwrap_or((rest, &[]))
    }
}

/// One header read.
pub(super) struct Step<'a, L> {
    pub layer: L,
    pub then: Place<'a>,
    /// Bytes behind the packet that the header measures.
    pub padding: &'a [u8],
}

impl<'a, L> Step<'a, L> {
    pub(super) fn new(layer: L, then: Place<'a>) -> Step<'a, L> {
        Step { layer, then, padding: &[] }
    }
}
