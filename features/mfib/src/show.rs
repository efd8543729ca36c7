//! `show ip mfib`, `show ip6 mfib`.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use quiver_control::Control;
use quiver_control::cli::{Cell, Command, CommandError, Listing, Matches, Output, Reply, Table};
use quiver_interface::{InterfaceId, Interfaces};
use quiver_ip::Ip;
use quiver_ip::fib::TableId;
use quiver_ip::table_word::table;
use quiver_wire::{Prefix, V4, V6};
use serde_json::{Value, json};

use crate::family::Multicast;
use crate::objects::{MulticastRoute, PathFlag, RouteFlag, whose};
use crate::table::{Mfib, has_groups};
use crate::view::Entry;

pub(crate) fn register(control: &Control) {
    register_family::<V4>(control);
    register_family::<V6>(control);
}

fn register_family<F: Multicast>(control: &Control) {
    let (command, name) = (F::NAMES.command, F::NAME);
    let grammar = format!(
        "show {command} mfib [summary] [table <table:{name}-table>] [<group:{name}-prefix> | <group-address:{name}> \
         | <source:{name}> <group-address:{name}>]"
    );
    let help = format!("Show {} multicast routes, and the groups of interfaces.", F::TITLE);
    let command = Command::waiting(grammar, help, show::<F>).arguments_of::<MulticastRoute<F>>();
    let command = command.argument("summary", "number of routes by prefix length");
    control.commands().add(command.argument("group-address", "address of one group"));
}

/// The groups that interfaces of a table are in, and these interfaces.
pub(crate) fn standing<F: Multicast>(control: &Control, table: TableId) -> BTreeMap<F::Address, Vec<InterfaceId>> {
    let (interfaces, ip) = (control.room::<Interfaces>(), control.room::<Ip<F>>());
    let ids = interfaces.iter().map(|interface| interface.id).filter(|id| ip.table_of(*id) == table);
    let mut groups = BTreeMap::<F::Address, Vec<InterfaceId>>::new();
    for id in ids {
        for group in ip.current().interfaces.get(id.index()).map(|own| own.groups()).unwrap_or_default() {
            groups.entry(group).or_default().push(id);
        }
    }
    groups
}

async fn show<F: Multicast>(control: Control, given: Matches, output: Output) -> Result<Reply, CommandError> {
    let wanted = table::<F>(&control, &given, "table")?.map(TableId);
    let tables: Vec<TableId> = {
        let all = control.room::<Ip<F>>().fib.tables().map(|table| table.id).collect::<Vec<_>>();
        let mfib = control.room::<Mfib<F>>();
        // One that lost its groups by a file keeps its routes, which are to be seen.
        all.into_iter()
            .filter(|table| has_groups::<F>(&control, *table) || mfib.routes(*table).next().is_some())
            .collect()
    };
    if let Some(table) = wanted.filter(|table| !tables.contains(table)) {
        let what = format!("there is no {} table {table}; `show {} table` lists them", F::TITLE, F::NAMES.command);
        return Err(CommandError::new(what).at(given.place("table")));
    }
    let tables = tables.into_iter().filter(|table| wanted.is_none_or(|wanted| wanted == *table));
    if given.has("summary") {
        return Ok(summary::<F>(&control, tables));
    }
    let (prefix, address) = (given.find::<Prefix<F>>("group")?, given.find::<F::Address>("group-address")?);
    let (prefix, source) = (prefix.or(address.map(Prefix::host)), given.find::<F::Address>("source")?);
    let is_wanted = |of: F::Address, group: &Prefix<F>| {
        prefix.is_none_or(|prefix| prefix == *group) && source.is_none_or(|source| source == of)
    };
    let mut listing = Listing::new(&control, &output);
    for table in tables {
        listing.line(&format!("{}:{table}", F::NAMES.vrf));
        let routes: Vec<_> = {
            let mfib = control.room::<Mfib<F>>();
            let routes = mfib.routes(table).map(|(route, _)| (route.source, route.group));
            routes.filter(|(source, group)| is_wanted(*source, group)).collect()
        };
        for (source, group) in routes {
            listing.step().await;
            let mfib = control.room::<Mfib<F>>();
            let Some((route, entry)) = mfib.route(&(table, group, source)) else { continue };
            write_route(listing.text(), &mfib, route, entry);
            listing.element(|| route_json(&mfib, route, entry));
        }
        for (group, ids) in standing::<F>(&control, table) {
            let group = Prefix::host(group);
            if !is_wanted(F::UNSPECIFIED, &group) {
                continue;
            }
            listing.step().await;
            let interfaces = control.room::<Interfaces>();
            let names: Vec<String> = ids.into_iter().map(|id| interfaces.name(id)).collect();
            listing.line(&format!("{}: member\n  {}", whose::<F>(F::UNSPECIFIED, &group), names.join(" ")));
            listing.element(|| json!({"table": table.0, "group": group.to_string(), "members": names}));
        }
    }
    Ok(listing.end())
}

/// Flags in words: VPP's.
fn route_flags(flags: &[RouteFlag]) -> String {
    let name = |flag: &RouteFlag| match flag {
        RouteFlag::Signal => "Signal",
        RouteFlag::Drop => "Drop",
        RouteFlag::Connected => "Connected",
        RouteFlag::AcceptAll => "Accept-all-itf",
    };
    flags.iter().map(name).collect::<Vec<_>>().join(", ")
}

fn path_flags(flags: &[PathFlag]) -> String {
    let name = |flag: &PathFlag| match flag {
        PathFlag::Accept => "Accept",
        PathFlag::Forward => "Forward",
        PathFlag::NegateSignal => "Negate-Signal",
        PathFlag::DontPreserve => "Dont-Preserve",
    };
    flags.iter().map(name).collect::<Vec<_>>().join(", ")
}

fn write_route<F: Multicast>(text: &mut String, mfib: &Mfib<F>, route: &MulticastRoute<F>, entry: &Entry) {
    let flags = if route.flags.is_empty() { String::new() } else { format!(" {}", route_flags(&route.flags)) };
    let taken = mfib.counts(entry);
    let _ = writeln!(text, "{}:{flags} packets:{} bytes:{}", route.whose(), taken.packets, taken.bytes);
    for path in &route.paths {
        let via = path.via.map(|via| format!("{via} ")).unwrap_or_default();
        let way = path.interface.as_ref().map_or("local", |name| name.0.as_str());
        let _ = writeln!(text, "  {via}{way}: {}", path_flags(&path.flags));
    }
}

fn route_json<F: Multicast>(mfib: &Mfib<F>, route: &MulticastRoute<F>, entry: &Entry) -> Value {
    let words = |bits: Vec<String>| Value::from(bits);
    let path = |path: &crate::MulticastPath<F>| {
        json!({
            "interface": path.interface.as_ref().map(|name| name.0.clone()),
            "via": path.via.map(|via| via.to_string()),
            "local": path.local,
            "flags": words(path.flags.iter().map(ToString::to_string).collect()),
        })
    };
    let taken = mfib.counts(entry);
    json!({
        "table": route.table.0,
        "group": route.group.to_string(),
        "source": Some(route.source).filter(|source| *source != F::UNSPECIFIED).map(|source| source.to_string()),
        "flags": words(route.flags.iter().map(ToString::to_string).collect()),
        "paths": route.paths.iter().map(path).collect::<Vec<_>>(),
        "packets": taken.packets,
        "bytes": taken.bytes,
    })
}

fn summary<F: Multicast>(control: &Control, tables: impl Iterator<Item = TableId>) -> Reply {
    let mut columns = Table::new(["Table", "Prefix length", "Count", "Sources"]);
    for table in tables {
        let (mut counts, mut sources) = (BTreeMap::<u8, u64>::new(), BTreeMap::<u8, BTreeSet<F::Address>>::new());
        for (route, _) in control.room::<Mfib<F>>().routes(table) {
            *counts.entry(route.group.length()).or_default() += 1;
            let of_length = sources.entry(route.group.length()).or_default();
            of_length.extend(Some(route.source).filter(|source| *source != F::UNSPECIFIED));
        }
        let name = format!("{}:{table}", F::NAMES.vrf);
        if counts.is_empty() {
            columns.row([Cell::from(name.clone()), Cell::from("none"), Cell::from(0u64), Cell::from(0usize)]);
        }
        for (length, count) in counts {
            let sources = sources.get(&length).map_or(0, BTreeSet::len);
            columns.row([name.clone().into(), Cell::from(length), Cell::from(count), Cell::from(sources)]);
        }
    }
    columns.into()
}
