//! The hash by which flows are spread over the paths of a route.
//!
//! It takes the addresses, the flow label (RFC 6438), what follows the header and, of TCP and UDP that follow it at once,
//! the ports. All fragments of a packet have a fragment header there, and no ports, so they stay together.

use quiver_engine::{Isa, Lanes, PacketLanes};
use quiver_wire::{Header, Ip6Header, IpProtocol};

use super::fields;
use crate::family::flow::{FlowKey, kept, mix};

/// The hash of each packet; its low four bits choose a bucket.
#[inline(always)]
pub fn hash<I: Isa>(p: &PacketLanes<I>) -> Lanes<I> {
    let protocol = p.header.get(fields::NEXT_HEADER);
    let has_ports = protocol.eq(u32::from(IpProtocol::TCP.0)) | protocol.eq(u32::from(IpProtocol::UDP.0));
    let there = p.length.gt(PORTS_END - 1);
    let ports = protocol.replace(has_ports & there, p.header.get(fields::PORTS) ^ protocol);
    let ([a, b, c, d], [e, f, g, h]) = (fields::source(p), fields::destination(p));
    mix([a, b, c, d, e, f, g, h, ports, p.header.get(fields::FLOW_LABEL)], |a, b| a + b)
}

/// Bytes of a packet that has both ports.
const PORTS_END: u32 = Ip6Header::LENGTH as u32 + 4;

/// The same for one packet, from its header on.
pub fn hash_of(packet: &[u8]) -> u32 {
    let Some((header, rest)) = Ip6Header::parse(packet) else { return 0 };
    let protocol = u32::from(header.next_header.0);
    let has_ports = matches!(header.next_header, IpProtocol::TCP | IpProtocol::UDP);
    let ports = match rest.first_chunk() {
        Some(ports) if has_ports => u32::from_be_bytes(*ports) ^ protocol,
        _ => protocol,
    };
    let ([a, b, c, d], [e, f, g, h]) = (words(&header.source), words(&header.destination));
    mix([a, b, c, d, e, f, g, h, ports, header.flow_label() & 0xffff], u32::wrapping_add)
}

/// Flow keys, for tables that choose the fields.
pub fn key<I: Isa>(p: &PacketLanes<I>) -> FlowKey<Lanes<I>> {
    let protocol = p.header.get(fields::NEXT_HEADER);
    let none = protocol & kept(false);
    let has_ports = protocol.eq(u32::from(IpProtocol::TCP.0)) | protocol.eq(u32::from(IpProtocol::UDP.0));
    let ports = none.replace(has_ports & p.length.gt(PORTS_END - 1), p.header.get(fields::PORTS));
    FlowKey {
        source: fields::source(p),
        destination: fields::destination(p),
        ports: [ports >> 16, ports & 0xffff],
        protocol,
        label: p.header.get(fields::FLOW_LABEL),
        tunnel: none,
    }
}

/// The same for one packet, from its header on.
pub fn key_of(packet: &[u8]) -> Option<FlowKey<u32>> {
    let (header, rest) = Ip6Header::parse(packet)?;
    let has_ports = matches!(header.next_header, IpProtocol::TCP | IpProtocol::UDP);
    let ports = rest.first_chunk().filter(|_| has_ports).map_or(0, |ports| u32::from_be_bytes(*ports));
    Some(FlowKey {
        source: words(&header.source),
        destination: words(&header.destination),
        ports: [ports >> 16, ports & 0xffff],
        protocol: header.next_header.0.into(),
        label: header.flow_label() & 0xffff,
        tunnel: 0,
    })
}

/// The words of an address.
fn words(address: &[u8; 16]) -> [u32; 4] {
    let (words, _) = address.as_chunks::<4>();
    [0, 1, 2, 3].map(|i| u32::from_be_bytes(words[i]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::family::flow::tests::assert_even;
    use std::net::Ipv6Addr;
    use zerocopy::IntoBytes;

    #[test]
    fn flows_spread_evenly_whatever_part_of_them_differs() {
        let base = "2001:db8::".parse::<Ipv6Addr>().expect("an address").to_bits();
        let hash = |source: u128, destination: u128, ports: [u16; 2], label: u32| {
            let (from, to) = (Ipv6Addr::from_bits(base + source), Ipv6Addr::from_bits(base + destination));
            let mut header = Ip6Header::new(from, to, IpProtocol::UDP, 64, 8).expect("a short packet");
            header.version_class_flow = (header.version_class_flow.get() | label).into();
            hash_of(&[header.as_bytes(), &ports[0].to_be_bytes(), &ports[1].to_be_bytes(), &[0; 4]].concat())
        };
        for shift in [0, 16, 32, 64, 80] {
            assert_even(&format!("sources at {shift}"), |i| hash(u128::from(i) << shift, 1, [1, 2], 0));
            assert_even(&format!("destinations at {shift}"), |i| hash(1, u128::from(i) << shift, [1, 2], 0));
        }
        assert_even("both", |i| hash(u128::from(i), 1 << 48 | u128::from(i), [1, 2], 0));
        assert_even("ports", |i| hash(1, 2, [1024 + i as u16, 53], 0));
        assert_even("labels", |i| hash(1, 2, [1, 2], i));
    }

    #[test]
    fn fragments_of_a_packet_stay_together() {
        let (a, b) = ("2001:db8::1".parse().expect("one"), "2001:db8::2".parse().expect("one"));
        let header = Ip6Header::new(a, b, quiver_wire::ip6::extension::FRAGMENT, 64, 16).expect("short");
        let first = [header.as_bytes(), &[17, 0, 0, 1, 0, 0, 0, 7], b"portsxxx"].concat();
        let last = [header.as_bytes(), &[17, 0, 0, 8, 0, 0, 0, 7], b"otherxxx"].concat();
        assert_eq!(hash_of(&first), hash_of(&last));
    }
}
