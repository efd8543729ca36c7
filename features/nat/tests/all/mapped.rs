//! Mappings of endpoint-independent mode, on several workers.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use quiver_testkit::daemon::Daemon;

use crate::router::{datagram, destination, dropped, router, source};

const INDEPENDENT: &str = "nat44 add address 192.0.2.50 endpoint-independent\nset interface nat44 in pg0 out pg1\nset nat timeout port-rest 0";

/// Sends a datagram into an interface; the one that comes out of the other one, if any does.
fn pass(daemon: &mut Daemon, interface: &str, ends: &str, ports: &str) -> Option<Vec<u8>> {
    daemon.send(interface, &datagram(ends, ports)).expect("it is up");
    daemon.settle().expect("it settles");
    let mut sent = daemon.sent();
    assert!(sent.len() < 2, "{ends} {ports}");
    sent.pop().filter(|(out, _)| out != interface).map(|(_, frame)| frame)
}

fn mapped(daemon: &mut Daemon, host: u8, port: u16, to: &str) -> Option<u16> {
    let frame = pass(daemon, "pg0", &format!("10.0.0.{host} > {to}"), &format!("{port} > 53"))?;
    let (address, port) = source(&frame);
    assert_eq!(address, [192, 0, 2, 50]);
    Some(port)
}

#[test]
fn all_workers_share_a_mapping_and_its_port_returns_to_its_own_worker() {
    let mut daemon = router(2, 1000, INDEPENDENT);
    assert_eq!(mapped(&mut daemon, 2, 5000, "192.0.2.9"), Some(5000));
    // The other worker begins a session from the outside; the first one receives the answer.
    let inside = pass(&mut daemon, "pg1", "192.0.2.10 > 192.0.2.50", "9999 > 5000").expect("it is let in");
    assert_eq!((source(&inside), destination(&inside)), (([192, 0, 2, 10], 9999), ([10, 0, 0, 2], 5000)));
    let answer = pass(&mut daemon, "pg0", "10.0.0.2 > 192.0.2.10", "5000 > 9999").expect("it is translated");
    assert_eq!(source(&answer), ([192, 0, 2, 50], 5000));
    // The other worker receives from the host, too; the port is none of its own.
    daemon.configure("set interface rx-placement pg0 worker 1");
    assert_eq!(mapped(&mut daemon, 2, 5000, "192.0.2.10"), Some(5000));
    let other = mapped(&mut daemon, 3, 5000, "192.0.2.10").expect("it is translated");
    assert!(other >= 1024 + 64_512 / 2 && other.is_multiple_of(2), "{other} is the other worker's, and even");
    daemon.configure("set interface rx-placement pg0 worker 0");
    assert_eq!(mapped(&mut daemon, 3, 5000, "192.0.2.9"), Some(other));
    daemon.configure("clear nat44 sessions");
    assert_eq!(pass(&mut daemon, "pg1", "192.0.2.10 > 192.0.2.50", "9999 > 5000"), None);
    assert_eq!(mapped(&mut daemon, 3, 5000, "192.0.2.9"), Some(5000), "it is free again");
    daemon.finish().expect("nothing leaks");
}

/// Ports of an address for one of eight workers.
const PORTS: usize = 64_512 / 8;

#[test]
fn an_exhausted_pool_refuses_by_name_and_ports_that_rest_are_used_before() {
    let mut daemon = router(8, 1 << 16, INDEPENDENT);
    daemon.configure("set nat timeout port-rest 120");
    let mut outside = BTreeSet::new();
    for number in 0..PORTS + 100 {
        // Different destinations share no port.
        let (host, to) = (2 + number % 3, 9 + number % 2);
        let packet = datagram(&format!("10.0.0.{host} > 192.0.2.{to}"), &format!("{} > 53", 1 + number));
        daemon.send("pg0", &packet).expect("it is up");
        if number % 32 == 0 {
            daemon.settle().expect("it settles");
        }
    }
    daemon.settle().expect("it settles");
    for (_, frame) in daemon.sent() {
        assert!(outside.insert(source(&frame).1), "two ports of hosts share one");
    }
    assert_eq!((outside.len(), dropped(&daemon, "nat44-ed-input", "out-of-ports")), (PORTS, 100));
    assert!(outside.iter().all(|port| (1024..1024 + PORTS as u16).contains(port)), "they are this worker's");
    // A host with a mapping has sessions to other destinations all the same.
    let known = mapped(&mut daemon, 2, 1, "192.0.2.10").expect("it has a mapping");
    assert_eq!(mapped(&mut daemon, 2, 1, "192.0.2.9"), Some(known));
    // All ports rest now; without another one they are used at once.
    daemon.configure("clear nat44 sessions");
    assert!(mapped(&mut daemon, 2, 9999, "192.0.2.9").is_some());
    assert_eq!(dropped(&daemon, "nat44-ed-input", "out-of-ports"), 100);
    daemon.finish().expect("nothing leaks");
}

/// Against a map of ends: random packets from both sides, received by random workers, and times at which all sessions end.
#[test]
fn random_packets_agree_with_a_map() {
    let mut daemon = router(3, 1000, INDEPENDENT);
    let mut random = fastrand::Rng::with_seed(1);
    let mut known: BTreeMap<(u8, u16), u16> = BTreeMap::new();
    for step in 0..1500 {
        let (host, port) = (random.u8(2..5), random.u16(5000..5004));
        let (peer, peer_port) = (random.u8(9..11), random.u16(50..53));
        match random.u32(..100) {
            0..3 => {
                daemon.advance(Duration::from_secs(302)).expect("they end");
                daemon.sent();
                known.clear();
            }
            3..20 => {
                let (interface, worker) = (random.choice(["pg0", "pg1"]).expect("there are two"), random.u8(..3));
                daemon.configure(&format!("set interface rx-placement {interface} worker {worker}"));
            }
            20..60 => {
                let packet = (format!("10.0.0.{host} > 192.0.2.{peer}"), format!("{port} > {peer_port}"));
                let frame = pass(&mut daemon, "pg0", &packet.0, &packet.1).expect("it is translated");
                let outside = source(&frame).1;
                assert_eq!(*known.entry((host, port)).or_insert(outside), outside, "{step}");
                let all: BTreeSet<_> = known.values().collect();
                assert_eq!(all.len(), known.len(), "{step}: {known:?}");
            }
            _ => {
                let outside = known.values().copied().nth(random.usize(..12)).unwrap_or_else(|| random.u16(1024..));
                let host = known.iter().find(|(_, known)| **known == outside).map(|(host, _)| *host);
                let packet = (format!("192.0.2.{peer} > 192.0.2.50"), format!("{peer_port} > {outside}"));
                let frame = pass(&mut daemon, "pg1", &packet.0, &packet.1);
                let reached = frame.map(|frame| destination(&frame)).map(|(address, port)| (address[3], port));
                assert_eq!(reached, host, "{step}");
            }
        }
    }
    daemon.finish().expect("nothing leaks");
}
