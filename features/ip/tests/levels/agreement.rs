//! The nodes of IPv4 and a naive router must agree packet by packet, on every instruction set.

use crate::ends;

use std::collections::BTreeMap;
use std::net::Ipv4Addr;

use fastrand::Rng;
use quiver_engine::{Level, Traffic};
use quiver_interface::Interfaces;
use quiver_ip::{Family, Ip4};
use quiver_testkit::daemon::{Daemon, Setup};
use quiver_wire::{Header, Ip4Header, IpProtocol, MacAddress, checksum};

quiver_testkit::level_tests![nodes_agree_with_the_naive_router];

const MTU: usize = 1500;

/// Interface pg0 is in table 0, pg2 in table 7, which counts by route; pg1 leads to all neighbours.
const CONFIGURATION: &str = "
    create packet-generator interface pg0
    create packet-generator interface pg1
    create packet-generator interface pg2
    create packet-generator interface pg3
    set interface state pg0 up
    set interface state pg1 up
    set interface state pg2 up
    set interface state pg3 up
    set interface mtu 1500 pg1
    ip table add 7 counters
    set interface ip table pg2 7
    set interface ip address pg0 10.0.0.1/24
    set interface ip address pg1 10.0.1.1/24
    set interface ip address pg2 10.0.2.1/24
    ip route add 20.0.0.0/8 via 10.0.1.2
    ip route add 20.1.0.0/16 via 10.0.1.3 pg1 via 10.0.1.4 pg1 via 10.0.1.5 pg1 via 10.0.1.6 pg1
    ip route add 20.1.2.0/24 via drop
    ip route add 20.1.2.128/25 via 10.0.1.7 pg1 via 10.0.1.8 pg1 weight 2
    ip route add 20.1.2.255/32 via 10.0.1.9 pg1
    ip route add 20.2.0.0/16 via null-send-unreach
    ip route add 20.3.0.0/16 via null-send-prohibit
    ip route add 20.4.0.0/16 via 99.9.9.9
    ip route add 20.0.0.0/8 table 7 via 10.0.1.9 next-hop-table 0
    ip route add 20.3.0.0/16 table 7 via local
";

fn mac(last: u8) -> MacAddress {
    MacAddress([2, 1, 0, 0, 0, last])
}

/// A daemon whose neighbours 10.0.1.2 to 10.0.1.9 are known.
fn daemon(level: Level) -> Daemon {
    let setup = Setup { level, ..Setup::default() };
    let rooms = quiver_scenarios::rooms![quiver_interface, quiver_ethernet, quiver_ip, ends, quiver_pg];
    let mut daemon = Daemon::new(rooms, setup).expect("the rooms fit together");
    daemon.configure(CONFIGURATION);
    {
        let out = daemon.control().room::<Interfaces>().id_of("pg1").expect("created");
        let mut ip = daemon.control().room_mut::<Ip4>();
        for last in 2..10 {
            let hop = ip.fib.adjacencies.acquire(out, Some([10, 0, 1, last].into()));
            ip.fib.adjacencies.set_mac(hop, Some(mac(last)));
        }
    }
    daemon.settle().expect("nothing circles");
    daemon
}

/// The same packets on every run.
struct Random(Rng);
impl Random {
    fn next(&mut self) -> u32 {
        self.0.u32(..)
    }
    fn of<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.next() as usize % choices.len()]
    }
}

/// Writes the right header checksum.
fn repair(packet: &mut [u8]) {
    let end = 14 + usize::from(packet.get(14).copied().unwrap_or(0) & 15) * 4;
    if end >= 34 && end <= packet.len() {
        packet[24..26].fill(0);
        let sum = checksum::of(&packet[14..end]).checksum();
        packet[24..26].copy_from_slice(&sum.to_be_bytes());
    }
}

/// Mostly good packets, and every way to be odd.
fn packets(own: MacAddress, count: usize) -> Vec<Vec<u8>> {
    let r = &mut Random(Rng::with_seed(99));
    let make = |_| {
        let low =
            [r.next() & 0xff_ffff, 0x01_0200 | r.next() & 255, 0x01_0000 | r.next() & 0xffff, r.next() & 0x7_ffff];
        let destination = 20 << 24 | r.of(&low);
        let mut p = vec![0; 64];
        p[..6].copy_from_slice(&own.0);
        p[6..14].copy_from_slice(&[2, 9, 9, 9, 9, 9, 8, 0]);
        p[14..24].copy_from_slice(&[0x45, 0, 0, 50, 1, 2, 0, 0, 64, r.of(&[17, 6, 1, 47])]);
        p[26..30].copy_from_slice(&(10 << 24 | r.next() & 0xff_ffff).to_be_bytes());
        p[30..34].copy_from_slice(&destination.to_be_bytes());
        p[34..38].copy_from_slice(&r.next().to_be_bytes());
        match r.next() % 40 {
            0 => p[22] = r.next() as u8 % 3,
            1 => p[14] = 0x40 | (r.next() as u8 % 16),
            2 => p[14] = r.next() as u8,
            3 => p[16..18].copy_from_slice(&(r.next() as u16 % 60).to_be_bytes()),
            4 => p[20..22].copy_from_slice(&(r.next() as u16).to_be_bytes()),
            5 => p[30..34].copy_from_slice(&r.next().to_be_bytes()),
            6 => p[26..30].copy_from_slice(&r.next().to_be_bytes()),
            7 => p[30..34].copy_from_slice(&r.of(&[
                [10, 0, 0, 1],
                [10, 0, 1, 1],
                [10, 0, 1, 255],
                [255; 4],
                [10, 0, 1, 77],
            ])),
            8 | 9 => {
                p.resize(64 + r.next() as usize % 5000, 0x5a);
                let total = p.len() as u16 - 14;
                p[16..18].copy_from_slice(&total.to_be_bytes());
                p[20] = r.of(&[0, 0x40]);
            }
            10 => p.resize(64 + r.next() as usize % 30, 0),
            11 => p[..6].copy_from_slice(&r.of(&[[0xff; 6], [1, 0, 0x5e, 0, 0, 5]])),
            _ => {}
        }
        repair(&mut p);
        match r.next() % 40 {
            0 => p.truncate(15 + r.next() as usize % 50),
            1 => p[(24 + r.next() % 2) as usize] ^= 1 << (r.next() % 8),
            _ => {}
        }
        p
    };
    (0..count).map(make).collect()
}

type Arc = (&'static str, &'static str);

/// The router as one would write it without thinking of speed: the last arc taken, or the packets sent.
fn naive(second_table: bool, own: MacAddress, p: &[u8]) -> Result<Vec<Vec<u8>>, Arc> {
    let input = |arc| Err(("ip4-input", arc));
    let (ip, wire_length) = (&p[14..], p.len() - 14);
    let Some((header, _)) =
        Ip4Header::parse(ip).filter(|(header, _)| header.version() == 4 && header.header_length() >= 20)
    else {
        return input("bad-header");
    };
    let total = usize::from(header.total_length.get());
    if total < 20 || total > wire_length {
        return input("bad-length");
    }
    let options = header.header_length() > 20;
    let node = if options { "ip4-options" } else { "ip4-input" };
    if header.header_length() > total {
        return Err((node, "bad-length"));
    }
    if !checksum::of(&ip[..header.header_length()]).is_right() {
        return Err((node, "bad-checksum"));
    }
    let (source, to) = (header.source(), header.destination());
    if to.is_broadcast() {
        return Err((node, "broadcast"));
    }
    if to.is_multicast() {
        return Err(("ip4-multicast", "no-such-group"));
    }
    let martian = |first: u8| matches!(first, 0 | 127 | 224..);
    if martian(source.octets()[0]) || martian(to.octets()[0]) {
        return Err((node, "martian-address"));
    }
    if options {
        // The random options are what they are; which of them are bad is tested elsewhere.
        let walk: Result<Vec<_>, _> = quiver_wire::options::Options::new(&ip[20..header.header_length()]).collect();
        match walk {
            Err(_) => return Err((node, "bad-option")),
            Ok(found) if found.iter().any(|option| matches!(option.kind, 131 | 137)) => {
                return Err((node, "source-route"));
            }
            Ok(_) => {}
        }
    }
    let packet = &ip[..total];
    let bucket = quiver_wire::V4::flow_hash_of(packet) % 16;
    let way = next_hop(second_table, to, bucket, header.protocol, header.is_fragment());
    let back = || next_hop(second_table, source, 0, header.protocol, false);
    let way = match way {
        Err(("ip4-local", _)) if matches!(back(), Err(("ip4-local", _))) => Err(("ip4-local", "spoofed-local-packets")),
        Err(("ip4-local", taken))
            if taken != "ip4-reassembly" && !matches!(back(), Ok(_) | Err(("ip4-rewrite", _))) =>
        {
            Err(("ip4-local", "no-route-to-sender"))
        }
        way => way,
    };
    if p[0] & 1 != 0 && way != Err(("ip4-lookup", "directed-broadcast")) {
        return Err(("ip4-lookup", "link-layer-broadcast"));
    }
    let last = way?;
    if header.ttl < 2 {
        return Err(("ip4-rewrite", "icmp4-error"));
    }
    let front = [&mac(last).0[..], &own.0, &[8, 0]].concat();
    let frame = |ip: &[u8]| {
        let mut frame = [&front, ip].concat();
        frame[22] -= 1;
        repair(&mut frame);
        frame
    };
    if total <= MTU {
        return Ok(vec![frame(packet)]);
    }
    if header.dont_fragment() {
        return Err(("ip4-rewrite", "icmp4-error"));
    }
    let (base, more) = (header.fragment_offset() / 8, header.more_fragments());
    let parts: Vec<_> = packet[20..].chunks(1480).collect();
    let fragment = |(i, part): (usize, &&[u8])| {
        let mut ip = [&packet[..20], part].concat();
        let length = ip.len() as u16;
        ip[2..4].copy_from_slice(&length.to_be_bytes());
        let offset = (base + i * 185) as u16 | if more || i + 1 < parts.len() { 0x2000 } else { 0 };
        ip[6..8].copy_from_slice(&offset.to_be_bytes());
        frame(&ip)
    };
    Ok(parts.iter().enumerate().map(fragment).collect())
}

/// The last octet of the neighbour, or the arc by which packets for an address leave.
fn next_hop(second_table: bool, to: Ipv4Addr, bucket: u32, protocol: IpProtocol, fragment: bool) -> Result<u8, Arc> {
    let lookup = |arc| Err(("ip4-lookup", arc));
    let local = match protocol {
        _ if fragment => "ip4-reassembly",
        IpProtocol::ICMP4 => "icmp4-input",
        IpProtocol::UDP => "icmp4-error",
        _ => "icmp4-error",
    };
    match (second_table, to.octets()) {
        (true, [20, 3, ..] | [10, 0, 2, 1]) | (false, [10, 0, 0 | 1, 1]) => Err(("ip4-local", local)),
        (true, [20, ..]) => Ok(9),
        (true, [10, 0, 2, 0 | 255]) | (false, [10, 0, 0 | 1, 0 | 255]) => lookup("directed-broadcast"),
        (true, [10, 0, 2, _]) => Err(("ip4-rewrite", "ip4-resolve")),
        (true, _) => lookup("icmp4-error"),
        (false, [10, 0, 0 | 1, _]) => Err(("ip4-rewrite", "ip4-resolve")),
        (false, [20, 1, 2, 255]) => Ok(9),
        (false, [20, 1, 2, 128..=254]) => Ok(if bucket < 5 { 7 } else { 8 }),
        (false, [20, 1, 2, _]) => lookup("route-drop"),
        (false, [20, 1, ..]) => Ok(3 + bucket as u8 / 4),
        (false, [20, 2, ..]) => lookup("icmp4-error"),
        (false, [20, 3, ..]) => lookup("icmp4-error"),
        (false, [20, 4, ..]) => lookup("unresolved-route"),
        (false, [20, ..]) => Ok(2),
        (false, _) => lookup("icmp4-error"),
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

fn run(level: Level, packets: &[Vec<u8>]) -> Outcome {
    let mut daemon = daemon(level);
    let mut sizes = Random(Rng::with_seed(7));
    let mut rest = packets;
    while !rest.is_empty() {
        let (burst, after) = rest.split_at(rest.len().min(1 + sizes.next() as usize % 256));
        for (i, p) in burst.iter().enumerate() {
            daemon.send(if i % 2 == 0 { "pg0" } else { "pg2" }, p).expect("up");
        }
        daemon.settle().expect("nothing circles");
        rest = after;
    }
    let mut sent: Vec<_> = daemon
        .sent()
        .into_iter()
        .map(|(interface, p)| {
            assert_eq!(interface, "pg1");
            p
        })
        .collect();
    sent.sort();
    let arcs = daemon.counts();
    let (counted, by_neighbour) = {
        let ip = daemon.control().room::<Ip4>();
        let table = ip.fib.table(quiver_ip::fib::TableId(7)).expect("added");
        let adjacencies = &ip.fib.adjacencies;
        (
            table.counts(&"20.0.0.0/8".parse().expect("a prefix")),
            adjacencies.iter().map(|(hop, _)| adjacencies.counters().sum(hop)).collect(),
        )
    };
    daemon.finish().expect("nothing leaks");
    Outcome { sent, arcs, counted, by_neighbour }
}

/// Which packets `run` gives to the second interface.
fn to_second(packets: &[Vec<u8>]) -> Vec<bool> {
    let (mut sizes, mut which) = (Random(Rng::with_seed(7)), vec![]);
    while which.len() < packets.len() {
        let n = (packets.len() - which.len()).min(1 + sizes.next() as usize % 256);
        which.extend((0..n).map(|i| i % 2 == 1));
    }
    which
}

fn nodes_agree_with_the_naive_router(level: Level) {
    let own = |name: &str| {
        let daemon = daemon(Level::best());
        let interfaces = daemon.control().room::<Interfaces>();
        interfaces.find(name).expect("created").mac
    };
    let (mac0, mac1, mac2) = (own("pg0"), own("pg1"), own("pg2"));
    let mut packets = packets(mac0, 12_000);
    let second = to_second(&packets);
    let to_second = packets.iter_mut().zip(&second).filter(|(p, second)| **second && p[0] & 1 == 0);
    to_second.for_each(|(p, _)| p[..6].copy_from_slice(&mac2.0));

    let (mut expected, mut reasons) = (vec![], BTreeMap::<Arc, u64>::new());
    for (p, second) in packets.iter().zip(&second) {
        match naive(*second, mac1, p) {
            Ok(frames) => expected.extend(frames),
            Err(arc) => *reasons.entry(arc).or_default() += 1,
        }
    }
    expected.sort();
    assert!(reasons.len() >= 18, "the packets exercise every odd arc: {reasons:?}");
    let reference = run(Level::best(), &packets);
    for (reason, count) in &reasons {
        assert_eq!(reference.arcs.get(reason), Some(count), "{reason:?} in {:?}", reference.arcs);
    }
    assert_eq!(reference.sent.len(), expected.len());
    assert!(reference.sent == expected, "the packets sent are the naive router's");
    assert!(reference.counted.is_some_and(|counted| counted.packets > 1000), "{:?}", reference.counted);
    assert_eq!(reference.by_neighbour.iter().map(|sent| sent.packets as usize).sum::<usize>(), expected.len());

    let outcome = run(level, &packets);
    assert_eq!(outcome.arcs, reference.arcs);
    assert!(outcome == reference);
}
