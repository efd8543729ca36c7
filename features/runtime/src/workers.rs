//! `show threads`, `show buffers`, `show cpu`.

use std::collections::BTreeMap;

use quiver_control::Control;
use quiver_control::cli::{Cell, Command, CommandError, Matches, Output, Reply, Rows, Table};
use quiver_engine::{Backing, Dataplane, Level, buffer};
use quiver_interface::walk;

pub(crate) fn register(control: &Control) {
    let show = "Show the workers' threads, their load and receive queues.";
    control.commands().add(Command::waiting("show threads", show, show_threads));
    let show = Command::waiting("show buffers [verbose]", "Show the packet buffers and their use.", show_buffers);
    control.commands().add(show.argument("verbose", "include the limit, and when buffers ran out"));
    control.commands().add(Command::new("show cpu", "Show the CPU's instruction sets, and the one in use.", show_cpu));
}

/// Names of queues that `show threads` lists for each worker.
const NAMES_MAX: usize = 16;

/// The first of a worker's queues, and the number of the others.
fn listed((names, others): &(Vec<String>, usize)) -> String {
    let names = names.join(", ");
    match others {
        0 => names,
        others => format!("{names} and {others} more: `show interface rx-placement` lists all"),
    }
}

async fn show_threads(control: Control, _: Matches, output: Output) -> Result<Reply, CommandError> {
    let titles = [
        "ID",
        "Name",
        "Thread",
        "CPU",
        "Turns",
        "Busy turns",
        "Ticks/busy turn",
        "Handed over",
        "Sleeps",
        "Naps",
        "Longest gap us",
        "Queues",
    ];
    let mut rows = Rows::new(&control, &output, titles);
    // The first queues of each worker, and the number of its others.
    let mut queues: BTreeMap<usize, (Vec<String>, usize)> = BTreeMap::new();
    for id in walk(&control) {
        rows.step().await;
        for queue in control.room::<Dataplane>().queues_of(id.0) {
            let (names, others) = queues.entry(queue.worker).or_default();
            match names.len() < NAMES_MAX {
                true => names.push(format!("{} queue {}", crate::interface_name(&control, id.0), queue.index)),
                false => *others += 1,
            }
        }
    }
    let workers = control.room::<Dataplane>().workers();
    let row = |worker| {
        let dataplane = control.room::<Dataplane>();
        let counters = dataplane.worker_counters(worker)?;
        let running = counters.running.get();
        let (busy, ticks) = (counters.busy_turns.get(), counters.busy_ticks.get());
        Some([
            Cell::from(worker),
            Cell::from(format!("quiver-{worker}")),
            Cell::from(running.map(|running| running.thread)),
            Cell::from(running.and_then(|running| running.cpu).map(|cpu| cpu.number)),
            Cell::from(counters.turns.get()),
            Cell::from(busy),
            Cell::from(if busy == 0 { 0.0 } else { ticks as f64 / busy as f64 }),
            Cell::from(counters.handed_over.get()),
            Cell::from(counters.sleeps.get()),
            Cell::from(counters.naps.get()),
            Cell::from(counters.gap_max.get() as f64 / 1000.0),
            Cell::from(queues.get(&worker).map(listed).unwrap_or_default()),
        ])
    };
    rows.each(0..workers, row).await;
    Ok(rows.end())
}

/// Clients of VPP read the lines of its pool by an expression. It counts buffers in its threads' caches for themselves; ours
/// count as used.
async fn show_buffers(control: Control, matches: Matches, _: Output) -> Result<Reply, CommandError> {
    let cached = control.room::<Dataplane>().cached_buffers();
    let cached = cached.await;
    let dataplane = control.room::<Dataplane>();
    let buffers = dataplane.buffers();
    let (made, stored) = (buffers.count() as usize, buffers.stored());
    if matches.has("verbose") {
        let backing = match buffers.backing() {
            Backing::Huge => "2 MB pages",
            Backing::Transparent => "transparent huge pages",
            Backing::Plain => "4 KB pages",
        };
        let titles = ["Made", "Limit", "Stored", "With workers", "Times none was left", "Bytes each", "Memory"];
        let mut table = Table::new(titles);
        table.row([
            Cell::from(made),
            Cell::from(buffers.limit()),
            Cell::from(stored),
            Cell::from(made.saturating_sub(stored)),
            Cell::from(buffers.starved()),
            Cell::from(buffer::STRIDE),
            Cell::from(backing),
        ]);
        return Ok(table.into());
    }
    let mut table = Table::new(["Pool Name", "Index", "NUMA", "Size", "Data Size", "Total", "Avail", "Cached", "Used"]);
    // Workers go on meanwhile, so the sum may be off by a list.
    let used = made.saturating_sub(stored + cached);
    let numbers = [0, 0, buffer::STRIDE, buffer::SEGMENT_MAX, made, stored, cached, used];
    table.row([Cell::from("default-numa-0")].into_iter().chain(numbers.map(Cell::from)));
    Ok(table.into())
}

fn show_cpu(control: &Control, _: &Matches) -> Result<Reply, CommandError> {
    let used = control.room::<Dataplane>().settings().level;
    let mut table = Table::new(["Instruction set", "State"]);
    for (name, level) in Level::all() {
        let state = match level {
            Some(level) if level == used => "used",
            Some(_) => "available",
            None => "not on this CPU",
        };
        table.row([Cell::from(name), Cell::from(state)]);
    }
    Ok(table.into())
}
