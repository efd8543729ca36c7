//! The commands that show addresses, tables, routes and adjacencies.

use std::fmt::Write;
use std::net::Ipv4Addr;

use quiver_control::Control;
use quiver_control::cli::{Cell, Command, CommandError, Matches, Reply, Table as Columns};
use quiver_interface::{InterfaceId, Interfaces};
use quiver_wire::{Prefix, V4};
use serde_json::{Value, json};

use crate::adjacency::State;
use crate::fib::group::Group;
use crate::fib::rows::Buckets;
use crate::fib::{Entry, Fib, Path, Table, TableId, Target, hop};
use crate::objects::IpTable;
use crate::room::Ip4;

pub(crate) fn register(control: &Control) {
    let commands = control.commands();
    let fib = "show ip fib [table <table:u32>] [<prefix:ip4-prefix> | <address:ip4>] [summary|detail|memory|mtrie]";
    commands.add(
        Command::new(fib, "Show routes: all, that of a prefix, or the one that an address takes.", show_fib)
            .argument("table", "the number of an IP table")
            .argument("summary", "how many routes there are, by the length of their prefixes")
            .argument("detail", "with their groups and who else made a route")
            .argument("memory", "what the tables take")
            .argument("mtrie", "the same, by VPP's name of what is looked up in"),
    );
    commands.add(Command::new("show ip table [<table:u32>]", "Show the IP tables.", show_tables));
    let counting = "adjacency counters (enable|disable)";
    commands.add(
        Command::new(counting, "Count packets to neighbours, which is done always.", count_adjacencies)
            .argument("enable", "leave it so")
            .argument("disable", "refused"),
    );
    let address = "show interface address [<interface>]";
    commands.add(Command::new(address, "Show the interfaces' addresses.", show_addresses));
    commands.add(Command::new(
        "show adjacency [<interface>]",
        "Show what packets to neighbours get.",
        show_adjacencies,
    ));
}

/// What names of interfaces a text needs.
struct Names<'a>(&'a Interfaces);
impl Names<'_> {
    fn of(&self, id: InterfaceId) -> String {
        self.0.name(id)
    }
}

fn show_fib(control: &Control, given: &Matches) -> Result<Reply, CommandError> {
    let (interfaces, ip) = (control.room::<Interfaces>(), control.room::<Ip4>());
    let (fib, names) = (&ip.fib, Names(&interfaces));
    let wanted = given.find::<u32>("table")?.map(TableId);
    if let Some(table) = wanted.filter(|table| fib.table(*table).is_none()) {
        return Err(CommandError::new(format!("there is no IP table {table}; `show ip table` lists them"))
            .at(given.place("table")));
    }
    if given.has("memory") || given.has("mtrie") {
        return Ok(memory(fib, wanted));
    }
    if given.has("summary") {
        return Ok(summary(fib, wanted));
    }
    let (prefix, address) = (given.find::<Prefix<V4>>("prefix")?, given.find::<Ipv4Addr>("address")?);
    let (mut text, mut json) = (String::new(), vec![]);
    // One route is asked for in one table, the default one unless another is named.
    let single = prefix.is_some() || address.is_some();
    let tables = fib.tables().filter(|table| match wanted {
        Some(wanted) => table.id == wanted,
        None => !single || table.id == TableId::DEFAULT,
    });
    for table in tables {
        let _ = writeln!(text, "ipv4-VRF:{}, flow hash:[src dst sport dport proto], routes {}", table.id, table.len());
        let found = match (prefix, address) {
            (Some(prefix), _) => vec![prefix],
            (None, Some(address)) => table.find(address).into_iter().map(|(prefix, _)| prefix).collect(),
            (None, None) => table.routes().map(|(prefix, _)| prefix).collect(),
        };
        for prefix in &found {
            let Some(entry) = table.get(prefix) else {
                let what = format!("there is no route {prefix} in table {}", table.id);
                return Err(CommandError::new(what).at(given.place("prefix")));
            };
            route(&mut text, fib, &names, table, prefix, entry, single || given.has("detail"));
            json.push(route_json(fib, &names, table, prefix, entry));
        }
        if let Some(address) = address.filter(|_| found.is_empty()) {
            let _ = writeln!(text, "no route contains {address}");
        }
    }
    Ok(Reply::new(text, Value::Array(json)))
}

/// Runs of equal buckets: the first, the last, and their hop.
fn runs(buckets: &Buckets) -> Vec<(usize, usize, u32)> {
    let mut runs: Vec<(usize, usize, u32)> = vec![];
    for (i, hop) in buckets.iter().enumerate() {
        match runs.last_mut() {
            Some((_, last, of)) if of == hop => *last = i,
            _ => runs.push((i, i, *hop)),
        }
    }
    runs
}

fn route(
    text: &mut String,
    fib: &Fib<V4>,
    names: &Names,
    table: &Table<V4>,
    prefix: &Prefix<V4>,
    entry: &Entry,
    detail: bool,
) {
    // A text that is a String takes everything, so the results of `write` say nothing.
    let _ = writeln!(text, "{prefix}");
    for (rank, (source, group)) in entry.sources().enumerate().filter(|(rank, _)| detail || *rank == 0) {
        let Some(group) = fib.groups.get(group) else { continue };
        if detail {
            let _ = writeln!(text, "  {source}{}", if rank == 0 { ", active" } else { "" });
            for path in group.paths.iter() {
                let _ = writeln!(text, "    path: weight {} {}", path.weight.max(1), path_text(fib, names, path));
            }
        }
    }
    let Some(group) = fib.groups.get(entry.group) else { return };
    let counted = table.counts(prefix).map(|to| format!(" to:[{}:{}]", to.packets, to.bytes)).unwrap_or_default();
    if detail {
        let _ = writeln!(text, "  forwarding: group {} shared by {} routes{counted}", entry.group, group.routes);
    } else {
        let _ = writeln!(text, "  unicast-ip4{counted}");
    }
    text.push_str(&forwarding(fib, names.0, group));
}

/// Where packets go by a group, in words: a line for each run of equal buckets.
pub fn forwarding(fib: &Fib<V4>, interfaces: &Interfaces, group: &Group<V4>) -> String {
    let line = |(first, last, hop)| format!("    [{first}-{last}] {}\n", hop_text(fib, &Names(interfaces), hop));
    runs(&group.hops).into_iter().map(line).collect()
}

/// The same for programs.
pub fn forwarding_json(fib: &Fib<V4>, interfaces: &Interfaces, group: &Group<V4>) -> Value {
    let to = |hop| hop_json(fib, &Names(interfaces), hop);
    let bucket = |(first, last, hop): (usize, usize, u32)| json!({"first": first, "last": last, "to": to(hop)});
    runs(&group.hops).into_iter().map(bucket).collect()
}

fn path_text(fib: &Fib<V4>, names: &Names, path: &Path<V4>) -> String {
    match path.target {
        Target::NextHop(interface, to) => format!("attached-nexthop: via {to} {}", names.of(interface)),
        Target::Link(interface) => format!("attached: {}", names.of(interface)),
        Target::Recursive(table, to) => {
            let through = fib.table(table).and_then(|table| table.way_to(to));
            let through = through.map_or("unresolved".into(), |(prefix, _)| format!("through {prefix}"));
            format!("recursive: via {to} in table {table}, {through}")
        }
        Target::Special(special) => special.to_string(),
    }
}

/// A hop in words: the adjacency with what it puts before packets.
fn hop_text(fib: &Fib<V4>, names: &Names, hop: u32) -> String {
    let Some(adjacency) = fib.adjacencies.get(hop) else { return hop::name(hop).unwrap_or("none").into() };
    let (row, interface) = (fib.adjacencies.row(hop), names.of(adjacency.interface));
    match adjacency.next_hop {
        None => format!("ipv4-glean: {interface} mtu {}", row.mtu()),
        Some(to) if row.is_complete() => {
            let header: String = row.header().iter().map(|byte| format!("{byte:02x}")).collect();
            format!("ipv4 via {to} {interface}: mtu {} {header}", row.mtu())
        }
        Some(to) => format!("arp-ipv4: via {to} {interface}"),
    }
}

fn hop_json(fib: &Fib<V4>, names: &Names, hop: u32) -> Value {
    match fib.adjacencies.get(hop) {
        None => json!({"hop": hop::name(hop)}),
        Some(adjacency) => json!({
            "hop": hop,
            "interface": names.of(adjacency.interface),
            "next-hop": adjacency.next_hop.map(|to| to.to_string()),
            "mac": adjacency.mac.map(|mac| mac.to_string()),
            "state": state_text(fib, hop),
        }),
    }
}

fn state_text(fib: &Fib<V4>, hop: u32) -> &'static str {
    let row = fib.adjacencies.row(hop);
    match () {
        () if row.is_complete() => "complete",
        () if row.is(State::Glean) => "glean",
        () => "incomplete",
    }
}

fn route_json(fib: &Fib<V4>, names: &Names, table: &Table<V4>, prefix: &Prefix<V4>, entry: &Entry) -> Value {
    let group: Option<&Group<V4>> = fib.groups.get(entry.group);
    let counts = table.counts(prefix).map(|to| json!({"packets": to.packets, "bytes": to.bytes}));
    json!({
        "table": table.id.0,
        "prefix": prefix.to_string(),
        "source": entry.source.to_string(),
        "group": entry.group,
        "paths": group.map(|group| group.paths.iter().map(|path| path_text(fib, names, path)).collect::<Vec<_>>()),
        "buckets": group.map_or(json!([]), |group| forwarding_json(fib, names.0, group)),
        "counters": counts,
    })
}

fn summary(fib: &Fib<V4>, wanted: Option<TableId>) -> Reply {
    let mut columns = Columns::new(["Table", "Prefix length", "Count"]);
    for table in fib.tables().filter(|table| wanted.is_none_or(|wanted| table.id == wanted)) {
        let mut counts = [0u64; 33];
        table.routes().for_each(|(prefix, _)| counts[usize::from(prefix.length()).min(32)] += 1);
        for (length, count) in counts.iter().enumerate().filter(|(_, count)| **count > 0) {
            columns.row([Cell::from(table.id.0), Cell::from(length), Cell::from(*count)]);
        }
    }
    columns.into()
}

fn memory(fib: &Fib<V4>, wanted: Option<TableId>) -> Reply {
    let mut columns = Columns::new(["What", "Entries", "Bytes"]);
    for table in fib.tables().filter(|table| wanted.is_none_or(|wanted| table.id == wanted)) {
        let (lookup, control) = table.memory_bytes();
        columns.row([format!("table {} lookup", table.id).into(), table.len().into(), lookup.into()]);
        columns.row([format!("table {} routes", table.id).into(), table.len().into(), control.into()]);
    }
    columns.row(["groups".into(), fib.groups.len().into(), fib.groups.memory_bytes().into()]);
    columns.into()
}

fn show_tables(control: &Control, given: &Matches) -> Result<Reply, CommandError> {
    let ip = control.room::<Ip4>();
    let wanted = given.find::<u32>("table")?;
    let mut columns = Columns::new(["Table", "Name", "Routes", "Counters"]);
    for table in ip.fib.tables().filter(|table| wanted.is_none_or(|wanted| table.id.0 == wanted)) {
        let name = control.objects().get::<IpTable>(&table.id.0).and_then(|table| table.name.clone());
        let name = name.unwrap_or_else(|| format!("ipv4-VRF:{}", table.id));
        columns.row([table.id.0.into(), name.into(), table.len().into(), table.counted().is_some().into()]);
    }
    Ok(columns.into())
}

fn show_addresses(control: &Control, given: &Matches) -> Result<Reply, CommandError> {
    let (interfaces, ip) = (control.room::<Interfaces>(), control.room::<Ip4>());
    let wanted = given.find::<String>("interface")?;
    let (mut text, mut json) = (String::new(), vec![]);
    for interface in interfaces.iter().filter(|interface| wanted.as_ref().is_none_or(|name| interface.name == *name)) {
        let _ = writeln!(text, "{} ({}):", interface.name, if interface.up { "up" } else { "dn" });
        let (addresses, table) = (ip.addresses(interface.id), ip.table_of(interface.id));
        for address in addresses {
            let of_table = if table == TableId::DEFAULT { String::new() } else { format!(" ip4 table-id {table}") };
            let _ = writeln!(text, "  L3 {address}{of_table}");
        }
        let addresses: Vec<String> = addresses.iter().map(|address| address.to_string()).collect();
        json.push(json!({"interface": interface.name, "up": interface.up, "table": table.0, "ip4": addresses}));
    }
    Ok(Reply::new(text, Value::Array(json)))
}

fn count_adjacencies(_: &Control, given: &Matches) -> Result<Reply, CommandError> {
    match given.has("disable") {
        true => Err(CommandError::new("packets to neighbours are counted always").at(given.place("disable"))),
        false => Ok(Reply::done()),
    }
}

fn show_adjacencies(control: &Control, given: &Matches) -> Result<Reply, CommandError> {
    let (interfaces, ip) = (control.room::<Interfaces>(), control.room::<Ip4>());
    let wanted = given.find::<String>("interface")?;
    let mut columns = Columns::new(["Hop", "Interface", "Next hop", "State", "MAC", "Users", "Packets", "Bytes"]);
    for (hop, adjacency) in ip.fib.adjacencies.iter() {
        let interface = interfaces.name(adjacency.interface);
        if wanted.as_ref().is_some_and(|wanted| *wanted != interface) {
            continue;
        }
        let sent = ip.fib.adjacencies.counters().sum(hop);
        columns.row([
            hop.into(),
            interface.into(),
            adjacency.next_hop.map(|to| to.to_string()).into(),
            state_text(&ip.fib, hop).into(),
            adjacency.mac.map(|mac| mac.to_string()).into(),
            adjacency.users.into(),
            sent.packets.into(),
            sent.bytes.into(),
        ]);
    }
    Ok(columns.into())
}
