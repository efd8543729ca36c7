//! What peers send: packets with numbers, by which they are known again wherever they come out.
//!
//! Port `pN` has the addresses 10.N.0.1/24 and 2001:db8:N::1/64 where it routes. Behind it is one station, 10.N.0.2 and
//! 2001:db8:N::2, that answers who asks for it, and whatever other address of those networks is asked for is silent. Networks
//! 20.K.0.0/16 and 2001:db8:f0K::/48 are reached by routes. IPv4's packets have their number as identification, so that fragments of
//! them are known again, too.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use fastrand::Rng;
use quiver_testkit::packet::{Arp, Checksum, Ethernet, Fragment6, Icmp6, Ip4, Ip6, Nd, NdOption, Packet, Payload, Udp};
use quiver_wire::nd::NeighborMessage;
use quiver_wire::{Icmp6Type, IpProtocol, MacAddress};

/// Ports at most.
pub const PORTS: usize = 4;
/// Networks that routes lead to.
pub const NETWORKS: u8 = 4;
const MAGIC: [u8; 8] = *b"quiver#!";
/// Bytes of an Ethernet header, and of one of IPv4 behind it.
const ETHERNET: usize = 14;
const IP4: usize = 20;
/// Bytes of the longest packet of IPv4 that its sender fragmented: no link makes smaller ones of it.
const FRAGMENT: usize = 1000;

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
/// The same of IPv6.
pub fn host6(port: usize, number: u16) -> Ipv6Addr {
    Ipv6Addr::new(0x2001, 0xdb8, port as u16, 0, 0, 0, 0, number)
}

/// What a packet is, and therefore what may become of it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Kind {
    /// Addressed to the port's own MAC address, and by IP to somebody else.
    Routed(IpAddr),
    /// Addressed to a station, or to all of them.
    Switched,
    /// Addressed to the port's own MAC address, and broken.
    Broken,
}

/// Makes packet `number` of the station behind `port`.
pub fn packet(random: &mut Rng, port: usize, number: u64, size: usize) -> (Kind, Vec<u8>) {
    let other = random.usize(0..PORTS);
    let (kind, to, destination) = match random.u8(0..14) {
        0..3 => (Kind::Switched, station_mac(other), host(other, 2)),
        3 => (Kind::Switched, MacAddress::BROADCAST, host(other, 255)),
        4..6 => routed(port, host(other, 2)),
        6 => routed(port, host(other, 77)),
        7..9 => routed(port, Ipv4Addr::new(20, random.u8(0..NETWORKS), random.u8(..), random.u8(..))),
        9..13 => return packet6(random, port, number, size),
        _ => (Kind::Broken, port_mac(port), host(other, 2)),
    };
    let mut ip = Ip4::new(host(port, 2), destination);
    (ip.id, ip.df) = (number as u16, random.u8(0..3) == 0);
    if kind == Kind::Broken {
        match random.u8(0..6) {
            0 => ip.checksum = Checksum::Wrong(Some(0xdead)),
            1 => ip.ttl = random.u8(0..2),
            2 => ip.version = Some(random.u8(5..16)),
            3 => ip.ihl = Some(random.u8(0..5)),
            4 => ip.length = Some(random.u16(0..20)),
            _ => ip.source = Ipv4Addr::LOCALHOST,
        }
    } else if size < FRAGMENT && random.u8(0..8) == 0 {
        // A fragment goes its way alone, whatever became of the others.
        (ip.mf, ip.offset, ip.df) = (random.bool(), random.u16(0..100) * 8, false);
        ip.protocol = Some(IpProtocol::UDP);
    }
    let packet = Packet::from(Ethernet::new(station_mac(port), to)).then(ip).then(udp(random));
    (kind, packet.then(payload(number, size.max(60) - 42)).to_bytes())
}

fn routed(port: usize, to: Ipv4Addr) -> (Kind, MacAddress, Ipv4Addr) {
    (Kind::Routed(to.into()), port_mac(port), to)
}

fn udp(random: &mut Rng) -> Udp {
    Udp::new(1000 + random.u16(0..4), 7)
}

fn payload(number: u64, length: usize) -> Payload {
    let mut payload = [MAGIC, number.to_be_bytes()].concat();
    payload.extend((payload.len()..length).map(|at| (at as u64 ^ number) as u8));
    Payload(payload)
}

/// The same of IPv6, which is routed, or broken.
fn packet6(random: &mut Rng, port: usize, number: u64, size: usize) -> (Kind, Vec<u8>) {
    let other = random.usize(0..PORTS);
    let to = match random.u8(0..6) {
        0..2 => host6(other, 2),
        2 => host6(other, 77),
        _ => Ipv6Addr::new(0x2001, 0xdb8, 0xf00 + u16::from(random.u8(0..NETWORKS)), 0, 0, 0, 0, random.u16(..)),
    };
    let (mut ip, mut kind) = (Ip6::new(host6(port, 2), to), Kind::Routed(to.into()));
    if random.u8(0..10) == 0 {
        kind = Kind::Broken;
        match random.u8(0..3) {
            0 => ip.hop_limit = random.u8(0..2),
            1 => ip.source = Ipv6Addr::LOCALHOST,
            _ => ip.source = Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 0, 1),
        }
    }
    let mut packet = Packet::from(Ethernet::new(station_mac(port), port_mac(port))).then(ip);
    let mut headers = ETHERNET + 48;
    if size < FRAGMENT && random.u8(0..8) == 0 {
        packet = packet.then(Fragment6::new(random.u16(0..100) * 8, random.bool(), number as u32));
        headers += 8;
    }
    (kind, packet.then(udp(random)).then(payload(number, size.max(headers + 16) - headers)).to_bytes())
}

/// The number of a packet that is or quotes one of ours.
pub fn number_of(bytes: &[u8]) -> Option<u64> {
    let at = bytes.windows(8).position(|window| window == MAGIC)?;
    let number = bytes.get(at + 8..at + 16)?;
    Some(u64::from_be_bytes(number.try_into().ok()?))
}

/// From where its IP header begins, if a packet begins with that or with an Ethernet header.
fn ip_of(bytes: &[u8]) -> Option<(u8, &[u8])> {
    match bytes.get(12..14)? {
        [8, 0] => Some((4, bytes.get(ETHERNET..)?)),
        [0x86, 0xdd] => Some((6, bytes.get(ETHERNET..)?)),
        _ => Some((bytes.first()? >> 4, bytes)),
    }
}

/// Whether it is an ICMP message, from its Ethernet or its IP header on: what it quotes is somewhere else.
pub fn is_icmp(bytes: &[u8]) -> bool {
    ip_of(bytes).is_some_and(|(version, ip)| match version {
        4 => ip.get(9) == Some(&1),
        6 => ip.get(6) == Some(&58),
        _ => false,
    })
}

/// A fragment of a packet of IPv4.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// The number of the packet.
    pub number: u64,
    /// Where it belongs, in bytes behind the IP header.
    pub offset: usize,
    /// What it has of that.
    pub bytes: Vec<u8>,
}

/// The fragment of one of ours that these bytes are, from their Ethernet or their IP header on.
pub fn part_of(bytes: &[u8]) -> Option<Part> {
    let (4, ip) = ip_of(bytes)? else { return None };
    let word = u16::from_be_bytes(ip.get(6..8)?.try_into().ok()?);
    let is_ours = ip.get(9) == Some(&17) && ip.get(12) == Some(&10) && ip.first() == Some(&0x45);
    if !is_ours || word & 0x3fff == 0 {
        return None;
    }
    let [id, total] =
        [4, 2].map(|at| ip.get(at..at + 2).map_or(0, |word| usize::from(word[0]) << 8 | usize::from(word[1])));
    // Of a copy that was cut off there is less.
    let bytes = ip.get(IP4..total.min(ip.len()))?.to_vec();
    Some(Part { number: id as u64, offset: usize::from(word & 0x1fff) * 8, bytes })
}

/// What a packet of IPv4 carries, behind its IP header.
pub fn carried(given: &[u8]) -> &[u8] {
    given.get(ETHERNET + IP4..).unwrap_or_default()
}

/// What tells the flow of a packet: its stations, protocol, addresses and ports. Fragments are flows of their own: who spreads
/// packets over workers does not look for ports in them.
pub fn flow(given: &[u8]) -> Vec<u8> {
    match given.get(12..14) {
        Some([0x86, 0xdd]) => [&given[..18], &given[20..21], &given[22..58]].concat(),
        _ => {
            let is_fragment = given[20] & 0x3f | given[21] != 0;
            [&given[..14], &given[23..24], &given[26..38], &[u8::from(is_fragment)]].concat()
        }
    }
}

/// The answer of the station behind `port` to whoever asks for it.
pub fn answer(port: usize, request: &[u8]) -> Option<Vec<u8>> {
    match request.get(12..14)? {
        [8, 6] => arp_reply(port, request),
        [0x86, 0xdd] => advertisement(port, request),
        _ => None,
    }
}

fn arp_reply(port: usize, request: &[u8]) -> Option<Vec<u8>> {
    let asked: [u8; 4] = request.get(38..42)?.try_into().ok()?;
    if request.get(20..22)? != [0, 1] || Ipv4Addr::from(asked) != host(port, 2) {
        return None;
    }
    let sender: [u8; 6] = request.get(22..28)?.try_into().ok()?;
    let address: [u8; 4] = request.get(28..32)?.try_into().ok()?;
    let (us, them) = (station_mac(port), MacAddress(sender));
    Some(Packet::from(Ethernet::new(us, them)).then(Arp::reply((us, host(port, 2)), (them, address.into()))).to_bytes())
}

fn advertisement(port: usize, request: &[u8]) -> Option<Vec<u8>> {
    let address = |at: usize| Some(Ipv6Addr::from(<[u8; 16]>::try_from(request.get(at..at + 16)?).ok()?));
    let is_solicitation = request.get(20) == Some(&58) && request.get(54) == Some(&Icmp6Type::NEIGHBOR_SOLICITATION.0);
    let (from, target) = (address(22)?, address(62)?);
    if !is_solicitation || target != host6(port, 2) || from.is_unspecified() {
        return None;
    }
    let (us, them) = (station_mac(port), MacAddress(request.get(6..12)?.try_into().ok()?));
    let about = Nd::target(target).flags(NeighborMessage::SOLICITED | NeighborMessage::OVERRIDE);
    let packet = Packet::from(Ethernet::new(us, them)).then(Ip6::new(target, from).hop_limit(255));
    let packet = packet.then(Icmp6::new(Icmp6Type::NEIGHBOR_ADVERTISEMENT, 0));
    Some(packet.then(about.option(NdOption::TargetLink(us))).to_bytes())
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
        Kind::Routed(to) => {
            if found.len() != given.len() {
                return Some("its length is another");
            }
            if found[6..12] != port_mac(out).0 {
                return Some("its source is not the port's address");
            }
            // Where the hops stand, and what else a router changes.
            let (hops, changed) = if to.is_ipv4() { (22, 22..26) } else { (21, 21..22) };
            if found[hops] != given[hops] - 1 {
                return Some("its time to live did not go down by one");
            }
            if to.is_ipv4() && found[23] != given[23] {
                return Some("its protocol is another");
            }
            if given[14..changed.start] != found[14..changed.start] || given[changed.end..] != found[changed.end..] {
                return Some("its contents are others");
            }
            let is_right = !to.is_ipv4() || quiver_wire::checksum::of(&found[14..34]).is_right();
            (!is_right).then_some("its checksum is wrong")
        }
        _ => Some("it is not what was sent"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fragments_are_known_by_the_number_of_their_packet() {
        let mut ip = Ip4::new(host(1, 2), host(2, 2));
        (ip.id, ip.offset, ip.mf, ip.protocol) = (7, 16, true, Some(IpProtocol::UDP));
        let packet = Packet::from(Ethernet::new(station_mac(1), port_mac(1))).then(ip);
        let bytes = packet.then(Payload(vec![1, 2, 3, 4, 5, 6, 7, 8])).to_bytes();
        let part = Part { number: 7, offset: 16, bytes: vec![1, 2, 3, 4, 5, 6, 7, 8] };
        assert_eq!((part_of(&bytes), part_of(&bytes[ETHERNET..])), (Some(part.clone()), Some(part)));
        let mut random = Rng::with_seed(1);
        let (kind, whole) = loop {
            let (kind, bytes) = packet6(&mut random, 0, 9, 100);
            if kind != Kind::Broken {
                break (kind, bytes);
            }
        };
        assert_eq!((part_of(&whole), number_of(&whole), is_icmp(&whole)), (None, Some(9), false), "{kind:?}");
    }
}
