//! Edits of addresses, tables and routes that commands and messages have in common.

use quiver_control::{Control, ObjectError};
use quiver_interface::InterfaceName;
use quiver_wire::Prefix;

use crate::config::objects::{InterfaceAddress, InterfaceTable, Route, RoutePath, TableNumber};
use crate::family::Family;

/// Whether two paths differ in weight at most.
pub(crate) fn is_same_way<F: Family>(a: &RoutePath<F>, b: &RoutePath<F>) -> bool {
    RoutePath { weight: 1, ..a.clone() } == RoutePath { weight: 1, ..b.clone() }
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

/// Takes all addresses of an interface away.
pub(crate) fn clear_addresses<F: Family>(control: &Control, interface: &InterfaceName) -> Result<(), ObjectError> {
    let all = control.objects().all::<InterfaceAddress<F>>();
    let mut of_interface = all.iter().filter(|address| address.interface == *interface);
    of_interface.try_for_each(|address| control.delete::<InterfaceAddress<F>>(&(interface.clone(), address.address)))
}

/// Has the packets of an interface looked up in a table.
pub(crate) fn put_table<F: Family>(control: &Control, interface: InterfaceName, table: u32) -> Result<(), ObjectError> {
    match table {
        0 if control.objects().get::<InterfaceTable<F>>(&interface).is_none() => Ok(()),
        0 => control.delete::<InterfaceTable<F>>(&interface),
        _ => control.edit(InterfaceTable::<F>::new(interface), |binding| binding.table = TableNumber::new(table)),
    }
}
