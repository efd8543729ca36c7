//! Fuzz targets of the whole data path. How to run: fuzz/README.md.

use std::collections::BTreeMap;
use std::pin::pin;
use std::task::{Context, Waker};

use quiver_compat::{Api, Session};
use quiver_scenarios::ROOMS;
use quiver_testkit::daemon::{Daemon, Setup};
use quiver_testkit::packet::Packet;
use quiver_wire::checksum;

/// A router behind pg0 and pg1, also with tags; a bridge between pg2 and pg3, with a virtual interface; pg4 and pg5
/// connected, with other tags behind each.
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
";

/// Frames that every node has something to do with, before they are changed.
const FRAMES: [&str; 12] = [
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
];

/// Frames and their interfaces. Four bytes are a change: which frame, a place in it, a value, and what is done.
fn frames(changes: &[u8]) -> Vec<(usize, Vec<u8>)> {
    let mut frames: Vec<(usize, Vec<u8>)> = vec![];
    for change in changes.chunks_exact(4) {
        let &[which, at, value, how] = change else { continue };
        let go_on = how & 1 != 0;
        if !go_on || frames.is_empty() {
            let text = FRAMES[usize::from(which) % FRAMES.len()];
            let frame = text.parse::<Packet>().expect("it is a packet").to_bytes();
            frames.push((usize::from(which) / FRAMES.len() % 6, frame));
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
            repair(frame);
        }
    }
    frames
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

/// What leaves, and how many packets took which arc.
fn run(frames: &[(usize, Vec<u8>)], fusion: bool) -> Outcome {
    let setup = Setup { fusion, buffers: 512, ..Setup::default() };
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

/// No frame makes a node panic, lose a buffer or circle, and fused products do what the nodes do.
#[test]
fn changed_frames() {
    bolero::check!().with_max_len(64).for_each(|changes: &[u8]| {
        let frames = frames(changes);
        if !frames.is_empty() {
            assert_eq!(run(&frames, true), run(&frames, false));
        }
    });
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
        for frame in FRAMES {
            let frame = frame.parse::<Packet>().expect("it is a packet").to_bytes();
            // The interface may be gone, or down.
            let _ = daemon.send("pg0", &frame);
        }
        daemon.settle().expect("nothing circles");
        daemon.finish().expect("nothing leaks");
    });
}
