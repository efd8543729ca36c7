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
const NAMES: usize = 16;
/// Counters that are added up between two looks at the clock.
const ADDED: usize = 1024;
/// Counters and names that are listed between two looks at the clock.
const LISTED: usize = 32;

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
        let Some((kind, shape)) = segment.read_one(&name, |reading| (kind(&reading), Shape::of(&reading))) else {
            continue;
        };
        let brief = sum(&mut listing, &segment, &name, &shape).await;
        // Writing to a string cannot fail.
        let _ = writeln!(listing.text(), "{name:<74} {kind:<10} {brief:>10}");
        if verbose || listing.wants_json() {
            values(&mut listing, &segment, &name, (kind, shape), verbose).await;
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

/// The value of an entry, or what there is of an entry with very many.
enum Shape {
    /// A number, or the sum of a column.
    Is(u64, Value),
    /// The number of counters in each row.
    Rows(Vec<usize>),
    /// Names.
    Names,
}

impl Shape {
    fn of(reading: &Reading) -> Shape {
        match reading {
            Reading::Scalar(value) | Reading::Gauge(value) => Shape::Is(*value, (*value).into()),
            Reading::Simple(rows) => Shape::Rows(rows.iter().map(|row| row.len()).collect()),
            Reading::Combined(rows) => Shape::Rows(rows.iter().map(|row| row.len()).collect()),
            Reading::Names(_) => Shape::Names,
            Reading::Symlink { to, column, sum } => Shape::Is(*sum, json!({"of": to, "index": column, "sum": sum})),
        }
    }
}

/// The value of an entry, the sum of its counters (of packets), or the number of its names.
async fn sum(listing: &mut Listing, segment: &Segment, name: &str, shape: &Shape) -> u64 {
    let rows = match shape {
        Shape::Is(value, _) => return *value,
        Shape::Rows(rows) => rows.as_slice(),
        Shape::Names => &[usize::MAX],
    };
    let mut sum = 0;
    for (row, length) in rows.iter().enumerate() {
        let mut from = 0;
        while from < *length {
            listing.step().await;
            let Some((some, more)) = segment.read_one(name, |reading| sum_of(&reading, row, from)).flatten() else {
                break;
            };
            sum += more;
            from += some;
        }
    }
    sum
}

/// How many counters of a row there are from one on, and their sum, or how many names; none at the end.
fn sum_of(reading: &Reading, row: usize, from: usize) -> Option<(usize, u64)> {
    let (some, sum) = match reading {
        Reading::Simple(rows) => {
            let some = some(rows.get(row)?, from, ADDED);
            (some.len(), some.iter().map(Counter::get).sum())
        }
        Reading::Combined(rows) => {
            let some = some(rows.get(row)?, from, ADDED);
            (some.len(), some.iter().map(|pair| pair.packets.get()).sum())
        }
        Reading::Names(names) => names
            .iter()
            .skip(from)
            .take(ADDED)
            .fold((0, 0), |(some, sum), name| (some + 1, sum + u64::from(name.is_some()))),
        _ => return None,
    };
    (some > 0).then_some((some, sum))
}

fn some<T>(row: &[T], from: usize, most: usize) -> &[T] {
    let row = row.get(from..).unwrap_or_default();
    &row[..row.len().min(most)]
}

/// Lists everything of an entry, rows by the numbers of their threads: some at a time, for there may be hundreds of thousands.
async fn values(
    listing: &mut Listing,
    segment: &Segment,
    name: &str,
    (kind, shape): (&'static str, Shape),
    verbose: bool,
) {
    let lengths = match shape {
        Shape::Is(_, value) => return listing.join(1, || json!({"entries": {name: {"type": kind, "value": value}}})),
        Shape::Rows(lengths) => {
            listing.join(1, || json!({"entries": {name: {"type": kind, "value": {}}}}));
            lengths
        }
        Shape::Names => {
            listing.join(1, || json!({"entries": {name: {"type": kind, "value": []}}}));
            vec![usize::MAX]
        }
    };
    for (row, length) in lengths.into_iter().enumerate() {
        let mut from = 0;
        while from < length {
            listing.step().await;
            let some = segment.read_one(name, |reading| some_of(&reading, row, from)).unwrap_or_default();
            let Some((list, row)) = some.filter(|(list, _)| !list.is_empty()) else { break };
            if verbose {
                // Writing to a string cannot fail.
                let _ = match &row {
                    Some(row) => writeln!(listing.text(), "  thread {row}, from {from}: {}", json!(list)),
                    None => writeln!(listing.text(), "  from {from}: {}", json!(list)),
                };
            }
            from += list.len();
            listing.join(list.len(), || match row {
                Some(row) => json!({"entries": {name: {"value": {row: list}}}}),
                None => json!({"entries": {name: {"value": list}}}),
            });
        }
    }
}

/// Some of a row's counters from one on, and the row's name; or some names.
fn some_of(reading: &Reading, row: usize, from: usize) -> Option<(Vec<Value>, Option<String>)> {
    let pair = |pair: &Pair| json!({"packets": pair.packets.get(), "bytes": pair.bytes.get()});
    match reading {
        Reading::Simple(rows) => {
            let some = some(rows.get(row)?, from, LISTED);
            Some((some.iter().map(|cell| cell.get().into()).collect(), Some(row.to_string())))
        }
        Reading::Combined(rows) => {
            let some = some(rows.get(row)?, from, LISTED);
            Some((some.iter().map(pair).collect(), Some(row.to_string())))
        }
        Reading::Names(names) => Some((names.iter().skip(from).take(LISTED).map(Value::from).collect(), None)),
        _ => None,
    }
}
