//! Master and slave in every mode, with equal and unequal queues, through real sockets and shared memory.

use std::collections::BTreeMap;

use crate::site::{Site, state};
use quiver_testkit::daemon::Daemon;

/// Frames of these lengths, each with contents of its own.
fn frames(lengths: &[usize]) -> Vec<Vec<u8>> {
    let frame = |(i, length): (usize, &usize)| (0..*length).map(|at| (at * 31 + i) as u8 & 0xfe).collect();
    lengths.iter().enumerate().map(frame).collect()
}

#[test]
fn frames_of_all_lengths_pass_both_ways() {
    for (master, slave) in [
        ("", ""),
        ("", "no-zero-copy"),
        ("rx-queues 2", "rx-queues 3 tx-queues 5 ring-size 64"),
        ("rx-queues 2", "rx-queues 3 tx-queues 5 ring-size 64 no-zero-copy"),
        ("mode punt", "mode punt ring-size 16384 no-zero-copy"),
        ("", "ring-size 64 buffer-size 512 no-zero-copy"),
        ("secret knock", "secret knock"),
    ] {
        let mut site = Site::new(master, slave, (1, 1));
        site.cross_connect();
        site.connect();
        let frames = frames(&[60, 61, 64, 65, 128, 1514, 2048, 2049, 2176, 4000, 9014]);
        for from_master in [true, false] {
            for _ in 0..20 {
                let passed = site.pass(from_master, &frames);
                assert_eq!(passed.len(), frames.len(), "{master} {slave} {from_master}");
                assert!(passed == frames, "other bytes than were sent: {master} {slave} {from_master}");
            }
        }
        site.finish();
    }
}

#[test]
fn several_workers_share_rings_and_spread_over_them() {
    for workers in [(2, 1), (1, 2), (2, 2)] {
        for copy in ["", "no-zero-copy"] {
            let mut site = Site::new("rx-queues 2", &format!("rx-queues 2 tx-queues 1 {copy}"), workers);
            site.cross_connect();
            site.connect();
            let frames = frames(&[60; 32]);
            for from_master in [true, false] {
                for _ in 0..10 {
                    assert_eq!(site.pass(from_master, &frames).len(), 32, "{workers:?} {copy}");
                }
            }
            site.finish();
        }
    }
}

#[test]
fn routers_reach_each_other_in_mode_ip_without_arp() {
    ["", "no-zero-copy"].into_iter().for_each(routers_reach_each_other);
}
fn routers_reach_each_other(copy: &str) {
    let mut site = Site::new("mode ip", &format!("mode ip {copy}"), (1, 1));
    for (daemon, ours) in [(&mut site.master, 1), (&mut site.slave, 2)] {
        daemon.configure("set interface state memif1/0 up");
        daemon.configure(&format!("set interface ip address memif1/0 10.0.0.{ours}/24"));
    }
    site.connect();
    let packet = ip_packet();
    // Through the slave and back: it has no other way to 10.0.0.1.
    site.master.configure("create packet-generator interface pg0\nset interface state pg0 up");
    site.master.configure("set interface ip address pg0 10.1.0.1/24");
    site.master.configure("ip neighbor pg0 10.1.0.9 02:00:00:00:00:09");
    site.slave.configure("ip route add 10.1.0.0/24 via 10.0.0.1 memif1/0");
    // The address is announced.
    site.run(3);
    site.master.sent();
    site.master.send("pg0", &packet).expect("pg0 is there");
    site.run(3);
    let sent = site.master.sent();
    assert_eq!(sent.len(), 1, "the slave answers: {:?} {:?}", site.master.drops(), site.slave.drops());
    assert_eq!((sent[0].0.as_str(), sent[0].1[34]), ("pg0", 0), "an echo reply");
    site.finish();
}

#[test]
fn only_a_slave_that_may_shares_its_buffers() {
    for (options, is_zero_copy) in [("", true), ("no-zero-copy", false)] {
        let mut site = Site::new("", options, (1, 1));
        site.cross_connect();
        site.connect();
        let show = |daemon: &mut Daemon| daemon.run("show memif").expect("a table").json[0]["zero-copy"].clone();
        assert_eq!((show(&mut site.master), show(&mut site.slave)), (false.into(), is_zero_copy.into()));
        site.finish();
    }
}

/// An echo request for the slave, from behind the master.
fn ip_packet() -> Vec<u8> {
    use quiver_testkit::packet::{Ethernet, Icmp4, Ip4, Packet, Payload};
    let (from, to) = ("02:00:00:00:00:09", "02:fe:70:67:00:00");
    Packet::from(Ethernet::new(from.parse().expect("a MAC"), to.parse().expect("a MAC")))
        .then(Ip4::new([10, 1, 0, 9].into(), [10, 0, 0, 2].into()))
        .then(Icmp4::echo_request(7, 1))
        .then(Payload::counting(56))
        .to_bytes()
}

#[test]
fn what_does_not_fit_is_told() {
    for (master, slave, at_slave) in [
        ("mode ip", "", "waiting: the peer says: mode mismatch"),
        ("secret knock", "", "waiting: the peer says: secret required"),
        ("secret knock", "secret bang", "waiting: the peer says: incorrect secret"),
    ] {
        let mut site = Site::new(master, slave, (1, 1));
        site.run(500);
        assert_eq!(state(&mut site.slave), at_slave);
        assert!(state(&mut site.master).starts_with("waiting"));
        site.finish();
    }
}

/// Counts between two looks.
fn counted<'a>(
    before: &BTreeMap<(&'a str, &'a str), u64>,
    after: BTreeMap<(&'a str, &'a str), u64>,
) -> BTreeMap<(&'a str, &'a str), u64> {
    let since = |(arc, count): (_, u64)| (arc, count - before.get(&arc).copied().unwrap_or(0));
    after.into_iter().map(since).filter(|(_, count)| *count > 0).collect()
}

#[test]
fn packets_are_counted_on_their_way() {
    for slave in ["", "no-zero-copy"] {
        let mut site = Site::new("", slave, (1, 1));
        site.cross_connect();
        site.connect();
        let frames = frames(&[60; 40]);
        let before = site.master.counts();
        for from_master in [true, false] {
            assert!(site.pass(from_master, &frames) == frames, "{slave} {from_master}");
        }
        let counts = counted(&before, site.master.counts());
        for (arc, packets) in [(("memif-input", "device-input"), 40), (("interface-output", "sent"), 80)] {
            assert_eq!(counts.get(&arc), Some(&packets), "{slave}: {counts:?}");
        }
        site.finish();
    }
}
