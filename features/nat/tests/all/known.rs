//! Packets of known sessions: plain ones, which are worked on a frame at once, and those with options, one after the other.

use quiver_engine::stats::Reading;
use quiver_engine::{Counter, Dataplane};
use quiver_testkit::daemon::Daemon;
use quiver_testkit::packet::Packet;
use quiver_wire::checksum;

use crate::router::router;

const ETHERNET: usize = 14;
const HEADER: usize = 20;
/// An option of four bytes: three that do nothing, and the end (RFC 791, 3.1).
const OPTION: [u8; 4] = [1, 1, 1, 0];

/// The same packet with an option.
fn with_option(packet: &[u8]) -> Vec<u8> {
    let (front, rest) = packet.split_at(ETHERNET + HEADER);
    let mut packet = [front, &OPTION, rest].concat();
    let header = &mut packet[ETHERNET..ETHERNET + HEADER + OPTION.len()];
    let length = u16::from_be_bytes([header[2], header[3]]) + OPTION.len() as u16;
    header[0] += 1;
    header[2..4].copy_from_slice(&length.to_be_bytes());
    header[10..12].fill(0);
    let sum = checksum::of(header).checksum();
    header[10..12].copy_from_slice(&sum.to_be_bytes());
    packet
}

/// Sends a packet from an interface, and returns the one that the other interface sends.
fn pass(daemon: &mut Daemon, from: &str, packet: &[u8]) -> Vec<u8> {
    daemon.send(from, packet).expect("it is up");
    daemon.settle().expect("it settles");
    let mut sent = daemon.sent();
    assert_eq!(sent.len(), 1, "{:?}", daemon.drops());
    let (to, frame) = sent.remove(0);
    assert_ne!(to, from);
    frame
}

/// A packet of a protocol from one end to another.
fn packet(protocol: &str, (from, source): (&str, u16), (to, destination): (&str, u16)) -> Vec<u8> {
    let upper = match protocol {
        "tcp" => format!("tcp {source} > {destination} ack seq 7 ack 9"),
        _ => format!("udp {source} > {destination}"),
    };
    let text = format!("eth 02:00:00:00:00:02 > 02:00:00:00:00:a0 / ip4 {from} > {to} ttl 64 / {upper} / payload 8");
    text.parse::<Packet>().unwrap_or_else(|error| panic!("{text}: {error}")).to_bytes()
}

/// Packets that are counted under a name.
fn counted(daemon: &Daemon, name: &str) -> u64 {
    let (segment, mut found) = (daemon.control().room::<Dataplane>().statistics().clone(), 0);
    segment.read(|of, reading| {
        if of == name
            && let Reading::Simple(rows) = reading
        {
            found = rows.iter().flat_map(|row| row.iter()).map(Counter::get).sum();
        }
    });
    found
}

#[test]
fn packets_with_and_without_options_have_one_translation() {
    let mut daemon = router(1, 1 << 12, "set interface nat44 in pg0 out pg1");
    daemon.configure("ip route add 8.0.0.0/8 via 192.0.2.9 pg1");
    let mut random = fastrand::Rng::with_seed(1);
    let mut rounds = [0, 0];
    for round in 0..200 {
        let protocol = ["udp", "tcp"][round % 2];
        rounds[round % 2] += 1;
        let host = format!("10.0.0.{}", random.u8(2..250));
        // The host is the higher end of some keys, and the lower one of others.
        let peer = ["192.0.2.9", "8.0.0.9"][random.usize(..2)];
        let (host, peer) = ((&host[..], random.u16(1024..)), (peer, random.u16(1..)));
        daemon.configure(&format!("ip neighbor pg0 {} 02:00:00:00:00:02", host.0));
        daemon.sent();
        let request = packet(protocol, host, peer);
        // The first one begins the session.
        let first = pass(&mut daemon, "pg0", &request);
        for _ in 0..2 {
            assert_eq!(pass(&mut daemon, "pg0", &request), first);
            assert_eq!(pass(&mut daemon, "pg0", &with_option(&request)), with_option(&first));
        }
        let port = u16::from_be_bytes([first[ETHERNET + HEADER], first[ETHERNET + HEADER + 1]]);
        let reply = packet(protocol, peer, ("192.0.2.50", port));
        let plain = pass(&mut daemon, "pg1", &reply);
        let ends = ETHERNET + 12..ETHERNET + HEADER + 4;
        assert_eq!(plain[ends.clone()], packet(protocol, peer, host)[ends]);
        assert_eq!(pass(&mut daemon, "pg1", &with_option(&reply)), with_option(&plain));
        assert_eq!(pass(&mut daemon, "pg1", &reply), plain);
    }
    for (protocol, rounds) in ["udp", "tcp"].iter().zip(rounds) {
        let counted = |path: &str| counted(&daemon, &format!("/nat44-ed/{path}/{protocol}"));
        let paths = ["in2out/slowpath", "in2out/fastpath", "out2in/slowpath", "out2in/fastpath"].map(counted);
        assert_eq!(paths, [rounds, 4 * rounds, 0, 3 * rounds], "{protocol}");
    }
    daemon.finish().expect("nothing leaks");
}
