//! `show errors`, `show node counters`, `clear errors`: packets by the reason for which they were lost.

use std::fmt::Write;

use quiver_control::Control;
use quiver_control::cli::{Cell, Command, CommandError, Matches, Reply, Table};
use quiver_engine::{Dataplane, NodeId};

use crate::Runtime;

pub(crate) fn register(control: &Control) {
    let show = Command::new("show errors [verbose]", "Show the packets of every drop reason.", show_errors);
    control.commands().add(show.argument("verbose", "also reasons without packets"));
    let show = "Show the packets of every drop reason, as VPP did before reasons had a severity.";
    control.commands().add(Command::new("show node counters", show, show_counters));
    control.commands().add(Command::new("clear errors", "Count drops from zero.", clear_errors));
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

/// (packets since they were cleared, node, reason).
fn counted(control: &Control) -> Vec<(u64, &'static str, &'static str)> {
    let (dataplane, runtime) = (control.room::<Dataplane>(), control.room::<Runtime>());
    let since = |(node, arc, reason, packets): (NodeId, usize, &'static str, u64)| {
        let before = runtime.errors_cleared.get(&(node, arc)).copied().unwrap_or(0);
        (packets.saturating_sub(before), dataplane.graph().name(node), reason)
    };
    drops(&dataplane).into_iter().map(since).collect()
}

fn show_errors(control: &Control, matches: &Matches) -> Result<Reply, CommandError> {
    let mut table = Table::new(["Count", "Node", "Reason", "Severity"]);
    for (count, node, reason) in counted(control) {
        if count > 0 || matches.has("verbose") {
            table.row([Cell::from(count), Cell::from(node), Cell::from(reason), Cell::from("error")]);
        }
    }
    Ok(table.into())
}

/// Clients read its lines by expressions, which know three columns, the first of them indented.
fn show_counters(control: &Control, _: &Matches) -> Result<Reply, CommandError> {
    let mut table = Table::new(["Count", "Node", "Reason"]);
    let mut text = format!("{:^16}{:^40}{}\n", "Count", "Node", "Reason");
    for (count, node, reason) in counted(control) {
        if count > 0 {
            table.row([Cell::from(count), Cell::from(node), Cell::from(reason)]);
            let _ = writeln!(text, "{count:>16} {node:<39}{reason}");
        }
    }
    Ok(Reply::new(text, table.to_json()))
}

fn clear_errors(control: &Control, _: &Matches) -> Result<Reply, CommandError> {
    let (dataplane, mut runtime) = (control.room::<Dataplane>(), control.room_mut::<Runtime>());
    let now = drops(&dataplane).into_iter().map(|(node, arc, _, packets)| ((node, arc), packets));
    runtime.errors_cleared.extend(now);
    Ok(Reply::done())
}
