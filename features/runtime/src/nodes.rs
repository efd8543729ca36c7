//! `show runtime`, `show errors` and their `clear`s.

use crate::Runtime;
use quiver_control::Control;
use quiver_control::cli::{Cell, Command, CommandError, Matches, Reply, Table};
use quiver_engine::{Dataplane, NodeId};

pub(crate) fn register(control: &Control) {
    let show = Command::new("show runtime [max]", "Show what each node did: calls, packets, clocks.", show_runtime);
    control.commands().add(show.argument("max", "also nodes that were never called"));
    control.commands().add(Command::new("clear runtime", "Count calls, packets and clocks from zero.", clear_runtime));
    let show = Command::new("show errors [verbose]", "Show the packets of every drop reason.", show_errors);
    control.commands().add(show.argument("verbose", "also reasons without packets"));
    control.commands().add(Command::new("clear errors", "Count drops from zero.", clear_errors));
}

/// Calls, packets and clocks of a node on a worker.
fn totals(dataplane: &Dataplane, node: NodeId) -> Vec<[u64; 3]> {
    dataplane.graph().counters(node).map(|c| [c.calls.get(), c.packets.get(), c.clocks.get()]).collect()
}

fn show_runtime(control: &Control, matches: &Matches) -> Result<Reply, CommandError> {
    let (dataplane, runtime) = (control.room::<Dataplane>(), control.room::<Runtime>());
    let titles = ["Worker", "Name", "Calls", "Vectors", "Clocks", "Vectors/Call"];
    let mut table = Table::new(titles);
    for worker in 0..dataplane.workers() {
        for node in dataplane.graph().nodes() {
            let Some(now) = totals(&dataplane, node).get(worker).copied() else { continue };
            let before = runtime.cleared.get(&(node, worker)).copied().unwrap_or_default();
            let [calls, packets, clocks] = [0, 1, 2].map(|i| now[i].saturating_sub(before[i]));
            if calls == 0 && !matches.has("max") {
                continue;
            }
            let per = |total: u64, of: u64| if of == 0 { 0.0 } else { total as f64 / of as f64 };
            table.row([
                Cell::from(worker),
                Cell::from(dataplane.graph().name(node)),
                Cell::from(calls),
                Cell::from(packets),
                Cell::from(per(clocks, packets)),
                Cell::from(per(packets, calls)),
            ]);
        }
    }
    Ok(table.into())
}

fn clear_runtime(control: &Control, _: &Matches) -> Result<Reply, CommandError> {
    let (dataplane, mut runtime) = (control.room::<Dataplane>(), control.room_mut::<Runtime>());
    for node in dataplane.graph().nodes() {
        let now = totals(&dataplane, node);
        runtime.cleared.extend(now.into_iter().enumerate().map(|(worker, totals)| ((node, worker), totals)));
    }
    Ok(Reply::done())
}

/// (node, arc, name of the reason, packets since the start) of every drop arc.
fn drops(dataplane: &Dataplane) -> Vec<(NodeId, usize, &'static str, u64)> {
    let graph = dataplane.graph();
    let of = |node: NodeId| {
        let arcs = graph.arcs(node).iter().enumerate().filter(|(_, arc)| arc.is_drop());
        let count = move |arc: usize| graph.counters(node).map(|c| c.arcs[arc].get()).sum();
        arcs.map(move |(i, arc)| (node, i, arc.name, count(i))).collect::<Vec<_>>()
    };
    graph.nodes().flat_map(of).collect()
}

fn show_errors(control: &Control, matches: &Matches) -> Result<Reply, CommandError> {
    let (dataplane, runtime) = (control.room::<Dataplane>(), control.room::<Runtime>());
    let mut table = Table::new(["Count", "Node", "Reason", "Severity"]);
    for (node, arc, reason, packets) in drops(&dataplane) {
        let count = packets.saturating_sub(runtime.errors_cleared.get(&(node, arc)).copied().unwrap_or(0));
        if count > 0 || matches.has("verbose") {
            let name = dataplane.graph().name(node);
            table.row([Cell::from(count), Cell::from(name), Cell::from(reason), Cell::from("error")]);
        }
    }
    Ok(table.into())
}

fn clear_errors(control: &Control, _: &Matches) -> Result<Reply, CommandError> {
    let (dataplane, mut runtime) = (control.room::<Dataplane>(), control.room_mut::<Runtime>());
    let now = drops(&dataplane).into_iter().map(|(node, arc, _, packets)| ((node, arc), packets));
    runtime.errors_cleared.extend(now);
    Ok(Reply::done())
}
