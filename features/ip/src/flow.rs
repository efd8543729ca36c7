//! The hash by which flows are spread over the paths of a route.
//!
//! It takes the addresses, the protocol and, of TCP and UDP, the ports, so that the packets of one flow stay in order.
//! Fragments have no ports after the first, so none of a fragmented packet's parts is hashed with them; nor are packets
//! with options. The two directions of a flow may take different paths.

use quiver_engine::{Isa, Lanes, PacketLanes};
use quiver_wire::{Header, Ip4Header, IpProtocol};

use crate::fields;

/// The hash of each packet; its low four bits choose a bucket.
#[inline(always)]
pub fn hash<I: Isa>(p: &PacketLanes<I>) -> Lanes<I> {
    let protocol = p.header.get(fields::PROTOCOL);
    let has_ports = protocol.eq(u32::from(IpProtocol::TCP.0)) | protocol.eq(u32::from(IpProtocol::UDP.0));
    let whole = (p.header.get(fields::FRAGMENT) & 0x3fff).eq(0);
    let plain = p.header.get(fields::VERSION_IHL).eq(u32::from(Ip4Header::VERSION_IHL));
    let there = p.length.gt(PORTS_END - 1);
    let ports = protocol.replace(has_ports & whole & plain & there, p.header.get(fields::PORTS) ^ protocol);
    let (source, destination) = (p.header.get(fields::SOURCE), p.header.get(fields::DESTINATION));
    mix(source, destination, ports)
}

/// Bytes of a packet that has both ports.
const PORTS_END: u32 = Ip4Header::LENGTH as u32 + 4;

/// Adds and shifts, since lanes have no multiplication: each input bit reaches the low four (after Jenkins' one-at-a-time).
#[inline(always)]
fn mix<I: Isa>(source: Lanes<I>, destination: Lanes<I>, ports: Lanes<I>) -> Lanes<I> {
    let mut h = source;
    h = h + (h << 10);
    h = (h ^ (h >> 6)) + destination;
    h = h + (h << 10);
    h = (h ^ (h >> 6)) + ports;
    h = h + (h << 10);
    h = h ^ (h >> 6);
    h = h + (h << 3);
    h = h ^ (h >> 11);
    h = h ^ (h >> 20);
    h ^ (h >> 8) ^ (h >> 4)
}

/// The same for one packet, from its header on: for control, and for tests.
pub fn hash_of(packet: &[u8]) -> u32 {
    let Some((header, rest)) = Ip4Header::parse(packet) else { return 0 };
    let protocol = u32::from(header.protocol.0);
    let has_ports = matches!(header.protocol, IpProtocol::TCP | IpProtocol::UDP);
    let plain = header.version_ihl == Ip4Header::VERSION_IHL && header.flags_fragment.get() & 0x3fff == 0;
    let ports = match rest.first_chunk() {
        Some(ports) if has_ports && plain => u32::from_be_bytes(*ports) ^ protocol,
        _ => protocol,
    };
    let mut h = header.source().to_bits();
    h = h.wrapping_add(h << 10);
    h = (h ^ (h >> 6)).wrapping_add(header.destination().to_bits());
    h = h.wrapping_add(h << 10);
    h = (h ^ (h >> 6)).wrapping_add(ports);
    h = h.wrapping_add(h << 10);
    h ^= h >> 6;
    h = h.wrapping_add(h << 3);
    h ^= h >> 11;
    h ^= h >> 20;
    h ^ (h >> 8) ^ (h >> 4)
}

#[cfg(test)]
mod tests {
    use super::*;
    use quiver_wire::big_endian::U16;

    #[test]
    fn flows_spread_evenly_whatever_part_of_them_differs() {
        let packet = |source: u32, destination: u32, ports: [u16; 2]| {
            let header = Ip4Header::new(source.into(), destination.into(), IpProtocol::UDP, 64, 8);
            let header = header.expect("a short packet");
            [bytes(&header), &ports[0].to_be_bytes(), &ports[1].to_be_bytes(), &[0; 4]].concat()
        };
        let spread = |flow: &dyn Fn(u32) -> Vec<u8>| {
            let mut counts = [0; 16];
            (0..16_000).for_each(|i| counts[hash_of(&flow(i)) as usize % 16] += 1);
            (*counts.iter().min().expect("sixteen"), *counts.iter().max().expect("sixteen"))
        };
        let ways: [&dyn Fn(u32) -> Vec<u8>; 5] = [
            &|i| packet(0x0a00_0000 + i, 0xc000_0201, [1, 2]),
            &|i| packet(0x0a00_0001, 0x3000_0000 + i, [1, 2]),
            &|i| packet(0x0a00_0000 + i, 0x3000_0000 + i, [1, 2]),
            &|i| packet(0x0a00_0001, 0xc000_0201, [1024 + i as u16, 53]),
            &|i| packet(0x0a00_0000 + (i << 8), 0xc000_0201, [i as u16, i as u16]),
        ];
        for (number, way) in ways.iter().enumerate() {
            let (least, most) = spread(way);
            assert!(least > 700 && most < 1300, "way {number}: {least} to {most} of 1000");
        }
    }

    #[test]
    fn fragments_of_a_packet_stay_together() {
        let mut header =
            Ip4Header::new([10, 0, 0, 1].into(), [10, 0, 0, 2].into(), IpProtocol::UDP, 64, 8).expect("short");
        header.flags_fragment = U16::new(0x2000);
        let first = [bytes(&header), b"portsxxx"].concat();
        header.flags_fragment = U16::new(0x00b9);
        let last = [bytes(&header), b"otherxxx"].concat();
        assert_eq!(hash_of(&first), hash_of(&last));
    }

    fn bytes(header: &Ip4Header) -> &[u8] {
        zerocopy::IntoBytes::as_bytes(header)
    }
}
