//! The commands that change addresses, tables and routes.

use std::net::IpAddr;

use quiver_control::cli::{ArgumentKind, Command, CommandError, Matches, Output, Reply};
use quiver_control::{Control, ObjectError, Pace};
use quiver_interface::InterfaceName;
use quiver_wire::{InterfaceAddress as Address, IpFamily, Prefix, V4, V6};

use crate::api::Leaving;
use crate::family::Family;
use crate::fib::kind::{Kind, NextHopKind, Of};
use crate::objects::{
    InterfaceAddress, InterfaceTable, IpTable, LinkLayerBroadcast, NextHop, NoRoute, Route, RouteAction, RoutePath,
    TableNumber, TableSize,
};
use crate::room::Ip;
use crate::table_word::table;

pub(crate) fn register(control: &Control) {
    let commands = control.commands();
    commands.add_kind(ArgumentKind::of::<NoRoute>());
    commands.add_kind(ArgumentKind::of::<LinkLayerBroadcast>());
    crate::table_word::register(control);
    register_family::<V4>(control);
    register_family::<V6>(control);
    let all = "set interface ip address del <interface> all";
    commands.add(Command::new(all, "Delete all addresses of an interface.", |control, given| {
        let interface = given.get("interface")?;
        clear_addresses::<V4>(control, &interface)?;
        clear_addresses::<V6>(control, &interface)?;
        Ok(Reply::done())
    }));
}

/// What stands for the next hops of rooms in grammars of paths.
const NEXT_HOPS: &str = "$next-hop";

/// Lets paths in commands lead to next hops of a kind: `via KIND NUMBER`, or `via KIND INTERFACE`.
pub(crate) fn add_kind(control: &Control, spec: &'static NextHopKind) {
    let argument = if spec.of == Of::Interface { "interface" } else { "u32" };
    let grammar = format!("{} <{}:{argument}>", spec.name, spec.name);
    control.commands().add_part(NEXT_HOPS, grammar, &[(spec.name, spec.help)]);
}

/// The commands of a family. Where both have the same words, the addresses tell which one is meant.
fn register_family<F: Family>(control: &Control) {
    let (commands, name, command) = (control.commands(), F::NAME, F::NAMES.command);
    let paths = format!(
        "(via (<next-hop:{name}> [<interface>] | <other-next-hop:{}> [<interface>] | <interface> | drop | local | null-send-unreach | null-send-prohibit \
         | {name}-lookup-in-table <lookup-table:{name}-table> [src-lookup] | rx-{name} <receiver:interface> \
         | {NEXT_HOPS}) \
         {{next-hop-table <next-hop-table:{name}-table> | weight <weight:u8> | preference <preference:u8>}})...",
        F::Other::NAME
    );
    let route =
        |verb| format!("ip route {verb} [count <count:u32>] <prefix:{name}-prefix> [table <table:{name}-table>]");
    let (add, del) = (format!("{} {paths}", route("add")), format!("{} [{paths}]", route("del")));
    // Many routes are some seconds' work.
    let add = Command::waiting(add, "Add a route, or a path to a route.", add_route::<F>);
    let add = add.argument("other-next-hop", "a next hop of the other family");
    commands.add(add.arguments_of::<Route<F>>());
    let del = Command::waiting(del, "Delete a route, or a path of it.", delete_route::<F>);
    commands.add(del.arguments_of::<Route<F>>());
    let add = format!(
        "{command} table add <table:{name}-table> {{name <name:text> | counters | large | no-mfib | no-route <no-route:no-route> \
         | link-layer-broadcast <link-layer-broadcast:link-layer-broadcast>}}"
    );
    let help = format!("Add an {} table.", F::TITLE);
    commands.add(Command::new(add, help, add_table::<F>).arguments_of::<IpTable<F>>());
    let help = format!("Delete an {} table.", F::TITLE);
    commands.add(Command::new(format!("{command} table del <table:{name}-table>"), help, delete_table::<F>));
    let address = format!("set interface ip address [del] <interface> <address:{name}-address>");
    let help = "Add an address to an interface, or delete it.";
    commands.add(Command::new(address, help, set_address::<F>).arguments_of::<InterfaceAddress<F>>());
    let table = format!("set interface {command} table <interface> <table:{name}-table>");
    let help = format!("Set the table in which an interface's {} packets are looked up.", F::TITLE);
    commands.add(Command::new(table, help, set_table::<F>).arguments_of::<InterfaceTable<F>>());
}

/// The paths of a command whose grammar gives each behind `via`, as those of `ip route add` do.
pub fn paths<F: Family>(control: &Control, given: &Matches) -> Result<Vec<RoutePath<F>>, CommandError> {
    given.groups("via").iter().map(|given| path(control, given)).collect()
}

fn path<F: Family>(control: &Control, given: &Matches) -> Result<RoutePath<F>, CommandError> {
    let action = [
        ("drop", RouteAction::Drop),
        ("local", RouteAction::Local),
        ("null-send-unreach", RouteAction::Unreachable),
        ("null-send-prohibit", RouteAction::Prohibit),
    ];
    let (lookup, receiver) = (table::<F>(control, given, "lookup-table")?, given.find::<InterfaceName>("receiver")?);
    let action = match (lookup, &receiver) {
        (Some(_), _) if given.has("src-lookup") => Some(RouteAction::SourceLookup),
        (Some(_), _) => Some(RouteAction::Lookup),
        (None, Some(_)) => Some(RouteAction::Receive),
        (None, None) => action.into_iter().find(|(word, _)| given.has(word)).map(|(_, action)| action),
    };
    let (mut to, mut by) = (None, None);
    for spec in control.room::<Ip<F>>().fib.kinds.iter().map(Kind::spec).filter(|spec| given.has(spec.name)) {
        let number = if spec.of == Of::Number { given.find::<u32>(spec.name)? } else { None };
        by = if spec.of == Of::Interface { given.find::<InterfaceName>(spec.name)? } else { None };
        to = Some(NextHop { kind: spec.name.into(), number });
    }
    Ok(RoutePath {
        via: given.find::<F::Address>("next-hop")?,
        interface: given.find::<InterfaceName>("interface")?.or(receiver).or(by),
        table: TableNumber::new(lookup.or(table::<F>(control, given, "next-hop-table")?).unwrap_or(0)),
        weight: given.find("weight")?.unwrap_or(1),
        preference: given.find("preference")?.unwrap_or(0),
        action,
        to,
        other_via: given.find::<IpAddr>("other-next-hop")?,
    })
}

/// The route that is meant, without its paths, and as many after it as are asked for.
fn routes<F: Family>(
    control: &Control,
    given: &Matches,
) -> Result<impl Iterator<Item = Route<F>> + use<F>, CommandError> {
    let (first, count) = (given.get::<Prefix<F>>("prefix")?, given.find::<u32>("count")?.unwrap_or(1));
    let table = TableNumber::new(table::<F>(control, given, "table")?.unwrap_or(0));
    let address = move |i: u32| {
        let (base, width) = (F::to_bits(first.address()), u32::from(F::ADDRESS_BITS - first.length()));
        // Of prefixes without a bit of their own there is one.
        let shifted = u128::from(i).checked_shl(width).filter(|step| step >> width == u128::from(i));
        let step = shifted.or((i == 0).then_some(0))?;
        base.checked_add(step).filter(|address| *address <= F::mask(F::ADDRESS_BITS)).map(F::from_bits)
    };
    if count == 0 || address(count - 1).is_none() {
        let what = format!("there are not {count} prefixes of that length from {first} on");
        return Err(CommandError::new(what).at(given.place("count")));
    }
    let prefix = move |i| Prefix::new(address(i)?, first.length()).ok();
    Ok((0..count).filter_map(prefix).map(move |prefix| Route::new(table, prefix)))
}

pub(crate) fn is_same_way<F: Family>(a: &RoutePath<F>, b: &RoutePath<F>) -> bool {
    RoutePath { weight: 1, ..a.clone() } == RoutePath { weight: 1, ..b.clone() }
}

async fn add_route<F: Family>(control: Control, given: Matches, _: Output) -> Result<Reply, CommandError> {
    let paths = paths::<F>(&control, &given)?;
    let mut pace = Pace::in_turns(&control);
    for route in routes(&control, &given)? {
        pace.step().await;
        add_paths(&control, route, &paths)?;
    }
    Ok(Reply::done())
}

/// Adds paths to a route, which may not be there yet; one that differs in weight only takes the place of the old one.
pub(crate) fn add_paths<F: Family>(
    control: &Control,
    route: Route<F>,
    paths: &[RoutePath<F>],
) -> Result<(), ObjectError> {
    control.edit(route, |route| {
        for path in paths {
            route.paths.retain(|old| !is_same_way(old, path));
            route.paths.push(path.clone());
        }
    })
}

async fn delete_route<F: Family>(control: Control, given: Matches, _: Output) -> Result<Reply, CommandError> {
    let paths = paths::<F>(&control, &given)?;
    let mut pace = Pace::in_turns(&control);
    for route in routes(&control, &given)? {
        pace.step().await;
        let key = (route.table, route.prefix);
        if control.objects().get::<Route<F>>(&key).is_none() {
            let what = format!("there is no route {} in table {}", route.prefix, route.table);
            return Err(CommandError::new(what).at(given.place("prefix")));
        }
        match paths.is_empty() {
            true => control.delete::<Route<F>>(&key)?,
            false if !remove_paths(&control, &key, &paths)? => {
                let what = format!("the route {} has no such path", route.prefix);
                return Err(CommandError::new(what).at(given.place("via")));
            }
            false => {}
        }
    }
    Ok(Reply::done())
}

/// Takes paths from a route, and with the last one the route itself; whether it had any of them.
pub(crate) fn remove_paths<F: Family>(
    control: &Control,
    key: &(TableNumber<F>, Prefix<F>),
    paths: &[RoutePath<F>],
) -> Result<bool, ObjectError> {
    let Some(running) = control.objects().get::<Route<F>>(key) else { return Ok(false) };
    let mut rest = Route::clone(&running);
    rest.paths.retain(|old| !paths.iter().any(|path| is_same_way(old, path)));
    let had_some = rest.paths.len() < running.paths.len();
    match rest.paths.is_empty() {
        true => control.delete::<Route<F>>(key)?,
        false => control.put(rest)?,
    }
    Ok(had_some)
}

/// The table of a command that must name one.
pub(crate) fn wanted<F: Family>(control: &Control, given: &Matches) -> Result<u32, CommandError> {
    table::<F>(control, given, "table")?.ok_or_else(|| CommandError::new("it must name a table"))
}

fn add_table<F: Family>(control: &Control, given: &Matches) -> Result<Reply, CommandError> {
    let (name, counters, large) = (given.find("name")?, given.has("counters"), given.has("large"));
    let (no_route, broadcast) = (given.find("no-route")?, given.find("link-layer-broadcast")?);
    let id = wanted::<F>(control, given)?;
    // Whoever says that it shall be there wants it, even if it is there already.
    control.room_mut::<Leaving<F>>().keep(id);
    control.edit(IpTable::<F>::before_it_is_added(id), |table| {
        table.name = name.or(table.name.take());
        table.no_route = no_route.or(table.no_route);
        table.link_layer_broadcast = broadcast.or(table.link_layer_broadcast);
        table.multicast |= !given.has("no-mfib");
        table.counters |= counters;
        table.size = if large { TableSize::Large } else { table.size };
    })?;
    Ok(Reply::done())
}

fn delete_table<F: Family>(control: &Control, given: &Matches) -> Result<Reply, CommandError> {
    let id = wanted::<F>(control, given)?;
    // Scripts written for VPP delete what is not there, and go on.
    if control.objects().get::<IpTable<F>>(&id).is_none() {
        return Ok(Reply::text(format!("there is no {} table {id}\n", F::TITLE)));
    }
    control.delete::<IpTable<F>>(&id)?;
    Ok(Reply::done())
}

fn set_address<F: Family>(control: &Control, given: &Matches) -> Result<Reply, CommandError> {
    let interface: InterfaceName = given.get("interface")?;
    let address = given.get::<Address<F>>("address")?;
    match given.has("del") {
        true => control.delete::<InterfaceAddress<F>>(&(interface, address))?,
        false => control.put(InterfaceAddress::new(interface, address))?,
    }
    Ok(Reply::done())
}

/// Takes all addresses of an interface away.
pub(crate) fn clear_addresses<F: Family>(control: &Control, interface: &InterfaceName) -> Result<(), ObjectError> {
    let all = control.objects().all::<InterfaceAddress<F>>();
    let mut of_interface = all.iter().filter(|address| address.interface == *interface);
    of_interface.try_for_each(|address| control.delete::<InterfaceAddress<F>>(&(interface.clone(), address.address)))
}

fn set_table<F: Family>(control: &Control, given: &Matches) -> Result<Reply, CommandError> {
    put_table::<F>(control, given.get("interface")?, wanted::<F>(control, given)?)?;
    Ok(Reply::done())
}

/// Has the packets of an interface looked up in a table.
pub(crate) fn put_table<F: Family>(control: &Control, interface: InterfaceName, table: u32) -> Result<(), ObjectError> {
    match table {
        0 if control.objects().get::<InterfaceTable<F>>(&interface).is_none() => Ok(()),
        0 => control.delete::<InterfaceTable<F>>(&interface),
        _ => control.edit(InterfaceTable::<F>::new(interface), |binding| binding.table = TableNumber::new(table)),
    }
}
