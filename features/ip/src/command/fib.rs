//! `show ip fib`: routes, in short turns, for there may be millions.

use std::collections::BTreeMap;
use std::fmt::Write;

use quiver_control::Control;
use quiver_control::cli::{Command, CommandError, Listing, Matches, Output, Reply, Table as Columns};
use quiver_interface::Interfaces;
use quiver_wire::Prefix;
use serde_json::{Value, json};

use super::forwarding::{Names, forwarding, forwarding_json, path_text};
use super::table_word::table;
use crate::config::objects::IpTable;
use crate::config::room::Ip;
use crate::family::Family;
use crate::fib::group::Group;
use crate::fib::{Entry, Fib, Table, TableId};

pub(super) fn register<F: Family>(control: &Control) {
    let (name, command) = (F::NAME, F::NAMES.command);
    let fib = format!(
        "show {command} fib [table <table:{name}-table>] [<prefix:{name}-prefix> | <address:{name}>] [summary|detail|memory|mtrie]"
    );
    let help = "Show routes: all, that of a prefix, or the best match of an address.";
    control.commands().add(
        Command::waiting(fib, help, show::<F>)
            .argument("table", "id of the table")
            .argument("summary", "number of routes by prefix length")
            .argument("detail", "include load balancing and other sources of a route")
            .argument("memory", "memory of the tables")
            .argument("mtrie", "memory of the tables; VPP's name for it"),
    );
}

async fn show<F: Family>(control: Control, given: Matches, output: Output) -> Result<Reply, CommandError> {
    let wanted = table::<F>(&control, &given, "table")?.map(TableId);
    if let Some(table) = wanted.filter(|table| control.room::<Ip<F>>().fib.table(*table).is_none()) {
        return Err(CommandError::new(format!(
            "there is no {} table {table}; `show {} table` lists them",
            F::TITLE,
            F::NAMES.command
        ))
        .at(given.place("table")));
    }
    if given.has("memory") || given.has("mtrie") {
        return Ok(memory(&control.room::<Ip<F>>().fib, wanted));
    }
    if given.has("summary") {
        return Ok(summary::<F>(&control, &output, wanted).await);
    }
    let (prefix, address) = (given.find::<Prefix<F>>("prefix")?, given.find::<F::Address>("address")?);
    let mut listing = Listing::new(&control, &output);
    if prefix.is_none() && address.is_none() {
        for table in tables::<F>(&control, wanted) {
            all::<F>(&control, &mut listing, table, given.has("detail")).await;
        }
        return Ok(listing.end());
    }
    // One route is asked for in one table, the default one unless another is named.
    let (ip, interfaces) = (control.room::<Ip<F>>(), control.room::<Interfaces>());
    let Some(table) = ip.fib.table(wanted.unwrap_or(TableId::DEFAULT)) else { return Ok(listing.end()) };
    begin(&control, &mut listing, table);
    let found = prefix.or_else(|| table.find(address?).map(|(prefix, _)| prefix));
    match (found, found.and_then(|prefix| table.get(&prefix)), address) {
        (Some(prefix), Some(entry), _) => {
            Route { fib: &ip.fib, names: Names(&interfaces), table, prefix, entry }.list(&mut listing, true);
        }
        (Some(prefix), None, _) => {
            let what = format!("there is no route {prefix} in table {}", table.id);
            return Err(CommandError::new(what).at(given.place("prefix")));
        }
        (None, _, Some(address)) => listing.line(&format!("no route contains {address}")),
        (None, _, None) => {}
    }
    Ok(listing.end())
}

/// The tables that are asked for.
fn tables<F: Family>(control: &Control, wanted: Option<TableId>) -> Vec<TableId> {
    let ip = control.room::<Ip<F>>();
    ip.fib.tables().map(|table| table.id).filter(|id| wanted.is_none_or(|wanted| *id == wanted)).collect()
}

/// Lists the routes of a table in the order of their prefixes, a few in each turn.
async fn all<F: Family>(control: &Control, listing: &mut Listing, id: TableId, detail: bool) {
    listing.step().await;
    if let Some(table) = control.room::<Ip<F>>().fib.table(id) {
        begin(control, listing, table);
    }
    let mut last: Option<Prefix<F>> = None;
    while let Some(next) = some(control, listing, id, last, detail) {
        last = Some(next);
        listing.next_turn().await;
    }
}

/// Lists the routes behind a prefix as long as the turn lasts. The last one, if there are more.
fn some<F: Family>(
    control: &Control,
    listing: &mut Listing,
    id: TableId,
    after: Option<Prefix<F>>,
    detail: bool,
) -> Option<Prefix<F>> {
    let (interfaces, ip) = (control.room::<Interfaces>(), control.room::<Ip<F>>());
    let table = ip.fib.table(id)?;
    for (prefix, entry) in table.routes_after(after) {
        Route { fib: &ip.fib, names: Names(&interfaces), table, prefix, entry }.list(listing, detail);
        if !listing.goes_on() {
            return Some(prefix);
        }
    }
    None
}

/// The line before the routes of a table.
fn begin<F: Family>(control: &Control, listing: &mut Listing, table: &Table<F>) {
    let flow_hash = flow_hash::<F>(control, table.id);
    listing.line(&format!("{}:{}, flow hash:[{flow_hash}], routes {}", F::NAMES.vrf, table.id, table.len()));
}

/// By what a table tells flows apart.
fn flow_hash<F: Family>(control: &Control, id: TableId) -> String {
    let chosen = control.objects().get::<IpTable<F>>(&id.0).map(|table| table.flow_hash.clone());
    let words: Vec<String> = chosen.iter().flatten().map(|field| field.to_string()).collect();
    if words.is_empty() { F::NAMES.flow_hash.into() } else { words.join(" ") }
}

/// A route, and what is needed to say where it leads.
struct Route<'a, F: Family> {
    fib: &'a Fib<F>,
    names: Names<'a>,
    table: &'a Table<F>,
    prefix: Prefix<F>,
    entry: &'a Entry,
}

impl<F: Family> Route<'_, F> {
    fn list(&self, listing: &mut Listing, detail: bool) {
        if listing.wants_text() {
            self.write(listing.text(), detail);
        }
        listing.element(|| self.json());
    }

    fn write(&self, text: &mut String, detail: bool) {
        let Route { fib, names, table, prefix, entry } = self;
        // A text that is a String takes everything, so the results of `write` say nothing.
        let _ = writeln!(text, "{prefix}");
        for (rank, (source, group)) in entry.sources().enumerate().filter(|(rank, _)| detail || *rank == 0) {
            let Some(group) = fib.groups.get(group) else { continue };
            if detail {
                let _ = writeln!(text, "  {source}{}", if rank == 0 { ", active" } else { "" });
                for path in group.ways() {
                    let _ = writeln!(text, "    path: weight {} {}", path.weight.max(1), path_text(fib, names, path));
                }
            }
        }
        let Some(group) = fib.groups.get(entry.group) else { return };
        let counted = table.counts(prefix).map(|to| format!(" to:[{}:{}]", to.packets, to.bytes)).unwrap_or_default();
        if detail {
            let _ = writeln!(text, "  forwarding: group {} shared by {} routes{counted}", entry.group, group.routes);
        } else {
            let _ = writeln!(text, "  unicast-{}{counted}", F::NAME);
        }
        text.push_str(&forwarding(fib, names.0, group));
    }

    fn json(&self) -> Value {
        let Route { fib, names, table, prefix, entry } = self;
        let group: Option<&Group<F>> = fib.groups.get(entry.group);
        let counts = table.counts(prefix).map(|to| json!({"packets": to.packets, "bytes": to.bytes}));
        json!({
            "table": table.id.0,
            "prefix": prefix.to_string(),
            "source": entry.source.to_string(),
            "group": entry.group,
            "paths": group.map(|group| group.ways().map(|path| path_text(fib, names, path)).collect::<Vec<_>>()),
            "buckets": group.map_or(json!([]), |group| forwarding_json(fib, names.0, group)),
            "counters": counts,
        })
    }
}

/// The number of routes by prefix length, counted in turns.
async fn summary<F: Family>(control: &Control, output: &Output, wanted: Option<TableId>) -> Reply {
    let mut columns = Columns::new(["Table", "Prefix length", "Count"]);
    let mut turns = Listing::new(control, output);
    for id in tables::<F>(control, wanted) {
        let (mut counts, mut last) = (BTreeMap::<u8, u64>::new(), None);
        loop {
            turns.step().await;
            let ip = control.room::<Ip<F>>();
            let Some(table) = ip.fib.table(id) else { break };
            let before = last;
            for (prefix, _) in table.routes_after(last).take(SUMMED) {
                *counts.entry(prefix.length()).or_default() += 1;
                last = Some(prefix);
            }
            if last == before {
                break;
            }
        }
        for (length, count) in counts {
            columns.row([format!("{}:{id}", F::NAMES.vrf).into(), length.into(), count.into()]);
        }
    }
    columns.into()
}

/// Routes that are counted between two looks at the clock.
const SUMMED: usize = 256;

fn memory<F: Family>(fib: &Fib<F>, wanted: Option<TableId>) -> Reply {
    let mut columns = Columns::new(["What", "Entries", "Bytes"]);
    for table in fib.tables().filter(|table| wanted.is_none_or(|wanted| table.id == wanted)) {
        let (lookup, control) = table.memory_bytes();
        columns.row([format!("table {} lookup", table.id).into(), table.len().into(), lookup.into()]);
        columns.row([format!("table {} routes", table.id).into(), table.len().into(), control.into()]);
    }
    columns.row(["groups".into(), fib.groups.len().into(), fib.groups.memory_bytes().into()]);
    columns.into()
}
