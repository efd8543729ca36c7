//! Latencies, gaps and planted faults, measured on the virtual clock.

use std::time::Duration;

use quiver_pg::PacketGenerator;
use quiver_scenarios::line::{self, Plan};
use quiver_testkit::crossing;
use quiver_testkit::daemon::{Daemon, Rooms, Setup};
use serde_json::Value;

const ROOMS: Rooms = quiver_scenarios::rooms![quiver_interface, crossing, line, quiver_pg];
const MICROSECOND: u64 = 1000;
const MILLISECOND: u64 = 1_000_000;

/// A daemon in which what comes in by pg0 goes over a line with these faults to pg1. Interfaces are joined in pairs, in the
/// order in which they are made: pg0 with line0, line1 with pg1.
fn with_line(plan: Plan, workers: usize) -> Daemon {
    let mut daemon = Daemon::new(ROOMS, Setup { workers, ..Setup::default() }).expect("a daemon");
    daemon.control().put(PacketGenerator::new("pg0".into())).expect("there is room");
    line::create(daemon.control(), plan);
    daemon.control().put(PacketGenerator::new("pg1".into())).expect("there is room");
    for name in ["pg0", "line0", "line1", "pg1"] {
        daemon.configure(&format!("set interface state {name} up"));
    }
    daemon
}

/// Runs a stream to its end, a second at most; what is shown of it then.
fn run(daemon: &mut Daemon, words: &str) -> Value {
    daemon.configure(&format!("packet-generator new {{ name x source pg0 {words} }}\npacket-generator enable x"));
    daemon.advance(Duration::from_secs(1)).expect("an end");
    daemon.sent();
    daemon.run("show packet-generator x").expect("it is there").json[0].take()
}

fn counts(shown: &Value) -> [u64; 5] {
    ["sent", "received", "lost", "duplicated", "reordered"].map(|count| shown[count].as_u64().expect(count))
}

#[test]
fn a_planted_delay_is_measured_to_the_nanosecond() {
    // The daemon's virtual clock goes on by a microsecond at least.
    let plans: [Plan; 4] = [|_| vec![0], |_| vec![1000], |_| vec![250_777], |_| vec![99_999_999]];
    for plan in plans {
        let planted = plan(0)[0];
        let mut daemon = with_line(plan, 1);
        let shown = run(&mut daemon, "latency limit 1000 rate 10000");
        assert_eq!(counts(&shown), [1000, 1000, 0, 0, 0]);
        let latency = &shown["latency"];
        for part in ["min", "p50", "p90", "p99", "p99.9", "max"] {
            assert_eq!(latency[part], planted, "{part}");
        }
        assert_eq!((latency["mean"].as_f64(), &latency["packets"]), (Some(planted as f64), &Value::from(1000)));
        assert_eq!(
            (&latency["pdv"], &latency["ipdv"]["pairs"], &latency["ipdv"]["max"]),
            (&0.into(), &999.into(), &0.into())
        );
        daemon.finish().expect("nothing leaks");
    }
}

#[test]
fn delays_that_vary_are_told_by_their_distribution() {
    // 1 ms for most, 1.5 ms for one of ten, 3 ms for one of a hundred: no packet overtakes another at 100 a second.
    let plan: Plan = |number| match (number % 100, number % 10) {
        (99, _) => vec![3 * MILLISECOND],
        (_, 9) => vec![1500 * MICROSECOND],
        _ => vec![MILLISECOND],
    };
    let mut daemon = with_line(plan, 1);
    let shown = run(&mut daemon, "latency limit 100 rate 100");
    assert_eq!(counts(&shown), [100, 100, 0, 0, 0]);
    let latency = &shown["latency"];
    let near = |part: &str, planted: u64| {
        let found = latency[part].as_u64().expect(part);
        assert!(found.abs_diff(planted) <= MICROSECOND, "{part}: {found}, not {planted}");
    };
    near("min", MILLISECOND);
    near("p50", MILLISECOND);
    near("p90", MILLISECOND);
    near("p99", 1500 * MICROSECOND);
    near("p99.9", 3 * MILLISECOND);
    near("max", 3 * MILLISECOND);
    near("pdv", 2 * MILLISECOND);
    // 90 at 1, 9 at 1.5 and 1 at 3 ms.
    assert_eq!(latency["mean"].as_f64(), Some(1_065_000.0));
    let ipdv = &latency["ipdv"];
    assert_eq!((ipdv["pairs"].as_u64(), ipdv["median"].as_i64()), (Some(99), Some(0)));
    assert_eq!((ipdv["min"].as_i64(), ipdv["max"].as_i64()), (Some(-500_000), Some(2_000_000)));
    daemon.finish().expect("nothing leaks");
}

#[test]
fn planted_faults_are_counted_exactly_with_stamps_and_without() {
    // Of 5,000 packets, one in a hundred is lost, one in fifty comes twice, and one in forty 25 us late, when two others have
    // overtaken it; no packet has two of these faults.
    let plan: Plan = |number| match number {
        number if number % 100 == 7 => vec![],
        number if number % 50 == 8 => vec![MILLISECOND, MILLISECOND],
        number if number % 40 == 1 => vec![MILLISECOND + 25 * MICROSECOND],
        _ => vec![MILLISECOND],
    };
    for stamps in ["", "latency"] {
        let mut daemon = with_line(plan, 1);
        let shown = run(&mut daemon, &format!("{stamps} limit 5000 rate 100000"));
        assert_eq!(counts(&shown), [5000, 5000 - 50 + 100, 50, 100, 125], "{stamps}");
        if !stamps.is_empty() {
            assert_eq!(shown["latency"]["packets"], 4950, "the second time does not count");
            assert_eq!((&shown["latency"]["min"], &shown["latency"]["max"]), (&1_000_000.into(), &1_025_000.into()));
        }
        daemon.finish().expect("nothing leaks");
    }
}

#[test]
fn what_several_workers_receive_is_one_latency() {
    let plan: Plan = |number| vec![MILLISECOND + number % 2 * MILLISECOND];
    let mut daemon = with_line(plan, 2);
    let shown = run(&mut daemon, "latency limit 2000 rate 1000000");
    let [sent, received, lost, duplicated, _] = counts(&shown);
    assert_eq!([sent, received, lost, duplicated], [2000, 2000, 0, 0]);
    let latency = &shown["latency"];
    assert_eq!(
        (&latency["packets"], &latency["min"], &latency["max"]),
        (&2000.into(), &1_000_000.into(), &2_000_000.into())
    );
    assert_eq!(latency["mean"].as_f64(), Some(1_500_000.0));
    assert_eq!(latency["ipdv"]["pairs"], 0, "each worker had every second packet");
    daemon.finish().expect("nothing leaks");
}

#[test]
fn a_stream_keeps_its_rate_and_its_gaps_are_even() {
    let mut daemon = with_line(|_| vec![], 1);
    let shown = run(&mut daemon, "gaps limit 100000 rate 1000000");
    let gaps = &shown["gaps"];
    assert_eq!((&gaps["gaps"], &gaps["min"], &gaps["max"]), (&99_999.into(), &1000.into(), &1000.into()));
    assert_eq!(gaps["histogram"].as_array().map(Vec::len), Some(1));
    assert!(shown.get("latency").is_none(), "nobody asked for it");
    daemon.finish().expect("nothing leaks");
}

/// The worker is polled as a busy machine would: at moments drawn by lot, up to 200 us apart.
#[test]
fn the_mean_rate_is_exact_over_ten_seconds_however_unevenly_a_worker_is_polled() {
    let mut daemon = with_line(|_| vec![], 1);
    // Nobody looks at ten million packets.
    daemon.configure("set interface state line0 down");
    daemon.configure("packet-generator new { name x source pg0 gaps rate 1e6 }\npacket-generator enable x");
    let mut moments = fastrand::Rng::with_seed(7);
    let (mut now, end) = (daemon.time().0, daemon.time().0 + 10_000_000_000);
    while now < end {
        let worker = &mut daemon.workers()[0];
        worker.turn(now);
        now = (now + moments.u64(1..200_000)).min(end);
    }
    daemon.workers()[0].turn(end);
    let shown = daemon.run("show packet-generator x").expect("it is there").json[0].take();
    let (sent, gaps) = (shown["sent"].as_u64().expect("a count"), &shown["gaps"]);
    assert!(sent.abs_diff(10_000_001) <= 10_000_000 / 1000, "{sent}: 0.1 % of ten million");
    assert_eq!(gaps["gaps"].as_u64(), Some(sent - 1));
    let mean = gaps["mean"].as_f64().expect("a mean");
    assert!((mean - 1000.0).abs() <= 1.0, "{mean} ns: 0.1 % of 1 us");
    // Packets of one turn have no gap between them, and no gap is longer than those between turns.
    assert!(gaps["min"] == 0 && gaps["max"].as_u64().is_some_and(|max| (1..400_000).contains(&max)), "{gaps}");
}

#[test]
fn latencies_and_gaps_stand_beneath_the_streams() {
    let mut daemon = with_line(|number| vec![1500 + number], 1);
    run(&mut daemon, "latency gaps limit 2 rate 1000");
    let text = daemon.run("show packet-generator x").expect("it is there").text;
    assert_eq!(
        text,
        "\
Name  Interface  Enabled  Limit  Rate  Sent  Received  Lost  Duplicated  Reordered
x     pg0        No           2  1000     2         2     0           0          0

Latency in microseconds
Name  Packets    Min   Mean    P50    P90    P99  P99.9    Max    PDV  IPDV min  IPDV median  IPDV max
x           2  1.500  1.500  1.500  1.501  1.501  1.501  1.501  0.001     0.001        0.001     0.001

Gaps between packets in microseconds
Name  Gaps       Min      Mean       P50       P99     P99.9       Max
x        1  1000.000  1000.000  1000.000  1000.000  1000.000  1000.000"
    );
    daemon.finish().expect("nothing leaks");
}
