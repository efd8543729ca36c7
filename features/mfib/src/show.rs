//! `show ip mfib`, `show ip6 mfib`.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use quiver_control::cli::{Cell, Command, CommandError, Listing, Matches, Output, Reply, Rows};
use quiver_control::{Control, one_by_one};
use quiver_interface::{InterfaceId, Interfaces, walk};
use quiver_ip::Ip;
use quiver_ip::fib::TableId;
use quiver_ip::table_word::table;
use quiver_wire::{Prefix, V4, V6};
use serde_json::{Value, json};

use crate::family::Multicast;
use crate::objects::{MulticastRoute, PathFlag, RouteFlag, whose};
use crate::table::{Key, Mfib, has_groups};
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

/// Interfaces of a group that are listed together.
const MEMBERS_MAX: usize = 16;

/// The groups that an interface of a table is in; none of an interface of another table.
pub(crate) fn standing<F: Multicast>(control: &Control, table: TableId, id: InterfaceId) -> BTreeSet<F::Address> {
    let ip = control.room::<Ip<F>>();
    let own = ip.current().interfaces.get(id.index()).filter(|_| ip.table_of(id) == table).map(|own| own.groups());
    own.unwrap_or_default()
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
        return Ok(summary::<F>(&control, &output, tables).await);
    }
    let (prefix, address) = (given.find::<Prefix<F>>("group")?, given.find::<F::Address>("group-address")?);
    let (prefix, source) = (prefix.or(address.map(Prefix::host)), given.find::<F::Address>("source")?);
    let is_wanted = |of: F::Address, group: &Prefix<F>| {
        prefix.is_none_or(|prefix| prefix == *group) && source.is_none_or(|source| source == of)
    };
    let mut listing = Listing::new(&control, &output);
    for table in tables {
        listing.line(&format!("{}:{table}", F::NAMES.vrf));
        for key in keys::<F>(&control, table) {
            listing.step().await;
            let mfib = control.room::<Mfib<F>>();
            let Some((route, entry)) = mfib.route(&key).filter(|_| is_wanted(key.2, &key.1)) else { continue };
            write_route(listing.text(), &mfib, route, entry);
            listing.element(|| route_json(&mfib, route, entry));
        }
        let mut members = BTreeSet::new();
        for id in walk(&control) {
            listing.step().await;
            let groups = standing::<F>(&control, table, id).into_iter();
            members.extend(
                groups.filter(|group| is_wanted(F::UNSPECIFIED, &Prefix::host(*group))).map(|group| (group, id)),
            );
        }
        let mut last = None;
        while let Some((group, id)) = members.pop_first() {
            listing.step().await;
            // A group with very many members is listed in several lines, and elements.
            let mut ids = vec![id];
            while let Some((_, id)) = members.first().filter(|(of, _)| *of == group && ids.len() < MEMBERS_MAX).copied()
            {
                ids.push(id);
                members.pop_first();
            }
            let (interfaces, prefix) = (control.room::<Interfaces>(), Prefix::host(group));
            let names: Vec<String> = ids.into_iter().map(|id| interfaces.name(id)).collect();
            if last.replace(group) != Some(group) {
                listing.line(&format!("{}: member", whose::<F>(F::UNSPECIFIED, &prefix)));
            }
            listing.line(&format!("  {}", names.join(" ")));
            listing.element(|| json!({"table": table.0, "group": prefix.to_string(), "members": names}));
        }
    }
    Ok(listing.end())
}

/// The keys of the routes of a table, one by one.
fn keys<F: Multicast>(control: &Control, table: TableId) -> impl Iterator<Item = Key<F>> {
    one_by_one(move |last| {
        let (key, ..) = control.room::<Mfib<F>>().route_behind(table, last)?;
        Some((key, key))
    })
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

async fn summary<F: Multicast>(control: &Control, output: &Output, tables: impl Iterator<Item = TableId>) -> Reply {
    let mut columns = Rows::new(control, output, ["Table", "Prefix length", "Count", "Sources"]);
    for table in tables {
        let (mut counts, mut sources) = (BTreeMap::<u8, u64>::new(), BTreeMap::<u8, BTreeSet<F::Address>>::new());
        for (_, group, source) in keys::<F>(control, table) {
            columns.step().await;
            *counts.entry(group.length()).or_default() += 1;
            let of_length = sources.entry(group.length()).or_default();
            of_length.extend(Some(source).filter(|source| *source != F::UNSPECIFIED));
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
    columns.end()
}
