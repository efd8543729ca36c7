//! Reasons for drops that a scenario cannot state, since they need thousands of packets, a control thread that is busy, or
//! a packet that no interface receives. `reasons.rs` names them.

use quiver_engine::{Dataplane, Injected};
use quiver_testkit::daemon::{Daemon, Rooms, Setup};
use quiver_testkit::packet::Packet;

const ROOMS: Rooms = Rooms {
    register: |control| quiverd::features::register(control).map_err(|error| error.to_string()),
    answer: quiver_interface::Events::answer,
    send: quiver_pg::send,
    // What is sent does not matter here.
    sent: |_| vec![],
};

const ROUTER: &str = "
    create packet-generator interface pg0 hw-addr 02:00:00:00:00:a0
    create packet-generator interface pg1
    set interface state pg0 up
    set interface state pg1 up
    set interface ip address pg0 10.0.0.1/16
    set interface ip address pg1 10.1.0.1/16
";

fn router() -> Daemon {
    let mut daemon = Daemon::new(ROOMS, Setup { buffers: 16_384, ..Setup::default() }).expect("a daemon");
    daemon.configure(ROUTER);
    daemon
}

/// Turns of the worker while control does nothing.
fn turns(daemon: &mut Daemon, turns: usize, now: u64) {
    for _ in 0..turns {
        daemon.workers()[0].turn(now);
    }
}

fn drops(daemon: &Daemon, node: &'static str, reason: &'static str) -> u64 {
    daemon.drops().get(&(node, reason)).copied().unwrap_or(0)
}

#[test]
fn neighbours_to_ask_for_and_messages_about_them_are_bounded() {
    let mut daemon = router();
    daemon.configure(
        "packet-generator new { name x interface pg0 data { IP4: 02:00:00:00:00:01 -> 02:00:00:00:00:a0 \
         UDP: 10.0.0.2 -> 10.1.0.2-10.1.20.0 UDP: 1 -> 2 } }",
    );
    daemon.configure("packet-generator enable x");
    turns(&mut daemon, 25, 1);
    assert!(drops(&daemon, "ip4-resolve", "too-many-neighbors") > 0, "{:?}", daemon.drops());
    // A while later each is to be asked for again, and nobody has read the first questions.
    turns(&mut daemon, 25, 60_000_000_000);
    assert!(drops(&daemon, "ip4-resolve", "control-busy") > 0, "{:?}", daemon.drops());
    daemon.configure("packet-generator disable x");
    daemon.finish().expect("nothing leaks");
}

#[test]
fn arp_packets_that_control_has_not_read_are_bounded() {
    let mut daemon = router();
    let question = "eth 02:00:00:00:00:01 > ff:ff:ff:ff:ff:ff / \
                    arp request 02:00:00:00:00:01 10.0.0.2 > 00:00:00:00:00:00 10.0.0.1";
    let question = question.parse::<Packet>().expect("a packet").to_bytes();
    for _ in 0..3 {
        (0..2000).for_each(|_| daemon.send("pg0", &question).expect("pg0 is up"));
        turns(&mut daemon, 50, 1);
    }
    assert!(drops(&daemon, "arp-input", "control-busy") > 0, "{:?}", daemon.drops());
    daemon.finish().expect("nothing leaks");
}

#[test]
fn packets_with_a_stale_or_senseless_next_hop_are_dropped_by_name() {
    let mut daemon = router();
    {
        let dataplane = daemon.control().room::<Dataplane>();
        let node = dataplane.graph().find("ip4-resolve").expect("the node is there");
        // Among these is the adjacency of each link, whose packets name their next hop in a header that is not there.
        for hop in (0..64).chain([1 << 20]) {
            dataplane.inject(0, node, Injected { bytes: vec![0x45], hop, ..Injected::default() });
        }
    }
    daemon.settle().expect("it comes to rest");
    assert!(drops(&daemon, "ip4-resolve", "no-adjacency") > 0, "{:?}", daemon.drops());
    assert!(drops(&daemon, "ip4-resolve", "bad-header") > 0, "{:?}", daemon.drops());
    daemon.finish().expect("nothing leaks");
}
