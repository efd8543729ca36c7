//! The hash by which flows are spread over the paths of a route.
//!
//! It takes the addresses, the protocol and, of TCP and UDP, the ports, so that the packets of one flow stay in order.
//! Fragments have no ports after the first, so none of a fragmented packet's parts is hashed with them; nor are packets
//! with options. The two directions of a flow may take different paths.

use quiver_engine::{Isa, LANES, Lanes, PacketLanes, Windows};
use quiver_wire::{Header, Ip4Header, IpProtocol};

use super::fields;
use crate::family::flow::{FlowKey, kept, mix};

/// The hash of each packet; its low four bits choose a bucket.
#[inline(always)]
pub fn hash<I: Isa>(p: &PacketLanes<I>) -> Lanes<I> {
    hash_within(p, p.length)
}

/// The same where a packet is a part of one: `length` counts from the IP header on, which is at its place in the window.
#[inline(always)]
pub fn hash_within<I: Isa>(p: &PacketLanes<I>, length: Lanes<I>) -> Lanes<I> {
    let ports = ports(p, length) ^ p.header.get(fields::PROTOCOL);
    let (source, destination) = (p.header.get(fields::SOURCE), p.header.get(fields::DESTINATION));
    mix([source, destination, ports], |a, b| a + b)
}

/// The ports of TCP and UDP, the source port in the upper half; 0 of other protocols, of fragments, and of packets with options. `length`
/// counts from the IP header on.
#[inline(always)]
fn ports<I: Isa>(p: &PacketLanes<I>, length: Lanes<I>) -> Lanes<I> {
    let protocol = p.header.get(fields::PROTOCOL);
    let has_ports = protocol.eq(u32::from(IpProtocol::TCP.0)) | protocol.eq(u32::from(IpProtocol::UDP.0));
    let whole = (p.header.get(fields::FRAGMENT) & 0x3fff).eq(0);
    let plain = p.header.get(fields::VERSION_IHL).eq(u32::from(Ip4Header::VERSION_IHL));
    let there = length.gt(PORTS_END - 1);
    p.hop.same(0).replace(has_ports & whole & plain & there, p.header.get(fields::PORTS))
}

/// Bytes of a packet that has both ports.
const PORTS_END: u32 = Ip4Header::LENGTH as u32 + 4;

/// The same for one packet, from its header on.
pub fn hash_of(packet: &[u8]) -> u32 {
    let Some((header, rest)) = Ip4Header::parse(packet) else { return 0 };
    let protocol = u32::from(header.protocol.0);
    let has_ports = matches!(header.protocol, IpProtocol::TCP | IpProtocol::UDP);
    let plain = header.version_ihl == Ip4Header::VERSION_IHL && header.flags_fragment.get() & 0x3fff == 0;
    let ports = match rest.first_chunk() {
        Some(ports) if has_ports && plain => u32::from_be_bytes(*ports) ^ protocol,
        _ => protocol,
    };
    mix([header.source().to_bits(), header.destination().to_bits(), ports], u32::wrapping_add)
}

/// The port of GTP, version 1, for what users send.
const GTP: u32 = 2152;

/// Flow keys, for tables that choose the fields. Fragments and packets with options have neither ports nor tunnels.
pub fn key<I: Isa>(p: &PacketLanes<I>, windows: &mut Windows<'_>) -> FlowKey<Lanes<I>> {
    let protocol = p.header.get(fields::PROTOCOL);
    let none = protocol & kept(false);
    // The ports are none where the packet is a fragment or has options.
    let ports = ports(p, p.length);
    let is_udp = protocol.eq(u32::from(IpProtocol::UDP.0));
    let is_gtp = is_udp & (ports & 0xffff).eq(GTP) & p.length.gt(TUNNEL_END - 1);
    // A stage that hardly ever asks for it does not have these bytes loaded.
    let mut tunnels = [0; LANES];
    for lane in (is_gtp & p.live).bits() {
        let number = windows.of(lane)[fields::TUNNEL..].first_chunk();
        tunnels[lane] = number.map_or(0, |number| u32::from_be_bytes(*number));
    }
    FlowKey {
        source: [p.header.get(fields::SOURCE), none, none, none],
        destination: [p.header.get(fields::DESTINATION), none, none, none],
        ports: [ports >> 16, ports & 0xffff],
        protocol,
        label: none,
        tunnel: none.with(&tunnels),
    }
}

/// Where the number of a tunnel lies, and the bytes of a packet that has one: behind UDP's header and four bytes of GTP's.
const TUNNEL: usize = Ip4Header::LENGTH + 12;
const TUNNEL_END: u32 = TUNNEL as u32 + 4;

/// The same for one packet, from its header on.
pub fn key_of(packet: &[u8]) -> Option<FlowKey<u32>> {
    let (header, rest) = Ip4Header::parse(packet)?;
    let plain = header.version_ihl == Ip4Header::VERSION_IHL && header.flags_fragment.get() & 0x3fff == 0;
    let has_ports = plain && matches!(header.protocol, IpProtocol::TCP | IpProtocol::UDP);
    let ports = rest.first_chunk().filter(|_| has_ports).map_or(0, |ports| u32::from_be_bytes(*ports));
    let is_gtp = plain && header.protocol == IpProtocol::UDP && ports & 0xffff == GTP;
    let tunnel = packet.get(TUNNEL..).and_then(|rest| rest.first_chunk()).filter(|_| is_gtp);
    Some(FlowKey {
        source: [header.source().to_bits(), 0, 0, 0],
        destination: [header.destination().to_bits(), 0, 0, 0],
        ports: [ports >> 16, ports & 0xffff],
        protocol: header.protocol.0.into(),
        label: 0,
        tunnel: tunnel.map_or(0, |tunnel| u32::from_be_bytes(*tunnel)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::family::flow::tests::assert_even;
    use quiver_wire::big_endian::U16;
    use zerocopy::IntoBytes;

    #[test]
    fn flows_spread_evenly_whatever_part_of_them_differs() {
        let hash = |source: u32, destination: u32, ports: [u16; 2]| {
            let header = Ip4Header::new(source.into(), destination.into(), IpProtocol::UDP, 64, 8);
            let header = header.expect("a short packet");
            hash_of(&[header.as_bytes(), &ports[0].to_be_bytes(), &ports[1].to_be_bytes(), &[0; 4]].concat())
        };
        assert_even("sources", |i| hash(0x0a00_0000 + i, 0xc000_0201, [1, 2]));
        assert_even("destinations", |i| hash(0x0a00_0001, 0x3000_0000 + i, [1, 2]));
        assert_even("both", |i| hash(0x0a00_0000 + i, 0x3000_0000 + i, [1, 2]));
        assert_even("ports", |i| hash(0x0a00_0001, 0xc000_0201, [1024 + i as u16, 53]));
        assert_even("all", |i| hash(0x0a00_0000 + (i << 8), 0xc000_0201, [i as u16, i as u16]));
    }

    #[test]
    fn fragments_of_a_packet_stay_together() {
        let mut header =
            Ip4Header::new([10, 0, 0, 1].into(), [10, 0, 0, 2].into(), IpProtocol::UDP, 64, 8).expect("short");
        header.flags_fragment = U16::new(0x2000);
        let first = [header.as_bytes(), b"portsxxx"].concat();
        header.flags_fragment = U16::new(0x00b9);
        let last = [header.as_bytes(), b"otherxxx"].concat();
        assert_eq!(hash_of(&first), hash_of(&last));
    }
}
