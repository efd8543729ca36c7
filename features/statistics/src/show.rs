//! `show statistics segment`: what clients of the segment see.

use std::fmt::Write;

use quiver_control::Control;
use quiver_control::cli::{Command, CommandError, Matches, Reply};
use quiver_engine::stats::{Counter, Pair, Reading};
use serde_json::{Map, Value, json};

pub(crate) fn register(control: &Control) {
    let grammar = "show statistics segment [<name:text>] [verbose]";
    let show = Command::new(grammar, "Show what clients of the statistics segment see.", show);
    let show = show.argument("name", "the name of an entry, or its beginning");
    control.commands().add(show.argument("verbose", "also every counter of a vector, and the segment's memory"));
}

fn show(control: &Control, matches: &Matches) -> Result<Reply, CommandError> {
    crate::refresh(control);
    let (segment, verbose) = (crate::segment(control), matches.has("verbose"));
    let prefix: Option<String> = matches.find("name")?;
    let mut rows = vec![];
    segment.read(|name, reading| {
        if prefix.as_ref().is_none_or(|prefix| name.starts_with(prefix)) {
            rows.push((name.to_owned(), kind(&reading), brief(&reading), json_of(&reading)));
        }
    });
    if let (Some(prefix), true) = (&prefix, rows.is_empty()) {
        let what = format!("there are no statistics {prefix}");
        return Err(CommandError::new(what).at(matches.place("name")));
    }
    rows.sort_by(|one, other| one.0.cmp(&other.0));
    let mut text = format!("{:<74} {:>10} {:>10}\n", "Name", "Type", "Value");
    let mut entries = Map::new();
    for (name, kind, brief, json) in rows {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{name:<74} {kind:<10} {brief:>10}");
        if verbose && json.is_array() {
            let _ = writeln!(text, "  {json}");
        }
        entries.insert(name, json!({"type": kind, "value": json}));
    }
    let (total, used) = segment.size();
    if verbose && prefix.is_none() {
        let _ = writeln!(
            text,
            "{used} bytes of at most {total} are in use; the directory has changed {} times",
            segment.epoch() - 1
        );
    }
    let json = json!({"epoch": segment.epoch(), "bytes": total, "bytes-used": used, "entries": Value::Object(entries)});
    Ok(Reply::new(text, json))
}

/// VPP's words for types.
fn kind(reading: &Reading) -> &'static str {
    match reading {
        Reading::Scalar(_) => "ScalarPtr",
        Reading::Gauge(_) => "Gauge",
        Reading::Simple(_) | Reading::Combined(_) => "CMainPtr",
        Reading::Names(_) => "NameVector",
        Reading::Symlink { .. } => "Symlink",
    }
}

/// A number: the value, the sum of a vector's or a column's counters (packets), the names that there are.
fn brief(reading: &Reading) -> String {
    match reading {
        Reading::Scalar(value) | Reading::Gauge(value) => value.to_string(),
        Reading::Simple(rows) => rows.iter().flat_map(|row| row.iter()).map(Counter::get).sum::<u64>().to_string(),
        Reading::Combined(rows) => {
            rows.iter().flat_map(|row| row.iter()).map(|pair| pair.packets.get()).sum::<u64>().to_string()
        }
        Reading::Names(names) => names.iter().flatten().count().to_string(),
        Reading::Symlink { sum, .. } => sum.to_string(),
    }
}

/// Everything, by thread and then by index.
fn json_of(reading: &Reading) -> Value {
    let pair = |pair: &Pair| json!({"packets": pair.packets.get(), "bytes": pair.bytes.get()});
    match reading {
        Reading::Scalar(value) | Reading::Gauge(value) => (*value).into(),
        Reading::Simple(rows) => rows.iter().map(|row| row.iter().map(Counter::get).collect::<Vec<_>>()).collect(),
        Reading::Combined(rows) => rows.iter().map(|row| row.iter().map(pair).collect::<Value>()).collect(),
        Reading::Names(names) => json!(names),
        Reading::Symlink { to, column, sum } => json!({"of": to, "index": column, "sum": sum}),
    }
}
