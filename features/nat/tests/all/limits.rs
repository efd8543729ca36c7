//! Behavior at limits.

use quiver_session::room::Room;

use crate::router::{datagram, dropped, router};

#[test]
fn a_full_table_refuses_new_sessions_by_name() {
    for (node, nat) in [
        ("nat44-ed-input", "set interface nat44 in pg0 out pg1"),
        ("nat44-ed-output", "set interface nat44 out pg1 output-feature"),
    ] {
        let mut daemon = router(1, 64, nat);
        for port in 5001..=5100 {
            daemon.send("pg0", &datagram("10.0.0.2 > 192.0.2.9", &format!("{port} > 53"))).expect("it is up");
            daemon.settle().expect("it settles");
            // Sessions with an answer stay in a full table.
            let answer = datagram("192.0.2.9 > 192.0.2.50", &format!("53 > {port}"));
            if port <= 5064 {
                daemon.send("pg1", &answer).expect("it is up");
                daemon.settle().expect("it settles");
            }
        }
        let live = daemon.control().room::<Room>().sessions().expect("they have begun").len();
        assert_eq!((live, dropped(&daemon, node, "session-table-full"), daemon.sent().len()), (64, 36, 128), "{node}");
        daemon.send("pg0", &datagram("10.0.0.2 > 192.0.2.9", "5001 > 53")).expect("it is up");
        daemon.settle().expect("it settles");
        assert_eq!((dropped(&daemon, node, "session-table-full"), daemon.sent().len()), (36, 1), "{node}");
        daemon.finish().expect("nothing leaks");
    }
}

#[test]
fn a_worker_that_does_not_keep_up_is_named() {
    let mut daemon = router(2, 1000, "set interface nat44 in pg0 out pg1");
    daemon.send("pg0", &datagram("10.0.0.2 > 192.0.2.9", "5000 > 53")).expect("it is up");
    daemon.settle().expect("it settles");
    // Only the second worker turns, and the session is the first one's; a ring has room for 64 bundles.
    let mut sent = 0;
    while dropped(&daemon, "nat44-ed-input", "handoff-full") == 0 && sent < 20_000 {
        for _ in 0..128 {
            daemon.send("pg1", &datagram("192.0.2.9 > 192.0.2.50", "53 > 5000")).expect("it is up");
            sent += 1;
        }
        while daemon.workers()[1].turn(0) > 0 {}
    }
    assert!(dropped(&daemon, "nat44-ed-input", "handoff-full") > 0 && sent > 2048, "{sent}");
    daemon.settle().expect("it comes to rest");
    daemon.finish().expect("nothing leaks");
}
