//! Sessions that several workers see.

use std::collections::BTreeSet;
use std::time::Duration;

use fastrand::Rng;
use quiver_session::expiry::{Which, end_session, end_sessions};

use crate::oracle::{Service, Tenant};
use crate::packets::{Family, Packet, Protocol, Segment};
use crate::router::{CAPACITY, Router, WORKERS};

/// A router with a tenant whose packets come to both workers.
fn router() -> Router {
    let router = Router::new(1, Duration::from_millis(100));
    let chain = || vec![Service::Lifecycle, Service::Lookup];
    let tenant =
        Tenant { family: Family::V4, context: 7, chains: [chain(), chain()], timeouts: [30; 5], ..Tenant::default() };
    router.put_tenant(1, &tenant);
    for worker in 0..WORKERS {
        router.assign(worker, Family::V4, Some(1));
    }
    router
}

/// A datagram of a flow.
fn datagram(number: u32, flow: u16, is_reply: bool) -> Packet {
    let ends = [(1, 1000 + flow), (2, 53)];
    Packet {
        number,
        family: Family::V4,
        protocol: Protocol::Udp,
        source: ends[usize::from(is_reply)],
        destination: ends[usize::from(!is_reply)],
        segment: Segment { flags: 0, sequence: 0, acknowledgment: 0 },
        is_reply,
        payload: 8,
    }
}

#[test]
fn a_packet_whose_session_ends_on_its_way_to_the_owner_is_dropped() {
    let mut router = router();
    router.settle();
    assert_eq!(router.send(0, &[datagram(1, 1, false)]), BTreeSet::from([1]));
    assert_eq!(router.send(1, &[datagram(2, 1, true)]), BTreeSet::from([2]));
    let session = router.listed()[0];
    assert_eq!((session.worker, session.traffic), (0, [(1, 36), (1, 36)]));
    // The other worker hands the packet over, and the owner reads its letters first.
    router.daemon.send("pg1", &datagram(3, 1, true).bytes()).expect("it is up");
    let now = router.now();
    while router.daemon.workers()[1].turn(now) > 0 {}
    router.control().spawn("kill", {
        let control = router.control().clone();
        async move { assert!(end_session(control, 0, session.index).await) }
    });
    assert_eq!(router.send(0, &[]), BTreeSet::new());
    assert_eq!((router.dropped("session-gone"), router.listed().len(), router.len()), (1, 0, 0));
    // The next one begins another session, with another id.
    assert_eq!(router.send(1, &[datagram(4, 1, true)]), BTreeSet::from([4]));
    let next = router.listed()[0];
    assert_eq!((next.worker, next.traffic), (1, [(1, 36), (0, 0)]));
    assert_ne!(next.id(), session.id());
    router.daemon.finish().expect("nothing leaks");
}

#[test]
fn workers_with_threads_agree_on_one_session_per_flow() {
    let mut router = router();
    router.settle();
    let (mut random, mut number) = (Rng::with_seed(1), 0);
    router.daemon.start_threads().expect("there are threads");
    for turn in 0..300 {
        // Both workers receive the first packets of the same flows in the same moment.
        let first = random.u16(..64);
        for _ in 0..16 {
            number += 1;
            let packet = datagram(number, (first + random.u16(..8)) % 64, random.bool());
            let interface = format!("pg{}", number as usize % WORKERS);
            router.daemon.send(&interface, &packet.bytes()).expect("it is up");
        }
        if turn % 20 == 0 {
            router.control().spawn("kill", end_sessions(router.control().clone(), Which::All));
        }
        router.daemon.run_threads(Duration::from_micros(300));
        let listed = router.listed();
        assert!(listed.len() <= 2 * 64, "turn {turn}: {} sessions", listed.len());
    }
    router.daemon.run_threads(Duration::from_millis(20));
    router.daemon.stop_threads();
    router.settle();
    let listed = router.listed();
    let flows: BTreeSet<u16> = listed.iter().flat_map(|session| session.ends().map(|end| end.port)).collect();
    // Port 53 is the other end of each.
    assert_eq!((flows.len(), router.len()), (listed.len() + 1, listed.len()));
    let left = router.left().len() as u64;
    assert_eq!(left + router.dropped("session-gone") + router.dropped("handoff-full"), u64::from(number));
    assert!(listed.len() < CAPACITY && left > u64::from(number) / 2, "{} sessions, {left} packets left", listed.len());
    router.daemon.finish().expect("nothing leaks");
}
