//! The parts of a packet come together at one worker, whichever receive them.

use std::time::Duration;

use quiver_scenarios::ROOMS;
use quiver_testkit::daemon::{Daemon, Setup};
use quiver_testkit::packet::Packet;

/// A router with two interfaces of two workers that receive, and one that sends; `more` is configured, too.
fn router(more: &str) -> Daemon {
    let mut daemon =
        Daemon::new(ROOMS, Setup { workers: 2, buffers: 16_384, ..Setup::default() }).expect("the rooms fit");
    daemon.configure(
        "create packet-generator interface pg0 hw-addr 02:00:00:00:00:a0
         create packet-generator interface pg1 hw-addr 02:00:00:00:00:a0
         create packet-generator interface pg2 hw-addr 02:00:00:00:00:a2
         set interface state pg0 up
         set interface state pg1 up
         set interface state pg2 up
         set interface ip address pg0 10.0.0.1/24
         set interface ip address pg1 10.0.1.1/24
         set interface ip address pg2 10.0.2.1/24
         set interface ip address pg0 2001:db8::1/64
         set interface ip address pg1 2001:db8:1::1/64
         set interface ip address pg2 2001:db8:2::1/64
         ip neighbor pg2 10.0.2.2 02:00:00:00:00:12
         ip neighbor pg2 2001:db8:2::2 02:00:00:00:00:12
         set interface rx-placement pg0 worker 0
         set interface rx-placement pg1 worker 1",
    );
    daemon.configure(more);
    daemon.advance(Duration::from_secs(3)).expect("it settles");
    daemon.sent();
    daemon
}

fn frame(packet: &str) -> Vec<u8> {
    let text = format!("eth 02:00:00:00:00:02 > 02:00:00:00:00:a0 / {packet}");
    text.parse::<Packet>().unwrap_or_else(|error| panic!("{text}: {error}")).to_bytes()
}

/// A part of 16 bytes of packet `id`: the first of two, or the second.
fn part(ip6: bool, to: &str, id: u32, first: bool) -> Vec<u8> {
    frame(&match (ip6, first) {
        (false, true) => format!("ip4 10.0.0.2 > {to} id {id} mf protocol udp / hex 00010002002000000001020304050607"),
        (false, false) => format!("ip4 10.0.0.2 > {to} id {id} offset 16 protocol udp / payload 16"),
        (true, true) => {
            format!("ip6 2001:db8::2 > {to} / frag more id {id} next udp / hex 00010002002000000001020304050607")
        }
        (true, false) => format!("ip6 2001:db8::2 > {to} / frag offset 16 id {id} next udp / payload 16"),
    })
}

#[test]
fn parts_that_come_to_different_workers_make_a_whole() {
    for (ip6, to, header) in [(false, "10.0.2.2", 20), (true, "2001:db8:2::2", 40)] {
        for (more, count, length) in [
            ("set interface reassembly pg0 on\nset interface reassembly pg1 on", 1, 14 + header + 32),
            ("set interface sv-reassembly pg0 on\nset interface sv-reassembly pg1 on", 2, 0),
        ] {
            let mut daemon = router(more);
            for id in 0..50 {
                // The second part comes first, now here, now there.
                let (one, other) = if id % 2 == 0 { ("pg0", "pg1") } else { ("pg1", "pg0") };
                daemon.send(one, &part(ip6, to, id, false)).expect("it is up");
                daemon.settle().expect("it settles");
                assert_eq!(daemon.sent(), [], "{id} waits");
                daemon.send(other, &part(ip6, to, id, true)).expect("it is up");
                daemon.settle().expect("it settles");
                let sent = daemon.sent();
                assert_eq!(sent.len(), count, "{id}: {sent:?} {:?}", daemon.drops());
                assert!(length == 0 || sent[0].1.len() == length, "{id}: {sent:?}");
            }
            daemon.finish().expect("nothing leaks");
        }
    }
}

#[test]
fn a_worker_that_does_not_keep_up_is_named() {
    for (node, ip6, to, more) in [
        ("ip4-reassembly", false, "10.0.0.1", "set interface reassembly pg1 on"),
        ("ip6-reassembly", true, "2001:db8::1", "set interface reassembly pg1 on"),
        ("ip4-full-reassembly-feature", false, "10.0.2.2", "set interface reassembly pg0 on"),
        ("ip6-full-reassembly-feature", true, "2001:db8:2::2", "set interface reassembly pg0 on"),
        ("ip4-sv-reassembly-feature", false, "10.0.2.2", "set interface sv-reassembly pg0 on"),
        ("ip6-sv-reassembly-feature", true, "2001:db8:2::2", "set interface sv-reassembly pg0 on"),
    ] {
        let mut daemon = router(more);
        // Only the first worker turns; a ring has room for 64 bundles of 64 packets.
        let dropped = |daemon: &Daemon| daemon.drops().get(&(node, "handoff-full")).copied().unwrap_or(0);
        let mut id = 0;
        while dropped(&daemon) == 0 && id < 20_000 {
            for _ in 0..128 {
                daemon.send("pg0", &part(ip6, to, id, false)).expect("it is up");
                id += 1;
            }
            while daemon.workers()[0].turn(0) > 0 {}
        }
        assert!(dropped(&daemon) > 0 && id > 4096, "{node}: {id}");
        daemon.settle().expect("it comes to rest");
        daemon.finish().expect("nothing leaks");
    }
}
