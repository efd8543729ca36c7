//! From bytes to layers.
use super::place::{Next, Place, Step};
use super::{
    Arp, Ethernet, Extension6, Fragment6, Icmp4, Icmp6, Ip4, Ip6, Layer, Nd, Packet, Padding, Payload, Ra, Tcp, Udp,
    Vlan,
};

/// More headers than this are left as bytes: no packet has them, but a fuzzer's has.
const LAYERS_MAX: usize = 16;

impl Packet {
    /// The layers of a captured Ethernet frame.
    pub fn dissect(bytes: &[u8]) -> Packet {
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
}

/// The step with its layer as one of all.
fn any<L: Into<Layer>>(step: Step<'_, L>) -> Step<'_, Layer> {
    Step { layer: step.layer.into(), then: step.then, padding: step.padding }
}

/// The header at a place, whichever it is.
fn step<'a>(place: &Place<'a>) -> Option<Step<'a, Layer>> {
    match place.next {
        Next::Ethernet => Ethernet::dissect(place).map(any),
        Next::Dot1q => Vlan::dissect(place, false).map(any),
        Next::Dot1ad => Vlan::dissect(place, true).map(any),
        Next::Arp => Arp::dissect(place).map(any),
        Next::Ip4 => Ip4::dissect(place).map(any),
        Next::Ip6 => Ip6::dissect(place).map(any),
        Next::Extension6(kind) => Extension6::dissect(place, kind).map(any),
        Next::Fragment6 => Fragment6::dissect(place).map(any),
        Next::Icmp4 => Icmp4::dissect(place).map(any),
        Next::Icmp6 => Icmp6::dissect(place).map(any),
        Next::Nd => Nd::dissect(place).map(any),
        Next::Ra => Ra::dissect(place).map(any),
        Next::Udp => Udp::dissect(place).map(any),
        Next::Tcp => Tcp::dissect(place).map(any),
        Next::Payload => None,
    }
}

fn leave_out_what_the_next_layer_says(layers: &mut [Layer]) {
    let mut after = layers.iter().skip(1).cloned().collect::<Vec<_>>().into_iter();
    for layer in layers {
        let next = after.next();
        match layer {
            Layer::Ethernet(Ethernet { ethertype, .. }) | Layer::Vlan(Vlan { ethertype, .. })
                if *ethertype == next.as_ref().and_then(Layer::ethertype) =>
            {
                *ethertype = None;
            }
            Layer::Ip4(Ip4 { protocol: said, .. })
            | Layer::Ip6(Ip6 { next: said, .. })
            | Layer::Extension6(Extension6 { next: said, .. })
            | Layer::Fragment6(Fragment6 { next: said, .. })
                if *said == next.as_ref().and_then(Layer::protocol) =>
            {
                *said = None;
            }
            _ => {}
        }
    }
}
