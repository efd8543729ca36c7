//! From bytes to layers.
use super::{
    Arp, Ends, Ethernet, Extension6, ExtensionKind, Fragment6, Icmp4, Icmp6, Ip4, Ip6, Layer, Nd, Packet, Padding,
    Payload, Ra, Tcp, Udp, Vlan, ethernet, ip,
};
use quiver_wire::ip6::extension;
use quiver_wire::{EtherType, IpProtocol};

/// More headers than this are left as bytes: no packet has them, but a fuzzer's has.
const LAYERS_MAX: usize = 16;

/// What the bytes at a place are said to be.
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

/// Where the dissection stands.
#[derive(Debug, Clone, Copy)]
pub(super) struct Place<'a> {
    pub next: Next,
    /// What is left.
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

    /// What an IP header here measures of the bytes behind it, and the padding. Only the link pads, so what is quoted or
    /// carried in another packet has none, and neither has what is shorter than it claims.
    pub(super) fn measured(&self, rest: &'a [u8], length: usize) -> (&'a [u8], &'a [u8]) {
        rest.split_at_checked(length).filter(|_| self.ends.is_none()).unwrap_or((rest, &[]))
    }
}

/// One header read.
pub(super) struct Step<'a> {
    pub layer: Layer,
    pub then: Place<'a>,
    /// What follows the packet that the header measures.
    pub padding: &'a [u8],
}

impl<'a> Step<'a> {
    pub(super) fn new(layer: impl Into<Layer>, then: Place<'a>) -> Step<'a> {
        Step { layer: layer.into(), then, padding: &[] }
    }
}

/// The layers of a frame.
pub(super) fn dissect(bytes: &[u8]) -> Packet {
    let mut place = Place { next: Next::Ethernet, bytes, ends: None, whole: true };
    let mut layers = Vec::new();
    let mut padding: &[u8] = &[];
    while let Some(step) = step(&place).filter(|_| layers.len() < LAYERS_MAX) {
        layers.push(step.layer);
        place = step.then;
        if !step.padding.is_empty() {
            padding = step.padding;
        }
    }
    if !place.bytes.is_empty() || layers.is_empty() {
        layers.push(Payload(place.bytes.into()).into());
    }
    leave_out_what_the_next_layer_says(&mut layers);
    if !padding.is_empty() {
        layers.push(Padding(padding.into()).into());
    }
    let packet = Packet { layers };
    // Whatever the text has no word for, it must not hide.
    if packet.to_bytes() == bytes { packet } else { Packet { layers: vec![Payload(bytes.into()).into()] } }
}

fn step<'a>(place: &Place<'a>) -> Option<Step<'a>> {
    match place.next {
        Next::Ethernet => Ethernet::dissect(place),
        Next::Dot1q => Vlan::dissect(place, false),
        Next::Dot1ad => Vlan::dissect(place, true),
        Next::Arp => Arp::dissect(place),
        Next::Ip4 => Ip4::dissect(place),
        Next::Ip6 => Ip6::dissect(place),
        Next::Extension6(kind) => Extension6::dissect(place, kind),
        Next::Fragment6 => Fragment6::dissect(place),
        Next::Icmp4 => Icmp4::dissect(place),
        Next::Icmp6 => Icmp6::dissect(place),
        Next::Nd => Nd::dissect(place),
        Next::Ra => Ra::dissect(place),
        Next::Udp => Udp::dissect(place),
        Next::Tcp => Tcp::dissect(place),
        Next::Payload => None,
    }
}

fn leave_out_what_the_next_layer_says(layers: &mut [Layer]) {
    let mut after = layers.iter().skip(1).cloned().collect::<Vec<_>>().into_iter();
    for layer in layers {
        let next = after.next();
        match layer {
            Layer::Ethernet(Ethernet { ethertype, .. }) | Layer::Vlan(Vlan { ethertype, .. })
                if *ethertype == next.as_ref().and_then(ethernet::announcing) =>
            {
                *ethertype = None;
            }
            Layer::Ip4(Ip4 { protocol: said, .. })
            | Layer::Ip6(Ip6 { next: said, .. })
            | Layer::Extension6(Extension6 { next: said, .. })
            | Layer::Fragment6(Fragment6 { next: said, .. })
                if *said == next.as_ref().and_then(ip::announcing) =>
            {
                *said = None;
            }
            _ => {}
        }
    }
}
