//! Fuzz targets of the whole data path. How to run: fuzz/README.md.

use std::collections::BTreeMap;
use std::net::Ipv6Addr;
use std::pin::pin;
use std::task::{Context, Waker};

use quiver_compat::{Api, Session};
use quiver_engine::Level;
use quiver_scenarios::ROOMS;
use quiver_testkit::daemon::{Daemon, Setup};
use quiver_testkit::levels;
use quiver_testkit::packet::Packet;
use quiver_wire::{IpProtocol, checksum};

/// A router of both families behind pg0 and pg1, also with tags, where senders are checked, segments clamped and lists asked; a
/// bridge between pg2 and pg3, with a virtual interface; pg4 and pg5 connected, with other tags behind each; pg6 and pg7 with
/// packets of IPv4 and IPv6 alone. A tunnel over IPv4 goes on with the bridge; networks lie behind one over IPv6, and behind one more inside that.
const CONFIGURATION: &str = "
    create packet-generator interface pg0 hw-addr 02:00:00:00:00:a0
    create packet-generator interface pg1 hw-addr 02:00:00:00:00:a1
    create packet-generator interface pg2
    create packet-generator interface pg3
    create packet-generator interface pg4
    create packet-generator interface pg5
    set interface state pg0 up
    set interface state pg1 up
    set interface state pg2 up
    set interface state pg3 up
    set interface state pg4 up
    set interface state pg5 up
    set interface mtu 100 pg1
    set interface ip address pg0 10.0.0.1/24
    set interface ip address pg1 10.0.1.1/24
    ip neighbor pg0 10.0.0.2 02:00:00:00:00:02
    ip neighbor pg1 10.0.1.2 02:00:00:00:00:12
    ip route add 20.0.0.0/8 via 10.0.1.2
    ip route add 20.1.0.0/16 via null-send-prohibit
    create sub-interfaces pg0 10
    create sub-interfaces pg0 20 dot1ad 20 inner-dot1q 5 exact-match
    set interface state pg0.10 up
    set interface state pg0.20 up
    set interface ip address pg0.10 10.0.10.1/24
    set interface l2 bridge pg0.20 1
    set interface l2 tag-rewrite pg0.20 pop 2
    set interface l2 bridge pg2 1
    set interface l2 bridge pg3 1
    create loopback interface
    set interface state loop0 up
    set interface l2 bridge loop0 1 bvi
    set interface ip address loop0 10.0.2.1/24
    set interface l2 xconnect pg4 pg5
    set interface l2 xconnect pg5 pg4
    set interface l2 tag-rewrite pg5 push dot1q 7
    create packet-generator interface pg6 mode ip4
    create packet-generator interface pg7 mode ip6
    set interface state pg6 up
    set interface state pg7 up
    set interface ip address pg6 10.0.6.1/24
    set interface ip address pg7 2001:db8:7::1/64
    set interface ip address pg0 2001:db8::1/64
    set interface ip address pg1 2001:db8:1::1/64
    set interface ip address pg0.10 2001:db8:10::1/64
    set interface ip address loop0 2001:db8:2::1/64
    ip neighbor pg0 2001:db8::2 02:00:00:00:00:02
    ip neighbor pg1 2001:db8:1::2 02:00:00:00:00:12
    ip route add 2001:db8:20::/44 via 2001:db8:1::2
    ip route add 2001:db8:21::/48 via null-send-prohibit
    ip route add 2001:db8:22::/48 via 2001:db8:1::2 via 2001:db8::2
    ip mroute add ff3e::99 via pg0 accept via pg1 forward via local forward
    ip mroute add 232.1.1.1 via pg0 accept via pg1 forward via local forward
    ip6 nd pg0 prefix 2001:db8::/64
    ip6 nd address autoconfig pg1 default-route
    set ip6 mld enable
    set urpf ip4 strict pg0.10
    set urpf ip6 loose pg0.10
    set interface tcp-mss-clamp pg0.10 ip4 rx ip4-mss 1000 ip6 rx ip6-mss 1000
    set acl-plugin acl index 0 permit proto 17 dport 7
    abf policy add id 1 acl 0 via 10.0.1.2 pg1
    abf policy add ip6 id 2 acl 0 via 2001:db8:1::2 pg1
    abf attach ip4 policy 1 pg0.10
    abf attach ip6 policy 2 pg0.10
    create vxlan tunnel src 10.0.0.1 dst 10.0.0.2 vni 5
    create geneve tunnel local 2001:db8::1 remote 2001:db8::2 vni 6
    set interface state geneve_tunnel0 up
    set interface l2 bridge vxlan_tunnel0 1 1
    set interface ip address geneve_tunnel0 10.0.5.1/24
    ip neighbor geneve_tunnel0 10.0.5.2 02:00:00:00:00:52
    ip route add 30.0.0.0/8 via 10.0.5.2 geneve_tunnel0
    create vxlan tunnel src 10.0.5.1 dst 10.0.5.2 vni 7
    set interface ip address vxlan_tunnel1 10.0.9.1/24
    ip neighbor vxlan_tunnel1 10.0.9.2 02:00:00:00:00:92
    ip route add 31.0.0.0/8 via 10.0.9.2 vxlan_tunnel1
";

/// Frames that every node has something to do with, before they are changed.
const FRAMES: [&str; 15] = [
    "eth 02:00:00:00:00:02 > 02:00:00:00:00:a0 / ip4 10.0.0.2 > 20.0.0.9 ttl 64 / udp 1 > 2 / payload 18",
    "eth 02:00:00:00:00:02 > 02:00:00:00:00:a0 / ip4 10.0.0.2 > 20.0.0.9 ttl 64 / udp 1 > 2 / payload 200",
    "eth 02:00:00:00:00:02 > 02:00:00:00:00:a0 / ip4 10.0.0.2 > 10.0.1.2 ttl 1 / icmp echo-request id 1 seq 1 / payload 18",
    "eth 02:00:00:00:00:02 > 02:00:00:00:00:a0 / ip4 10.0.0.2 > 10.0.0.1 ttl 64 / icmp echo-request id 1 seq 1 / payload 18",
    "eth 02:00:00:00:00:02 > 02:00:00:00:00:a0 / ip4 10.0.0.2 > 10.0.0.1 ttl 64 / icmp unreachable code 4 mtu 500 / \
     ip4 10.0.0.1 > 20.0.0.9 ttl 64 / icmp echo-request id 1 seq 1 / payload 8",
    "eth 02:00:00:00:00:02 > 02:00:00:00:00:a0 / ip4 10.0.0.2 > 20.1.0.9 ttl 64 options 94040000 / udp 1 > 2 / payload 100",
    "eth 02:00:00:00:00:02 > 02:00:00:00:00:a0 / ip4 10.0.0.2 > 10.0.1.77 ttl 64 mf offset 80 / payload 160",
    "eth 02:00:00:00:00:02 > ff:ff:ff:ff:ff:ff / arp request 02:00:00:00:00:02 10.0.0.2 > 00:00:00:00:00:00 10.0.0.1",
    "eth 02:00:00:00:00:12 > 02:00:00:00:00:a1 / arp reply 02:00:00:00:00:12 10.0.1.77 > 02:00:00:00:00:a1 10.0.1.1",
    "eth 02:00:00:00:00:02 > 02:00:00:00:00:a0 / dot1q 10 / ip4 10.0.10.2 > 20.0.0.9 ttl 64 / udp 1 > 2 / payload 18",
    "eth 02:00:00:00:00:02 > 02:00:00:00:00:33 / dot1ad 20 / dot1q 5 / ip4 10.0.2.2 > 10.0.2.1 ttl 64 / udp 1 > 2 / payload 18",
    "eth 02:00:00:00:00:33 > de:ad:00:00:00:00 / ip4 10.0.2.2 > 20.0.0.9 ttl 64 / tcp 1 > 2 syn seq 1 ack 0 window 9",
    "eth 02:00:00:00:00:02 > 02:00:00:00:00:a0 / ip4 10.0.0.2 > 10.0.0.1 ttl 64 ecn 1 / udp 50000 > 4789 no-checksum / \
     hex 080000000000050002000000003202000000003108004502001c0001000040116abb01020304050607080001000200080000",
    "eth 02:00:00:00:00:02 > 02:00:00:00:00:a0 / ip4 10.0.0.2 > 30.0.0.9 ttl 64 / udp 1 > 2 / payload 18",
    "eth 02:00:00:00:00:02 > 02:00:00:00:00:a0 / ip4 10.0.0.2 > 31.0.0.9 ttl 64 / udp 1 > 2 / payload 18",
];

/// The same of IPv6, and two more of IPv4.
const FRAMES6: [&str; 19] = [
    "eth 02:00:00:00:00:02 > 01:00:5e:01:01:01 / ip4 10.0.0.2 > 232.1.1.1 ttl 9 / udp 1 > 2 / payload 18",
    "eth 02:00:00:00:00:02 > 02:00:00:00:00:a0 / ip4 10.0.0.2 > 10.0.0.1 ttl 9 mf id 7 protocol udp / payload 16",
    "eth 02:00:00:00:00:02 > 02:00:00:00:00:a0 / ip6 2001:db8::2 > 2001:db8:20::9 / udp 1 > 2 / payload 18",
    "eth 02:00:00:00:00:02 > 02:00:00:00:00:a0 / ip6 2001:db8::2 > 2001:db8:20::9 / udp 1 > 2 / payload 1400",
    "eth 02:00:00:00:00:02 > 02:00:00:00:00:a0 / ip6 2001:db8::2 > 2001:db8:1::2 hlim 1 / icmp6 echo-request id 1 seq 1 / payload 18",
    "eth 02:00:00:00:00:02 > 02:00:00:00:00:a0 / ip6 2001:db8::2 > 2001:db8::1 / icmp6 echo-request id 1 seq 1 / payload 18",
    "eth 02:00:00:00:00:02 > 02:00:00:00:00:a0 / ip6 2001:db8::2 > 2001:db8::1 / icmp6 packet-too-big mtu 1300 / \
     ip6 2001:db8::1 > 2001:db8:20::9 / icmp6 echo-request id 1 seq 1 / payload 8",
    "eth 02:00:00:00:00:02 > 02:00:00:00:00:a0 / ip6 2001:db8::2 > 2001:db8:21::9 / hbh hex 050200000100 / udp 1 > 2 / payload 30",
    "eth 02:00:00:00:00:02 > 02:00:00:00:00:a0 / ip6 2001:db8::2 > 2001:db8:1::77 / frag offset 80 more id 3 next udp / payload 160",
    "eth 02:00:00:00:00:02 > 02:00:00:00:00:a0 / ip6 2001:db8::2 > 2001:db8::1 / frag offset 0 more id 4 next udp / payload 16",
    "eth 02:00:00:00:00:02 > 33:33:ff:00:00:01 / ip6 2001:db8::2 > ff02::1:ff00:1 hlim 255 / icmp6 neighbor-solicitation / \
     nd target 2001:db8::1 source-link 02:00:00:00:00:02",
    "eth 02:00:00:00:00:12 > 02:00:00:00:00:a1 / ip6 2001:db8:1::77 > 2001:db8:1::1 hlim 255 / icmp6 neighbor-advertisement / \
     nd target 2001:db8:1::77 flags solicited,override target-link 02:00:00:00:00:77",
    "eth 02:00:00:00:00:02 > 33:33:00:00:00:02 / ip6 fe80::2 > ff02::2 hlim 255 / icmp6 router-solicitation / hex 0101020000000002",
    "eth 02:00:00:00:00:12 > 33:33:00:00:00:01 / ip6 fe80::12 > ff02::1 hlim 255 / icmp6 router-advertisement / \
     ra hops 64 lifetime 600 source-link 02:00:00:00:00:12 mtu 1400 prefix 2001:db8:99::/64 flags onlink,auto valid 90 preferred 80",
    "eth 02:00:00:00:00:02 > 33:33:00:00:00:01 / ip6 fe80::2 > ff02::1 hlim 1 / hbh hex 050200000100 / icmp6 mld-query mtu 655360000 / \
     hex 00000000000000000000000000000000027d0000",
    "eth 02:00:00:00:00:02 > 02:00:00:00:00:a0 / ip6 2001:db8::2 > 2001:db8::1 / routing hex 000100000000 / \
     dstopt hex 010400000000 / icmp6 echo-request id 1 seq 12 / payload 8",
    "eth 02:00:00:00:00:02 > 33:33:00:00:00:99 / ip6 2001:db8::2 > ff3e::99 hlim 9 / udp 1 > 2 / payload 18",
    "eth 02:00:00:00:00:02 > 02:00:00:00:00:a0 / dot1q 10 / ip6 2001:db8:10::2 > 2001:db8:22::9 / tcp 1 > 2 syn seq 1 ack 0 window 9 options 020405b4",
    "eth 02:00:00:00:00:02 > 02:00:00:00:00:a0 / ip6 2001:db8::2 > 2001:db8::1 / udp 50000 > 6081 / \
     hex 01006558000006001234050002000000003202000000003108004502001c0001000040116abb01020304050607080001000200080000",
];

/// Interfaces of Ethernet.
const INTERFACES: usize = 6;
/// Those whose packets are of IPv4 and IPv6 alone.
const LAYER3: [usize; 2] = [6, 7];

/// A frame, and the interface where it comes in. Those below 128 are of the first list.
fn chosen(which: u8) -> (usize, Vec<u8>) {
    let (text, interface) = match usize::from(which).checked_sub(128) {
        None => (FRAMES[usize::from(which) % FRAMES.len()], usize::from(which) / FRAMES.len() % INTERFACES),
        Some(which) => (FRAMES6[which % FRAMES6.len()], which / FRAMES6.len() % (INTERFACES + 1)),
    };
    let frame = text.parse::<Packet>().expect("it is a packet").to_bytes();
    let is_ip6 = frame.get(12..14) == Some(&[0x86, 0xdd]);
    (if interface == INTERFACES { LAYER3[usize::from(is_ip6)] } else { interface }, frame)
}

/// Frames and their interfaces. Four bytes are a change: which frame, a place in it, a value, and what is done.
fn frames(changes: &[u8]) -> Vec<(usize, Vec<u8>)> {
    let mut frames: Vec<(usize, Vec<u8>)> = vec![];
    for change in changes.chunks_exact(4) {
        let &[which, at, value, how] = change else { continue };
        let go_on = how & 1 != 0;
        if !go_on || frames.is_empty() {
            frames.push(chosen(which));
        }
        let Some((_, frame)) = frames.last_mut() else { continue };
        if how & 2 != 0
            && let Some(byte) = frame.get_mut(usize::from(at))
        {
            *byte = value;
        }
        if how & 4 != 0 {
            frame.truncate(usize::from(at).max(1));
        }
        // Else hardly anything but wrong checksums would be tried.
        if how & 8 != 0 {
            match frame.get(12..14) {
                Some([0x86, 0xdd]) => repair6(frame),
                _ => repair(frame),
            }
        }
    }
    for (interface, frame) in &mut frames {
        if LAYER3.contains(interface) {
            frame.drain(..frame.len().saturating_sub(1).min(14));
        }
    }
    frames
}

/// Writes the right checksum into a message of ICMPv6 behind headers of Ethernet and IPv6, and hop-by-hop options.
fn repair6(frame: &mut [u8]) {
    const HOP_BY_HOP: u8 = 0;
    let Some((header, rest)) = frame.get_mut(14..).and_then(|packet| packet.split_first_chunk_mut::<40>()) else {
        return;
    };
    let (next, skipped) = match (header[6], &*rest) {
        (HOP_BY_HOP, [next, units, ..]) => (*next, (usize::from(*units) + 1) * 8),
        (next, _) => (next, 0),
    };
    let address = |at: usize| Ipv6Addr::from(std::array::from_fn::<u8, 16, _>(|n| header[at + n]));
    let Some(message) = rest.get_mut(skipped..).filter(|message| message.len() >= 4) else { return };
    if next == IpProtocol::ICMP6.0 {
        message[2..4].fill(0);
        let pseudo = checksum::pseudo_header6(address(8), address(24), IpProtocol::ICMP6, message.len() as u32);
        let sum = pseudo.add_bytes(message).checksum();
        message[2..4].copy_from_slice(&sum.to_be_bytes());
    }
}

/// Writes the right checksum into an IP header behind an Ethernet header.
fn repair(frame: &mut [u8]) {
    let end = 14 + usize::from(frame.get(14).copied().unwrap_or(0) & 15) * 4;
    if let Some(header) = frame.get_mut(14..end).filter(|header| header.len() >= 20) {
        header[10..12].fill(0);
        let sum = checksum::of(header).checksum();
        header[10..12].copy_from_slice(&sum.to_be_bytes());
    }
}

type Outcome = (Vec<(String, Vec<u8>)>, BTreeMap<(&'static str, &'static str), u64>);

/// Returns the sent packets, and the number of packets on each arc.
fn run(frames: &[(usize, Vec<u8>)], level: Level) -> Outcome {
    let setup = Setup { level, buffers: 512, ..Setup::default() };
    let mut daemon = Daemon::new(ROOMS, setup).expect("the rooms fit together");
    daemon.configure(CONFIGURATION);
    for (interface, frame) in frames {
        daemon.send(&format!("pg{interface}"), frame).expect("it is up");
        daemon.settle().expect("nothing circles");
    }
    let outcome = (daemon.sent(), daemon.counts());
    daemon.finish().expect("nothing leaks");
    outcome
}

/// No frame makes a node panic, lose a buffer or circle, and all instruction sets do the same.
#[test]
fn changed_frames() {
    bolero::check!().with_max_len(64).for_each(|changes: &[u8]| {
        let frames = frames(changes);
        if !frames.is_empty() {
            let best = run(&frames, Level::best());
            levels::here().for_each(|(name, level)| assert_eq!(run(&frames, level), best, "{name}"));
        }
    });
}

/// The frames of the lists reach what they are for: what is tampered with is no rubbish before.
#[test]
fn frames_reach_their_nodes() {
    const OF_BOTH: [&str; 8] =
        ["lookup", "rewrite", "resolve", "local", "reassembly", "mfib-forward", "rewrite-mcast", "multicast"];
    const OF_IP4: [&str; 7] = [
        "ip4-options",
        "icmp4-error",
        "ip4-rx-urpf-strict",
        "tcp-mss-clamping-ip4-in",
        "abf-input-ip4",
        "vxlan4-input",
        "vxlan4-encap",
    ];
    const OF_IP6: [&str; 10] = [
        "geneve6-input",
        "geneve6-encap",
        "ip6-hop-by-hop",
        "icmp6-error",
        "nd-input",
        "router-input",
        "mld-input",
        "ip6-rx-urpf-loose",
        "tcp-mss-clamping-ip6-in",
        "abf-input-ip6",
    ];
    let all =
        |frames: &[&str], first: u8| (0..frames.len() as u8).map(|which| chosen(first + which)).collect::<Vec<_>>();
    let missing = |frames: Vec<(usize, Vec<u8>)>, wanted: Vec<String>| {
        let (_, counts) = run(&frames, Level::best());
        let is_missing = |node: &String| !counts.keys().any(|(at, to)| at == node || to == node);
        wanted.into_iter().filter(is_missing).collect::<Vec<_>>()
    };
    let named = |family: &str, own: &[&str]| {
        let both = OF_BOTH.iter().map(|node| format!("{family}-{node}"));
        both.chain(own.iter().map(|node| (*node).to_owned())).collect::<Vec<_>>()
    };
    let frames = [all(&FRAMES, 0), all(&FRAMES6, 128)].concat();
    let wanted = [named("ip4", &OF_IP4), named("ip6", &OF_IP6)].concat();
    assert_eq!(missing(frames, wanted), [""; 0]);
}

/// A message as it goes over the socket, with `context` where requests have it.
fn framed(number: u16, context: u32, body: &[u8]) -> Vec<u8> {
    let mut message = vec![0; 16];
    message[8..12].copy_from_slice(&(10 + body.len() as u32).to_be_bytes());
    message.extend(number.to_be_bytes());
    message.extend([0; 4]);
    message.extend(context.to_be_bytes());
    message.extend(body);
    message
}

/// Any messages of VPP's API are answered, and a ping behind them; and what they leave behind forwards packets and goes away
/// without leaks. Each message is its number, how often it is sent, and its body.
#[test]
fn messages_of_the_api() {
    // Before the first request, a name; commands are the business of other targets.
    let hello = [&[0; 8][..], &70u32.to_be_bytes(), &[0; 4], &15u16.to_be_bytes(), &[0; 68]].concat();
    bolero::check!().with_type::<Vec<(u16, Vec<u8>)>>().for_each(|messages| {
        let mut daemon =
            Daemon::new(ROOMS, Setup { buffers: 512, ..Setup::default() }).expect("the rooms fit together");
        daemon.configure(CONFIGURATION);
        let (known, ping, commands) = {
            let api = daemon.control().room::<Api>();
            let known: Vec<u16> = api.messages().filter_map(|(message, _)| api.id_of(&message.name)).collect();
            let id = |name| api.id_of(name).expect("it is always there");
            (known, id("control_ping"), [id("cli_inband"), id("sockclnt_delete"), id("sockclnt_create")])
        };
        let mut session = Session::new(daemon.control().clone());
        session.receive(&hello);
        for (choice, body) in messages {
            let number = known[usize::from(*choice) % known.len()];
            if !commands.contains(&number) && number != 18 {
                session.receive(&framed(number, 1, body));
            }
        }
        session.receive(&framed(ping, 0x7070_7070, &[]));
        let mut answers: Vec<u8> = vec![];
        for _ in 0..1000 {
            session.work();
            answers.extend(session.output());
            let length = session.output().len();
            session.sent(length);
            daemon.settle().expect("nothing circles");
            // Some answers wait for turns of others.
            let _ = pin!(session.changed()).poll(&mut Context::from_waker(Waker::noop()));
        }
        assert_eq!(session.end(), None);
        assert!(answers.windows(4).any(|bytes| bytes == [0x70; 4]), "the ping is answered");
        for frame in FRAMES.into_iter().chain(FRAMES6) {
            let frame = frame.parse::<Packet>().expect("it is a packet").to_bytes();
            // The interface may be gone, or down.
            let _ = daemon.send("pg0", &frame);
        }
        daemon.settle().expect("nothing circles");
        daemon.finish().expect("nothing leaks");
    });
}
