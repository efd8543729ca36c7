//! `show errors`, `show node counters`, `clear errors`: packets by the reason for which they were lost, and those that clients
//! look for there though they were not.

use std::fmt::Write;

use quiver_control::Control;
use quiver_control::cli::{Cell, Command, CommandError, Matches, Reply, Table};
use quiver_engine::{Dataplane, NodeId, OtherName};
use quiver_interface::Remarks;

use crate::Runtime;

pub(crate) fn register(control: &Control) {
    let show = Command::new(
        "show errors [verbose]",
        "Show the packet counters of all drop reasons, and VPP's other error counters.",
        show_errors,
    );
    control.commands().add(show.argument("verbose", "include reasons without packets"));
    let show = "Show the packet counters of all drop reasons, without severities.";
    control.commands().add(Command::new("show node counters", show, show_counters));
    control.commands().add(Command::new("clear errors", "Clear the drop counters.", clear_errors));
}

/// Packets that took an arc.
struct Counted {
    node: NodeId,
    arc: usize,
    reason: String,
    /// `error` if they were lost.
    severity: &'static str,
    packets: u64,
}

/// Counters since the start, of drop arcs and of all other arcs that clients have a name for.
fn counts(dataplane: &Dataplane) -> Vec<Counted> {
    let graph = dataplane.graph();
    let count = |node, arc: usize| graph.counters(node).map(|c| c.arcs[arc].get()).sum();
    let of = |node: NodeId| {
        let arcs = graph.arcs(node).iter().enumerate();
        let counted = move |(arc, name): (usize, String), severity| Counted {
            node,
            arc,
            reason: name,
            severity,
            packets: count(node, arc),
        };
        let drops = arcs.clone().filter(|(_, arc)| arc.is_drop());
        let drops = drops.map(move |(i, arc)| counted((i, arc.name.to_owned()), "error"));
        let named = move |arc: usize| {
            let names = dataplane.other_names().iter();
            names.filter(move |other| (other.node, usize::from(other.arc)) == (node, arc))
        };
        let others = arcs.filter(|(_, arc)| !arc.is_drop());
        let others = others.flat_map(move |(i, _)| {
            let reason = |other: &OtherName| other.name.rsplit('/').next().unwrap_or_default().to_owned();
            named(i).map(move |other| counted((i, reason(other)), "info"))
        });
        drops.chain(others).collect::<Vec<_>>()
    };
    graph.nodes().flat_map(of).collect()
}

/// The same since it was cleared, and the names of the nodes.
fn counted(control: &Control) -> Vec<(&'static str, Counted)> {
    let (dataplane, runtime) = (control.room::<Dataplane>(), control.room::<Runtime>());
    let since = |counted: Counted| {
        let before = runtime.errors_cleared.get(&(counted.node, counted.arc)).copied().unwrap_or(0);
        let packets = counted.packets.saturating_sub(before);
        (dataplane.graph().name(counted.node), Counted { packets, ..counted })
    };
    counts(&dataplane).into_iter().map(since).collect()
}

/// Clients read its lines by their columns' widths, which are VPP's: a word is in the middle, and what is too long is cut.
fn show_errors(control: &Control, matches: &Matches) -> Result<Reply, CommandError> {
    let mut table = Table::new(["Count", "Node", "Reason", "Severity"]);
    let columns = |count: String, node: &str, reason: &str, severity: &str| {
        let [node, reason, severity] =
            [(node, 35), (reason, 35), (severity, 10)].map(|(word, width)| middle(word, width));
        format!("{count}{node}{reason}{severity}").trim_end().to_owned() + "\n"
    };
    let mut text = columns(middle("Count", 10), "Node", "Reason", "Severity");
    let mut row = |packets: u64, node: &str, reason: &str, severity: &str| {
        if packets > 0 || matches.has("verbose") {
            text.push_str(&columns(format!("{packets:>10}"), node, reason, severity));
            table.row([packets.into(), node.into(), reason.into(), Cell::from(severity)]);
        }
    };
    for (node, Counted { packets, reason, severity, .. }) in counted(control) {
        row(packets, node, &reason, severity);
    }
    let runtime = control.room::<Runtime>();
    for (remark, count) in control.room::<Remarks>().iter() {
        let before = runtime.remarks_cleared.get(&(remark.by.clone(), remark.what)).copied().unwrap_or(0);
        row(count.saturating_sub(before), &remark.by, remark.what, "error");
    }
    let json = table.to_json();
    Ok(Reply::new(text, json))
}

/// A word in the middle of a column, or as much of it as fits.
fn middle(word: &str, width: usize) -> String {
    let word: String = word.chars().take(width).collect();
    let room = width - word.chars().count();
    format!("{0:1$}{word}{0:2$}", "", room.div_ceil(2), room / 2)
}

/// Clients read its lines by expressions, which know three columns, the first of them indented.
fn show_counters(control: &Control, _: &Matches) -> Result<Reply, CommandError> {
    let mut table = Table::new(["Count", "Node", "Reason"]);
    let mut text = format!("{:^16}{:^40}{}\n", "Count", "Node", "Reason");
    for (node, Counted { packets, reason, .. }) in counted(control) {
        if packets > 0 {
            let _ = writeln!(text, "{packets:>16} {node:<39}{reason}");
            table.row([Cell::from(packets), Cell::from(node), Cell::from(reason)]);
        }
    }
    Ok(Reply::new(text, table.to_json()))
}

fn clear_errors(control: &Control, _: &Matches) -> Result<Reply, CommandError> {
    let (dataplane, mut runtime) = (control.room::<Dataplane>(), control.room_mut::<Runtime>());
    let remarks = control.room::<Remarks>();
    runtime.remarks_cleared = remarks.iter().map(|(remark, count)| ((remark.by.clone(), remark.what), count)).collect();
    let now = counts(&dataplane).into_iter().map(|counted| ((counted.node, counted.arc), counted.packets));
    runtime.errors_cleared.extend(now);
    Ok(Reply::done())
}
