//! Changes of routes as commands and VPP's clients make them: path by path.

use quiver_control::{Control, ObjectError};

use crate::family::Multicast;
use crate::objects::{MulticastRoute, RouteFlag};
use crate::table::has_groups;

/// Adds paths to a route, which may not be there yet; one that is there takes the flags of the new one. With `flags`, these hold
/// of the route from now on.
pub(crate) fn add<F: Multicast>(
    control: &Control,
    wanted: MulticastRoute<F>,
    flags: Option<Vec<RouteFlag>>,
) -> Result<(), ObjectError> {
    let MulticastRoute { table, group, source, paths, .. } = wanted;
    if !has_groups::<F>(control, table.into()) {
        let what = format!("table {} has no routes of groups", table.0);
        return Err(ObjectError::field("table", what).remedy("set `multicast: true` of the table, or choose another"));
    }
    control.edit(MulticastRoute::<F>::new(table, group, source), |route| {
        for path in paths {
            match route.paths.iter_mut().find(|old| old.is_way_of(&path)) {
                Some(old) => old.flags = path.flags,
                None => route.paths.push(path),
            }
        }
        if let Some(flags) = flags {
            route.flags = flags;
        }
    })
}

/// Takes paths from a route, and with the last one the route itself; or, without paths, the whole route. False if there was
/// nothing of it.
pub(crate) fn delete<F: Multicast>(control: &Control, what: &MulticastRoute<F>) -> Result<bool, ObjectError> {
    let key = (what.table, what.group, what.source);
    let Some(running) = control.objects().get::<MulticastRoute<F>>(&key) else { return Ok(false) };
    let mut rest = MulticastRoute::clone(&running);
    rest.paths.retain(|path| !what.paths.iter().any(|gone| gone.is_way_of(path)));
    if rest.paths.is_empty() || what.paths.is_empty() {
        return control.delete::<MulticastRoute<F>>(&key).map(|()| true);
    }
    let had_some = rest.paths.len() < running.paths.len();
    if had_some {
        control.put(rest)?;
    }
    Ok(had_some)
}
