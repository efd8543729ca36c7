//! By what the flows of a table are told apart, where that is not the usual.
//!
//! The usual hash ([`Family::flow_hash`]) has no choices and is part of the fast paths. Tables that choose otherwise, and
//! routers with a number of their own, have their packets hashed by [`hash`], which costs a little more.

use std::ops::{BitAnd, BitXor, Shl, Shr};

use crate::family::flow::{kept, mix_all};
use crate::family::{Family, FlowKey};

quiver_control::choice! {
    /// Field of a packet that is part of the flow key.
    pub enum FlowField {
        /// Source address.
        Source = "src",
        /// Destination address.
        Destination = "dst",
        /// Source port.
        SourcePort = "sport",
        /// Destination port.
        DestinationPort = "dport",
        /// The protocol.
        Protocol = "proto",
        /// Sender and receiver change places.
        Reverse = "reverse",
        /// Both directions are one flow.
        Symmetric = "symmetric",
        /// The flow label of IPv6.
        Label = "flowlabel",
        /// The number of a tunnel of GTP, version 1, of packets for UDP port 2152; of IPv4.
        Tunnel = "gtpv1teid",
    } as "flow-field", "src, dst, sport, dport, proto, reverse, symmetric, flowlabel or gtpv1teid";
}

impl FlowField {
    /// All of them, in the order of their bits in VPP's messages.
    pub const ALL: [FlowField; 9] = [
        FlowField::Source,
        FlowField::Destination,
        FlowField::SourcePort,
        FlowField::DestinationPort,
        FlowField::Protocol,
        FlowField::Reverse,
        FlowField::Symmetric,
        FlowField::Label,
        FlowField::Tunnel,
    ];
    const fn bit(self) -> u16 {
        1 << self as u16
    }
}

/// By what flows are told apart, and the router's number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flows {
    /// The bits of fields; none where the usual ones count.
    bits: u16,
    /// Makes this router choose otherwise than others that flows come from.
    router: u32,
}

impl Flows {
    /// By these fields, or by the usual ones if there are none.
    pub fn new<F: Family>(fields: &[FlowField], router: u32) -> Flows {
        let label = FlowField::Label.bit();
        let (usual, without) = if F::VERSION == 6 { (USUAL | label, 0) } else { (USUAL, label) };
        let bits = match fields.iter().fold(0, |bits, field| bits | field.bit()) & !without {
            0 => usual,
            bits => bits,
        };
        Flows { bits: if bits == usual && router == 0 { 0 } else { bits }, router }
    }
    /// Whether the usual hash holds.
    #[inline(always)]
    pub fn is_usual(&self) -> bool {
        self.bits == 0
    }
    /// A mask that keeps what counts.
    fn mask(self, field: FlowField) -> u32 {
        kept(self.has(field))
    }
    fn has(self, field: FlowField) -> bool {
        self.bits & field.bit() != 0
    }
    /// The hash of a packet, from its header on; its low four bits choose a bucket.
    pub fn hash_of<F: Family>(self, packet: &[u8]) -> u32 {
        match self.is_usual() {
            true => F::flow_hash_of(packet),
            false => F::flow_key_of(packet).map_or(0, |key| hash(self, &key, u32::wrapping_add)),
        }
    }
}

/// The fields of the usual hash.
const USUAL: u16 = FlowField::Source.bit()
    | FlowField::Destination.bit()
    | FlowField::SourcePort.bit()
    | FlowField::DestinationPort.bit()
    | FlowField::Protocol.bit();

/// The hash by what counts; its low four bits choose a bucket. `add` wraps around.
pub fn hash<W>(flows: Flows, key: &FlowKey<W>, add: impl Fn(W, W) -> W) -> W
where
    W: Copy
        + BitAnd<u32, Output = W>
        + BitXor<u32, Output = W>
        + BitXor<Output = W>
        + Shl<u32, Output = W>
        + Shr<u32, Output = W>,
{
    let mut ends = [[key.protocol & kept(false); 5]; 2];
    let fields = [
        (FlowField::Source, key.source, FlowField::SourcePort, key.ports[0]),
        (FlowField::Destination, key.destination, FlowField::DestinationPort, key.ports[1]),
    ];
    for (end, (address, words, port_field, port)) in ends.iter_mut().zip(fields) {
        for (to, word) in end.iter_mut().zip(words) {
            *to = word & flows.mask(address);
        }
        end[4] = port & flows.mask(port_field);
    }
    if flows.has(FlowField::Reverse) {
        ends.swap(0, 1);
    }
    let [mut from, mut to] = ends;
    if flows.has(FlowField::Symmetric) {
        for (a, b) in from.iter_mut().zip(&mut to) {
            // The same, whichever of the two is which.
            (*a, *b) = (*a ^ *b, add(*a, *b));
        }
    }
    let rest = [
        key.protocol & flows.mask(FlowField::Protocol),
        key.label & flows.mask(FlowField::Label),
        key.tunnel & flows.mask(FlowField::Tunnel),
    ];
    let words = [
        (key.protocol & kept(false)) ^ flows.router,
        from[0],
        from[1],
        from[2],
        from[3],
        to[0],
        to[1],
        to[2],
        to[3],
        from[4],
        to[4],
        rest[0],
        rest[1],
        rest[2],
    ];
    mix_all(&words, add)
}

#[cfg(test)]
mod tests {
    use super::*;
    use quiver_wire::{Ip4Header, Ip6Header, IpProtocol, V4, V6};
    use zerocopy::IntoBytes;

    fn packet4(from: u32, to: u32, ports: [u16; 2]) -> Vec<u8> {
        let header = Ip4Header::new(from.into(), to.into(), IpProtocol::UDP, 64, 16).expect("short");
        [header.as_bytes(), &ports[0].to_be_bytes(), &ports[1].to_be_bytes(), &[0; 12]].concat()
    }

    #[test]
    fn fields_that_do_not_count_change_nothing_and_others_do() {
        let flows = Flows::new::<V4>(&[FlowField::Source, FlowField::Protocol], 0);
        let hash = |from, to, ports| flows.hash_of::<V4>(&packet4(from, to, ports));
        assert_eq!(hash(1, 2, [3, 4]), hash(1, 9, [8, 7]));
        assert!((0..64).any(|from| hash(from, 2, [3, 4]) & 15 != hash(1, 2, [3, 4]) & 15));
    }

    #[test]
    fn both_directions_are_one_flow_or_change_places() {
        let both = [FlowField::Source, FlowField::Destination, FlowField::SourcePort, FlowField::DestinationPort];
        let of = |more, packet: &[u8]| Flows::new::<V4>(&[&both[..], &[more]].concat(), 0).hash_of::<V4>(packet);
        let (there, back) = (packet4(1, 2, [3, 4]), packet4(2, 1, [4, 3]));
        assert_eq!(of(FlowField::Symmetric, &there), of(FlowField::Symmetric, &back));
        assert_eq!(of(FlowField::Reverse, &there), Flows::new::<V4>(&both, 0).hash_of::<V4>(&back));
        assert_ne!(of(FlowField::Reverse, &there), of(FlowField::Reverse, &back));
    }

    #[test]
    fn routers_differ_and_the_usual_is_the_usual() {
        let usual: Vec<FlowField> = FlowField::ALL[..5].to_vec();
        let labelled = [&usual[..], &[FlowField::Label]].concat();
        assert!(Flows::new::<V4>(&usual, 0).is_usual() && Flows::new::<V4>(&labelled, 0).is_usual());
        assert!(Flows::new::<V6>(&labelled, 0).is_usual() && !Flows::new::<V6>(&usual, 0).is_usual());
        assert!(Flows::new::<V4>(&[], 0).is_usual() && !Flows::new::<V4>(&[], 7).is_usual());
        let differs = |i: u16| {
            let packet = packet4(1, 2, [i, 4]);
            Flows::new::<V4>(&[], 7).hash_of::<V4>(&packet) & 1 != Flows::new::<V4>(&[], 8).hash_of::<V4>(&packet) & 1
        };
        let differing = (0..1000).filter(|i| differs(*i)).count();
        assert!((400..600).contains(&differing), "{differing} of 1000 take another way");
    }

    #[test]
    fn tunnels_and_labels_tell_flows_apart() {
        let flows = Flows::new::<V4>(&[FlowField::Tunnel], 0);
        let gtp = |tunnel: u8| {
            let mut packet = packet4(1, 2, [2152, 2152]);
            packet[35] = tunnel;
            flows.hash_of::<V4>(&packet)
        };
        assert!((0..64).any(|tunnel| gtp(tunnel) & 15 != gtp(1) & 15));
        let flows = Flows::new::<V6>(&[FlowField::Label], 0);
        let labelled = |label: u32| {
            let ends = ("2001:db8::1".parse().expect("one"), "2001:db8::2".parse().expect("one"));
            let mut header = Ip6Header::new(ends.0, ends.1, IpProtocol::UDP, 64, 8).expect("short");
            header.version_class_flow = (header.version_class_flow.get() | label).into();
            flows.hash_of::<V6>(&[header.as_bytes(), &[0; 8]].concat())
        };
        assert!((0..64).any(|label| labelled(label) & 15 != labelled(1) & 15));
    }
}
