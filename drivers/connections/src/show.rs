//! Output of `show connections`.

use quiver_control::cli::{Cell, Command, CommandError, Matches, Output, Reply, Rows, Table};
use quiver_control::{Control, Pace, behind, one_by_one};
use quiver_interface::InterfaceName;
use quiver_pg::histogram::{Counts, Summary};
use serde_json::{Map, Value, json};

use crate::profile::{NAMES, Profile};
use crate::room::ConnectionGenerators;
use crate::run::Run;

/// Digests shown at a time.
const DIGESTS_MAX: u32 = 10_000;

pub(crate) fn register(control: &Control) {
    let commands = control.commands();
    let help = "Show runs of connections, with their counts and times.";
    commands.add(Command::waiting("show connections [<interface>]", help, connections));
    let help = "Show the profiles of connections by name.";
    commands.add(Command::new("show connections profiles", help, profiles));
    let digests = "show connections digests <interface> [first <first:u32>] [count <count:u32>]";
    let help = "Show bytes and CRC-32 of what connections have received, by number.";
    commands.add(Command::waiting(digests, help, self::digests));
}

async fn connections(control: Control, matches: Matches, _: Output) -> Result<Reply, CommandError> {
    let only = matches.find::<InterfaceName>("interface")?;
    if let Some(InterfaceName(name)) =
        only.as_ref().filter(|only| !control.room::<ConnectionGenerators>().ports.contains_key(&only.0))
    {
        return Err(CommandError::new(format!("{name} is no connection generator")).at(matches.place("interface")));
    }
    let titles = ["Name", "Side", "Attempted", "Established", "Closed", "Failed", "Retransmitted", "Unsent", "Open"];
    let (mut table, mut times) = (Table::new(titles), Table::new(TIMES));
    let (mut pace, mut all) = (Pace::in_turns(&control), vec![]);
    let names = one_by_one(|last| {
        behind(&control.room::<ConnectionGenerators>().ports, last).map(|(name, _)| (name.clone(), name.clone()))
    });
    for name in names.filter(|name| only.as_ref().is_none_or(|only| only.0 == *name)) {
        pace.step().await;
        let room = control.room::<ConnectionGenerators>();
        let Some(port) = room.ports.get(&name) else { continue };
        let Some(run) = &port.run else { continue };
        let counts = &run.counts;
        let numbers = [&counts.attempted, &counts.established, &counts.closed, &counts.failed, &counts.retransmitted];
        let mut row = vec![Cell::from(name.clone()), Cell::of(run.load.side)];
        row.extend(numbers.map(|count| Cell::from(count.get())));
        row.extend([Cell::from(run.unsent()), Cell::from(counts.open.get())]);
        table.row(row);
        let mut of = numbers_of(&name, run);
        for (what, counts) in times_of(run) {
            let summary = Summary::of([counts]);
            if summary.count() > 0 {
                times.row(time_row(&name, what, &summary));
            }
            of.insert(what.replace(' ', "-"), time_json(&summary));
        }
        all.push(Value::Object(of));
    }
    let below = if times.is_empty() { String::new() } else { format!("\nTimes in microseconds\n{}", times.to_text()) };
    Ok(Reply::new(table.to_text() + &below, Value::Array(all)))
}

fn numbers_of(name: &str, run: &Run) -> Map<String, Value> {
    let mut of = Map::new();
    of.insert("name".into(), name.into());
    of.insert("side".into(), run.load.side.to_string().into());
    of.insert("opening".into(), run.is_opening().into());
    of.insert("connections".into(), run.records.len().into());
    of.insert("memory".into(), size_of_val(&*run.records).into());
    of.insert("unsent".into(), run.unsent().into());
    of.extend(run.counts.named().into_iter().map(|(name, count)| (name.replace('_', "-"), count.into())));
    of
}

fn times_of(run: &Run) -> [(&'static str, &Counts); 3] {
    let times = &run.times;
    [("connect", &times.connect), ("first byte", &times.first_byte), ("completion", &times.completion)]
}

const TIMES: [&str; 9] = ["Name", "Time", "Connections", "Min", "Mean", "P50", "P99", "P99.9", "Max"];

fn time_row(name: &str, what: &str, times: &Summary) -> Vec<Cell> {
    let micros = |time: f64| Cell::new(format!("{:.3}", time / 1000.0), time);
    let mut row = vec![Cell::from(name.to_owned()), Cell::from(what), Cell::from(times.count())];
    row.extend([times.least() as f64, times.mean()].map(micros));
    row.extend([0.5, 0.99, 0.999].map(|share| micros(times.quantile(share) as f64)));
    row.push(micros(times.most() as f64));
    row
}

fn time_json(times: &Summary) -> Value {
    json!({
        "unit": "ns", "connections": times.count(), "min": times.least(), "mean": times.mean(), "p50": times.quantile(0.5),
        "p90": times.quantile(0.9), "p99": times.quantile(0.99), "p99.9": times.quantile(0.999), "max": times.most(),
        "hdrh": times.encoded(),
    })
}

fn profiles(_: &Control, _: &Matches) -> Result<Reply, CommandError> {
    let mut table = Table::new(["Profile", "Client packets", "Server packets", "Connection"]);
    for (name, what) in NAMES {
        let packets = Profile::named(name).and_then(|(profile, _)| profile.packets());
        let of = |side: usize| packets.map_or_else(Cell::empty, |packets| Cell::from(packets[side]));
        table.row([Cell::from(name), of(0), of(1), Cell::from(what)]);
    }
    Ok(table.into())
}

async fn digests(control: Control, matches: Matches, output: Output) -> Result<Reply, CommandError> {
    let InterfaceName(name) = matches.get("interface")?;
    let first: u32 = matches.find("first")?.unwrap_or(0);
    let count = matches.find("count")?.unwrap_or(DIGESTS_MAX).min(DIGESTS_MAX);
    let all = of_run(&control, &name, |run| run.records.len() as u32).ok_or_else(|| {
        let what = format!("{name} has no run with digests; start one with `digest yes`");
        CommandError::new(what).at(matches.place("interface"))
    })?;
    let mut rows = Rows::new(&control, &output, ["Connection", "Times", "Bytes", "CRC-32"]);
    let row = |id| of_run(&control, &name, |run| digest_row(run, id)).flatten();
    rows.each(first..first.saturating_add(count).min(all), row).await;
    Ok(rows.end())
}

/// Looks at the run of an interface, if it has digests.
fn of_run<T>(control: &Control, name: &str, look: impl FnOnce(&Run) -> T) -> Option<T> {
    let room = control.room::<ConnectionGenerators>();
    room.ports.get(name)?.run.as_ref().filter(|run| run.load.digest).map(|run| look(run))
}

fn digest_row(run: &Run, id: u32) -> Option<[Cell; 4]> {
    let record = run.record(id).filter(|record| record.incarnation() > 0)?;
    let crc = Cell::new(format!("{:08x}", record.checksum()), record.checksum());
    let bytes = if record.expected() == 0 { 0 } else { run.received(record) };
    Some([Cell::from(id), Cell::from(u32::from(record.incarnation())), Cell::from(bytes), crc])
}
