//! The commands that change addresses, tables and routes.

use std::net::Ipv4Addr;

use quiver_control::cli::{ArgumentKind, Command, CommandError, Matches, Output, Reply};
use quiver_control::{Control, ObjectError, Pace};
use quiver_interface::InterfaceName;
use quiver_wire::{InterfaceAddress as Address, Prefix, V4};

use crate::api::Leaving;
use crate::objects::{
    InterfaceAddress, InterfaceTable, IpTable, LinkLayerBroadcast, NoRoute, Route, RouteAction, RoutePath, TableNumber,
    TableSize,
};

const ROUTE_ADD: &str = "ip route add [count <count:u32>] <prefix:ip4-prefix> [table <table:u32>] \
    (via (<next-hop:ip4> [<interface>] | <interface> | drop | local | null-send-unreach | null-send-prohibit) \
    {next-hop-table <next-hop-table:u32> | weight <weight:u8>})...";
const ROUTE_DEL: &str = "ip route del [count <count:u32>] <prefix:ip4-prefix> [table <table:u32>] \
    [(via (<next-hop:ip4> [<interface>] | <interface> | drop | local | null-send-unreach | null-send-prohibit) \
    {next-hop-table <next-hop-table:u32> | weight <weight:u8>})...]";

pub(crate) fn register(control: &Control) {
    let commands = control.commands();
    commands.add_kind(ArgumentKind::of::<NoRoute>());
    commands.add_kind(ArgumentKind::of::<LinkLayerBroadcast>());
    // Many routes are some seconds' work.
    commands.add(Command::waiting(ROUTE_ADD, "Add a route, or a path to a route.", add_route).arguments_of::<Route>());
    commands.add(Command::waiting(ROUTE_DEL, "Delete a route, or a path of it.", delete_route).arguments_of::<Route>());
    let add = "ip table add <table:u32> {name <name:text> | counters | large | no-route <no-route:no-route> \
        | link-layer-broadcast <link-layer-broadcast:link-layer-broadcast>}";
    commands.add(Command::new(add, "Add an IP table.", add_table).arguments_of::<IpTable>());
    commands.add(Command::new("ip table del <table:u32>", "Delete an IP table.", delete_table));
    let address = "set interface ip address [del] <interface> (<address:ip4-address> | all)";
    let help = "Add an address to an interface, or delete it.";
    commands.add(Command::new(address, help, set_address).arguments_of::<InterfaceAddress>());
    let table = "set interface ip table <interface> <table:u32>";
    let help = "Set the IP table in which an interface's packets are looked up.";
    commands.add(Command::new(table, help, set_table).arguments_of::<InterfaceTable>());
}

/// The paths of a command whose grammar gives each behind `via`, as those of `ip route add` do.
pub fn paths(given: &Matches) -> Result<Vec<RoutePath>, CommandError> {
    given.groups("via").iter().map(path).collect()
}

fn path(given: &Matches) -> Result<RoutePath, CommandError> {
    let action = [
        ("drop", RouteAction::Drop),
        ("local", RouteAction::Local),
        ("null-send-unreach", RouteAction::Unreachable),
        ("null-send-prohibit", RouteAction::Prohibit),
    ];
    Ok(RoutePath {
        via: given.find::<Ipv4Addr>("next-hop")?,
        interface: given.find::<InterfaceName>("interface")?,
        table: TableNumber(given.find("next-hop-table")?.unwrap_or(0)),
        weight: given.find("weight")?.unwrap_or(1),
        action: action.into_iter().find(|(word, _)| given.has(word)).map(|(_, action)| action),
    })
}

/// The route that is meant, without its paths, and as many after it as are asked for.
fn routes(given: &Matches) -> Result<impl Iterator<Item = Route>, CommandError> {
    let (first, count) = (given.get::<Prefix<V4>>("prefix")?, given.find::<u32>("count")?.unwrap_or(1));
    let table = TableNumber(given.find("table")?.unwrap_or(0));
    let step = 1u64 << (32 - first.length());
    let address = move |i: u32| u32::try_from(u64::from(first.address().to_bits()) + u64::from(i) * step);
    if count == 0 || address(count - 1).is_err() {
        let what = format!("there are not {count} prefixes of that length from {first} on");
        return Err(CommandError::new(what).at(given.place("count")));
    }
    let prefix = move |i| Prefix::new(address(i).ok()?.into(), first.length()).ok();
    Ok((0..count).filter_map(prefix).map(move |prefix| Route::new(table, prefix)))
}

fn is_same_way(a: &RoutePath, b: &RoutePath) -> bool {
    RoutePath { weight: 1, ..a.clone() } == RoutePath { weight: 1, ..b.clone() }
}

async fn add_route(control: Control, given: Matches, _: Output) -> Result<Reply, CommandError> {
    let paths = paths(&given)?;
    let mut pace = Pace::in_turns(&control);
    for route in routes(&given)? {
        pace.step().await;
        add_paths(&control, route, &paths)?;
    }
    Ok(Reply::done())
}

/// Adds paths to a route, which may not be there yet; one that differs in weight only takes the place of the old one.
pub(crate) fn add_paths(control: &Control, route: Route, paths: &[RoutePath]) -> Result<(), ObjectError> {
    control.edit(route, |route| {
        for path in paths {
            route.paths.retain(|old| !is_same_way(old, path));
            route.paths.push(path.clone());
        }
    })
}

async fn delete_route(control: Control, given: Matches, _: Output) -> Result<Reply, CommandError> {
    let paths = paths(&given)?;
    let mut pace = Pace::in_turns(&control);
    for route in routes(&given)? {
        pace.step().await;
        let key = (route.table, route.prefix);
        if control.objects().get::<Route>(&key).is_none() {
            let what = format!("there is no route {} in table {}", route.prefix, route.table);
            return Err(CommandError::new(what).at(given.place("prefix")));
        }
        match paths.is_empty() {
            true => control.delete::<Route>(&key)?,
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
pub(crate) fn remove_paths(
    control: &Control,
    key: &(TableNumber, Prefix<V4>),
    paths: &[RoutePath],
) -> Result<bool, ObjectError> {
    let Some(running) = control.objects().get::<Route>(key) else { return Ok(false) };
    let mut rest = Route::clone(&running);
    rest.paths.retain(|old| !paths.iter().any(|path| is_same_way(old, path)));
    let had_some = rest.paths.len() < running.paths.len();
    match rest.paths.is_empty() {
        true => control.delete::<Route>(key)?,
        false => control.put(rest)?,
    }
    Ok(had_some)
}

fn add_table(control: &Control, given: &Matches) -> Result<Reply, CommandError> {
    let (name, counters, large) = (given.find("name")?, given.has("counters"), given.has("large"));
    let (no_route, broadcast) = (given.find("no-route")?, given.find("link-layer-broadcast")?);
    let id = given.get("table")?;
    // Whoever says that it shall be there wants it, even if it is there already.
    control.room_mut::<Leaving>().keep(id);
    control.edit(IpTable::new(id), |table| {
        table.name = name.or(table.name.take());
        table.no_route = no_route.or(table.no_route);
        table.link_layer_broadcast = broadcast.or(table.link_layer_broadcast);
        table.counters |= counters;
        table.size = if large { TableSize::Large } else { table.size };
    })?;
    Ok(Reply::done())
}

fn delete_table(control: &Control, given: &Matches) -> Result<Reply, CommandError> {
    control.delete::<IpTable>(&given.get("table")?)?;
    Ok(Reply::done())
}

fn set_address(control: &Control, given: &Matches) -> Result<Reply, CommandError> {
    let interface: InterfaceName = given.get("interface")?;
    let Some(address) = given.find::<Address<V4>>("address")? else {
        if !given.has("del") {
            let error = CommandError::new("which address is to be added? 'all' is for `set interface ip address del`");
            return Err(error.at(given.place("all")));
        }
        clear_addresses(control, &interface)?;
        return Ok(Reply::done());
    };
    match given.has("del") {
        true => control.delete::<InterfaceAddress>(&(interface, address))?,
        false => control.put(InterfaceAddress::new(interface, address))?,
    }
    Ok(Reply::done())
}

/// Takes all addresses of an interface away.
pub(crate) fn clear_addresses(control: &Control, interface: &InterfaceName) -> Result<(), ObjectError> {
    let all = control.objects().all::<InterfaceAddress>();
    let mut of_interface = all.iter().filter(|address| address.interface == *interface);
    of_interface.try_for_each(|address| control.delete::<InterfaceAddress>(&(interface.clone(), address.address)))
}

fn set_table(control: &Control, given: &Matches) -> Result<Reply, CommandError> {
    put_table(control, given.get("interface")?, given.get("table")?)?;
    Ok(Reply::done())
}

/// Has the packets of an interface looked up in a table.
pub(crate) fn put_table(control: &Control, interface: InterfaceName, table: u32) -> Result<(), ObjectError> {
    match table {
        0 if control.objects().get::<InterfaceTable>(&interface).is_none() => Ok(()),
        0 => control.delete::<InterfaceTable>(&interface),
        _ => control.edit(InterfaceTable::new(interface), |binding| binding.table = TableNumber(table)),
    }
}
