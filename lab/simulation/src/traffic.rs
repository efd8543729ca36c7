//! What peers send: packets with numbers, by which they are known again wherever they come out.
//!
//! Port `pN` has the address 10.N.0.1/24 where it routes. Behind it is one station, 10.N.0.2, that answers ARP, and
//! whatever other address of that network is asked for is silent. Networks 20.K.0.0/16 are reached by routes.

use std::net::Ipv4Addr;

use fastrand::Rng;
use quiver_testkit::packet::{Arp, Checksum, Ethernet, Ip4, Packet, Payload, Udp};
use quiver_wire::MacAddress;

/// Ports at most.
pub const PORTS: usize = 4;
/// Networks that routes lead to.
pub const NETWORKS: u8 = 4;
const MAGIC: [u8; 8] = *b"quiver#!";

/// The address of the daemon's end of a port.
pub fn port_mac(port: usize) -> MacAddress {
    MacAddress([2, 0xfe, 0, 0, 0, port as u8])
}
/// The address of the station behind a port.
pub fn station_mac(port: usize) -> MacAddress {
    MacAddress([2, 0xaa, 0, 0, 0, port as u8])
}
/// A host on the network of a port; the station's is 2.
pub fn host(port: usize, number: u8) -> Ipv4Addr {
    Ipv4Addr::new(10, port as u8, 0, number)
}

/// What a packet is, and therefore what may become of it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Kind {
    /// Addressed to the port's own MAC address, and by IPv4 to somebody else.
    Routed(Ipv4Addr),
    /// Addressed to a station, or to all of them.
    Switched,
    /// Addressed to the port's own MAC address, and broken.
    Broken,
}

/// Makes packet `number` of the station behind `port`.
pub fn packet(random: &mut Rng, port: usize, number: u64, size: usize) -> (Kind, Vec<u8>) {
    let other = random.usize(0..PORTS);
    let (kind, to, destination) = match random.u8(0..10) {
        0..3 => (Kind::Switched, station_mac(other), host(other, 2)),
        3 => (Kind::Switched, MacAddress::BROADCAST, host(other, 255)),
        4..6 => (Kind::Routed(host(other, 2)), port_mac(port), host(other, 2)),
        6 => (Kind::Routed(host(other, 77)), port_mac(port), host(other, 77)),
        7..9 => {
            let far = Ipv4Addr::new(20, random.u8(0..NETWORKS), random.u8(..), random.u8(..));
            (Kind::Routed(far), port_mac(port), far)
        }
        _ => (Kind::Broken, port_mac(port), host(other, 2)),
    };
    let mut ip = Ip4::new(host(port, 2), destination);
    if kind == Kind::Broken {
        match random.u8(0..6) {
            0 => ip.checksum = Checksum::Wrong(Some(0xdead)),
            1 => ip.ttl = random.u8(0..2),
            2 => ip.version = Some(random.u8(5..16)),
            3 => ip.ihl = Some(random.u8(0..5)),
            4 => ip.length = Some(random.u16(0..20)),
            _ => ip.source = Ipv4Addr::LOCALHOST,
        }
    }
    let flow = random.u16(0..4);
    let mut payload = [MAGIC, number.to_be_bytes()].concat();
    payload.extend((payload.len()..size.max(60) - 42).map(|at| (at as u64 ^ number) as u8));
    let packet = Packet::from(Ethernet::new(station_mac(port), to)).then(ip).then(Udp::new(1000 + flow, 7));
    (kind, packet.then(Payload(payload)).to_bytes())
}

/// The number of a packet that is or quotes one of ours.
pub fn number_of(bytes: &[u8]) -> Option<u64> {
    let at = bytes.windows(8).position(|window| window == MAGIC)?;
    let number = bytes.get(at + 8..at + 16)?;
    Some(u64::from_be_bytes(number.try_into().ok()?))
}

/// Whether it is an ICMP message, from its Ethernet or its IP header on: what it quotes is somewhere else.
pub fn is_icmp(bytes: &[u8]) -> bool {
    let is_ip = |bytes: &[u8]| bytes.first().is_some_and(|first| first >> 4 == 4) && bytes.get(9) == Some(&1);
    is_ip(bytes) || bytes.get(12..14) == Some(&[8, 0]) && is_ip(&bytes[14..])
}

/// The answer of the station behind `port` to an ARP request for it.
pub fn arp_reply(port: usize, request: &[u8]) -> Option<Vec<u8>> {
    let is_request = request.get(12..14)? == [8, 6] && request.get(20..22)? == [0, 1];
    let asked: [u8; 4] = request.get(38..42)?.try_into().ok()?;
    if !is_request || Ipv4Addr::from(asked) != host(port, 2) {
        return None;
    }
    let sender: [u8; 6] = request.get(22..28)?.try_into().ok()?;
    let address: [u8; 4] = request.get(28..32)?.try_into().ok()?;
    let (us, them) = (station_mac(port), MacAddress(sender));
    Some(Packet::from(Ethernet::new(us, them)).then(Arp::reply((us, host(port, 2)), (them, address.into()))).to_bytes())
}

/// A question of the station behind `port` for the daemon's address.
pub fn arp_request(port: usize) -> Vec<u8> {
    let us = station_mac(port);
    let packet = Packet::from(Ethernet::new(us, MacAddress::BROADCAST));
    packet.then(Arp::request((us, host(port, 2)), host(port, 1))).to_bytes()
}

/// What is wrong with a packet as it came out, compared with the one that went in.
pub fn damage(kind: Kind, given: &[u8], found: &[u8], out: usize) -> Option<&'static str> {
    match kind {
        _ if given == found => None,
        Kind::Routed(_) => {
            if found.len() != given.len() {
                return Some("its length is another");
            }
            if found[6..12] != port_mac(out).0 {
                return Some("its source is not the port's address");
            }
            if found[22] != given[22] - 1 {
                return Some("its time to live did not go down by one");
            }
            if given[14..22] != found[14..22] || given[26..] != found[26..] {
                return Some("its contents are others");
            }
            (!quiver_wire::checksum::of(&found[14..34]).is_right()).then_some("its checksum is wrong")
        }
        _ => Some("it is not what was sent"),
    }
}
