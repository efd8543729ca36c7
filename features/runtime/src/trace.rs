//! `trace add`, `show trace`, `clear trace`.

use quiver_classify::Use;
use quiver_control::Control;
use quiver_control::cli::{Command, CommandError, Matches, Output, Reply};
use quiver_engine::Dataplane;
use quiver_engine::capture::Filter;
use quiver_engine::trace::Record;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::Arc;

pub(crate) fn register(control: &Control) {
    let add =
        Command::new("trace add <node:text> <count:u32> [filter]", "Trace the next packets that reach a node.", add);
    let add = add.argument("filter", "packets that match `classify filter trace`");
    let add = add.argument("node", "a node, usually a driver's such as tap-input");
    control.commands().add(add.argument("count", "packets per worker"));
    let show =
        Command::waiting("show trace [max <count:u32>]", "Show traced packets and the nodes that they passed.", show);
    control.commands().add(show.argument("count", "packets to show"));
    control.commands().add(Command::new("clear trace", "Clear traced packets and stop tracing.", clear));
}

fn add(control: &Control, matches: &Matches) -> Result<Reply, CommandError> {
    let dataplane = control.room::<Dataplane>();
    let name: String = matches.get("node")?;
    let unknown = |e: quiver_engine::GraphError| CommandError::new(e.to_string()).at(matches.place("node"));
    let node = dataplane.graph().find(&name).map_err(unknown)?;
    let count: u32 = matches.get("count")?;
    if count == 0 {
        return Err(CommandError::new("no packet is traced by that; say 1 or more").at(matches.place("count")));
    }
    let chain = matches.has("filter").then(|| quiver_classify::filter(control, Use::Trace));
    let filter = chain.map(|chain| -> Filter { Arc::new(move |packet: &[u8]| chain.takes(packet)) });
    dataplane.trace(node, count, filter);
    Ok(Reply::done())
}

fn clear(control: &Control, _: &Matches) -> Result<Reply, CommandError> {
    control.room::<Dataplane>().trace_clear();
    Ok(Reply::done())
}

async fn show(control: Control, matches: Matches, _: Output) -> Result<Reply, CommandError> {
    let most: u32 = matches.find("count")?.unwrap_or(50);
    let records = control.room::<Dataplane>().trace_records();
    let mut packets: BTreeMap<(u64, u32), Vec<Record>> = BTreeMap::new();
    for record in records.await {
        // The number holds the packet in its upper bits and the worker in the lower eight.
        packets.entry((u64::from(record.packet & 0xff), record.packet)).or_default().push(record);
    }
    let (mut text, mut json) = (String::new(), vec![]);
    for (shown, ((worker, _), records)) in packets.iter_mut().enumerate().take(most as usize) {
        text.push_str(&format!("Packet {} (worker {worker})\n\n", shown + 1));
        // Each worker has its own in their order; first was the one that chose the packet.
        let is_first = |record: &Record| record.worker as u64 & 0xff == *worker;
        records.sort_by_key(|record| (!is_first(record), record.time));
        for record in records.iter() {
            text.push_str(&describe(&control, record, is_first(record)));
        }
        text.push('\n');
        let steps: Vec<Value> = records.iter().map(|record| to_json(&control, record)).collect();
        json.push(json!({"packet": shown + 1, "worker": worker, "nodes": steps}));
    }
    if packets.is_empty() {
        text = "No packets have been traced: `trace add NODE COUNT` chooses some.".into();
    }
    Ok(Reply::new(text, Value::Array(json)))
}

/// The arc's name, and the words of the node's room.
fn parts(control: &Control, record: &Record) -> (&'static str, Option<&'static str>, String) {
    let dataplane = control.room::<Dataplane>();
    let graph = dataplane.graph();
    let arc = record.arc.and_then(|arc| graph.arcs(record.node).get(usize::from(arc))).map(|arc| arc.name);
    let (name, describe) = (graph.name(record.node), graph.describer(record.node));
    drop(dataplane);
    // What describes may look at the data plane itself.
    (name, arc, describe.map(|describe| describe(record)).unwrap_or_default())
}

fn describe(control: &Control, record: &Record, is_first_worker: bool) -> String {
    let (node, arc, words) = parts(control, record);
    let time = std::time::Duration::from_nanos(record.time);
    let (hours, minutes, seconds) = (time.as_secs() / 3600, time.as_secs() / 60 % 60, time.as_secs() % 60);
    let worker = if is_first_worker { String::new() } else { format!(" (worker {})", record.worker) };
    let mut text = format!("{hours:02}:{minutes:02}:{seconds:02}:{:06}: {node}{worker}\n", time.subsec_micros());
    let rx = crate::interface_name(control, record.rx);
    text.push_str(&format!(
        "  {} bytes from {rx}, {}\n",
        record.length,
        arc.map_or("stays".into(), |arc| format!("to {arc}"))
    ));
    for line in words.lines() {
        text.push_str(&format!("  {line}\n"));
    }
    text
}

fn to_json(control: &Control, record: &Record) -> Value {
    let (node, arc, words) = parts(control, record);
    let hex: String = record.bytes.iter().map(|b| format!("{b:02x}")).collect();
    json!({
        "node": node, "arc": arc, "time-ns": record.time, "length": record.length, "detail": words, "bytes": hex,
        "rx": crate::interface_name(control, record.rx), "worker": record.worker,
    })
}
