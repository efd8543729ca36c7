//! Routes, and how configured paths become paths of the FIB.

use quiver_control::{Change, Control, Kind, ObjectError};
use quiver_interface::Interfaces;
use quiver_wire::Prefix;

use super::error::refused;
use super::objects::{Route, RouteAction, RoutePath, check_route};
use super::room::Ip;
use super::{crossing, next_hops, recursion};
use crate::family::Family;
use crate::fib::{CrossFamilyHop, Path, Source, Special, Target};

pub(super) fn register<F: Family>(control: &Control) {
    let kind = Kind::new(apply_route::<F>).check(check_route::<F>);
    control.objects().add(kind.memory(|route| memory_of(route.prefix, &route.paths)));
}

/// Bytes that a route takes, about, with its object, its names, its entry, and what grows beside it.
const ROUTE: u64 = 768;
/// The same of a path: of the object, and of a group that no other route shares.
const PATH: u64 = 256;
/// The block that workers look up in of the addresses that share 24 bits, if a route tells them apart.
const BLOCK: u64 = 1024;

/// Bytes that a route takes with what workers look it up in.
pub(super) fn memory_of<F: Family>(prefix: Prefix<F>, paths: &[RoutePath<F>]) -> u64 {
    let block = if F::VERSION == 4 && prefix.length() > 24 { BLOCK } else { 0 };
    ROUTE + block + PATH * paths.len() as u64
}

fn apply_route<F: Family>(control: &Control, change: Change<'_, Route<F>>) -> Result<(), ObjectError> {
    let crosses = |route: &Route<F>| route.paths.iter().any(|path| path.other_via.is_some());
    match change {
        Change::Create(route) | Change::Update { new: route, .. } => {
            let paths = paths(control, &route.paths)?;
            recursion::note(control, (route, "paths"), (route.table.into(), route.prefix), &paths);
            let mut ip = control.room_mut::<Ip<F>>();
            ip.fib.insert(route.table.into(), route.prefix, Source::Static, paths).map_err(refused)?;
        }
        Change::Delete(route) => {
            control.room_mut::<Ip<F>>().fib.remove(route.table.into(), route.prefix, Source::Static);
        }
    }
    // What it led to before, perhaps nothing leads to now.
    if let Change::Update { old, .. } | Change::Delete(old) = change
        && crosses(old)
    {
        crossing::sweep::<F>(control);
    }
    Ok(())
}

/// Configured paths, as the FIB has them.
///
/// # Errors
/// If the interface of one is not there.
pub fn paths<F: Family>(control: &Control, configured: &[RoutePath<F>]) -> Result<Vec<Path<F>>, ObjectError> {
    if configured.iter().any(|path| path.other_via.is_some()) {
        crossing::sweep::<F>(control);
    }
    let path = |path: &RoutePath<F>| {
        let target = target(control, path)?;
        Ok(Path { weight: path.weight, preference: path.preference, ..Path::to(target) })
    };
    configured.iter().map(path).collect()
}

fn target<F: Family>(control: &Control, path: &RoutePath<F>) -> Result<Target<F>, ObjectError> {
    let id = |name: &str| control.room::<Interfaces>().id_of(name);
    if let Some(to) = &path.to {
        return next_hops::target(control, to, path.interface.as_ref());
    }
    if let Some(via) = path.other_via {
        let interface = path.interface.as_ref().map(|name| id(&name.0)).transpose()?;
        return crossing::target(control, CrossFamilyHop { interface, via });
    }
    Ok(match (path.action, path.via, &path.interface) {
        (Some(RouteAction::Drop), ..) => Target::Special(Special::Drop),
        (Some(RouteAction::Unreachable), ..) => Target::Special(Special::Unreachable),
        (Some(RouteAction::Prohibit), ..) => Target::Special(Special::Prohibit),
        (Some(RouteAction::Local), ..) => Target::Special(Special::Local),
        (Some(RouteAction::Lookup), ..) => Target::Lookup(path.table.into()),
        (Some(RouteAction::SourceLookup), ..) => Target::SourceLookup(path.table.into()),
        (Some(RouteAction::Receive), _, Some(name)) => Target::Received(id(&name.0)?),
        (Some(RouteAction::Receive), _, None) => Target::Special(Special::Drop),
        (None, Some(via), Some(name)) => Target::NextHop(id(&name.0)?, via),
        (None, None, Some(name)) => Target::Link(id(&name.0)?),
        (None, via, None) => Target::Recursive(path.table.into(), via.unwrap_or(F::UNSPECIFIED)),
    })
}
