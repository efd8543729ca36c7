//! `classify filter`, `show classify filter`, `show classify tables`.

use std::fmt::Write;

use quiver_control::Control;
use quiver_control::cli::{Command, CommandError, Matches, Reply};
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
    let show = Command::new(show, "Show classify tables: masks, values and hit counters.", show_tables);
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

fn show_tables(control: &Control, matches: &Matches) -> Result<Reply, CommandError> {
    let (room, only) = (control.room::<Classifier>(), matches.find::<u32>("number")?);
    let (mut text, mut all) = (String::new(), vec![]);
    let chains = Use::ALL.iter().filter_map(|of| room.filters.get(of));
    let tables = chains.flat_map(|chain| {
        let tables = chain.tables();
        tables.iter().enumerate().map(|(place, table)| (table, tables.get(place + 1).map(|next| next.number)))
    });
    for (table, next) in tables.filter(|(table, _)| only.is_none_or(|only| only == table.number)) {
        let values: Vec<_> = table.values().map(|(value, hits)| (digits(value), hits)).collect();
        let told = next.map_or("-".into(), |next| next.to_string());
        let _ = writeln!(text, "{:>10}{:>10}{:>10}", "TableIdx", "Sessions", "NextTbl");
        let _ = writeln!(text, "{:>10}{:>10}{told:>10}\n  mask {}", table.number, values.len(), digits(table.mask()));
        for (value, hits) in values.iter().filter(|_| matches.has("verbose")) {
            let _ = writeln!(text, "  match {value} hits {hits}");
        }
        let values = values.iter().map(|(value, hits)| json!({"match": value, "hits": hits})).collect::<Vec<_>>();
        all.push(json!({"index": table.number, "next": next, "mask": digits(table.mask()), "sessions": values}));
    }
    if all.is_empty() {
        text = "No classifier tables configured".into();
    }
    Ok(Reply::new(text, json!(all)))
}

fn digits(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
