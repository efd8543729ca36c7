//! `classify filter`, `show classify filter`, `show classify tables`.

use std::fmt::Write;

use quiver_control::cli::{Command, CommandError, Listing, Matches, Output, Reply};
use quiver_control::{Control, one_by_one};
use serde_json::json;

use crate::table::{Table, TableError};
use crate::text::{self, FilterArguments};
use crate::{Classifier, Use, filter};

pub(crate) fn register(control: &Control) {
    let classify = Command::new(
        "classify filter (trace|pcap) <words:text>...",
        "Select packets for `trace add ... filter` or `pcap trace ... filter` by mask and value: mask l3 ip4 src match l3 ip4 src 10.0.0.1; `del` deletes the table of a mask, or all.",
        change,
    );
    control.commands().add(classify);
    control.commands().add(Command::new(
        "show classify filter [verbose]",
        "Show which features use which classify tables.",
        show_filter,
    ));
    let show = "show classify tables {verbose [<level:u32>] | index <number:u32>}";
    let show = Command::waiting(show, "Show classify tables: masks, values and hit counters.", show_tables);
    control.commands().add(show.argument("level", "no effect; accepted as VPP does").argument("number", "one table"));
}

fn change(control: &Control, matches: &Matches) -> Result<Reply, CommandError> {
    let wrong = |error: String| CommandError::new(error).at(matches.place("words"));
    let FilterArguments { del, mask, value } =
        text::words(&matches.all::<String>("words")?).map_err(|error| wrong(error.to_string()))?;
    let refused = |error: TableError| wrong(error.to_string());
    let mut room = control.room_mut::<Classifier>();
    let Classifier { filters, next } = &mut *room;
    let of = if matches.has("trace") { Use::Trace } else { Use::Pcap };
    let chain = filters.entry(of).or_default();
    match (del, mask) {
        (true, None) => *chain = Default::default(),
        (true, Some(mask)) => {
            if !chain.remove(&mask) {
                return Err(wrong("there is no table with this mask; `show classify tables` has them".into()));
            }
        }
        (false, None) => return Err(wrong("there is no mask; say which bytes count: mask l3 ip4 src".into())),
        (false, Some(mask)) => {
            let value = value.as_deref();
            if let Some(table) = chain.find(&mask) {
                value.map_or(Ok(()), |value| table.add(value)).map_err(refused)?;
                return Ok(Reply::done());
            }
            let mut table = Table::new(*next, &mask).map_err(refused)?;
            value.map_or(Ok(()), |value| table.add(value)).map_err(refused)?;
            *next += 1;
            chain.add(table);
        }
    }
    Ok(Reply::done())
}

fn show_filter(control: &Control, matches: &Matches) -> Result<Reply, CommandError> {
    let what = if matches.has("verbose") { "table(s)" } else { "first table" };
    let mut text = format!("{:<30} Table(s)\n{:<30} --------\n", "Filter Used By", "--------------");
    let mut json = serde_json::Map::new();
    for of in Use::ALL {
        let numbers: Vec<_> = filter(control, of).tables().iter().map(|table| table.number).collect();
        let shown = if matches.has("verbose") { &numbers[..] } else { &numbers[..numbers.len().min(1)] };
        let listed = match shown {
            [] => " none".to_owned(),
            _ => shown.iter().map(|number| format!(" {number}")).collect(),
        };
        let user = match of {
            Use::Trace => "packet tracer:",
            Use::Pcap => "pcap rx/tx/drop:",
        };
        let _ = writeln!(text, "{user:<30} {what}{listed}");
        json.insert(of.word().into(), json!(numbers));
    }
    Ok(Reply::new(text, json.into()))
}

async fn show_tables(control: Control, matches: Matches, output: Output) -> Result<Reply, CommandError> {
    let only = matches.find::<u32>("number")?;
    let (mut listing, mut is_empty) = (Listing::new(&control, &output), true);
    let is_verbose = matches.has("verbose");
    for of in Use::ALL {
        let tables = control.room::<Classifier>().filters.get(&of).map_or(0, |chain| chain.tables().len());
        for place in 0..tables {
            listing.step().await;
            let Some((number, next, mask, count)) = table_at(&control, of, place) else { continue };
            if only.is_some_and(|only| only != number) {
                continue;
            }
            is_empty = false;
            let told = next.map_or("-".into(), |next| next.to_string());
            listing.line(&format!("{:>10}{:>10}{:>10}", "TableIdx", "Sessions", "NextTbl"));
            listing.line(&format!("{number:>10}{count:>10}{told:>10}\n  mask {mask}"));
            let mut values = vec![];
            let all = one_by_one(|last| {
                let room = control.room::<Classifier>();
                let (value, hits) = room.filters.get(&of)?.tables().get(place)?.value_behind(last)?;
                Some((value.clone(), (digits(value), hits)))
            });
            for (value, hits) in all {
                listing.step().await;
                if is_verbose {
                    listing.line(&format!("  match {value} hits {hits}"));
                }
                values.push(json!({"match": value, "hits": hits}));
            }
            listing.element(|| json!({"index": number, "next": next, "mask": mask, "sessions": values}));
        }
    }
    if is_empty {
        listing.line("No classifier tables configured");
    }
    Ok(listing.end())
}

/// Number, next number, mask and number of values of a table in a chain.
fn table_at(control: &Control, of: Use, place: usize) -> Option<(u32, Option<u32>, String, usize)> {
    let room = control.room::<Classifier>();
    let tables = room.filters.get(&of)?.tables();
    let (table, next) = (tables.get(place)?, tables.get(place + 1).map(|next| next.number));
    Some((table.number, next, digits(table.mask()), table.len()))
}

fn digits(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
