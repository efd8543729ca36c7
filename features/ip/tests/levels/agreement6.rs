//! The nodes of IPv6 and a naive router must agree packet by packet, on every instruction set.

use crate::ends;

use std::collections::BTreeMap;
use std::net::Ipv6Addr;

use fastrand::Rng;
use quiver_engine::{Level, Traffic};
use quiver_interface::Interfaces;
use quiver_ip::{Family, Ip6};
use quiver_testkit::daemon::{Daemon, Setup};
use quiver_wire::ip6::{extension, upper};
use quiver_wire::{Header, Ip6Header, IpProtocol, MacAddress, V6, nd};

quiver_testkit::level_tests![nodes_agree_with_the_naive_router];

const MTU: usize = 1500;

/// Interface pg0 is in table 0, pg2 in table 7, which counts by route; pg1 leads to all neighbours.
const CONFIGURATION: &str = "
    create packet-generator interface pg0 hw-addr 02:00:00:00:00:a0
    create packet-generator interface pg1 hw-addr 02:00:00:00:00:a1
    create packet-generator interface pg2 hw-addr 02:00:00:00:00:a2
    create packet-generator interface pg3
    set interface state pg0 up
    set interface state pg1 up
    set interface state pg2 up
    set interface state pg3 up
    set interface mtu 1500 pg1
    ip6 table add 7 counters
    set interface ip6 table pg2 7
    set interface ip address pg0 2001:db8::1/64
    set interface ip address pg1 2001:db8:1::1/64
    set interface ip address pg2 2001:db8:2::1/64
    ip route add fd20::/16 via 2001:db8:1::2
    ip route add fd20:1::/32 via 2001:db8:1::3 pg1 via 2001:db8:1::4 pg1 via 2001:db8:1::5 pg1 via 2001:db8:1::6 pg1
    ip route add fd20:1:2::/48 via drop
    ip route add fd20:1:2:8000::/49 via 2001:db8:1::7 pg1 via 2001:db8:1::8 pg1 weight 2
    ip route add fd20:1:2:ffff::/64 via 2001:db8:1::9 pg1
    ip route add fd20:2::/32 via null-send-unreach
    ip route add fd20:3::/32 via null-send-prohibit
    ip route add fd20:4::/32 via 2001:db8:99::9
    ip route add fd20::/16 table 7 via 2001:db8:1::9 next-hop-table 0
    ip route add fd20:3::/32 table 7 via local
";
const MACS: [MacAddress; 3] = [own_mac(0xa0), own_mac(0xa1), own_mac(0xa2)];

const fn own_mac(last: u8) -> MacAddress {
    MacAddress([2, 0, 0, 0, 0, last])
}
fn mac(last: u16) -> MacAddress {
    MacAddress([2, 1, 0, 0, 0, last as u8])
}
fn address(segments: [u16; 8]) -> Ipv6Addr {
    segments.into()
}

/// A daemon whose neighbours 2001:db8:1::2 to 2001:db8:1::9 are known.
fn daemon(level: Level) -> Daemon {
    let setup = Setup { level, ..Setup::default() };
    let rooms = quiver_scenarios::rooms![quiver_interface, quiver_ethernet, quiver_ip, ends, quiver_pg];
    let mut daemon = Daemon::new(rooms, setup).expect("the rooms fit together");
    daemon.configure(CONFIGURATION);
    {
        let out = daemon.control().room::<Interfaces>().id_of("pg1").expect("created");
        let mut ip = daemon.control().room_mut::<Ip6>();
        for last in 2..10 {
            let hop = ip.fib.adjacencies.acquire(out, Some(address([0x2001, 0xdb8, 1, 0, 0, 0, 0, last])));
            ip.fib.adjacencies.set_mac(hop, Some(mac(last)));
        }
    }
    daemon.settle().expect("nothing circles");
    daemon
}

/// An address that is nobody's, or everybody's, or means something here and not there.
fn odd_address(r: &mut Rng) -> Ipv6Addr {
    let odd = [
        "::",
        "::1",
        "::2",
        "2001:db8::1",
        "2001:db8:1::1",
        "2001:db8:2::1",
        "2001:db8:1::77",
        "2001:db8:2::77",
        "fe80::1",
        "fe80::ff:fe00:a0",
        "fe80::ff:fe00:a2",
        "febf::1",
        "fec0::1",
        "ff02::1",
        "ff02::2",
        "ff05::2",
        "ff02::1:ff00:1",
        "ff02::1:ff00:a0",
        "ff02::1:ff00:7",
        "ff0e::1",
        "ff01::1",
    ];
    odd[r.usize(..odd.len())].parse().expect("an address")
}

/// An extension header and what is said before it.
fn extended(r: &mut Rng, payload: &[u8], next: u8) -> (u8, Vec<u8>) {
    let options =
        [[1, 4, 0, 0, 0, 0], [5, 2, 0, 0, 1, 0], [0x5e, 4, 0, 0, 0, 0], [0x9e, 4, 0, 0, 0, 0], [1, 9, 0, 0, 0, 0]];
    let body = match r.u8(..8) {
        0 => [r.u8(..), r.u8(..), r.u8(..), r.u8(..), r.u8(..), r.u8(..)],
        _ => options[r.usize(..options.len())],
    };
    let kind = [0, 0, 43, 44, 60, 135][r.usize(..6)];
    let length = if r.u8(..10) == 0 { r.u8(..) } else { 0 };
    (kind, [&[next, length], &body[..], payload].concat())
}

/// Mostly good packets, and every way to be odd.
fn packets(count: usize) -> Vec<Vec<u8>> {
    let r = &mut Rng::with_seed(66);
    let make = |_| {
        let [third, fourth] = [r.u16(..8), r.u16(..)];
        let ways = [[r.u16(..), third, fourth], [1, 2, fourth], [1, third, fourth], [third, 0, 0], [1, 2, 0xffff]];
        let [b, c, d] = ways[r.usize(..ways.len())];
        let mut to = address([0xfd20, b, c, d, 0, 0, 0, r.u16(..)]);
        let mut from = address([0x2001, 0xdb8, 0x77, r.u16(..), 0, 0, 0, r.u16(..)]);
        let mut next = [17, 6, 58, 47, 59][r.usize(..5)];
        let mut payload: Vec<u8> = (0..26).map(|_| r.u8(..)).collect();
        match r.u8(..20) {
            0 => to = odd_address(r),
            1 => from = odd_address(r),
            2 => (to, from) = (odd_address(r), odd_address(r)),
            3 | 4 => (next, payload) = extended(r, &payload, next),
            5 => {
                to = [address([0x2001, 0xdb8, 0, 0, 0, 0, 0, 1]), "2001:db8:2::1".parse().expect("one")][r.usize(..2)];
                (next, payload) = extended(r, &payload, next);
            }
            6 => payload.resize(26 + r.usize(..5000), 0x5a),
            7 => (from, next) = (address([0xfe80, 0, 0, 0, 0, 0, 0, 7]), 17),
            _ => {}
        }
        let mut header = Ip6Header::new(from, to, IpProtocol(next), 64, payload.len()).expect("short enough");
        header.version_class_flow = (header.version_class_flow.get() | r.u32(..1 << 20)).into();
        let mut p = [&MACS[0].0[..], &[2, 9, 9, 9, 9, 9, 0x86, 0xdd], zerocopy::IntoBytes::as_bytes(&header)].concat();
        p.extend(&payload);
        match r.u8(..40) {
            0 | 1 => p[21] = r.u8(..3),
            2 => p[14] = r.u8(..),
            // No link pads what takes several buffers, and nobody cuts it.
            3 if p.len() < 1500 => p[18..20].copy_from_slice(&r.u16(..80).to_be_bytes()),
            4 => p.extend(std::iter::repeat_n(0, r.usize(..30))),
            5 => p[..6].copy_from_slice(&[[0xff; 6], [0x33, 0x33, 0, 0, 0, 1]][r.usize(..2)]),
            6 => p.truncate(15 + r.usize(..60)),
            7 => p[21] = 255,
            _ => {}
        }
        p
    };
    (0..count).map(make).collect()
}

type Arc = (&'static str, &'static str);

/// The router as one would write it without thinking of speed: the last arc taken, or the packet sent.
fn naive(second: bool, p: &[u8]) -> Result<Vec<u8>, Arc> {
    let (ip, wire_length) = (&p[14..], p.len() - 14);
    let Some((header, _)) = Ip6Header::parse(ip).filter(|(header, _)| header.version() == 6) else {
        return Err(("ip6-input", "bad-header"));
    };
    let total = 40 + usize::from(header.payload_length.get());
    if total > wire_length {
        return Err(("ip6-input", "bad-length"));
    }
    let packet = &ip[..total];
    let (from, to) = (header.source(), header.destination());
    let mut node = "ip6-input";
    if header.next_header == extension::HOP_BY_HOP {
        node = "ip6-hop-by-hop";
        options(node, packet, 40, to)?;
    }
    if from.is_multicast() || from.is_loopback() {
        return Err((node, "martian-address"));
    }
    if to.is_multicast() {
        let own_link = nd::link_local(MACS[if second { 2 } else { 0 }]);
        let own: Ipv6Addr = if second { "2001:db8:2::1" } else { "2001:db8::1" }.parse().expect("one");
        let groups = [own_link, own].map(nd::solicited_node);
        let is_ours = ["ff02::1", "ff02::2", "ff05::2"].iter().any(|group| *group == to.to_string());
        return match is_ours || groups.contains(&to) {
            true => Err(local(second, packet)),
            false => Err(("ip6-multicast", "no-such-group")),
        };
    }
    if from.is_unspecified() || to.is_unspecified() || to.is_loopback() {
        return Err((node, "martian-address"));
    }
    if p[0] & 1 != 0 {
        return Err(("ip6-lookup", "link-layer-broadcast"));
    }
    let bucket = V6::flow_hash_of(packet) % 16;
    let last = next_hop(second, to, bucket, packet)?;
    if header.hop_limit < 2 || from.is_unicast_link_local() {
        return Err(("ip6-rewrite", "icmp6-error"));
    }
    let last = last.ok_or(("ip6-rewrite", "ip6-resolve"))?;
    if total > MTU {
        return Err(("ip6-rewrite", "icmp6-error"));
    }
    let mut frame = [&mac(last).0[..], &MACS[1].0, &[0x86, 0xdd], packet].concat();
    frame[21] -= 1;
    Ok(frame)
}

/// Goes through the options of the header at this place, as RFC 8200, 4.2 has it.
fn options(node: &'static str, packet: &[u8], at: usize, to: Ipv6Addr) -> Result<(), Arc> {
    let is_first = node == "ip6-hop-by-hop";
    let bad = (node, if is_first { "bad-option" } else { "unknown-option" });
    let end = at + (usize::from(*packet.get(at + 1).ok_or(bad)?) + 1) * 8;
    let mut rest = packet.get(at + 2..end).ok_or(bad)?;
    while let [kind, after @ ..] = rest {
        if *kind == 0 {
            rest = after;
            continue;
        }
        let (length, after) = after.split_first().ok_or(bad)?;
        rest = after.get(usize::from(*length)..).ok_or(bad)?;
        match kind >> 6 {
            0 => {}
            3 if to.is_multicast() => return Err((node, "unknown-option")),
            1 => return Err((node, "unknown-option")),
            _ => return Err((node, "icmp6-error")),
        }
    }
    Ok(())
}

/// The arc by which a packet for us leaves.
fn local(second: bool, packet: &[u8]) -> Arc {
    let node = |arc| ("ip6-local", arc);
    let (header, rest) = Ip6Header::parse(packet).expect("it was there");
    let Some(found) = upper(header.next_header, rest) else { return node("icmp6-error") };
    let near = header.hop_limit == 255 && found.protocol == IpProtocol::ICMP6;
    let is_whole = found.fragment.is_none_or(|fragment| !fragment.more && fragment.offset == 0);
    let about_neighbors = near && packet.get(40 + found.offset).is_some_and(|kind| (133..=137).contains(kind));
    let own_link = nd::link_local(MACS[if second { 2 } else { 0 }]);
    let is_ours = header.source() == own_link || is_own(second, header.source());
    if is_ours && !about_neighbors {
        return node("spoofed-local-packets");
    }
    if !is_whole {
        return node("ip6-reassembly");
    }
    let is_told = found.protocol == IpProtocol::ICMP6 || header.source().is_unicast_link_local();
    if !is_told && !is_ours && next_hop(second, header.source(), 0, packet).is_err() {
        return node("no-route-to-sender");
    }
    let (mut kind, mut at) = (header.next_header, 40);
    while at < 40 + found.offset {
        if kind == extension::DESTINATION
            && let Err(arc) = options("ip6-local", packet, at, header.destination())
        {
            return arc;
        }
        if kind == extension::ROUTING && packet[at + 3] > 0 {
            return node("icmp6-error");
        }
        let words = usize::from(packet[at + 1]);
        let length = if kind == extension::FRAGMENT { 8 } else { (words + 1) * 8 };
        (kind, at) = (IpProtocol(packet[at]), at + length);
    }
    match kind {
        IpProtocol::ICMP6 => node("icmp6-input"),
        _ => node("icmp6-error"),
    }
}

/// Whether an address is one of ours in a table, or a route says that it is.
fn is_own(second: bool, address: Ipv6Addr) -> bool {
    matches!(
        (second, address.segments()),
        (true, [0x2001, 0xdb8, 2, 0, 0, 0, 0, 1] | [0xfd20, 3, ..]) | (false, [0x2001, 0xdb8, 0 | 1, 0, 0, 0, 0, 1])
    )
}

/// The last part of the neighbour's address, if it is known, or the arc by which packets for an address leave.
fn next_hop(second: bool, to: Ipv6Addr, bucket: u32, packet: &[u8]) -> Result<Option<u16>, Arc> {
    let lookup = |arc| Err(("ip6-lookup", arc));
    match (second, to.segments()) {
        _ if is_own(second, to) => Err(local(second, packet)),
        _ if to.is_unicast_link_local() => match to == nd::link_local(MACS[if second { 2 } else { 0 }]) {
            true => Err(local(second, packet)),
            false => Err(("ip6-link-local", "not-for-us")),
        },
        (true, [0xfd20, ..]) => Ok(Some(9)),
        (true, [0x2001, 0xdb8, 2, 0, ..]) => Ok(None),
        (true, _) => lookup("icmp6-error"),
        (false, [0x2001, 0xdb8, 0 | 1, 0, ..]) => Ok(None),
        (false, [0xfd20, 1, 2, 0xffff, ..]) => Ok(Some(9)),
        (false, [0xfd20, 1, 2, 0x8000..=0xffff, ..]) => Ok(Some(if bucket < 5 { 7 } else { 8 })),
        (false, [0xfd20, 1, 2, ..]) => lookup("route-drop"),
        (false, [0xfd20, 1, ..]) => Ok(Some(3 + bucket as u16 / 4)),
        (false, [0xfd20, 2 | 3, ..]) => lookup("icmp6-error"),
        (false, [0xfd20, 4, ..]) => lookup("unresolved-route"),
        (false, [0xfd20, ..]) => Ok(Some(2)),
        (false, _) => lookup("icmp6-error"),
    }
}

/// Result of a run: packets sorted, since odd ones may be overtaken; the counts of all arcs.
#[derive(PartialEq, Debug)]
struct Outcome {
    sent: Vec<Vec<u8>>,
    arcs: BTreeMap<Arc, u64>,
    counted: Option<Traffic>,
    by_neighbour: Vec<Traffic>,
}

/// Sends every other packet to the second interface.
fn run(level: Level, packets: &[Vec<u8>]) -> Outcome {
    let mut daemon = daemon(level);
    let mut sizes = Rng::with_seed(7);
    let mut rest = packets;
    while !rest.is_empty() {
        let (burst, after) = rest.split_at(rest.len().min(2 * sizes.usize(1..128)));
        for (i, p) in burst.iter().enumerate() {
            daemon.send(if i % 2 == 0 { "pg0" } else { "pg2" }, p).expect("up");
        }
        daemon.settle().expect("nothing circles");
        rest = after;
    }
    let of_neighbours = |(interface, p): (String, Vec<u8>)| {
        assert_eq!(interface, "pg1");
        p
    };
    let mut sent: Vec<_> = daemon.sent().into_iter().map(of_neighbours).collect();
    sent.sort();
    let arcs = daemon.counts();
    let (counted, by_neighbour) = {
        let ip = daemon.control().room::<Ip6>();
        let table = ip.fib.table(quiver_ip::fib::TableId(7)).expect("added");
        let adjacencies = &ip.fib.adjacencies;
        (
            table.counts(&"fd20::/16".parse().expect("a prefix")),
            adjacencies.iter().map(|(hop, _)| adjacencies.counters().sum(hop)).collect(),
        )
    };
    daemon.finish().expect("nothing leaks");
    Outcome { sent, arcs, counted, by_neighbour }
}

fn nodes_agree_with_the_naive_router(level: Level) {
    let mut packets = packets(12_000);
    let (mut expected, mut reasons) = (vec![], BTreeMap::<Arc, u64>::new());
    for (i, p) in packets.iter_mut().enumerate() {
        let second = i % 2 == 1;
        if second && p[0] & 1 == 0 {
            p[..6].copy_from_slice(&MACS[2].0);
        }
        match naive(second, p) {
            Ok(frame) => expected.push(frame),
            Err(arc) => *reasons.entry(arc).or_default() += 1,
        }
    }
    expected.sort();
    assert!(reasons.len() >= 19, "the packets exercise every odd arc: {reasons:?}");
    let reference = run(Level::best(), &packets);
    for (reason, count) in &reasons {
        assert_eq!(reference.arcs.get(reason), Some(count), "{reason:?} in {:?}", reference.arcs);
    }
    assert_eq!(reference.sent.len(), expected.len());
    let other = reference.sent.iter().zip(&expected).find(|(sent, expected)| sent != expected);
    assert!(other.is_none(), "the packets sent are the naive router's: {other:02x?}");
    assert!(reference.counted.is_some_and(|counted| counted.packets > 1000), "{:?}", reference.counted);
    assert_eq!(reference.by_neighbour.iter().map(|sent| sent.packets as usize).sum::<usize>(), expected.len());

    let outcome = run(level, &packets);
    assert_eq!(outcome.arcs, reference.arcs);
    assert!(outcome == reference);
}
