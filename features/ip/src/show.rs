//! The commands that show addresses, tables, routes and adjacencies.

use std::collections::BTreeMap;
use std::fmt::Write;

use quiver_control::Control;
use quiver_control::cli::{Cell, Command, CommandError, Matches, Reply, Table as Columns};
use quiver_engine::Dataplane;
use quiver_interface::{InterfaceId, Interfaces};
use quiver_wire::{Prefix, V4, V6};
use serde_json::{Value, json};

use crate::adjacency::State;
use crate::family::Family;
use crate::fib::group::Group;
use crate::fib::kind::{Kind, Of};
use crate::fib::rows::Buckets;
use crate::fib::{Entry, Fib, Path, Table, TableId, Target, Way, hop};
use crate::objects::IpTable;
use crate::room::Ip;
use crate::table_word::{name_of, table};

pub(crate) fn register(control: &Control) {
    register_family::<V4>(control);
    register_family::<V6>(control);
    let commands = control.commands();
    let counting = "adjacency counters (enable|disable)";
    commands.add(
        Command::new(counting, "Count packets to neighbours, which is done always.", count_adjacencies)
            .argument("enable", "leave it so")
            .argument("disable", "refused"),
    );
    let kinds = "Show the kinds of next hops that rooms have registered, and the nodes that take their packets.";
    commands.add(Command::new("show next-hop kinds", kinds, show_kinds));
    let address = "show interface address [<interface>]";
    commands.add(Command::new(address, "Show the interfaces' addresses.", show_addresses));
    let adjacency = "show adjacency [<hop:u32> | <interface>]";
    commands.add(
        Command::new(adjacency, "Show what packets to neighbours get.", show_adjacencies)
            .argument("hop", "the number of one of them"),
    );
}

fn register_family<F: Family>(control: &Control) {
    let (commands, name, command) = (control.commands(), F::NAME, F::NAMES.command);
    let fib = format!(
        "show {command} fib [table <table:{name}-table>] [<prefix:{name}-prefix> | <address:{name}>] [summary|detail|memory|mtrie]"
    );
    commands.add(
        Command::new(fib, "Show routes: all, that of a prefix, or the one that an address takes.", show_fib::<F>)
            .argument("table", "a table")
            .argument("summary", "how many routes there are, by the length of their prefixes")
            .argument("detail", "with their groups and who else made a route")
            .argument("memory", "what the tables take")
            .argument("mtrie", "the same, by VPP's name of what is looked up in"),
    );
    let tables = format!("show {command} table [<table:{name}-table>]");
    commands.add(Command::new(tables, format!("Show the {} tables.", F::TITLE), show_tables::<F>));
    let help = format!("Show what becomes of {} packets for us, by protocol.", F::TITLE);
    commands.add(Command::new(format!("show {command} local"), help, show_local::<F>));
}

fn show_local<F: Family>(control: &Control, _: &Matches) -> Result<Reply, CommandError> {
    let mut table = Columns::new(["Protocol", "Goes to", "As"]);
    let dataplane = control.room::<Dataplane>();
    let graph = dataplane.graph();
    for (_, _, claim) in graph.claims().filter(|(node, ..)| *node == F::NAMES.local) {
        let to = graph.claimant(F::NAMES.local, claim);
        table.row([Cell::from(claim.shown.as_str()), Cell::from(to), Cell::from("")]);
    }
    // RFC 792; RFC 4443, 3.4.
    let told = if F::VERSION == 6 { "parameter-problem" } else { "protocol-unreachable" };
    table.row([Cell::from("all others"), Cell::from(F::NAMES.error), Cell::from(told)]);
    Ok(table.into())
}

fn show_kinds(control: &Control, _: &Matches) -> Result<Reply, CommandError> {
    let mut table = Columns::new(["Kind", "By", "IPv4", "IPv6", "Packets"]);
    for spec in control.room::<Ip<V4>>().fib.kinds.iter().map(Kind::spec) {
        let by = if spec.of == Of::Interface { "interface" } else { "number" };
        table.row([spec.name, by, spec.nodes[0], spec.nodes[1], spec.help].map(Cell::from));
    }
    Ok(table.into())
}

/// What names of interfaces a text needs.
struct Names<'a>(&'a Interfaces);
impl Names<'_> {
    fn of(&self, id: InterfaceId) -> String {
        self.0.name(id)
    }
}

fn show_fib<F: Family>(control: &Control, given: &Matches) -> Result<Reply, CommandError> {
    let (interfaces, ip) = (control.room::<Interfaces>(), control.room::<Ip<F>>());
    let (fib, names) = (&ip.fib, Names(&interfaces));
    let wanted = table::<F>(control, given, "table")?.map(TableId);
    if let Some(table) = wanted.filter(|table| fib.table(*table).is_none()) {
        return Err(CommandError::new(format!(
            "there is no {} table {table}; `show {} table` lists them",
            F::TITLE,
            F::NAMES.command
        ))
        .at(given.place("table")));
    }
    if given.has("memory") || given.has("mtrie") {
        return Ok(memory(fib, wanted));
    }
    if given.has("summary") {
        return Ok(summary(fib, wanted));
    }
    let (prefix, address) = (given.find::<Prefix<F>>("prefix")?, given.find::<F::Address>("address")?);
    let (mut text, mut json) = (String::new(), vec![]);
    // One route is asked for in one table, the default one unless another is named.
    let single = prefix.is_some() || address.is_some();
    let tables = fib.tables().filter(|table| match wanted {
        Some(wanted) => table.id == wanted,
        None => !single || table.id == TableId::DEFAULT,
    });
    for table in tables {
        let flow_hash = flow_hash::<F>(control, table.id);
        let _ = writeln!(text, "{}:{}, flow hash:[{flow_hash}], routes {}", F::NAMES.vrf, table.id, table.len());
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

/// By what a table tells flows apart.
fn flow_hash<F: Family>(control: &Control, id: TableId) -> String {
    let chosen = control.objects().get::<IpTable<F>>(&id.0).map(|table| table.flow_hash.clone());
    let words: Vec<String> = chosen.iter().flatten().map(|field| field.to_string()).collect();
    if words.is_empty() { F::NAMES.flow_hash.into() } else { words.join(" ") }
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

fn route<F: Family>(
    text: &mut String,
    fib: &Fib<F>,
    names: &Names,
    table: &Table<F>,
    prefix: &Prefix<F>,
    entry: &Entry,
    detail: bool,
) {
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

/// Where packets go by a group, in words: a line for each run of equal buckets.
pub fn forwarding<F: Family>(fib: &Fib<F>, interfaces: &Interfaces, group: &Group<F>) -> String {
    let line = |(first, last, hop)| format!("    [{first}-{last}] {}\n", hop_text(fib, &Names(interfaces), hop));
    runs(&group.hops).into_iter().map(line).collect()
}

/// The same for programs.
pub fn forwarding_json<F: Family>(fib: &Fib<F>, interfaces: &Interfaces, group: &Group<F>) -> Value {
    let to = |hop| hop_json(fib, &Names(interfaces), hop);
    let bucket = |(first, last, hop): (usize, usize, u32)| json!({"first": first, "last": last, "to": to(hop)});
    runs(&group.hops).into_iter().map(bucket).collect()
}

fn path_text<F: Family>(fib: &Fib<F>, names: &Names, path: &Path<F>) -> String {
    match path.target {
        Target::NextHop(interface, to) => format!("attached-nexthop: via {to} {}", names.of(interface)),
        Target::Link(interface) => format!("attached: {}", names.of(interface)),
        Target::Recursive(table, to) => {
            let through = fib.table(table).and_then(|table| table.way_to(to));
            let through = through.map_or("unresolved".into(), |(prefix, _)| format!("through {prefix}"));
            format!("recursive: via {to} in table {table}, {through}")
        }
        Target::Special(special) => special.to_string(),
        Target::Lookup(table) => format!("lookup: destination in table {table}"),
        Target::SourceLookup(table) => format!("lookup: source in table {table}"),
        Target::Received(interface) => format!("receive: by {}", names.of(interface)),
        Target::Kind(kind, index) => kind_text(names, kind.spec().name, kind.hop(index)),
        Target::Crossing(_, Way { interface: Some(on), via }) => {
            format!("attached-nexthop: via {via} {}", names.of(on))
        }
        Target::Crossing(_, Way { interface: None, via }) => format!("recursive: via {via} in table 0"),
    }
}

/// A hop in words: the adjacency with what it puts before packets.
fn hop_text<F: Family>(fib: &Fib<F>, names: &Names, hop: u32) -> String {
    if let Some(again) = hop::Again::of(hop) {
        return again_text(fib, names, again);
    }
    let Some(adjacency) = fib.adjacencies.get(hop) else { return hop::name(hop).unwrap_or("none").into() };
    let (row, interface) = (fib.adjacencies.row(hop), names.of(adjacency.interface));
    match adjacency.next_hop {
        None => format!("{}-glean: {interface} mtu {}", F::NAMES.protocol, row.mtu()),
        Some(to) if row.is_complete() => {
            let header: String = row.header().iter().map(|byte| format!("{byte:02x}")).collect();
            format!("{} via {to} {interface}: mtu {} {header}", F::NAMES.protocol, row.mtu())
        }
        Some(to) => format!("arp-{}: via {to} {interface}", F::NAMES.protocol),
    }
}

/// Where a packet is looked up again, in words.
fn again_text<F: Family>(fib: &Fib<F>, names: &Names, again: hop::Again) -> String {
    let table = |slot| match fib.tables().find(|table| table.slot == slot) {
        Some(table) => format!("table {}", table.id),
        None => "no table".into(),
    };
    match again {
        hop::Again::Destination(slot) => format!("lookup: destination in {}", table(slot)),
        hop::Again::Source(slot) => format!("lookup: source in {}", table(slot)),
        hop::Again::Received(interface) => format!("receive: by {}", names.of(InterfaceId(interface))),
        hop::Again::Kind(of_kind) => {
            kind_text(names, fib.kinds.of(of_kind).map_or("unknown", |kind| kind.spec().name), of_kind)
        }
        hop::Again::Crossing(number) => format!("{}: way {number}", F::NAMES.crossing),
    }
}

/// A next hop of a kind that a room has registered, in words.
fn kind_text(names: &Names, kind: &str, of_kind: hop::KindHop) -> String {
    match of_kind.interface() {
        Some(interface) => format!("{kind}: {}", names.of(InterfaceId(interface))),
        None => format!("{kind}: {}", of_kind.index()),
    }
}

fn hop_json<F: Family>(fib: &Fib<F>, names: &Names, hop: u32) -> Value {
    match fib.adjacencies.get(hop) {
        None => match hop::Again::of(hop) {
            Some(again) => json!({"again": again_text(fib, names, again)}),
            None => json!({"hop": hop::name(hop)}),
        },
        Some(adjacency) => json!({
            "hop": hop,
            "interface": names.of(adjacency.interface),
            "next-hop": adjacency.next_hop.map(|to| to.to_string()),
            "mac": adjacency.mac.map(|mac| mac.to_string()),
            "state": state_text(fib, hop),
        }),
    }
}

fn state_text<F: Family>(fib: &Fib<F>, hop: u32) -> &'static str {
    let row = fib.adjacencies.row(hop);
    match () {
        () if row.is_complete() => "complete",
        () if row.is(State::Glean) => "glean",
        () => "incomplete",
    }
}

fn route_json<F: Family>(fib: &Fib<F>, names: &Names, table: &Table<F>, prefix: &Prefix<F>, entry: &Entry) -> Value {
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

fn summary<F: Family>(fib: &Fib<F>, wanted: Option<TableId>) -> Reply {
    let mut columns = Columns::new(["Table", "Prefix length", "Count"]);
    for table in fib.tables().filter(|table| wanted.is_none_or(|wanted| table.id == wanted)) {
        let mut counts = BTreeMap::<u8, u64>::new();
        table.routes().for_each(|(prefix, _)| *counts.entry(prefix.length()).or_default() += 1);
        for (length, count) in counts {
            columns.row([format!("{}:{}", F::NAMES.vrf, table.id).into(), Cell::from(length), Cell::from(count)]);
        }
    }
    columns.into()
}

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

fn show_tables<F: Family>(control: &Control, given: &Matches) -> Result<Reply, CommandError> {
    let ip = control.room::<Ip<F>>();
    let wanted = table::<F>(control, given, "table")?;
    let mut columns = Columns::new(["Table", "Name", "Routes", "Counters"]);
    for table in ip.fib.tables().filter(|table| wanted.is_none_or(|wanted| table.id.0 == wanted)) {
        let name = name_of::<F>(control, table.id);
        columns.row([table.id.0.into(), name.into(), table.len().into(), table.counted().is_some().into()]);
    }
    Ok(columns.into())
}

fn show_addresses(control: &Control, given: &Matches) -> Result<Reply, CommandError> {
    let (interfaces, wanted) = (control.room::<Interfaces>(), given.find::<String>("interface")?);
    let (mut text, mut json) = (String::new(), vec![]);
    for interface in interfaces.iter().filter(|interface| wanted.as_ref().is_none_or(|name| interface.name == *name)) {
        let _ = writeln!(text, "{} ({}):", interface.name, if interface.up { "up" } else { "dn" });
        let (table, ip4) = addresses::<V4>(control, interface.id, &mut text);
        let (ip6_table, ip6) = addresses::<V6>(control, interface.id, &mut text);
        let lender = control.room::<Ip<V4>>().lender(interface.id).map(|lender| interfaces.name(lender));
        if let Some(lender) = &lender {
            let _ = writeln!(text, "  unnumbered, use {lender}");
        }
        let (name, up) = (&interface.name, interface.up);
        let tables = (table, ip6_table);
        json.push(
            json!({"interface": name, "up": up, "table": tables.0, "ip4": ip4, "ip6-table": tables.1, "ip6": ip6,
            "unnumbered": lender}),
        );
    }
    Ok(Reply::new(text, Value::Array(json)))
}

/// Writes an interface's addresses of a family. Its table, and the addresses.
fn addresses<F: Family>(control: &Control, id: InterfaceId, text: &mut String) -> (u32, Vec<String>) {
    let ip = control.room::<Ip<F>>();
    let (table, link_local) = (ip.table_of(id), ip.link_local(id));
    let of_table = if table == TableId::DEFAULT { String::new() } else { format!(" {} table-id {table}", F::NAME) };
    let own = ip.addresses(id).iter().map(|address| address.to_string());
    let own: Vec<String> = own.chain(link_local.map(|own| format!("{own}/{}", F::ADDRESS_BITS))).collect();
    for address in &own {
        let _ = writeln!(text, "  L3 {address}{of_table}");
    }
    (table.0, own)
}

fn count_adjacencies(_: &Control, given: &Matches) -> Result<Reply, CommandError> {
    match given.has("disable") {
        true => Err(CommandError::new("packets to neighbours are counted always").at(given.place("disable"))),
        false => Ok(Reply::done()),
    }
}

fn show_adjacencies(control: &Control, given: &Matches) -> Result<Reply, CommandError> {
    let wanted = (given.find::<u32>("hop")?, given.find::<String>("interface")?);
    let mut columns = Columns::new(["Hop", "Interface", "Next hop", "State", "MAC", "Users", "Packets", "Bytes"]);
    adjacencies::<V4>(control, &wanted, &mut columns);
    adjacencies::<V6>(control, &wanted, &mut columns);
    Ok(columns.into())
}

fn adjacencies<F: Family>(control: &Control, wanted: &(Option<u32>, Option<String>), columns: &mut Columns) {
    let (interfaces, ip) = (control.room::<Interfaces>(), control.room::<Ip<F>>());
    for (hop, adjacency) in ip.fib.adjacencies.iter() {
        let interface = interfaces.name(adjacency.interface);
        let is_other = wanted.1.as_ref().is_some_and(|wanted| *wanted != interface);
        if is_other || wanted.0.is_some_and(|wanted| wanted != hop) {
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
}
