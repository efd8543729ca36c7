//! Metrics of tenants, as Prometheus reads them.

use std::collections::BTreeSet;
use std::time::Duration;

use quiver_testkit::daemon::Daemon;

use crate::limits::{WAYS, datagram, establish, router};

/// The lines of metrics of sessions.
fn lines(daemon: &Daemon) -> BTreeSet<String> {
    quiver_statistics::refresh(daemon.control());
    let metrics = quiver_statistics::metrics::metrics(&quiver_statistics::segment(daemon.control()));
    let text = quiver_statistics::prometheus::text(metrics);
    let is_there = |line: &&str| line.contains("quiver_sessions") && !line.starts_with("# UNIT");
    text.lines().filter(is_there).map(str::to_owned).collect()
}

/// The lines of a metric whose value is not zero.
fn values(daemon: &Daemon, name: &str) -> Vec<String> {
    let of = format!("quiver_{name}{{");
    lines(daemon).into_iter().filter(|line| line.starts_with(&of) && !line.ends_with(" 0")).collect()
}

#[test]
fn tenants_have_metrics_with_their_numbers() {
    let (_, ip6, way) = WAYS[0];
    let mut daemon = router(way, 64);
    daemon.configure("sfdp tenant add 70000\nset sfdp sessions-max tenant 1 3");
    // A session of the first worker, one of the second, one without an answer; and one too many.
    establish(&mut daemon, ip6, 1);
    daemon.send("pg1", &datagram(ip6, true, 2)).expect("it is up");
    daemon.settle().expect("it settles");
    daemon.send("pg0", &datagram(ip6, false, 2)).expect("it is up");
    for port in 3..=4 {
        daemon.send("pg0", &datagram(ip6, false, port)).expect("it is up");
    }
    daemon.settle().expect("it settles");
    let all = lines(&daemon);
    for line in [
        "# HELP quiver_sessions Sessions that there are.",
        "# TYPE quiver_sessions gauge",
        "# TYPE quiver_sessions_created counter",
        "# TYPE quiver_sessions_denied counter",
        "quiver_sessions{tenant=\"1\",state=\"established\",worker=\"0\"} 1",
        "quiver_sessions{tenant=\"1\",state=\"established\",worker=\"1\"} 1",
        "quiver_sessions{tenant=\"1\",state=\"embryonic\",worker=\"0\"} 1",
        "quiver_sessions{tenant=\"1\",state=\"time-wait\",worker=\"0\"} 0",
        "quiver_sessions{tenant=\"70000\",state=\"embryonic\",worker=\"0\"} 0",
        "quiver_sessions_created_total{tenant=\"1\",worker=\"0\"} 2",
        "quiver_sessions_created_total{tenant=\"1\",worker=\"1\"} 1",
        "quiver_sessions_created_total{tenant=\"70000\",worker=\"1\"} 0",
        "quiver_sessions_removed_total{tenant=\"1\",worker=\"0\"} 0",
        "quiver_sessions_evicted_total{tenant=\"1\",worker=\"0\"} 0",
        "quiver_sessions_denied_total{tenant=\"1\",reason=\"quota\",worker=\"0\"} 1",
        "quiver_sessions_denied_total{tenant=\"1\",reason=\"table-full\",worker=\"0\"} 0",
        "quiver_sessions_incoming_packets_total{tenant=\"1\",worker=\"0\"} 4",
        "quiver_sessions_incoming_bytes_total{tenant=\"1\",worker=\"1\"} 72",
    ] {
        assert!(all.contains(line), "{line}\n{all:#?}");
    }
    // The words of clients of the segment.
    let text = daemon.run("show sfdp tenant 1 detail").expect("it is a command").text;
    for line in ["  sessions: 1 embryonic, 2 established, 0 time-wait", "  denied, quota: 1"] {
        assert!(text.lines().any(|shown| shown == line), "{text}");
    }
    // Sessions end, and are none of any state then.
    daemon.advance(Duration::from_secs(130)).expect("it settles");
    assert_eq!(values(&daemon, "sessions"), [""; 0]);
    let removed = ["0\"} 2", "1\"} 1"].map(|end| format!("quiver_sessions_removed_total{{tenant=\"1\",worker=\"{end}"));
    assert_eq!(values(&daemon, "sessions_removed_total"), removed);
    daemon.finish().expect("nothing leaks");
}

#[test]
fn a_deleted_tenant_has_no_metrics_and_the_next_one_begins_with_zero() {
    let (_, ip6, way) = WAYS[0];
    let mut daemon = router(way, 64);
    establish(&mut daemon, ip6, 1);
    let of = |daemon: &Daemon, tenant: u32| {
        let label = format!("{{tenant=\"{tenant}\"");
        let lines = lines(daemon).into_iter().filter(move |line| line.contains(&label));
        let lines: Vec<_> = lines.collect();
        (lines.len(), lines.iter().filter(|line| !line.ends_with(" 0")).count())
    };
    let (series, counted) = of(&daemon, 1);
    assert!(series > counted && counted > 3, "{series} {counted}");
    for interface in ["pg0", "pg1"] {
        daemon.configure(&format!("set sfdp interface-input {interface} tenant 1 disable"));
    }
    daemon.configure("sfdp tenant del 1");
    daemon.settle().expect("it settles");
    assert_eq!(of(&daemon, 1), (0, 0));
    daemon.advance(Duration::from_secs(3)).expect("it settles");
    daemon.configure("sfdp tenant add 2");
    // It has the slot of the first one, which is what clients know it by.
    let tenants = daemon.run("show sfdp tenant").expect("it is a command").json;
    assert_eq!((&tenants[0]["tenant"], &tenants[0]["index"]), (&2.into(), &0.into()), "{tenants}");
    assert_eq!(of(&daemon, 2), (series, 0));
    daemon.finish().expect("nothing leaks");
}
