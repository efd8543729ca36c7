//! Traffic of the peers: numbered packets, which are recognized wherever they come out.
//!
//! Port `pN` has the addresses 10.N.0.1/24 and 2001:db8:N::1/64 where it routes. Behind it is one station, 10.N.0.2 and
//! 2001:db8:N::2, that answers who asks for it, and whatever other address of those networks is asked for is silent. Networks
//! 20.K.0.0/16 and 2001:db8:f0K::/48 are reached by routes. IPv4's packets have their number as identification, so that fragments of
//! them are known again, too.
//!
//! Tunnels of VXLAN carry such packets inside datagrams between an address of the daemon's and that of a station, or of a host behind a
//! route: [`Outer`].

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use fastrand::Rng;
use quiver_testkit::packet::{Arp, Checksum, Ethernet, Fragment6, Icmp6, Ip4, Ip6, Nd, NdOption, Packet, Payload, Udp};
use quiver_wire::nd::NeighborMessage;
use quiver_wire::{Icmp6Type, IpProtocol, MacAddress, VxlanHeader};

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

/// Tunnels at most.
pub const TUNNELS: usize = 3;
/// Networks of tunnels: fewer than tunnels, so that one may have what another had.
const VNIS: u32 = 2;
/// Tunnels inside each other at most: each leads by another one.
pub const LAYERS: usize = TUNNELS;
/// Bytes of the headers of UDP and VXLAN.
const UDP_VXLAN: usize = 16;

/// The outer header that identifies a tunnel's datagrams.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Outer {
    /// The address that a datagram comes from.
    pub source: Ipv4Addr,
    /// The address that it goes to.
    pub destination: Ipv4Addr,
    /// The network.
    pub vni: u32,
}

impl Outer {
    /// Datagrams of the other direction.
    pub fn reversed(self) -> Outer {
        Outer { source: self.destination, destination: self.source, ..self }
    }
}

/// A network of tunnels, mostly the first.
pub fn vni(random: &mut Rng) -> u32 {
    random.u32(0..2 * VNIS).saturating_sub(VNIS)
}
/// The address of the daemon's end of a tunnel.
pub fn tunnel_source(tunnel: usize) -> Ipv4Addr {
    host(tunnel % PORTS, 1)
}
/// The address of its other end: a station's, or one that a route leads to.
pub fn tunnel_destination(tunnel: usize) -> Ipv4Addr {
    match tunnel % 2 {
        0 => host((tunnel + 1) % PORTS, 2),
        _ => Ipv4Addr::new(20, tunnel as u8 % NETWORKS, 0, 9),
    }
}
/// The address of hardware of the host behind a tunnel.
pub fn far_mac(tunnel: usize) -> MacAddress {
    MacAddress([2, 0xbb, 0, 0, 0, tunnel as u8])
}

/// The kind of a packet, which decides its allowed fates.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Kind {
    /// Addressed to the port's own MAC address, and to another host's IP address.
    Routed(IpAddr),
    /// Addressed to a station, or to all of them.
    Switched,
    /// Addressed to the port's own MAC address, and broken.
    Broken,
}

/// Makes packet `number` of the station behind `port`.
pub fn packet(random: &mut Rng, port: usize, number: u64, size: usize) -> (Kind, Vec<u8>) {
    let other = random.usize(0..PORTS);
    if random.u8(0..8) == 0 {
        return tunneled(random, port, number, size);
    }
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

/// A datagram of a tunnel's other end for the daemon, in which a frame is for a station; or one that is broken there.
fn tunneled(random: &mut Rng, port: usize, number: u64, size: usize) -> (Kind, Vec<u8>) {
    let (tunnel, other) = (random.usize(0..TUNNELS), random.usize(0..PORTS));
    let (source, destination) = (tunnel_destination(tunnel), tunnel_source(tunnel));
    let to = if random.u8(0..3) == 0 { MacAddress::BROADCAST } else { station_mac(other) };
    let mut frame = Packet::from(Ethernet::new(far_mac(tunnel), to)).then(Ip4::new(host(tunnel, 9), host(other, 2)));
    frame = frame.then(udp(random)).then(payload(number, size.max(120) - 92));
    let mut ip = Ip4::new(source, destination);
    // Fragments of it would not be known again.
    (ip.id, ip.df) = (number as u16, true);
    let mut header = vxlan(vni(random));
    let mut inside = frame.to_bytes();
    match random.u8(0..12) {
        // Without its flag the header means nothing (RFC 7348, section 5).
        0 => header[0] = 0,
        1 => inside.truncate(random.usize(0..ETHERNET)),
        2 => header.truncate(random.usize(0..8)),
        _ => {}
    }
    let contents = if header.len() == 8 { [header, inside].concat() } else { header };
    let packet = Packet::from(Ethernet::new(station_mac(port), port_mac(port))).then(ip);
    let packet = packet.then(Udp::new(4000, VxlanHeader::PORT.0)).then(Payload(contents)).to_bytes();
    (Kind::Routed(destination.into()), packet)
}

fn vxlan(vni: u32) -> Vec<u8> {
    [0x0800_0000u32.to_be_bytes(), (vni << 8).to_be_bytes()].concat()
}

/// A frame inside a tunnel's datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Inside<'b> {
    /// The tunnel's datagram.
    pub outer: Outer,
    /// The frame in it, or the first bytes of it, if the datagram is a first fragment.
    pub frame: &'b [u8],
    /// Whether there is more of it.
    pub is_cut: bool,
}

/// A frame that left, or one that it has inside tunnels' datagrams.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layer<'b> {
    /// The frame, or its first bytes.
    pub frame: &'b [u8],
    /// Whether a datagram around it is a first fragment, so that there is more of it.
    pub is_cut: bool,
    /// The datagrams around it, the innermost first.
    pub tunnels: Vec<Outer>,
}

/// A frame; then, if it is a tunnel's datagram, the frame inside it, and so on.
pub fn layers(bytes: &[u8]) -> impl Iterator<Item = Layer<'_>> {
    let whole = Layer { frame: bytes, is_cut: false, tunnels: vec![] };
    std::iter::successors(Some(whole), |around| {
        let Inside { outer, frame, is_cut } = inside(around.frame)?;
        let tunnels = [&[outer], &around.tunnels[..]].concat();
        Some(Layer { frame, is_cut: is_cut || around.is_cut, tunnels })
    })
}

/// The fragment of one of ours that these bytes are, or have inside datagrams of tunnels, and the layer that it is.
pub fn part_inside(bytes: &[u8]) -> Option<(Part, Layer<'_>)> {
    layers(bytes).find_map(|layer| Some((part_of(layer.frame)?, layer)))
}

/// Faults in the outer headers of a tunnel's datagram, which begins with its Ethernet header.
pub fn damaged_outer(bytes: &[u8]) -> Option<&'static str> {
    let (inside, (_, ip)) = (inside(bytes)?, ip_of(bytes)?);
    let (header, udp) = ip.split_at_checked(IP4)?;
    let word = |of: &[u8], at: usize| usize::from(u16::from_be_bytes([of[at], of[at + 1]]));
    if !quiver_wire::checksum::of(header).is_right() {
        return Some("the checksum of its tunnel's datagram is wrong");
    }
    if word(header, 2) != ip.len() {
        return Some("the length of its tunnel's datagram is wrong");
    }
    (!inside.is_cut && word(udp, 4) != udp.len()).then_some("the length of its tunnel's datagram of UDP is wrong")
}

/// The packet inside a tunnel's datagram, from its Ethernet or its IP header on, or inside the first bytes of one.
pub fn inside(bytes: &[u8]) -> Option<Inside<'_>> {
    let Some((4, ip)) = ip_of(bytes) else { return None };
    let (header, udp) = ip.split_at_checked(IP4)?;
    let word = |at: usize| u16::from_be_bytes([header[at], header[at + 1]]);
    let fragment = word(6) & 0x3fff;
    let is_ours = header[0] == 0x45 && header[9] == 17 && fragment & 0x1fff == 0;
    let port = udp.get(2..4).map(|port| u16::from_be_bytes([port[0], port[1]]));
    if !is_ours || port != Some(VxlanHeader::PORT.0) || udp.len() < UDP_VXLAN {
        return None;
    }
    let (headers, frame) = udp.split_at(UDP_VXLAN);
    if headers[8] & 8 == 0 {
        return None;
    }
    let address = |at: usize| Ipv4Addr::new(header[at], header[at + 1], header[at + 2], header[at + 3]);
    let vni = u32::from_be_bytes([0, headers[12], headers[13], headers[14]]);
    Some(Inside { outer: Outer { source: address(12), destination: address(16), vni }, frame, is_cut: fragment != 0 })
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

/// The version and the bytes from the IP header on, of a packet that begins with an IP or an Ethernet header.
fn ip_of(bytes: &[u8]) -> Option<(u8, &[u8])> {
    match bytes.get(12..14)? {
        [8, 0] => Some((4, bytes.get(ETHERNET..)?)),
        [0x86, 0xdd] => Some((6, bytes.get(ETHERNET..)?)),
        _ => Some((bytes.first()? >> 4, bytes)),
    }
}

/// Whether it is an ICMP message, from its Ethernet or its IP header on, or has one inside a tunnel's datagram: what it quotes is somewhere
/// else.
pub fn is_icmp(bytes: &[u8]) -> bool {
    let is_message = |layer: Layer<'_>| {
        ip_of(layer.frame).is_some_and(|(version, ip)| match version {
            4 => ip.get(9) == Some(&1),
            6 => ip.get(6) == Some(&58),
            _ => false,
        })
    };
    layers(bytes).any(is_message)
}

/// A fragment of a packet of IPv4.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// The number of the packet.
    pub number: u64,
    /// Where it belongs, in bytes behind the IP header.
    pub offset: usize,
    /// The bytes of that fragment.
    pub bytes: Vec<u8>,
}

/// The fragment of one of ours that these bytes are, from their Ethernet or their IP header on.
pub fn part_of(bytes: &[u8]) -> Option<Part> {
    let (4, ip) = ip_of(bytes)? else { return None };
    let word = u16::from_be_bytes(ip.get(6..8)?.try_into().ok()?);
    // A station's: fragments of the daemon's datagrams have identifications of their own.
    let is_ours =
        ip.get(9) == Some(&17) && ip.get(12) == Some(&10) && ip.get(15) == Some(&2) && ip.first() == Some(&0x45);
    if !is_ours || word & 0x3fff == 0 {
        return None;
    }
    let [id, total] =
        [4, 2].map(|at| ip.get(at..at + 2).map_or(0, |word| usize::from(word[0]) << 8 | usize::from(word[1])));
    // Of a copy that was cut off there is less.
    let bytes = ip.get(IP4..total.min(ip.len()))?.to_vec();
    Some(Part { number: id as u64, offset: usize::from(word & 0x1fff) * 8, bytes })
}

/// The payload of an IPv4 packet.
pub fn carried(given: &[u8]) -> &[u8] {
    given.get(ETHERNET + IP4..).unwrap_or_default()
}

/// The flow key of a packet: stations, protocol, addresses and ports. Each fragment is a flow of its own, since the
/// daemon does not read ports of fragments when it spreads packets over workers.
pub fn flow(given: &[u8]) -> Vec<u8> {
    match given.get(12..14) {
        Some([0x86, 0xdd]) => [&given[..18], &given[20..21], &given[22..58]].concat(),
        _ => {
            let is_fragment = given[20] & 0x3f | given[21] != 0;
            [&given[..14], &given[23..24], &given[26..38], &[u8::from(is_fragment)]].concat()
        }
    }
}

/// The reply of the station behind `port` to a request for its address.
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

/// Compares a packet that came out with the one that went in, and returns the difference.
///
/// `sender` is the address of hardware of the interface that sent it, if it is known.
pub fn damage(kind: Kind, given: &[u8], found: &[u8], sender: Option<MacAddress>) -> Option<&'static str> {
    match kind {
        _ if given == found => None,
        Kind::Routed(to) => {
            if found.len() != given.len() {
                return Some("its length is another");
            }
            if sender.is_some_and(|sender| found[6..12] != sender.0) {
                return Some("its source is not the interface's address");
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
