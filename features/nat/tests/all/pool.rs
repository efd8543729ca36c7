//! Outside ports, as packets show them.

use std::collections::BTreeSet;

use crate::router::{datagram, dropped, router, source};

/// Ports of an address for one of eight workers.
const PORTS: usize = 64_512 / 8;

#[test]
fn no_two_sessions_have_one_tuple_and_an_exhausted_pool_refuses_by_name() {
    let mut daemon = router(8, 1 << 16, "set interface nat44 in pg0 out pg1");
    let mut random = fastrand::Rng::with_seed(1);
    let (mut inside, mut outside) = (BTreeSet::new(), BTreeSet::new());
    while inside.len() < PORTS + 200 {
        // Few ports, so that hosts want the same ones.
        let flow = (random.u8(2..6), random.u16(1..4000));
        if !inside.insert(flow) {
            continue;
        }
        let (host, port) = flow;
        let packet = datagram(&format!("10.0.0.{host} > 192.0.2.9"), &format!("{port} > 53"));
        daemon.send("pg0", &packet).expect("it is up");
        daemon.settle().expect("it settles");
        for (interface, frame) in daemon.sent() {
            assert_eq!(interface, "pg1");
            let (address, port) = source(&frame);
            assert_eq!(address, [192, 0, 2, 50]);
            assert!(outside.insert(port), "two sessions to one destination have port {port}");
        }
    }
    assert_eq!((outside.len(), dropped(&daemon, "nat44-ed-input", "out-of-ports")), (PORTS, 200));
    assert!(outside.iter().all(|port| (1024..1024 + PORTS as u16).contains(port)), "they are this worker's");
    // Another destination shares ports.
    for port in 1..=100 {
        let packet = datagram("10.0.0.9 > 192.0.2.10", &format!("{port} > 53"));
        daemon.send("pg0", &packet).expect("it is up");
    }
    daemon.settle().expect("it settles");
    let shared: BTreeSet<_> = daemon.sent().iter().map(|(_, frame)| source(frame)).collect();
    assert_eq!((shared.len(), dropped(&daemon, "nat44-ed-input", "out-of-ports")), (100, 200));
    // Sessions that end free their ports.
    daemon.configure("clear nat44 sessions");
    daemon.send("pg0", &datagram("10.0.0.2 > 192.0.2.9", "5000 > 53")).expect("it is up");
    daemon.settle().expect("it settles");
    assert_eq!(daemon.sent().iter().map(|(_, frame)| source(frame).1).collect::<Vec<_>>(), [5000]);
    daemon.finish().expect("nothing leaks");
}
