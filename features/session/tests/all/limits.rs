//! Sessions of several workers, and what happens at limits.

use std::collections::BTreeMap;
use std::time::Duration;

use quiver_scenarios::{ROOMS, two_networks};
use quiver_session::expiry::{Which, end_sessions};
use quiver_session::room::Room;
use quiver_session::{SessionDefaults, set_session_defaults};
use quiver_testkit::daemon::{Daemon, Setup};
use quiver_testkit::packet::Packet;

/// A way into sessions: the node that finds them, the family, and the command that has interface pg0 or pg1 use it.
pub const WAYS: [(&str, bool, &str); 3] = [
    ("sfdp-lookup-ip4", false, "set sfdp interface-input INTERFACE tenant 1"),
    ("sfdp-lookup-ip6", true, "set sfdp interface-input INTERFACE tenant 1 ip6"),
    ("sample-ip4-parser", false, "set sfdp sample-parser INTERFACE tenant 1"),
];

/// A router whose interfaces pg0 and pg1 two workers receive; packets of both have sessions, `sessions` at most.
pub fn router(way: &str, sessions: usize) -> Daemon {
    let mut daemon =
        Daemon::new(ROOMS, Setup { workers: 2, buffers: 16_384, ..Setup::default() }).expect("the rooms fit");
    set_session_defaults(daemon.control(), SessionDefaults { sessions, ..SessionDefaults::default() });
    daemon.configure(two_networks::ROUTER);
    daemon.configure(
        "set interface rx-placement pg0 worker 0
         set interface rx-placement pg1 worker 1
         sfdp tenant add 1
         set sfdp services tenant 1 sfdp-l4-lifecycle ip4-lookup forward
         set sfdp services tenant 1 sfdp-l4-lifecycle ip4-lookup reverse",
    );
    for interface in ["pg0", "pg1"] {
        daemon.configure(&way.replace("INTERFACE", interface));
    }
    daemon.advance(Duration::from_secs(3)).expect("it settles");
    daemon.sent();
    daemon
}

/// A datagram of flow `port`, from the host behind pg0 to that behind pg1, or back.
pub fn datagram(ip6: bool, back: bool, port: u32) -> Vec<u8> {
    two_networks::datagram(ip6, back, port, "payload 8")
}

fn show(daemon: &mut Daemon) -> serde_json::Value {
    daemon.run("show session").expect("it is a command").json
}

#[test]
fn the_worker_of_the_first_packet_has_the_session() {
    let (_, ip6, way) = WAYS[0];
    let mut daemon = router(way, 1000);
    for (first, port) in [(false, 1), (true, 2)] {
        for back in [first, !first, first] {
            let interface = if back { "pg1" } else { "pg0" };
            daemon.send(interface, &datagram(ip6, back, port)).expect("it is up");
            daemon.settle().expect("it settles");
            let sent = daemon.sent();
            assert_eq!(sent.len(), 1, "{port} {back}: {:?}", daemon.drops());
            assert_eq!(sent[0].0, if back { "pg0" } else { "pg1" });
        }
    }
    let sessions = show(&mut daemon);
    let rows: Vec<_> = sessions.as_array().expect("a list").iter().collect();
    let owners: Vec<_> = rows.iter().map(|row| (&row["thread"], &row["initiator"], &row["state"])).collect();
    assert_eq!(
        owners,
        [
            (&1.into(), &"10.0.0.2:1".into(), &"established".into()),
            (&2.into(), &"10.0.1.2:53".into(), &"established".into())
        ]
    );
    daemon.finish().expect("nothing leaks");
}

#[test]
fn a_worker_that_does_not_keep_up_is_named() {
    for (node, ip6, way) in WAYS {
        let mut daemon = router(way, 1000);
        daemon.send("pg1", &datagram(ip6, true, 7)).expect("it is up");
        daemon.settle().expect("it settles");
        // Only the first worker turns, and the session is the other's; a ring has room for 64 bundles.
        let dropped = |daemon: &Daemon| daemon.drops().get(&(node, "handoff-full")).copied().unwrap_or(0);
        let mut sent = 0;
        while dropped(&daemon) == 0 && sent < 20_000 {
            for _ in 0..128 {
                daemon.send("pg0", &datagram(ip6, false, 7)).expect("it is up");
                sent += 1;
            }
            while daemon.workers()[0].turn(0) > 0 {}
        }
        assert!(dropped(&daemon) > 0 && sent > 2048, "{node}: {sent}");
        daemon.settle().expect("it comes to rest");
        daemon.finish().expect("nothing leaks");
    }
}

#[test]
fn a_full_table_refuses_new_sessions_by_name_and_keeps_the_others() {
    // Where policy comes first, sessions begin behind the services that judge.
    let by_policy = WAYS.map(|(_, ip6, way)| ("sfdp-create", ip6, way));
    for (node, ip6, way) in WAYS.into_iter().chain(by_policy) {
        let mut daemon = router(way, 64);
        if node == "sfdp-create" {
            daemon.configure("set sfdp entry tenant 1 policy-first");
        }
        (1..=64).for_each(|port| establish(&mut daemon, ip6, port));
        for port in 65..=100 {
            daemon.send("pg0", &datagram(ip6, false, port)).expect("it is up");
            daemon.settle().expect("it settles");
        }
        let full = |daemon: &Daemon| daemon.drops().get(&(node, "session-table-full")).copied().unwrap_or(0);
        let live = daemon.control().room::<Room>().sessions().expect("they have begun").len();
        assert_eq!((live, full(&daemon)), (64, 36), "{node}");
        // Those that there are go on.
        daemon.send("pg0", &datagram(ip6, false, 1)).expect("it is up");
        daemon.settle().expect("it settles");
        assert_eq!(full(&daemon), 36, "{node}");
        // When they have ended, others begin.
        daemon.advance(Duration::from_secs(130)).expect("it settles");
        daemon.send("pg0", &datagram(ip6, false, 101)).expect("it is up");
        daemon.settle().expect("it settles");
        assert_eq!(full(&daemon), 36, "{node}");
        assert_eq!(show(&mut daemon).as_array().map(Vec::len), Some(1), "{node}");
        daemon.finish().expect("nothing leaks");
    }
}

/// A datagram of a flow, and one back.
pub fn establish(daemon: &mut Daemon, ip6: bool, port: u32) {
    for (interface, back) in [("pg0", false), ("pg1", true)] {
        daemon.send(interface, &datagram(ip6, back, port)).expect("it is up");
        daemon.settle().expect("it settles");
    }
}

/// Numbers of sessions by their state.
fn states(daemon: &mut Daemon) -> BTreeMap<String, usize> {
    let mut states = BTreeMap::new();
    for row in show(daemon).as_array().expect("a list") {
        *states.entry(row["state"].as_str().expect("a name").to_owned()).or_default() += 1;
    }
    states
}

/// As under a flood: sessions without an answer make room for others, those that are established stay.
#[test]
fn sessions_without_an_answer_give_way_in_a_full_table_and_others_stay() {
    let (node, ip6, way) = WAYS[0];
    let mut daemon = router(way, 64);
    (1..=32).for_each(|port| establish(&mut daemon, ip6, port));
    for port in 1000..1500 {
        daemon.send("pg0", &datagram(ip6, false, port)).expect("it is up");
        // Records rest for some rounds.
        daemon.advance(Duration::from_millis(20)).expect("it settles");
    }
    assert_eq!(daemon.drops().get(&(node, "session-table-full")), None);
    let live = states(&mut daemon);
    assert_eq!((live["established"], live["embryonic"]), (32, 32), "{live:?}");
    // The newest of them are there: the oldest of some gave way.
    establish(&mut daemon, ip6, 1499);
    assert_eq!(states(&mut daemon)["established"], 33);
    let shown = daemon.run("show sfdp tenant 1 detail").expect("it is a command").json;
    let [created, removed, evicted] =
        ["created", "removed", "evicted"].map(|of| shown[format!("{of}-sessions")].as_u64().expect("a number"));
    assert_eq!((created - removed, removed), (64, evicted), "{shown}");
    assert_eq!(created, 532, "{shown}");
    daemon.finish().expect("nothing leaks");
}

#[test]
fn a_table_keeps_room_for_as_many_sessions_as_its_margin_says() {
    let (node, ip6, way) = WAYS[0];
    let mut daemon = router(way, 64);
    let error = daemon.run("set sfdp eviction sessions-margin 33").expect_err("it is more than half");
    assert_eq!(error.to_string(), "33 is more than half of all sessions; write 0 to 32");
    daemon.configure("set sfdp eviction sessions-margin 16");
    assert_eq!(daemon.run("show sfdp status").expect("it is a command").json["margin"], 16);
    (1..=32).for_each(|port| establish(&mut daemon, ip6, port));
    let begin = |daemon: &mut Daemon, ports: std::ops::Range<u32>| {
        for port in ports {
            daemon.send("pg0", &datagram(ip6, false, port)).expect("it is up");
            daemon.settle().expect("it settles");
        }
    };
    // Those without an answer give way from the 49th session on.
    begin(&mut daemon, 100..130);
    assert_eq!(states(&mut daemon), BTreeMap::from([("established".to_owned(), 32), ("embryonic".to_owned(), 16)]));
    // Established sessions stay, and fill the table.
    (33..=64).for_each(|port| establish(&mut daemon, ip6, port));
    let live = states(&mut daemon);
    assert!(live["established"] > 48, "{live:?}");
    daemon.configure("set sfdp eviction sessions-margin 0");
    let mut daemon = router(way, 64);
    begin(&mut daemon, 100..164);
    assert_eq!((states(&mut daemon)["embryonic"], daemon.drops().get(&(node, "session-table-full"))), (64, None));
    daemon.finish().expect("nothing leaks");
}

#[test]
fn a_tenant_has_no_more_sessions_than_its_quota() {
    for (node, ip6, way) in WAYS {
        let mut daemon = router(way, 64);
        daemon.configure("set sfdp sessions-max tenant 1 10");
        for port in 1..=15 {
            daemon.send("pg0", &datagram(ip6, false, port)).expect("it is up");
        }
        daemon.settle().expect("it settles");
        let over = |daemon: &Daemon| daemon.drops().get(&(node, "session-quota")).copied().unwrap_or(0);
        assert_eq!((show(&mut daemon).as_array().map(Vec::len), over(&daemon)), (Some(10), 5), "{node}");
        daemon.configure("set sfdp sessions-max tenant 1 none");
        daemon.send("pg0", &datagram(ip6, false, 15)).expect("it is up");
        daemon.settle().expect("it settles");
        assert_eq!((show(&mut daemon).as_array().map(Vec::len), over(&daemon)), (Some(11), 5), "{node}");
        let error = daemon.run("set sfdp sessions-max tenant 1 0").expect_err("nothing would pass");
        assert!(error.to_string().contains("sessions-max"), "{error}");
        daemon.finish().expect("nothing leaks");
    }
}

/// Sessions of the host behind pg0 that two workers have, with those of another one beside them.
#[test]
fn a_source_has_no_more_sessions_than_its_quota_on_all_workers_together() {
    for (node, ip6, way) in WAYS {
        let mut daemon = router(way, 64);
        // Those that there are count as well.
        establish(&mut daemon, ip6, 1);
        daemon.configure("set sfdp source-sessions-max tenant 1 10");
        daemon.settle().expect("it settles");
        let over = |daemon: &Daemon| daemon.drops().get(&(node, "session-source-quota")).copied().unwrap_or(0);
        for port in 2..=8 {
            daemon.send("pg0", &datagram(ip6, false, port)).expect("it is up");
        }
        daemon.settle().expect("it settles");
        // The same host's packets come to the other worker.
        daemon.configure("set interface rx-placement pg0 worker 1");
        daemon.settle().expect("it settles");
        for port in 9..=15 {
            daemon.send("pg0", &datagram(ip6, false, port)).expect("it is up");
        }
        // The server begins sessions of its own.
        (100..=105).for_each(|port| daemon.send("pg1", &datagram(ip6, true, port)).expect("it is up"));
        daemon.settle().expect("it settles");
        let sessions = show(&mut daemon).as_array().expect("a list").clone();
        let client = if ip6 { "[2001:db8::2]" } else { "10.0.0.2" };
        let of = |thread: u32| {
            let of = |row: &&serde_json::Value| row["initiator"].as_str().is_some_and(|text| text.starts_with(client));
            sessions.iter().filter(of).filter(|row| row["thread"] == thread).count()
        };
        assert_eq!((of(1), of(2), sessions.len(), over(&daemon)), (8, 2, 16, 5), "{node}");
        // Ends of sessions make room, on either worker.
        daemon.advance(Duration::from_secs(10)).expect("it settles");
        for port in 20..=35 {
            daemon.send("pg0", &datagram(ip6, false, port)).expect("it is up");
        }
        daemon.settle().expect("it settles");
        assert_eq!((show(&mut daemon).as_array().map(Vec::len), over(&daemon)), (Some(10), 12), "{node}");
        let detail = daemon.run("show sfdp tenant 1 detail").expect("it is a command").json;
        assert_eq!(
            (&detail["denied"]["source-quota"], &detail["source-sessions-max"]),
            (&12.into(), &10.into()),
            "{node}"
        );
        daemon.configure("set sfdp source-sessions-max tenant 1 none");
        daemon.send("pg0", &datagram(ip6, false, 40)).expect("it is up");
        daemon.settle().expect("it settles");
        assert_eq!((show(&mut daemon).as_array().map(Vec::len), over(&daemon)), (Some(11), 12), "{node}");
        daemon.configure("clear session all");
        daemon.settle().expect("it settles");
        daemon.configure("set sfdp source-sessions-max tenant 1 10");
        for port in 50..=65 {
            daemon.send("pg0", &datagram(ip6, false, port)).expect("it is up");
        }
        daemon.settle().expect("it settles");
        assert_eq!(show(&mut daemon).as_array().map(Vec::len), Some(10), "{node}: no count is left behind");
        let error = daemon.run("set sfdp source-sessions-max tenant 1 0").expect_err("nothing would pass");
        assert!(error.to_string().contains("source-sessions-max"), "{error}");
        daemon.finish().expect("nothing leaks");
    }
}

/// As under a flood where policy comes first: refused packets take no record, and end no session.
#[test]
fn where_policy_comes_first_a_flood_that_it_refuses_leaves_nothing() {
    let (_, ip6, way) = WAYS[0];
    let mut daemon = router(way, 64);
    daemon.configure("set sfdp entry tenant 1 policy-first");
    (1..=32).for_each(|port| establish(&mut daemon, ip6, port));
    let bytes = |daemon: &Daemon| daemon.control().room::<Room>().sessions().expect("they have begun").bytes();
    let before = bytes(&daemon);
    for port in 1000..1500 {
        let text = format!("ip4 10.0.0.9 > 10.0.1.2 ttl 64 / tcp {port} > 80 ack seq 1 ack 1");
        let frame = format!("eth 02:00:00:00:00:02 > 02:00:00:00:00:a0 / {text}").parse::<Packet>().expect("a packet");
        daemon.send("pg0", &frame.to_bytes()).expect("it is up");
    }
    daemon.settle().expect("it settles");
    let live = states(&mut daemon);
    assert_eq!((live.get("established"), live.get("embryonic")), (Some(&32), None), "{live:?}");
    assert_eq!((daemon.drops()[&("sfdp-l4-lifecycle", "no-syn")], bytes(&daemon)), (500, before));
    let detail = daemon.run("show sfdp tenant 1 detail").expect("it is a command").json;
    assert_eq!((&detail["denied"]["no-syn"], &detail["created-sessions"]), (&500.into(), &32.into()), "{detail}");
    daemon.finish().expect("nothing leaks");
}

#[test]
fn under_pressure_timeouts_shrink_and_those_of_unanswered_sessions_first() {
    let (_, ip6, way) = WAYS[0];
    let mut daemon = router(way, 100);
    for (line, what) in [("start 50 end 50", "above adaptive-start"), ("start 0 end 2000", "at most 1000")] {
        let error = daemon.run(&format!("set sfdp adaptive tenant 1 {line}")).expect_err("it is out of range");
        assert!(error.to_string().contains(what), "{error}");
    }
    daemon.configure("set sfdp adaptive tenant 1 start 50 end 100");
    (1..=80).for_each(|port| establish(&mut daemon, ip6, port));
    let live = |daemon: &Daemon| daemon.control().room::<Room>().sessions().expect("they have begun").len();
    // Those of established sessions shrink from 75 % on: at 80 % to 96 s.
    daemon.advance(Duration::from_secs(94)).expect("it settles");
    assert_eq!(live(&daemon), 80);
    // Each session that ends takes some of the pressure away: after 110 s these are as many as have 110 s.
    daemon.advance(Duration::from_secs(16)).expect("it settles");
    assert!((77..=78).contains(&live(&daemon)), "{}", live(&daemon));
    // Without an answer, 78 % leave 2.2 s of 5 s.
    daemon.send("pg0", &datagram(ip6, false, 1000)).expect("it is up");
    daemon.settle().expect("it settles");
    let unanswered = |daemon: &mut Daemon| states(daemon).get("embryonic").copied();
    let listed = daemon.run("show session port 1000").expect("it is a command").json;
    let seconds = listed[0]["seconds"].as_f64();
    assert!(seconds.is_some_and(|seconds| (2.0..2.4).contains(&seconds)), "{listed}");
    daemon.advance(Duration::from_secs(1)).expect("it settles");
    assert_eq!(unanswered(&mut daemon), Some(1));
    daemon.advance(Duration::from_secs(3)).expect("it settles");
    assert_eq!(unanswered(&mut daemon), None);
    // As in VPP.
    daemon.configure("set sfdp adaptive tenant 1 none");
    daemon.send("pg0", &datagram(ip6, false, 1001)).expect("it is up");
    daemon.advance(Duration::from_secs(4)).expect("it settles");
    assert_eq!(unanswered(&mut daemon), Some(1));
    daemon.finish().expect("nothing leaks");
}

#[test]
fn records_of_ended_sessions_are_used_again() {
    let (_, ip6, way) = WAYS[0];
    let mut daemon = router(way, 64);
    let mut bytes = 0;
    for round in 0..50u32 {
        for port in 0..64 {
            daemon.send("pg0", &datagram(ip6, false, round * 64 + port)).expect("it is up");
        }
        daemon.settle().expect("it settles");
        let sessions = daemon.control().room::<Room>().sessions().expect("they have begun");
        assert_eq!(sessions.len(), 64, "{round}");
        if round == 1 {
            bytes = sessions.bytes();
        }
        assert!(round < 2 || sessions.bytes() == bytes, "{round}: {} bytes, not {bytes}", sessions.bytes());
        daemon.advance(Duration::from_secs(10)).expect("it settles");
        assert!(sessions.is_empty(), "{round}");
    }
    daemon.finish().expect("nothing leaks");
}

#[test]
fn sessions_end_by_a_thousand_in_a_turn_of_their_worker() {
    const SESSIONS: usize = 5000;
    let (_, ip6, way) = WAYS[0];
    let mut daemon = router(way, SESSIONS);
    // They end by command, and by their time.
    for is_cleared in [true, false] {
        for port in 0..SESSIONS as u32 {
            daemon.send("pg0", &datagram(ip6, false, port)).expect("it is up");
            if port % 1000 == 999 {
                daemon.settle().expect("it settles");
                daemon.sent();
            }
        }
        let sessions = daemon.control().room::<Room>().sessions().expect("they have begun");
        assert_eq!(sessions.len(), SESSIONS);
        if is_cleared {
            daemon.control().spawn("clear", end_sessions(daemon.control().clone(), Which::All));
        }
        let mut most = 0;
        while !sessions.is_empty() {
            daemon.executor().run_ready();
            let now = daemon.time();
            for worker in daemon.workers() {
                let before = sessions.len();
                worker.turn(now.0);
                most = most.max(before - sessions.len());
            }
            daemon.executor().advance_to(now + Duration::from_millis(10));
        }
        assert!((500..=1024).contains(&most), "{most} at once");
        daemon.settle().expect("it settles");
    }
    daemon.finish().expect("nothing leaks");
}
