//! `show statistics segment`: what clients of the segment see.

use std::collections::BTreeSet;
use std::fmt::Write;

use quiver_control::Control;
use quiver_control::cli::{Command, CommandError, Listing, Matches, Output, Reply};
use quiver_engine::stats::{Counter, Pair, Reading, Segment};
use serde_json::{Value, json};

pub(crate) fn register(control: &Control) {
    let grammar = "show statistics segment [<name:text>] [verbose]";
    let show = Command::waiting(grammar, "Show the counters of the statistics segment.", show);
    let show = show.argument("name", "name of an entry, or its beginning");
    control.commands().add(show.argument("verbose", "include every counter of a vector, and the segment's memory"));
}

/// Names that are looked through between two looks at the clock.
const NAMES: usize = 256;
/// Counters that are read between two looks at the clock.
const CELLS: usize = 1024;

async fn show(control: Control, matches: Matches, output: Output) -> Result<Reply, CommandError> {
    crate::refresh_in_turns(&control).await;
    let (segment, verbose) = (crate::segment(&control), matches.has("verbose"));
    let prefix: Option<String> = matches.find("name")?;
    let mut listing = Listing::new(&control, &output);
    let names = names(&mut listing, &segment, prefix.as_deref()).await;
    if let (Some(prefix), true) = (&prefix, names.is_empty()) {
        let what = format!("there are no statistics {prefix}");
        return Err(CommandError::new(what).at(matches.place("name")));
    }
    listing.line(&format!("{:<74} {:>10} {:>10}", "Name", "Type", "Value"));
    for name in names {
        listing.step().await;
        let Some((kind, brief)) = segment.read_one(&name, |reading| (kind(&reading), brief(&reading))) else {
            continue;
        };
        // Writing to a string cannot fail.
        let _ = writeln!(listing.text(), "{name:<74} {kind:<10} {brief:>10}");
        if verbose || listing.wants_json() {
            let json = json_of(&mut listing, &segment, &name).await;
            if verbose && json.is_array() {
                let _ = writeln!(listing.text(), "  {json}");
            }
            listing.entry_of("entries", &name, || json!({"type": kind, "value": json}));
        }
    }
    let (total, used) = segment.size();
    if verbose && prefix.is_none() {
        let _ = writeln!(
            listing.text(),
            "{used} bytes of at most {total} are in use; the directory has changed {} times",
            segment.epoch() - 1
        );
    }
    Ok(listing.end_with(json!({"epoch": segment.epoch(), "bytes": total, "bytes-used": used})))
}

/// The names that begin so, in their order.
async fn names(listing: &mut Listing, segment: &Segment, prefix: Option<&str>) -> BTreeSet<String> {
    let (mut names, mut first) = (BTreeSet::new(), 0);
    loop {
        listing.step().await;
        let some = segment.names(first, NAMES);
        if some.is_empty() {
            return names;
        }
        first += some.len();
        names.extend(some.into_iter().filter(|name| prefix.is_none_or(|prefix| name.starts_with(prefix))));
    }
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

/// The value of an entry, or the number of counters in each of its rows.
enum Shape {
    Is(Value),
    Rows(Vec<usize>),
}

/// Everything, by thread and then by index: read some at a time, for there may be hundreds of thousands.
async fn json_of(listing: &mut Listing, segment: &Segment, name: &str) -> Value {
    let shape = segment.read_one(name, |reading| match reading {
        Reading::Scalar(value) | Reading::Gauge(value) => Shape::Is(value.into()),
        Reading::Simple(rows) => Shape::Rows(rows.iter().map(|row| row.len()).collect()),
        Reading::Combined(rows) => Shape::Rows(rows.iter().map(|row| row.len()).collect()),
        Reading::Names(names) => Shape::Is(json!(names)),
        Reading::Symlink { to, column, sum } => Shape::Is(json!({"of": to, "index": column, "sum": sum})),
    });
    let rows = match shape {
        Some(Shape::Rows(rows)) => rows,
        Some(Shape::Is(value)) => return value,
        None => return Value::Null,
    };
    let mut all = Vec::with_capacity(rows.len());
    for (row, length) in rows.into_iter().enumerate() {
        let mut cells: Vec<Value> = Vec::with_capacity(length);
        while cells.len() < length {
            listing.step().await;
            let from = cells.len();
            let some = segment.read_one(name, |reading| some_of(&reading, row, from)).unwrap_or_default();
            if some.is_empty() {
                break;
            }
            cells.extend(some);
        }
        all.push(Value::Array(cells));
    }
    Value::Array(all)
}

/// Some of a row's counters, from one on.
fn some_of(reading: &Reading, row: usize, from: usize) -> Vec<Value> {
    let pair = |pair: &Pair| json!({"packets": pair.packets.get(), "bytes": pair.bytes.get()});
    match reading {
        Reading::Simple(rows) => rows[row].iter().skip(from).take(CELLS).map(|cell| cell.get().into()).collect(),
        Reading::Combined(rows) => rows[row].iter().skip(from).take(CELLS).map(pair).collect(),
        _ => vec![],
    }
}
