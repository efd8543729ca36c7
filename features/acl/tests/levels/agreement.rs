//! Random packets meet random rules eight at a time as they do one by one; and sessions that rules begin.

use std::collections::{BTreeSet, HashSet};
use std::net::IpAddr;

use fastrand::Rng;
use quiver_acl::look::{Bridged, Look, Routed};
use quiver_acl::{Acl, Action, Rule, text};
use quiver_engine::Level;
use quiver_interface::Direction;
use quiver_scenarios::ROOMS;
use quiver_testkit::daemon::{Daemon, Setup};
use quiver_testkit::packet::Packet;
use quiver_wire::{V4, V6};

quiver_testkit::level_tests![frames_in_bridges, packets_of_routers];

pub(crate) const PORTS: &str = "
    create packet-generator interface pg0 hw-addr 02:00:00:00:00:a0
    create packet-generator interface pg1 hw-addr 02:00:00:00:00:a1
    set interface state pg0 up
    set interface state pg1 up
";
pub(crate) const BRIDGE: &str = "
    set interface l2 bridge pg0 1
    set interface l2 bridge pg1 1
";
const ROUTER: &str = "
    set interface ip address pg0 10.0.9.1/24
    set interface ip address pg1 10.1.9.1/24
    set interface ip address pg0 2001:db8:9::1/64
    set interface ip address pg1 2001:db8:19::1/64
    ip neighbor pg1 10.1.9.2 02:00:00:00:00:12
    ip neighbor pg1 2001:db8:19::2 02:00:00:00:00:12
    ip route add 10.2.0.0/16 via 10.1.9.2 pg1
    ip route add 2001:db8:2::/48 via 2001:db8:19::2 pg1
";

/// Rules of which packets are met by some: a few, or so many that they are in tuples.
fn rules(r: &mut Rng, reflects: bool) -> String {
    let is_long = r.u8(..3) == 0;
    let mut rule = || {
        let action = ["permit", "deny", "permit+reflect"][if reflects { r.usize(..3) } else { r.usize(..2) }];
        let (a, b) = (r.u16(1..5), r.u16(1..5));
        let (host, bits, long) = (r.u8(1..4), r.u8(28..33), r.u8(120..129));
        let of = match r.u8(..6) {
            0 => format!("src 10.1.0.{host}/{bits}"),
            1 => format!("dst 10.2.0.{host}/{bits}"),
            2 => format!("src 2001:db8:1::{host}/{long}"),
            3 => format!("dst 2001:db8:2::{host}/{long}"),
            4 => format!("src 10.1.0.{host}/{bits} dst 10.2.0.0/{}", r.u8(..25)),
            _ => String::new(),
        };
        let what = match r.u8(..9) {
            0 => format!("proto 17 dport {}-{}", a.min(b), a.max(b)),
            1 => format!("proto 17 sport {a}"),
            2 => format!("proto 6 sport {}-{} dport {a}", a.min(b), a.max(b)),
            3 => format!("proto 6 tcpflags {} {}", r.u8(..2) * 2, 2 + r.u8(..2) * 16),
            4 => format!("proto 1 sport {}-8", r.u8(..9)),
            5 => format!("proto 58 sport 128 dport {}", r.u8(..2)),
            6 => format!("proto {}", [6, 17, 89][r.usize(..3)]),
            _ => String::new(),
        };
        // Few packets are left for later rules by those of long lists that ask for nothing.
        let rare = if is_long && of.is_empty() { "src 10.1.0.9/32" } else { "" };
        format!("{action} {of}{rare} {what}")
    };
    let count = if is_long { 140 } else { rule().len() % 7 + 1 };
    (0..count).map(|_| rule()).collect::<Vec<_>>().join(", ")
}

/// Random payloads, with fragments, options and extension headers among them.
fn packet(r: &mut Rng, number: u32, layers: &str) -> Vec<u8> {
    let (a, b, from, to) = (r.u16(1..5), r.u16(1..5), r.u8(1..4), r.u8(1..4));
    let upper = |r: &mut Rng, icmp: &str| match r.u8(..8) {
        0..3 => format!("udp {a} > {b}"),
        3..6 => format!("tcp {a} > {b} {} seq 1 ack 2 window 9", ["syn", "ack", "syn,ack"][r.usize(..3)]),
        _ => format!("{icmp} echo-request id {a} seq {b}"),
    };
    let ip = match r.u8(..10) {
        0..4 => format!("ip4 10.1.0.{from} > 10.2.0.{to} ttl 64 / {}", upper(r, "icmp")),
        4 => format!("ip4 10.1.0.{from} > 10.2.0.{to} ttl 64 options 01010100 / udp {a} > {b}"),
        5 => format!("ip4 10.1.0.{from} > 10.2.0.{to} ttl 64 id 7 offset 800 protocol udp"),
        6 => format!("ip4 10.1.0.{from} > 10.2.0.{to} ttl 64 id 7 mf protocol 89"),
        7 => format!("ip6 2001:db8:1::{from} > 2001:db8:2::{to} hlim 64 / frag offset 800 id 7 next udp"),
        8 => format!("ip6 2001:db8:1::{from} > 2001:db8:2::{to} hlim 64 / dstopt hex 010400000000 / udp {a} > {b}"),
        _ => format!("ip6 2001:db8:1::{from} > 2001:db8:2::{to} hlim 64 / {}", upper(r, "icmp6")),
    };
    let text = format!("{layers} / {ip} / payload {}", [18, 4, 30][r.usize(..3)]);
    let mut bytes = text.parse::<Packet>().unwrap_or_else(|error| panic!("{text}: {error}")).to_bytes();
    let end = bytes.len();
    bytes[end - 4..].copy_from_slice(&number.to_be_bytes());
    bytes
}

/// The number that identifies a packet.
fn number(bytes: &[u8]) -> u32 {
    bytes.last_chunk().map_or(0, |number| u32::from_be_bytes(*number))
}

fn list(text: &str) -> Vec<Rule> {
    let words: Vec<String> = text.split_whitespace().map(str::to_owned).collect();
    text::rules(&words).unwrap_or_else(|error| panic!("{text}: {error}"))
}

/// Flows that have sessions: addresses, protocol, ports; they are all of one direction.
type Flows = HashSet<(IpAddr, IpAddr, u8, u16, u16)>;

/// Whether lists let a packet pass, asked by plain code.
fn passes<L: Look>(lists: &[Vec<Rule>], packet: &[u8], flows: &mut Flows) -> bool {
    let fields = match L::fields(packet, Direction::Rx) {
        Ok(Some(fields)) => fields,
        Ok(None) => return true,
        Err(_) => return false,
    };
    let flow =
        fields.upper.map(|upper| (fields.source, fields.destination, fields.protocol, upper.source, upper.destination));
    if flow.is_some_and(|flow| flows.contains(&flow)) {
        return true;
    }
    let first = lists.iter().flatten().find(|rule| rule.meets(&fields)).map(|rule| rule.action);
    if first == Some(Action::PermitReflect) {
        flows.extend(flow);
    }
    first.is_some_and(Action::permits)
}

/// Sends packets through interfaces with random lists, and compares the permitted ones.
fn compare(level: Level, configuration: &str, packet: impl Fn(&mut Rng, u32) -> Vec<u8>, meant: Passes) {
    let mut r = Rng::with_seed(11);
    let (mut passed, mut denied, mut begun) = (0, 0, 0);
    for round in 0..40 {
        let mut daemon = Daemon::new(ROOMS, Setup { level, ..Setup::default() }).expect("the rooms fit");
        daemon.configure(&format!("{PORTS}{configuration}"));
        let reflects = round % 2 == 1;
        let texts = [rules(&mut r, reflects), rules(&mut r, reflects)];
        let lists = texts.each_ref().map(|text| list(text));
        // A long list does not fit a line.
        for (id, rules) in (0u32..).zip(&lists) {
            daemon.control().put(Acl { id, tag: None, rules: rules.clone().into() }).expect("it is valid");
        }
        let at = if r.bool() { "pg0 input" } else { "pg1 output" };
        daemon.configure(&format!("set acl-plugin interface {at} acl 0\nset acl-plugin interface {at} acl 1"));
        daemon.settle().expect("nothing circles");
        daemon.sent();
        let packets: Vec<_> = (0..r.u32(1..150)).map(|n| packet(&mut r, n)).collect();
        packets.iter().for_each(|bytes| daemon.send("pg0", bytes).expect("it is up"));
        daemon.settle().expect("nothing circles");
        let here: BTreeSet<u32> = daemon.sent().iter().map(|(_, bytes)| number(bytes)).collect();
        let mut flows = Flows::new();
        for bytes in &packets {
            let should = meant(&lists, bytes, &mut flows);
            assert!(here.contains(&number(bytes)) == should, "round {round}, {at}, {texts:?}: {bytes:02x?}: {should}");
        }
        begun += flows.len();
        (passed, denied) = (passed + here.len(), denied + packets.len() - here.len());
        daemon.finish().expect("nothing leaks");
    }
    assert!(passed > 300 && denied > 300 && begun > 100, "{passed} passed, {denied} denied, {begun} sessions");
}

/// Whether a packet is to pass lists.
type Passes = fn(&[Vec<Rule>], &[u8], &mut Flows) -> bool;

fn frames_in_bridges(level: Level) {
    let frame = |r: &mut Rng, n: u32| {
        let tags = ["", " / dot1q 7", " / dot1ad 8 / dot1q 7"][r.usize(..12).saturating_sub(9)];
        let mut bytes = packet(r, n, &format!("eth 02:00:00:00:00:02 > 02:00:00:00:00:12{tags}"));
        if r.u8(..20) == 0 {
            // The header ends too early, or there is no IP at all.
            bytes[16] ^= 0x20;
            bytes[12] ^= r.u8(..2);
        }
        bytes
    };
    compare(level, BRIDGE, frame, passes::<Bridged>);
}

fn packets_of_routers(level: Level) {
    let routed = |r: &mut Rng, n: u32| packet(r, n, "eth 02:00:00:00:00:02 > 02:00:00:00:00:a0");
    compare(level, ROUTER, routed, |lists, bytes, flows| match bytes[12..14] == [8, 0] {
        true => passes::<Routed<V4>>(lists, &bytes[14..], flows),
        false => passes::<Routed<V6>>(lists, &bytes[14..], flows),
    });
}
