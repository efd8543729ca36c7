//! Output of `show` for streams and captures.

use std::fmt::Write;
use std::sync::atomic::Ordering::Relaxed;

use quiver_control::Control;
use quiver_control::cli::{Cell, CommandError, Listing, Matches, Output, Reply, Rows, Table};
use quiver_interface::InterfaceName;
use serde_json::{Value, json};

use crate::capture::Store;
use crate::chosen::StreamName;
use crate::histogram::Summary;
use crate::profiles::{REFUSED, families};
use crate::room::PacketGenerators;
use crate::stream::PgStream;
use crate::timing::Latency;

/// Streams, and beneath them, in tables of their own, latencies and gaps where these are measured.
pub(crate) async fn streams(control: Control, matches: Matches, output: Output) -> Result<Reply, CommandError> {
    let titles =
        ["Name", "Interface", "Enabled", "Limit", "Rate", "Sent", "Received", "Lost", "Duplicated", "Reordered"];
    let only = matches.find::<StreamName>("stream")?.map(|name| name.0);
    let mut rows = Rows::new(&control, &output, titles);
    let (mut latencies, mut gaps) = (Table::new(LATENCY), Table::new(GAPS));
    for stream in control.walk_of::<PgStream>(only.as_ref()) {
        rows.step().await;
        let room = control.room::<PacketGenerators>();
        // VPP's users wait for the last "Yes" to go: it stands here while packets of the stream are on their way.
        let is_on = room.streams.is_on(&stream.name);
        let mut row = vec![
            Cell::from(stream.name.clone()),
            Cell::of(&stream.interface),
            Cell::new(if is_on { "Yes" } else { "No" }, is_on),
            Cell::from(stream.limit),
            Cell::from(stream.rate),
        ];
        let (mut latency, mut between) = (Value::Null, Value::Null);
        if let Some(score) = room.streams.score(&stream.name) {
            row.push(Cell::from(score.sent.load(Relaxed)));
            // What became of packets without numbers is not known.
            let numbered = |count: u64| if stream.is_numbered() { Cell::from(count) } else { Cell::empty() };
            let [received, duplicated, reordered] =
                [&score.received, &score.duplicated, &score.reordered].map(|count| count.load(Relaxed));
            // Once nothing is on its way, the last packets are known to be lost, too, which no later one has passed.
            let lost = if is_on { score.lost() } else { score.missing() };
            row.extend([received, lost, duplicated, reordered].map(numbered));
            if let Some(timing) = score.timing() {
                if stream.latency {
                    let found = timing.latency();
                    latencies.row(latency_row(&stream, &found));
                    latency = found.to_json();
                }
                if stream.gaps {
                    let found = Summary::of([&timing.gaps]);
                    gaps.row(gaps_row(&stream, &found));
                    between = gaps_json(&found);
                }
            }
        }
        rows.row_with(row, || {
            let fields = [("latency", latency), ("gaps", between)].into_iter().filter(|(_, value)| !value.is_null());
            Value::Object(fields.map(|(key, value)| (key.to_owned(), value)).collect())
        });
    }
    let mut listing = rows.end_table();
    for (title, table) in [("Latency", latencies), ("Gaps between packets", gaps)] {
        if !table.is_empty() {
            listing.line(&format!("\n{title} in microseconds"));
            listing.text().push_str(&table.to_text());
        }
    }
    Ok(listing.end())
}

const LATENCY: [&str; 13] = [
    "Name",
    "Packets",
    "Min",
    "Mean",
    "P50",
    "P90",
    "P99",
    "P99.9",
    "Max",
    "PDV",
    "IPDV min",
    "IPDV median",
    "IPDV max",
];

fn latency_row(stream: &PgStream, latency: &Latency) -> Vec<Cell> {
    let Latency { packets, min, mean, p50, p90, p99, p999, max, variation, .. } = latency;
    let mut row = vec![Cell::from(stream.name.clone()), Cell::from(*packets), micros(*min as f64), micros(*mean)];
    row.extend([*p50, *p90, *p99, *p999, *max, latency.pdv()].map(|time| micros(time as f64)));
    row.extend([variation.min, variation.median, variation.max].map(|time| micros(time as f64)));
    row
}

const GAPS: [&str; 8] = ["Name", "Gaps", "Min", "Mean", "P50", "P99", "P99.9", "Max"];

fn gaps_row(stream: &PgStream, gaps: &Summary) -> Vec<Cell> {
    let mut row = vec![Cell::from(stream.name.clone()), Cell::from(gaps.count())];
    row.extend([gaps.least() as f64, gaps.mean()].map(micros));
    row.extend([0.5, 0.99, 0.999].map(|share| micros(gaps.quantile(share) as f64)));
    row.push(micros(gaps.most() as f64));
    row
}

/// The histogram itself, too: pairs of nanoseconds and how often a gap took as long.
fn gaps_json(gaps: &Summary) -> Value {
    json!({
        "unit": "ns", "gaps": gaps.count(), "min": gaps.least(), "mean": gaps.mean(), "p50": gaps.quantile(0.5),
        "p99": gaps.quantile(0.99), "p99.9": gaps.quantile(0.999), "max": gaps.most(),
        "histogram": gaps.recorded().collect::<Vec<_>>(),
    })
}

/// Nanoseconds, shown as microseconds.
fn micros(nanoseconds: f64) -> Cell {
    Cell::new(format!("{:.3}", nanoseconds / 1000.0), nanoseconds)
}

/// The profiles that streams can be made by.
pub(crate) fn profiles(_: &Control, _: &Matches) -> Result<Reply, CommandError> {
    let mut table = Table::new(["Profile", "Packets", "At most"]);
    for family in families() {
        let most: Vec<_> = family.most.iter().filter(|most| **most > 0).map(u32::to_string).collect();
        table.row([Cell::from(family.name), Cell::from(family.what), Cell::from(most.join(", "))]);
    }
    for refused in REFUSED {
        table.row([Cell::from(refused.name), Cell::from(refused.lacking), Cell::from("refused")]);
    }
    Ok(table.into())
}

/// The packets of a capture in memory.
pub(crate) async fn capture(control: Control, matches: Matches, output: Output) -> Result<Reply, CommandError> {
    let name: InterfaceName = matches.get("interface")?;
    let count = {
        let captures = &mut control.room_mut::<PacketGenerators>().captures;
        captures.drain();
        let none = || CommandError::new(format!("there is no capture on {name}")).at(matches.place("interface"));
        match captures.get(&name.0).ok_or_else(none)?.store() {
            Store::Memory(packets) => packets.len(),
            Store::File(file) => {
                return Err(CommandError::new(format!("its packets are in {}", file.path().display())));
            }
        }
    };
    let mut listing = Listing::new(&control, &output);
    for number in 0..count {
        listing.step().await;
        let room = control.room::<PacketGenerators>();
        let Some(Store::Memory(packets)) = room.captures.get(&name.0).map(|capture| capture.store()) else { break };
        let Some(sent) = packets.get(number) else { break };
        let hex: String = sent.bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        // Writing to a string cannot fail.
        let _ = writeln!(listing.text(), "{number}: {} bytes at {}", sent.bytes.len(), quiver_control::Time(sent.time));
        for line in hex.as_bytes().chunks(64) {
            let _ = writeln!(listing.text(), "  {}", String::from_utf8_lossy(line));
        }
        listing.element(|| json!({"time": sent.time, "bytes": hex}));
    }
    Ok(listing.end())
}
