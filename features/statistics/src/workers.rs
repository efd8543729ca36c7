//! What workers do: `/sys/vector_rate`, `/sys/num_worker_threads` and the like as VPP has them, and `/quiver/workers/...`.

use std::cell::RefCell;

use quiver_control::{Control, Time};
use quiver_engine::Dataplane;
use quiver_engine::stats::Counter;
use quiver_engine::worker::WorkerCounters;

/// What a worker had done when it was last looked at.
#[derive(Clone, Copy, Default)]
struct Done {
    turns: u64,
    calls: u64,
    packets: u64,
}

/// What a worker says of itself, under these names.
type Count = (&'static str, fn(&WorkerCounters) -> &Counter);
const COUNTS: [Count; 9] = [
    ("turns", |worker| &worker.turns),
    ("busy-turns", |worker| &worker.busy_turns),
    ("packets", |worker| &worker.packets),
    ("busy-ticks", |worker| &worker.busy_ticks),
    ("preempted-ticks", |worker| &worker.preempted_ticks),
    ("handed-over", |worker| &worker.handed_over),
    ("sleeps", |worker| &worker.sleeps),
    ("naps", |worker| &worker.naps),
    ("longest-gap-ns", |worker| &worker.gap_max),
];

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
    let counts = COUNTS.map(|(name, of)| (edit.vector::<Counter>(&format!("/quiver/workers/{name}"), 1), of));
    drop(edit);
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
