//! Several workers, on threads and turned by hand in an order drawn by lot: the same results as with one, and no packet
//! overtakes another of its flow. On a machine with fewer cores than workers, threads are oversubscribed.

use fastrand::Rng;
use quiver_interface::{InterfaceName, RxQueueSettings};
use quiver_scenarios::ROOMS;
use quiver_testkit::daemon::{Daemon, Setup};
use std::collections::BTreeMap;
use std::time::Duration;

fn daemon(workers: usize) -> Daemon {
    Daemon::new(ROOMS, Setup { workers, buffers: 8192, ..Setup::default() }).expect("a daemon")
}

#[test]
fn placement_is_saved_and_comes_back() {
    let mut first = daemon(2);
    first.configure(
        "create packet-generator interface pg0
         create packet-generator interface pg1
         set interface state pg0 up
         set interface rx-placement pg0 worker 1
         set interface rx-mode pg0 interrupt
         set interface rx-mode pg1 polling",
    );
    let saved = first.control().save().text;
    let mut second = daemon(2);
    second.apply("saved.yaml", &saved).expect("what was saved can be applied");
    assert_eq!(second.control().save().text, saved);
    let shown = |daemon: &mut Daemon| daemon.run("show interface rx-placement").expect("it can be shown").json;
    assert_eq!(shown(&mut second), shown(&mut first));
    assert_eq!(shown(&mut second)[0]["mode"], "interrupt");
    assert_eq!(shown(&mut second)[0]["worker"], 1);
    // Without its settings, a queue is where it was at first.
    second.control().delete::<RxQueueSettings>(&(InterfaceName("pg0".into()), 0)).expect("it has settings");
    assert_eq!((&shown(&mut second)[0]["mode"], &shown(&mut second)[0]["worker"]), (&"adaptive".into(), &0.into()));
    // A daemon with fewer workers says what does not fit.
    let error = daemon(1).apply("saved.yaml", &saved).expect_err("there is no worker 1");
    let error = format!("{error:?}");
    assert!(error.contains("there is no worker 1") && error.contains("worker"), "{error}");
}

/// Sixteen flows are routed from pg0 to pg1.
const ROUTER: &str = "
    create packet-generator interface pg0 hw-addr 02:00:00:00:00:a0
    create packet-generator interface pg1
    set interface state pg0 up
    set interface state pg1 up
    set interface ip address pg0 10.0.0.1/16
    set interface ip address pg1 10.1.0.1/16
    ip neighbor pg1 10.1.0.2 02:00:00:00:00:b2 static
    ip route add 48.0.0.0/8 via 10.1.0.2 pg1
";
const PACKETS: usize = 6000;
const FLOWS: usize = 16;

fn stream(rate: &str) -> String {
    format!(
        "packet-generator new {{ name x interface pg0 limit {PACKETS} {rate} size 64-300 data {{ \
         IP4: 02:00:00:00:00:01 -> 02:00:00:00:00:a0 UDP: 10.0.0.2 -> 48.0.0.1 UDP: 1-{FLOWS} -> 2 }} }}"
    )
}

/// Sent packets without announcements of the router's own addresses.
fn routed(daemon: &mut Daemon) -> impl Iterator<Item = (String, Vec<u8>)> + use<> {
    daemon.sent().into_iter().filter(|(_, bytes)| !bytes.starts_with(&[0xff; 6]))
}

/// Sent packets by flow in their order: number and bytes of each.
#[derive(Default, PartialEq, Debug)]
struct Seen(BTreeMap<u16, Vec<(u64, Vec<u8>)>>);

impl Seen {
    fn take(&mut self, daemon: &mut Daemon) {
        for (interface, bytes) in routed(daemon) {
            assert_eq!(interface, "pg1");
            let port = u16::from_be_bytes([bytes[34], bytes[35]]);
            let number = bytes.last_chunk().copied().map_or(0, u64::from_be_bytes);
            self.0.entry(port).or_default().push((number, bytes));
        }
    }
    fn len(&self) -> usize {
        self.0.values().map(Vec::len).sum()
    }
}

/// Result of one worker.
fn alone() -> Seen {
    let (mut daemon, mut seen) = (daemon(1), Seen::default());
    daemon.configure(ROUTER);
    daemon.configure(&stream(""));
    daemon.configure("packet-generator enable");
    while seen.len() < PACKETS {
        daemon.settle().expect("it comes to rest");
        seen.take(&mut daemon);
    }
    daemon.finish().expect("nothing leaks");
    for packets in seen.0.values() {
        assert!(packets.is_sorted_by_key(|(number, _)| *number));
    }
    seen
}

/// A change of where packets are received, or who works on them.
fn change(lot: &mut Rng, workers: usize) -> String {
    match lot.u8(..4) {
        0 => format!("set interface rx-placement pg0 worker {}", lot.usize(..workers)),
        1 => format!("set interface handoff pg0 workers {}", lot.usize(..workers)),
        2 => format!("set interface handoff pg0 workers 0-{} asymmetrical", workers - 1),
        _ => format!("set interface handoff pg0 workers 0-{}", workers - 1),
    }
}

#[test]
fn turned_by_hand_in_any_order_the_result_is_that_of_one() {
    let expected = alone();
    assert_eq!(expected.0.len(), FLOWS);
    for (workers, seed) in [(2, 1), (2, 2), (2, 3), (4, 4), (4, 5), (4, 6)] {
        let (mut daemon, mut seen, mut lot) = (daemon(workers), Seen::default(), Rng::with_seed(seed));
        daemon.configure(ROUTER);
        daemon.configure(&stream(""));
        daemon.configure("packet-generator enable");
        let mut steps = 0;
        while seen.len() < PACKETS {
            steps += 1;
            assert!(steps < 50_000, "{workers} workers, seed {seed}: {} packets: {:?}", seen.len(), daemon.drops());
            if steps % 40 == 1 {
                // A command lets every worker turn, too.
                daemon.configure(&change(&mut lot, workers));
            }
            let (now, worker) = (daemon.time().0, lot.usize(..workers));
            // At most a few packets in a turn, so that there are many interleavings.
            daemon.workers()[worker].vector = 1 + lot.usize(..20);
            daemon.workers()[worker].turn(now);
            seen.take(&mut daemon);
        }
        assert!(seen == expected, "{workers} workers, seed {seed}: lost, doubled, changed or reordered");
        assert!(daemon.drops().is_empty(), "{:?}", daemon.drops());
        assert!(steps > 400, "{workers} workers, seed {seed}: only {steps} turns were drawn");
        daemon.finish().expect("nothing leaks");
    }
}

#[test]
fn on_threads_the_result_is_that_of_one() {
    let expected = alone();
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    for workers in [2, 4] {
        println!("{workers} workers on {cores} cores{}", if workers >= cores { ", oversubscribed" } else { "" });
        let (mut daemon, mut seen, mut lot) = (daemon(workers), Seen::default(), Rng::with_seed(workers as u64));
        daemon.configure(ROUTER);
        daemon.configure(&format!("set interface handoff pg0 workers 0-{}", workers - 1));
        // A closed loop: fewer packets than a ring holds, however long a worker has to wait for its core.
        daemon.configure(&stream("rate 1e5 window 1000"));
        daemon.start_threads().expect("threads");
        daemon.configure("packet-generator enable");
        let mut rounds = 0;
        while seen.len() < PACKETS {
            rounds += 1;
            assert!(rounds < 5000, "{workers} workers: {} packets: {:?}", seen.len(), daemon.drops());
            daemon.run_threads(Duration::from_millis(4));
            daemon.configure(&change(&mut lot, workers));
            seen.take(&mut daemon);
        }
        assert!(seen == expected, "{workers} workers: lost, doubled, changed or reordered");
        // The generator's own counts say the same, by however many workers its packets left.
        let counts = daemon.run("show packet-generator x").expect("it can be shown").json;
        let counts = ["received", "lost", "duplicated", "reordered"].map(|column| counts[0][column].as_u64());
        assert_eq!(counts, [Some(PACKETS as u64), Some(0), Some(0), Some(0)], "{workers} workers");
        let dataplane = daemon.control().room::<quiver_engine::Dataplane>();
        let busy = (0..workers).filter(|w| dataplane.worker_counters(*w).is_some_and(|c| c.busy_turns.get() > 0));
        assert_eq!(busy.count(), workers, "all of them have worked");
        drop(dataplane);
        daemon.stop_threads();
        daemon.finish().expect("nothing leaks");
    }
}

#[test]
fn when_no_stream_says_yes_every_packet_has_left_by_whatever_worker() {
    for workers in [2, 4] {
        let mut daemon = daemon(workers);
        daemon.configure(ROUTER);
        daemon.configure(&format!("set interface handoff pg0 workers 0-{}", workers - 1));
        daemon.configure(&stream("rate 1e6 window 1000"));
        daemon.start_threads().expect("threads");
        for run in 1..=5 {
            // A stream that has ended starts again.
            daemon.configure("packet-generator enable");
            let mut rounds = 0;
            while daemon.run("show packet-generator").expect("it can be shown").text.contains("Yes") {
                rounds += 1;
                assert!(rounds < 5000, "{workers} workers, run {run}: {:?}", daemon.drops());
                daemon.run_threads(Duration::from_millis(1));
            }
            assert_eq!(routed(&mut daemon).count(), PACKETS, "{workers} workers, run {run}: {:?}", daemon.drops());
        }
        daemon.stop_threads();
        daemon.finish().expect("nothing leaks");
    }
}

#[test]
fn a_worker_that_does_not_keep_up_is_named() {
    let mut daemon = daemon(2);
    daemon.configure(ROUTER);
    daemon.configure("set interface rx-placement pg0 worker 0");
    daemon.configure("set interface handoff pg0 workers 1");
    daemon.configure(&stream(""));
    daemon.configure("packet-generator enable");
    // Only the first one turns; a ring has room for 64 bundles of 64 packets.
    while daemon.workers()[0].turn(0) > 0 {}
    let dropped = daemon.drops()[&("worker-handoff", "handoff-full")] as usize;
    assert!(dropped > 1000 && dropped < PACKETS, "{dropped}");
    daemon.settle().expect("it comes to rest");
    assert_eq!(routed(&mut daemon).count(), PACKETS - dropped);
    daemon.finish().expect("nothing leaks");
}
