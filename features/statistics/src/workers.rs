//! Counters of workers: `/sys/vector_rate`, `/sys/num_worker_threads` and the like as VPP has them, and `/quiver/workers/...`.

use std::cell::RefCell;

use quiver_control::{Control, Time};
use quiver_engine::Dataplane;
use quiver_engine::stats::{Counter, Description};
use quiver_engine::worker::WorkerCounters;

/// Counts of a worker at the last computation.
#[derive(Clone, Copy, Default)]
struct Done {
    turns: u64,
    calls: u64,
    packets: u64,
}

/// A counter of each worker: its name, where it is, and a sentence of help.
type Count = (&'static str, fn(&WorkerCounters) -> &Counter, &'static str);
const COUNTS: [Count; 8] = [
    ("turns", |worker| &worker.turns, "Turns that the worker made."),
    ("busy-turns", |worker| &worker.busy_turns, "Turns that received packets."),
    ("packets", |worker| &worker.packets, "Packets that the worker received, by queues and from other workers."),
    ("busy-ticks", |worker| &worker.busy_ticks, "Ticks of the time stamp counter in turns that received packets."),
    (
        "preempted-ticks",
        |worker| &worker.preempted_ticks,
        "Busy ticks during which the worker's thread was off its core.",
    ),
    ("handed-over", |worker| &worker.handed_over, "Packets that other workers handed to this one."),
    ("sleeps", |worker| &worker.sleeps, "How often the worker slept until something came."),
    ("naps", |worker| &worker.naps, "How often the worker took a nap so that packets gather."),
];
/// The one that may fall.
const LONGEST_GAP: Count = (
    "longest-gap-ns",
    |worker| &worker.gap_max,
    "Longest time between two polls, in nanoseconds of the worker's own CPU time.",
);

pub(crate) fn register(control: &Control) {
    let (segment, workers) = (crate::segment(control), control.room::<Dataplane>().settings().workers);
    let threads = segment.threads();
    let count = threads.count() as u32;
    let mut edit = segment.edit();
    let rate = edit.gauge("/sys/vector_rate");
    // As in VPP: one row, with a column for each thread.
    let rates = edit.table::<Counter>("/sys/vector_rate_per_worker", 1, count);
    let loops = edit.table::<Counter>("/sys/loops_per_worker", 1, count);
    let number = edit.gauge("/sys/num_worker_threads");
    let entry = |name| format!("/quiver/workers/{name}");
    let counts = COUNTS.into_iter().chain([LONGEST_GAP]);
    let counts: Vec<_> = counts.map(|(name, of, _)| (edit.vector::<Counter>(&entry(name), 1), of)).collect();
    drop(edit);
    COUNTS.iter().for_each(|(name, _, help)| segment.describe(&entry(name), Description::of(*help)));
    segment.describe(&entry(LONGEST_GAP.0), Description::of(LONGEST_GAP.2).gauge());
    let help = "Packets in a call of a node, averaged over workers, since the last computation.";
    segment.describe("/sys/vector_rate", Description::of(help));
    let help = "Threads that work on packets beside the main thread.";
    segment.describe("/sys/num_worker_threads", Description::of(help));
    segment.set(&number, if threads.main { workers as u64 } else { 0 });
    counts.iter().for_each(|(vector, _)| vector.show(1));
    [&rates, &loops].into_iter().for_each(|vector| vector.show(count));
    let before = RefCell::new((control.now(), vec![Done::default(); workers]));
    crate::collect(control, move |control| {
        let (dataplane, (then, before)) = (control.room::<Dataplane>(), &mut *before.borrow_mut());
        for (worker, before) in before.iter_mut().enumerate() {
            let Some(counters) = dataplane.worker_counters(worker) else { continue };
            let row = threads.row(worker);
            for (vector, of) in &counts {
                vector.rows()[row].iter().for_each(|cell| cell.set(of(counters).get()));
            }
            let done = done(&dataplane, worker, counters);
            let calls = done.calls.saturating_sub(before.calls);
            let vector = done.packets.saturating_sub(before.packets).checked_div(calls).unwrap_or(0);
            let turns = per_second(done.turns.saturating_sub(before.turns), *then, control.now());
            rates.rows()[0].get(row).into_iter().for_each(|cell| cell.set(vector));
            loops.rows()[0].get(row).into_iter().for_each(|cell| cell.set(turns));
            *before = done;
        }
        *then = control.now();
        let sum: u64 = rates.rows()[0].iter().map(Counter::get).sum();
        segment.set(&rate, sum / workers.max(1) as u64);
    });
}

fn done(dataplane: &Dataplane, worker: usize, counters: &WorkerCounters) -> Done {
    let graph = dataplane.graph();
    let nodes = || graph.nodes().filter_map(|node| graph.counters(node).nth(worker));
    let sum = |of: fn(&quiver_engine::graph::NodeCounters) -> u64| nodes().map(of).sum();
    Done { turns: counters.turns.get(), calls: sum(|node| node.calls.get()), packets: sum(|node| node.packets.get()) }
}

fn per_second(count: u64, from: Time, to: Time) -> u64 {
    let nanoseconds = to.since(from).as_nanos();
    u64::try_from((u128::from(count) * 1_000_000_000).checked_div(nanoseconds).unwrap_or(0)).unwrap_or(u64::MAX)
}
