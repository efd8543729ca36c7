//! `why` predicts the path of packets: for ten thousand packets through the rooms that forward, encapsulate and check,
//! the rehearsal and the trace of the real packet have the same nodes and arcs. Every loss has a deciding object.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use fastrand::Rng;
use quiver_testkit::daemon::Daemon;
use quiver_testkit::packet::Packet;
use quiver_why::way::End;

use crate::traced::{compare, way};

/// Ten interfaces, each with rooms of its own on the way of its packets.
const INTERFACES: [&str; 10] = ["pg0", "pg1", "pg2", "pg3", "pg4", "pg5", "pg6", "pg7", "pg8", "pg9"];

/// Configuration beside their addresses; pg2 and pg3 belong to a bridge.
const CONFIGURATION: &str = "
    create sub-interfaces pg0 100
    ip table add 7
    ip6 table add 7
    ip table add 8 no-route drop counters
    set interface ip table pg0.100 7
    set interface ip6 table pg0.100 7
    set interface state pg0.100 up
    set interface ip address pg0.100 10.100.0.1/24
    set interface ip address pg0.100 2001:db8:100::1/64
    create bridge-domain 1 arp-term 1
    set bridge-domain arp entry 1 10.2.0.9 02:00:00:00:00:09
    set interface l2 bridge pg2 1
    set interface l2 bridge pg3 1
    bvi create mac 02:00:00:00:00:bb
    set interface l2 bridge bvi0 1 bvi
    set interface state bvi0 up
    set interface ip address bvi0 10.2.0.1/24
    set interface ip address bvi0 2001:db8:2::1/64
    ip neighbor bvi0 10.2.0.2 02:00:00:00:00:32
    set interface mtu 1280 pg8

    ip route add 20.0.0.0/8 via 10.1.0.2 pg1
    ip route add 20.1.0.0/16 via drop
    ip route add 20.2.0.0/16 via null-send-unreach
    ip route add 20.3.0.0/16 via null-send-prohibit
    ip route add 20.4.0.0/16 via 10.1.0.2 pg1 via 10.8.0.2 pg8 via 10.9.0.2 pg9 weight 2
    ip route add 20.5.0.0/16 via 20.4.0.1
    ip route add 20.6.0.0/16 via ip4-lookup-in-table 7
    ip route add 20.7.0.0/16 via ip4-lookup-in-table 8 src-lookup
    ip route add 20.8.0.0/16 via rx-ip4 pg0.100
    ip route add 20.9.0.0/16 via 10.1.0.77 pg1
    ip route add 20.10.0.0/16 via 30.0.0.1
    ip route add 20.11.0.0/16 via ip4-lookup-in-table 0
    ip route add 20.12.0.0/16 via 10.8.0.2 pg8
    set ip pmtu 20.12.0.7 600
    ip neighbor pg0.100 10.100.0.2 02:00:00:00:01:64
    ip route add 20.13.0.0/16 table 7 via 10.100.0.2 pg0.100
    ip route add 20.13.0.0/16 via ip4-lookup-in-table 7
    ip route add 10.2.0.7/32 via dvr pg3
    ip route add 20.0.0.0/8 table 7 via 10.8.0.2 pg8
    ip route add 10.0.0.0/8 table 8 via 10.9.0.2 pg9
    ip route add 2001:db8:20::/48 via 2001:db8:1::2 pg1
    ip route add 2001:db8:21::/48 via drop
    ip route add 2001:db8:22::/48 via 2001:db8:1::2 pg1 via 2001:db8:8::2 pg8
    ip route add 2001:db8:23::/48 via rx-ip6 pg0.100
    ip route add 2001:db8:24::/48 via 2001:db8:1::77 pg1
    ip route add 2001:db8:25::/48 via null-send-unreach
    ip route add 2001:db8:20::/44 table 7 via 2001:db8:8::2 pg8

    ip route add 20.14.0.0/16 via 2001:db8:1::2 pg1
    ip route add 20.15.0.0/16 via 2001:db8:8::77 pg8 via 2001:db8:9::2 pg9
    ip route add 2001:db8:26::/48 via 10.8.0.2 pg8
    udp encap add 10.1.0.1 10.1.0.2 100 4789
    udp encap add 2001:db8:9::1 2001:db8:9::2 100 4789
    ip route add 20.16.0.0/16 via udp-encap 0
    ip route add 20.17.0.0/16 via udp-encap 1
    ip route add 2001:db8:27::/48 via udp-encap 0
    pipe create
    set interface state pipe0 up
    set interface ip address pipe0.0 10.50.0.1/24
    set interface ip address pipe0.1 10.51.0.1/24
    ip route add 20.18.0.0/16 via pipe0.0
    p2p_ethernet pg9 02:00:00:00:00:33 sub-id 1
    set interface state pg9.1 up
    set interface ip address pg9.1 10.90.0.1/24

    set acl-plugin acl deny proto 17 dport 9, permit dst 20.0.0.0/8 proto 17
    set acl-plugin acl permit src 10.0.0.0/8 proto 6
    set acl-plugin acl deny proto 17 dport 9, permit dst 2001:db8:20::/44 proto 17
    set acl-plugin acl deny proto 6 dport 80, permit, permit src ::/0
    set acl-plugin acl deny proto 17 dport 9, permit src 0.0.0.0/0, permit src ::/0
    set acl-plugin interface pg4 input acl 4
    set acl-plugin interface pg3 input acl 4
    set acl-plugin interface pg2 output acl 4
    set acl-plugin interface pg9 output acl 3
    set urpf ip4 rx strict pg4
    set urpf ip6 rx strict pg4
    set urpf ip4 rx loose pg7
    set urpf ip6 rx loose pg7
    set urpf ip4 tx strict pg8
    set urpf ip6 tx loose pg8
    abf policy add id 10 acl 0 via 10.8.0.2 pg8
    abf policy add id 11 acl 1 via null-send-unreach
    abf policy add ip6 id 10 acl 2 via 2001:db8:8::2 pg8
    abf attach ip4 policy 10 priority 10 pg5
    abf attach ip4 policy 11 priority 20 pg5
    abf attach ip6 policy 10 priority 10 pg5
    l3xc pg6 via 10.1.0.2 pg1 via 10.9.0.2 pg9
    l3xc pg6 ip6 via 2001:db8:1::2 pg1
    set interface tcp-mss-clamp pg1 ip4 enable ip4-mss 1000 ip6 enable ip6-mss 1000
    set interface tcp-mss-clamp pg7 ip4 enable ip4-mss 1100
    ip mroute add 232.1.1.1 via pg0 Accept via pg1 Forward via pg8 Forward via pg9 Forward
    ip mroute add 10.7.0.2 232.1.1.1 via pg7 Accept via pg1 Forward
    ip mroute add 232.2.0.0/16 drop via pg0 accept
    ip mroute add ff3e::/16 via pg0 accept via pg1 forward via pg9 forward
    ip mroute add ff3e::9 drop via pg0 accept
    set punt udp 1234
    set punt protocol 89
    set punt ip6 udp 1234
    set punt ip6 protocol 89
    ip punt redirect add rx pg0 via 10.1.0.2 pg1
    ip punt redirect add rx pg7 via drop
    ip6 punt redirect add rx all via 2001:db8:1::2 pg1
    policer add name all rate pps cir 1000000 cb 1000000 conform-action transmit
    policer add name nobody rate pps cir 1000000 cb 1000000 conform-action drop
    ip punt policer all
    ip6 punt policer nobody
    set interface ip6-nd proxy pg9 enable
";

fn daemon() -> Daemon {
    let mut daemon = quiver_scenarios::daemon("");
    let mut lines = String::new();
    for (n, name) in INTERFACES.iter().enumerate() {
        lines.push_str(&format!("create packet-generator interface {name} hw-addr 02:00:00:00:00:a{n}\n"));
        lines.push_str(&format!("set interface state {name} up\n"));
        if ![2, 3].contains(&n) {
            lines.push_str(&format!("set interface ip address {name} 10.{n}.0.1/24\n"));
            lines.push_str(&format!("set interface ip address {name} 2001:db8:{n}::1/64\n"));
            lines.push_str(&format!("ip neighbor {name} 10.{n}.0.2 02:00:00:00:01:0{n}\n"));
            lines.push_str(&format!("ip neighbor {name} 2001:db8:{n}::2 02:00:00:00:01:0{n}\n"));
        }
    }
    daemon.configure(&(lines + CONFIGURATION));
    daemon.settle().expect("nothing circles");
    daemon.advance(Duration::from_secs(5)).expect("time passes");
    daemon
}

fn one<'a>(r: &mut Rng, choices: &[&'a str]) -> &'a str {
    choices[r.usize(..choices.len())]
}

/// Payload of an IP packet.
fn payload(r: &mut Rng, is_ip6: bool) -> String {
    let (length, port) = ([18, 40, 600, 1300, 1440][r.usize(..5)], [2, 9, 80, 1234][r.usize(..4)]);
    let echo = if is_ip6 { "icmp6" } else { "icmp" };
    match r.u8(..8) {
        0..4 => format!("udp {} > {port} / payload {length}", r.u16(1..)),
        4 | 5 => format!("tcp {} > {port} syn seq 1 ack 0 window 9 options 020405b4", r.u16(1..)),
        6 => format!("{echo} echo-request id 1 seq {} / payload 18", r.u16(..)),
        _ => format!("udp {} > {port} / payload 18", r.u16(1..)),
    }
}

fn ip4(r: &mut Rng, n: usize) -> String {
    let from = match r.u8(..10) {
        0 => one(r, &["10.0.0.2", "10.8.0.2", "99.0.0.1", "127.0.0.1", "255.255.255.255", "10.1.0.1"]).to_owned(),
        _ => format!("10.{n}.0.2"),
    };
    let to = match r.u8(..8) {
        0..4 => format!("20.{}.0.{}", r.u8(..19), r.u8(1..9)),
        4 => one(r, &["232.1.1.1", "232.2.0.1", "232.9.9.9", "224.0.0.5", "224.0.0.1"]).to_owned(),
        5 => format!("10.{n}.0.1"),
        6 => {
            one(r, &["30.0.0.1", "10.1.0.1", "10.1.0.9", "10.0.0.255", "10.2.0.2", "10.2.0.7", "10.2.0.44"]).to_owned()
        }
        _ => format!("10.{}.0.2", [0, 1, 2, 4, 7, 8, 9][r.usize(..7)]),
    };
    let (hops, fragmented) = (one(r, &["64", "64", "64", "64", "1", "2"]), r.u32(..16));
    let (id, about) = (r.u16(..), one(r, &["", "", "", " df", " options 94040000", " options 0102"]));
    match fragmented {
        0 => format!("ip4 {from} > {to} ttl {hops} id {id} mf protocol udp / payload 64"),
        1 => format!("ip4 {from} > {to} ttl {hops} id {id} offset 80 protocol udp / payload 33"),
        2 => format!("ip4 {from} > {to} ttl {hops} protocol 89 / payload 40"),
        _ => format!("ip4 {from} > {to} ttl {hops}{about} / {}", payload(r, false)),
    }
}

fn ip6(r: &mut Rng, n: usize) -> String {
    let from = match r.u8(..8) {
        0 => one(r, &["2001:db8::2", "fe80::2", "::1", "2001:db8:99::1", "2001:db8:1::1"]).to_owned(),
        _ => format!("2001:db8:{n}::2"),
    };
    let to = match r.u8(..8) {
        0..4 => format!("2001:db8:2{}::{}", r.u8(..8), r.u8(1..9)),
        4 => one(r, &["ff02::1", "ff3e::1", "ff3e::9", "ff05::2", "ff02::1:ff00:1"]).to_owned(),
        5 => format!("2001:db8:{n}::1"),
        6 => one(r, &["fe80::9", "2001:db8:30::1", "2001:db8:1::99", "2001:db8:2::44", "::"]).to_owned(),
        _ => format!("2001:db8:{}::2", [0, 1, 4, 7, 8, 9][r.usize(..6)]),
    };
    let (hops, id) = (one(r, &["64", "64", "64", "64", "1", "2"]), r.u32(..));
    match r.u8(..16) {
        0 => format!("ip6 {from} > {to} hlim {hops} / frag more id {id} next udp / payload 64"),
        1 => format!("ip6 {from} > {to} hlim {hops} / frag offset 80 id {id} next udp / payload 33"),
        2 => format!("ip6 {from} > {to} hlim {hops} / hbh hex 050200000100 / {}", payload(r, true)),
        3 => format!("ip6 {from} > {to} hlim {hops} next 89 / payload 40"),
        4 => format!("ip6 {from} > ff02::1:ff00:9 hlim 255 / icmp6 neighbor-solicitation / nd target 2001:db8:1::9"),
        _ => format!("ip6 {from} > {to} hlim {hops} / {}", payload(r, true)),
    }
}

/// A packet of any kind: mostly good ones, and every way to be odd.
fn random(r: &mut Rng) -> (&'static str, Vec<u8>) {
    let n = r.usize(..INTERFACES.len());
    let bridged = [2, 3].contains(&n);
    let own = if bridged { "02:00:00:00:00:bb".to_owned() } else { format!("02:00:00:00:00:a{n}") };
    let to = match r.u8(..10) {
        0 => one(r, &["02:00:00:00:00:31", "02:00:00:00:00:32", "ff:ff:ff:ff:ff:ff", "02:00:00:00:00:a1"]).to_owned(),
        _ => own,
    };
    let from = one(r, &["02:00:00:00:00:31", "02:00:00:00:00:32", "02:00:00:00:00:33"]);
    let tag = match n {
        0 => one(r, &["", "", " / dot1q 100", " / dot1q 200"]),
        _ => one(r, &["", "", "", "", "", "", "", " / dot1q 100"]),
    };
    let carried = match r.u8(..20) {
        0 => format!("arp request {from} 10.{n}.0.2 > 00:00:00:00:00:00 10.{n}.0.{} / padding 18", r.u8(1..10)),
        1..12 => ip4(r, if tag == " / dot1q 100" { 100 } else { n }),
        _ => ip6(r, n),
    };
    let to = match (carried.split("> ").nth(1), r.u8(..8)) {
        (Some(group), 1..) if group.starts_with("23") || group.starts_with("224") => "01:00:5e:01:01:01".to_owned(),
        (Some(group), 1..) if group.starts_with("ff") => "33:33:00:00:00:01".to_owned(),
        _ => to,
    };
    let text = format!("eth {from} > {to}{tag} / {carried}");
    let packet: Packet = text.parse().unwrap_or_else(|error| panic!("{text}: {error}"));
    let mut bytes = packet.to_bytes();
    if r.u8(..) < 20 {
        let at = r.usize(..bytes.len());
        bytes[at] = r.u8(..);
    }
    if r.u8(..) < 10 {
        bytes.truncate(r.usize(15..bytes.len()));
    }
    (INTERFACES[n], bytes)
}

/// Nodes that the packets have to come to, so that the comparison means something.
const REACHED: [&str; 72] = [
    "pg-input",
    "ethernet-input",
    "vlan-input",
    "vlan-output",
    "arp-input",
    "nd-input",
    "l2-input",
    "l2-learn",
    "l2-fwd",
    "l2-flood",
    "l2-output",
    "l2-dvr",
    "arp-term-l2bd",
    "bvi-input",
    "bvi-output",
    "interface-output",
    "ip4-input",
    "ip4-options",
    "ip4-lookup",
    "ip4-lookup-again",
    "ip4-rewrite",
    "ip4-resolve",
    "ip4-local",
    "ip4-multicast",
    "ip4-reassembly",
    "ip4-punt",
    "ip4-punt-listener",
    "ip4-punt-policer",
    "ip4-punt-redirect",
    "ip4-mfib-forward",
    "ip4-rewrite-mcast",
    "ip4-rx-urpf-strict",
    "ip4-rx-urpf-loose",
    "ip4-tx-urpf-strict",
    "icmp4-input",
    "icmp4-error",
    "acl-input-ip4",
    "acl-output-ip4",
    "acl-input-l2",
    "acl-output-l2",
    "abf-input-ip4",
    "l3xc-input-ip4",
    "tcp-mss-clamping-ip4-in",
    "tcp-mss-clamping-ip4-out",
    "ip6-input",
    "ip6-hop-by-hop",
    "ip6-link-local",
    "ip6-lookup",
    "ip6-lookup-again",
    "ip6-rewrite",
    "ip6-resolve",
    "ip6-local",
    "ip6-multicast",
    "ip6-reassembly",
    "ip6-punt-listener",
    "ip6-punt-policer",
    "ip6-mfib-forward",
    "ip6-rewrite-mcast",
    "ip6-rx-urpf-strict",
    "ip6-rx-urpf-loose",
    "ip4-via-ip6",
    "ip6-via-ip4",
    "udp-encap-ip4",
    "udp-encap-ip6",
    "p2p-ethernet-input",
    "ip6-tx-urpf-loose",
    "ip6-multicast-nd-proxy",
    "icmp6-input",
    "icmp6-error",
    "acl-input-ip6",
    "abf-input-ip6",
    "l3xc-input-ip6",
];

#[test]
fn it_agrees_with_the_trace_of_ten_thousand_packets() {
    let (mut daemon, mut r) = (daemon(), Rng::with_seed(7));
    let (mut ends, mut nodes) = (BTreeMap::<String, usize>::new(), BTreeSet::new());
    for n in 0..10_000 {
        let (interface, frame) = random(&mut r);
        let said = compare(&mut daemon, interface, &frame, &format!("packet {n}"));
        said.ends().for_each(|end| *ends.entry(end.to_string()).or_default() += 1);
        nodes.extend(said.0.iter().map(|step| step.node));
        for step in said.0.iter().filter(|step| matches!(step.end, Some(End::Dropped { .. }))) {
            assert!(step.decided_by.is_some() || step.undecided.is_some(), "packet {n}: who decides? {step:?}");
        }
        // What waits for neighbours ends its wait, and limits of rates fill up again.
        if n % 16 == 0 {
            daemon.sent();
            daemon.advance(Duration::from_secs(1)).expect("time passes");
        }
    }
    let missed: Vec<_> = REACHED.iter().filter(|node| !nodes.contains(*node)).collect();
    assert!(missed.is_empty(), "no packet came to {missed:?}");
    assert!(ends.len() > 60, "the packets are of many kinds: {ends:#?}");
}

#[test]
fn rooms_name_their_objects() {
    let mut daemon = daemon();
    for (interface, packet, node, because) in [
        ("pg4", "ip4 99.0.0.1 > 20.0.0.1 ttl 64 / udp 1 > 2", "ip4-rx-urpf-strict", "reverse-path-checks pg4 rx"),
        (
            "pg7",
            "ip6 2001:db8:99::1 > 2001:db8:20::1 / udp 1 > 2",
            "ip6-rx-urpf-loose",
            "ip6-reverse-path-checks pg7 rx",
        ),
        ("pg4", "ip4 10.4.0.2 > 20.0.0.1 ttl 64 / udp 1 > 9", "acl-input-ip4", "acls 4, rules[0]"),
        ("pg4", "ip4 10.4.0.2 > 20.0.0.1 ttl 64 / udp 1 > 2", "acl-input-ip4", "acls 4, rules[1]"),
        ("pg5", "ip4 10.5.0.2 > 20.0.0.1 ttl 64 / udp 1 > 2", "abf-input-ip4", "abf-policies 10"),
        ("pg5", "ip4 10.5.0.2 > 20.0.0.1 ttl 64 / udp 1 > 9", "abf-input-ip4", "no abf-policies of interface pg5"),
        ("pg5", "ip4 10.5.0.2 > 20.0.0.1 ttl 64 / tcp 1 > 2 syn", "icmp4-error", "abf-policies 11"),
        ("pg6", "ip4 10.6.0.2 > 99.0.0.1 ttl 64 / udp 1 > 2", "l3xc-input-ip4", "l3-cross-connects pg6"),
        ("pg7", "ip4 10.7.0.2 > 20.0.0.1 ttl 64 / tcp 1 > 2 syn", "tcp-mss-clamping-ip4-in", "mss-clamps pg7"),
        (
            "pg0",
            "ip4 10.0.0.2 > 232.2.0.1 ttl 64 / udp 1 > 2",
            "ip4-mfib-forward",
            "multicast-routes (*, 232.2.0.0/16)",
        ),
        (
            "pg7",
            "ip4 10.7.0.2 > 232.1.1.1 ttl 64 / udp 1 > 2",
            "ip4-mfib-forward",
            "multicast-routes (10.7.0.2, 232.1.1.1/32)",
        ),
        ("pg0", "ip4 10.0.0.2 > 232.9.0.1 ttl 64 / udp 1 > 2", "ip4-mfib-forward", "no multicast-routes"),
        ("pg0", "ip4 10.0.0.2 > 20.6.0.1 ttl 64 / udp 1 > 2", "ip4-lookup-again", "routes 20.0.0.0/8 of table 7"),
        ("pg0", "ip4 10.0.0.2 > 20.3.0.1 ttl 64 / udp 1 > 2", "icmp4-error", "routes 20.3.0.0/16"),
        (
            "pg0",
            "ip4 10.0.0.2 > 20.12.0.1 ttl 64 df / udp 1 > 2 / payload 1400",
            "icmp4-error",
            "interface pg8, whose packets have 1280 bytes at most",
        ),
        ("pg0", "ip4 10.0.0.2 > 20.12.0.7 ttl 64 df / udp 1 > 2 / payload 700", "icmp4-error", "path-mtus 0 20.12.0.7"),
        ("pg0", "ip4 10.0.0.2 > 20.12.0.1 ttl 1 / udp 1 > 2", "icmp4-error", "the packet itself"),
        ("pg0", "ip4 10.1.0.1 > 10.0.0.1 ttl 64 / udp 1 > 2", "ip4-local", "routes 10.1.0.1/32 (interface)"),
        ("pg0", "ip4 99.0.0.1 > 10.0.0.1 ttl 64 / udp 1 > 2", "ip4-local", "no route"),
        ("pg0", "ip4 10.0.0.2 > 10.0.0.1 ttl 64 / udp 1 > 1234", "ip4-punt-listener", "punts 17 1234"),
        ("pg0", "ip4 10.0.0.2 > 10.0.0.1 ttl 64 / udp 1 > 77", "icmp4-error", "no punts"),
        ("pg0", "ip4 10.0.0.2 > 10.0.0.1 ttl 64 / udp 1 > 1234", "ip4-punt-redirect", "punt-redirects pg0"),
        (
            "pg0",
            "ip6 2001:db8::2 > 2001:db8::1 / udp 1 > 1234",
            "ip6-punt-policer",
            "ip6-punt-policers default: policers nobody",
        ),
        ("pg0", "ip4 10.0.0.2 > 20.0.0.1 ttl 64 checksum 0x1234 / udp 1 > 2", "ip4-input", "the packet itself"),
        (
            "pg2",
            "ip4 10.2.0.5 > 10.2.0.6 ttl 64 / udp 1 > 9",
            "l2-fwd",
            "bridge-domains 1: 02:00:00:00:00:a2 is unknown",
        ),
        ("pg3", "ip4 10.2.0.5 > 10.2.0.6 ttl 64 / udp 1 > 9", "acl-input-l2", "acls 4, rules[0]"),
    ] {
        let to = match packet.contains("> 232.") {
            true => "01:00:5e:01:01:01".to_owned(),
            false => interface.replace("pg", "02:00:00:00:00:a"),
        };
        let text = format!("eth 02:00:00:00:00:31 > {to} / {packet}");
        let frame: Packet = text.parse().unwrap_or_else(|error| panic!("{text}: {error}"));
        let way = way(&mut daemon, interface, &frame.to_bytes());
        let step =
            way.0.iter().find(|step| step.node == node).unwrap_or_else(|| panic!("{text}: {}", way.table().to_text()));
        assert_eq!(step.because(), because, "{text}: {}", way.table().to_text());
    }
}
