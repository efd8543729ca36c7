//! `show runtime`: work of each node. Clients of VPP parse its lines with regular expressions: a paragraph for each
//! thread, rates, and a row for each node.

use std::fmt::Write;

use quiver_control::Control;
use quiver_control::cli::{Cell, Command, CommandError, Listing, Matches, Output, Reply, Table};
use quiver_engine::graph::To;
use quiver_engine::{Dataplane, NodeId};
use serde_json::Value;

use crate::Runtime;

pub(crate) fn register(control: &Control) {
    let show = Command::waiting("show runtime [max]", "Show calls, packets and clocks of each node.", show_runtime);
    control.commands().add(show.argument("max", "include nodes without calls"));
    control.commands().add(Command::new(
        "clear runtime",
        "Clear the runtime counters: calls, packets and clocks.",
        clear_runtime,
    ));
}

/// Calls, packets and clocks.
type Totals = [u64; 3];

/// Work of a worker at the last clear.
#[derive(Clone, Copy, Default)]
pub(crate) struct Cleared {
    turns: u64,
    drops: u64,
}

/// Calls, packets and clocks of a node on a worker.
fn totals(dataplane: &Dataplane, node: NodeId) -> impl Iterator<Item = Totals> {
    dataplane.graph().counters(node).map(|c| [c.calls.get(), c.packets.get(), c.clocks.get()])
}

/// The same for a worker as a whole.
fn of_worker(dataplane: &Dataplane, worker: usize) -> Cleared {
    let graph = dataplane.graph();
    let of = |node: NodeId| {
        let counters = graph.counters(node).nth(worker)?;
        let drops = graph.arcs(node).iter().zip(counters.arcs.iter()).filter(|(arc, _)| arc.is_drop());
        Some(drops.map(|(_, count)| count.get()).sum::<u64>())
    };
    Cleared {
        turns: dataplane.worker_counters(worker).map_or(0, |counters| counters.turns.get()),
        drops: graph.nodes().filter_map(of).sum(),
    }
}

/// Whether a node stands for the receive queues of a driver.
fn receives(dataplane: &Dataplane, node: NodeId) -> bool {
    dataplane.graph().arcs(node).first().is_some_and(|arc| arc.to == To::Features("device-input"))
}

fn per(total: u64, of: u64) -> f64 {
    if of == 0 { 0.0 } else { total as f64 / of as f64 }
}

async fn show_runtime(control: Control, matches: Matches, output: Output) -> Result<Reply, CommandError> {
    let (mut listing, workers) = (Listing::new(&control, &output), control.room::<Dataplane>().workers());
    for worker in 0..workers {
        listing.step().await;
        let (text, rows) = of_worker_since(&control, worker, matches.has("max"));
        if worker > 0 {
            listing.line("---------------");
        }
        listing.text().push_str(&text);
        let Value::Array(rows) = rows else { continue };
        rows.into_iter().for_each(|row| listing.element(|| row));
    }
    Ok(listing.end())
}

/// Work of a worker since it was cleared: of each node, or of those that it called.
fn of_worker_since(control: &Control, worker: usize, all: bool) -> (String, Value) {
    let (dataplane, runtime) = (control.room::<Dataplane>(), control.room::<Runtime>());
    let seconds = control.now().since(runtime.cleared_at).as_secs_f64();
    let titles = ["Worker", "Name", "Calls", "Vectors", "Clocks", "Vectors/Call"];
    let (mut text, mut table) = (String::new(), Table::new(titles));
    let mut nodes: Vec<(&str, NodeId, Totals)> = vec![];
    for node in dataplane.graph().nodes() {
        let Some(now) = totals(&dataplane, node).nth(worker) else { continue };
        let before = runtime.cleared.get(&(node, worker)).copied().unwrap_or_default();
        let since = [0, 1, 2].map(|i| now[i].saturating_sub(before[i]));
        nodes.push((dataplane.graph().name(node), node, since));
    }
    nodes.sort_unstable_by_key(|(name, ..)| *name);
    let (now, before) = (of_worker(&dataplane, worker), runtime.workers.get(worker).copied().unwrap_or_default());
    let turns = now.turns.saturating_sub(before.turns);
    let sum = |of: &dyn Fn(&str, NodeId) -> bool, what: usize| -> u64 {
        nodes.iter().filter(|(name, node, _)| of(name, *node)).map(|(.., since)| since[what]).sum()
    };
    let (calls, packets) = (sum(&|_, _| true, 0), sum(&|_, _| true, 1));
    let rates = [
        sum(&|_, node| receives(&dataplane, node), 1),
        sum(&|name, _| name == "interface-output", 1),
        now.drops.saturating_sub(before.drops),
        sum(&|name, _| name == "punt", 1),
    ];
    let [received, sent, dropped, punted] =
        rates.map(|packets| if seconds > 0.0 { packets as f64 / seconds } else { 0.0 });
    // The main thread is 0, and carries no packets.
    let thread = worker + 1;
    let _ = write!(
        text,
        "Thread {thread} vpp_wk_{worker}\n\
         Time {seconds:.1}, average vectors/node {:.2}, last {turns} main loops {:.2} per node {:.2}\n  \
         vector rates in {received:.4e}, out {sent:.4e}, drop {dropped:.4e}, punt {punted:.4e}\n\
         {:^30}{:^12}{:^16}{:^16}{:^16}{:^16}{:^16}\n",
        per(packets, calls),
        per(rates[0], turns),
        per(packets, calls),
        "Name",
        "State",
        "Calls",
        "Vectors",
        "Suspends",
        "Clocks",
        "Vectors/Call",
    );
    for (name, node, [calls, packets, clocks]) in nodes {
        let receives = receives(&dataplane, node);
        if calls > 0 || all {
            let row = [Cell::from(calls), Cell::from(packets), per(clocks, packets).into(), per(packets, calls).into()];
            table.row([Cell::from(worker), Cell::from(name)].into_iter().chain(row));
        } else if !receives {
            continue;
        }
        let state = if receives { "polling" } else { "active" };
        let (clocks, vectors, suspends) = (per(clocks, packets), per(packets, calls), 0);
        let _ =
            writeln!(text, "{name:<30}{state:^12}{calls:>16}{packets:>16}{suspends:>16}{clocks:>16.2e}{vectors:>16.2}");
    }
    (text, table.to_json())
}

fn clear_runtime(control: &Control, _: &Matches) -> Result<Reply, CommandError> {
    let (dataplane, mut runtime) = (control.room::<Dataplane>(), control.room_mut::<Runtime>());
    for node in dataplane.graph().nodes() {
        let now = totals(&dataplane, node);
        runtime.cleared.extend(now.enumerate().map(|(worker, totals)| ((node, worker), totals)));
    }
    runtime.workers = (0..dataplane.workers()).map(|worker| of_worker(&dataplane, worker)).collect();
    runtime.cleared_at = control.now();
    Ok(Reply::done())
}
