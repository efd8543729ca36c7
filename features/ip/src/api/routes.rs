//! Messages about routes.

use std::collections::VecDeque;

use quiver_compat::api::Adding;
use quiver_compat::types::{FibPath, IpRoute, NONE, Prefix};
use quiver_compat::{Message, Refusal, Retval};
use quiver_control::Control;
use quiver_wire::Prefix as WirePrefix;

use super::fields::{IpRouteV2, IpTable, configured, index_of, known};
use super::leaving::sweep;
use super::replacing::Replacing;
use super::sources::client;
use crate::config::edits::{add_paths, is_same_way, remove_paths};
use crate::config::leaving::Leaving;
use crate::config::objects::{Route, RoutePath, TableNumber};
use crate::config::room::Ip;
use crate::config::sources::{SourceName, SourceRoute};
use crate::family::Family;
use crate::fib::{Entry, Path, Special, TableId, Target};

pub(super) fn add_messages(file: &mut Adding<'_>) {
    file.request(|control, request: IpRouteAddDel| {
        let route = &request.route;
        let is_ip6 = route.prefix.address.is_ip6();
        let stats_index = by_family!(is_ip6, change(control, request.is_add, request.is_multipath, route))?;
        Ok(IpRouteAddDelReply { stats_index })
    });
    file.request(|control, request: IpRouteAddDelV2| {
        let route = &request.route.route;
        let is_ip6 = route.prefix.address.is_ip6();
        let stats_index = match client(control, request.route.src)? {
            None => by_family!(is_ip6, change(control, request.is_add, request.is_multipath, route))?,
            Some(source) => {
                by_family!(is_ip6, change_of(control, source, request.is_add, request.is_multipath, route))?
            }
        };
        Ok(IpRouteAddDelV2Reply { stats_index })
    });
    file.dump(|control, request: IpRouteDump| {
        let all = by_family!(request.table.is_ip6, routes_of(control, TableId(request.table.table_id), 0));
        all.map(|(route, _)| IpRouteDetails { route })
    });
    file.dump(|control, request: IpRouteV2Dump| {
        let all = by_family!(request.table.is_ip6, routes_of(control, TableId(request.table.table_id), request.src));
        all.map(|(route, src)| IpRouteV2Details { route: IpRouteV2 { route, src } })
    });
    file.request(|control, request: IpRouteLookup| {
        let IpRouteLookup { table_id, exact, prefix } = request;
        let (route, _) = by_family!(prefix.address.is_ip6(), look_up(control, table_id, exact, prefix))?;
        Ok(IpRouteLookupReply { route })
    });
    file.request(|control, request: IpRouteLookupV2| {
        let IpRouteLookupV2 { table_id, exact, prefix } = request;
        let (route, src) = by_family!(prefix.address.is_ip6(), look_up(control, table_id, exact, prefix))?;
        Ok(IpRouteLookupV2Reply { route: IpRouteV2 { route, src } })
    });
}

/// Adds or deletes a route; with `is_multipath`, adds or deletes only the given paths.
#[derive(Message, Clone, Debug)]
#[message(request, reply = IpRouteAddDelReply)]
pub(super) struct IpRouteAddDel {
    pub is_add: bool,
    pub is_multipath: bool,
    pub route: IpRoute,
}

/// Index of the route's counter in `/net/route/to`; 0xffffffff if its table has no route counters.
#[derive(Message, Clone, Debug, Default)]
#[message(reply)]
pub(super) struct IpRouteAddDelReply {
    pub stats_index: u32,
}

/// Adds or deletes a route of the given source; with `is_multipath`, adds or deletes only the given paths.
#[derive(Message, Clone, Debug)]
#[message(request, name = "ip_route_add_del_v2", reply = IpRouteAddDelV2Reply)]
pub(super) struct IpRouteAddDelV2 {
    pub is_add: bool,
    pub is_multipath: bool,
    pub route: IpRouteV2,
}

/// Index of the route's counter in `/net/route/to`; 0xffffffff if its table has no route counters.
#[derive(Message, Clone, Debug, Default)]
#[message(reply, name = "ip_route_add_del_v2_reply")]
pub(super) struct IpRouteAddDelV2Reply {
    pub stats_index: u32,
}

/// Route in a message: its table, prefix and paths.
type Said<F> = (TableId, WirePrefix<F>, Vec<RoutePath<F>>);

fn said<F: Family>(control: &Control, is_add: bool, wanted: &IpRoute) -> Result<Said<F>, Refusal> {
    let table = TableId(wanted.table_id);
    // A table that is being deleted would lose the new route, or be kept by it.
    if control.room::<Ip<F>>().fib.table(table).is_none() || control.room::<Leaving<F>>().is_emptied(table) {
        return Err(Refusal::new(Retval::NO_SUCH_FIB, format!("route.table_id: there is no table {table}")));
    }
    let prefix = wanted.prefix.in_family::<F>()?;
    let paths = wanted.paths.iter().map(|path| configured::<F>(path, control)).collect::<Result<Vec<_>, _>>()?;
    if is_add && paths.is_empty() {
        return Err(Refusal::new(Retval::NO_PATHS_IN_ROUTE, format!("route.paths: {prefix} has no paths")));
    }
    Ok((table, prefix, paths))
}

/// Adds or deletes a route or its paths; where it is counted from now on.
fn change<F: Family>(control: &Control, is_add: bool, is_multipath: bool, wanted: &IpRoute) -> Result<u32, Refusal> {
    let (table, prefix, paths) = said::<F>(control, is_add, wanted)?;
    let route = Route::<F>::new(TableNumber::new(table.0), prefix);
    match (is_add, is_multipath) {
        (true, true) => add_paths(control, route, &paths)?,
        (true, false) => control.put(Route { paths, ..route })?,
        // VPP's clients may delete what is not there.
        (false, false) if control.objects().get::<Route<F>>(&(route.table, prefix)).is_some() => {
            control.delete::<Route<F>>(&(route.table, prefix))?;
        }
        (false, true) => drop(remove_paths(control, &(route.table, prefix), &paths)?),
        (false, false) => {}
    }
    if is_add {
        control.room_mut::<Replacing<F>>().keep_route(table, &prefix);
    }
    Ok(stats_index(&control.room::<Ip<F>>(), table, &prefix))
}

/// The same for a source of the client's own.
fn change_of<F: Family>(
    control: &Control,
    source: SourceName,
    is_add: bool,
    is_multipath: bool,
    wanted: &IpRoute,
) -> Result<u32, Refusal> {
    let (table, prefix, paths) = said::<F>(control, is_add, wanted)?;
    let key = (source, TableNumber::<F>::new(table.0), prefix);
    let running = control.objects().get::<SourceRoute<F>>(&key);
    let mut rest = running.as_ref().filter(|_| is_multipath).map_or(vec![], |route| route.paths.clone());
    rest.retain(|old| !paths.iter().any(|path| is_same_way(old, path)));
    if is_add {
        rest.extend(paths);
    }
    match (rest.is_empty(), running.is_some()) {
        (false, _) => control.put(SourceRoute { paths: rest, ..SourceRoute::new(key.0, key.1, prefix) })?,
        (true, true) => control.delete::<SourceRoute<F>>(&key)?,
        (true, false) => {}
    }
    Ok(stats_index(&control.room::<Ip<F>>(), table, &prefix))
}

/// Where a route is counted.
fn stats_index<F: Family>(ip: &Ip<F>, table: TableId, prefix: &WirePrefix<F>) -> u32 {
    ip.fib.table(table).and_then(|table| table.number(prefix)).unwrap_or(NONE)
}

/// Dumps the routes of a table.
#[derive(Message, Clone, Debug)]
#[message(dump, details = IpRouteDetails)]
pub(super) struct IpRouteDump {
    pub table: IpTable,
}

/// Describes one route: its prefix and its paths.
#[derive(Message, Clone, Debug)]
#[message(details)]
pub(super) struct IpRouteDetails {
    pub route: IpRoute,
}

/// Dumps the routes of a table that come from one source; source 0 selects all.
#[derive(Message, Clone, Debug)]
#[message(dump, name = "ip_route_v2_dump", details = IpRouteV2Details)]
pub(super) struct IpRouteV2Dump {
    pub src: u8,
    pub table: IpTable,
}

/// Describes one route: its prefix, source and paths.
#[derive(Message, Clone, Debug)]
#[message(details, name = "ip_route_v2_details")]
pub(super) struct IpRouteV2Details {
    pub route: IpRouteV2,
}

/// The routes of a table that a source has, or all with `src` 0, as they are when each is asked for: millions are not to be
/// copied at once. With each comes the number of the source whose route counts.
fn routes_of<F: Family>(control: &Control, id: TableId, src: u8) -> Box<dyn Iterator<Item = (IpRoute, u8)>> {
    sweep::<F>(control);
    let (control, mut last, mut ended) = (control.clone(), None, false);
    let mut some = VecDeque::new();
    Box::new(std::iter::from_fn(move || {
        loop {
            let ip = control.room::<Ip<F>>();
            let next = some.pop_front();
            match next {
                // It may have gone meanwhile.
                Some(prefix) => match route(&ip, id, prefix) {
                    Some(route) => return Some(route),
                    None => continue,
                },
                None if ended => return None,
                None => {}
            }
            let table = ip.fib.table(id)?;
            let has = |entry: &Entry| src == 0 || entry.sources().any(|(source, _)| source.number() == src);
            let before = last;
            for (prefix, entry) in table.routes_after(last).take(DUMPED) {
                some.extend(has(entry).then_some(prefix));
                last = Some(prefix);
            }
            ended = last == before;
        }
    }))
}

/// Routes that are looked through at a time.
const DUMPED: usize = 256;

/// The route of a prefix, as it counts, and the number of its source.
fn route<F: Family>(ip: &Ip<F>, id: TableId, prefix: WirePrefix<F>) -> Option<(IpRoute, u8)> {
    let entry = ip.fib.table(id)?.get(&prefix)?;
    let group = ip.fib.groups.get(entry.group)?;
    let path = |path: &Path<F>| match path.target {
        // Clients look for the interface of an address at its route.
        Target::Special(Special::Local) => {
            FibPath { sw_if_index: index_of(ip.owner(id, prefix.address())), ..known(path) }
        }
        _ => known(path),
    };
    let paths = group.ways().map(path).collect();
    let route = IpRoute { table_id: id.0, stats_index: stats_index(ip, id, &prefix), prefix: prefix.into(), paths };
    Some((route, entry.source.number()))
}

/// Looks up a prefix: the route with exactly this prefix, or the longest one that covers it.
#[derive(Message, Clone, Debug)]
#[message(request, reply = IpRouteLookupReply)]
pub(super) struct IpRouteLookup {
    pub table_id: u32,
    pub exact: u8,
    pub prefix: Prefix,
}

/// The route that was found.
#[derive(Message, Clone, Debug, Default)]
#[message(reply)]
pub(super) struct IpRouteLookupReply {
    pub route: IpRoute,
}

/// Looks up a prefix: the route with exactly this prefix, or the longest one that covers it.
#[derive(Message, Clone, Debug)]
#[message(request, name = "ip_route_lookup_v2", reply = IpRouteLookupV2Reply)]
pub(super) struct IpRouteLookupV2 {
    pub table_id: u32,
    pub exact: u8,
    pub prefix: Prefix,
}

/// The route that was found.
#[derive(Message, Clone, Debug, Default)]
#[message(reply, name = "ip_route_lookup_v2_reply")]
pub(super) struct IpRouteLookupV2Reply {
    pub route: IpRouteV2,
}

fn look_up<F: Family>(control: &Control, table: u32, exact: u8, prefix: Prefix) -> Result<(IpRoute, u8), Refusal> {
    let ip = control.room::<Ip<F>>();
    if ip.fib.table(TableId(table)).is_none() {
        return Err(Refusal::new(Retval::NO_SUCH_TABLE, format!("table_id: there is no table {table}")));
    }
    let longest = prefix.in_family::<F>()?;
    // VPP's tables have an entry for each address whose way something follows, with the paths of the route that covers it.
    let is_tracked = longest.length() == F::ADDRESS_BITS
        && ip.fib.table(TableId(table)).is_some_and(|table| table.is_tracked(longest.address()));
    let least = if exact != 0 && !is_tracked { longest.length() } else { 0 };
    let shorter = |length| Prefix { len: length, ..prefix }.in_family::<F>().ok();
    let found = (least..=longest.length()).rev().find_map(|length| route(&ip, TableId(table), shorter(length)?));
    let missing = || Refusal::new(Retval::NO_SUCH_ENTRY, format!("prefix: there is no route for {longest}"));
    let (mut route, source) = found.ok_or_else(missing)?;
    if exact != 0 {
        route.prefix = prefix;
    }
    Ok((route, source))
}
