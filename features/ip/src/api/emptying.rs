//! Deleting many routes of a table, in short turns.

use quiver_compat::Refusal;
use quiver_control::{Control, Pace};
use quiver_wire::Prefix;

use crate::config::objects::{Route, TableNumber};
use crate::family::Family;
use crate::fib::TableId;

/// Keys of the routes that emptying a table deletes: those of clients and commands, without those of sources that
/// clients added.
pub(super) fn keys<F: Family>(control: &Control, table: TableId) -> Vec<(TableNumber<F>, Prefix<F>)> {
    let routes = control.objects().all::<Route<F>>().into_iter().filter(|route| route.table.0 == table.0);
    routes.map(|route| (route.table, route.prefix)).collect()
}

/// Deletes those of the routes that are there, and that have to `go` still, in short turns: other clients do not wait for their end.
pub(super) async fn remove<F: Family>(
    control: &Control,
    routes: Vec<(TableNumber<F>, Prefix<F>)>,
    go: impl Fn(&Prefix<F>) -> bool,
) -> Result<(), Refusal> {
    let mut pace = Pace::in_turns(control);
    for key in routes {
        pace.step().await;
        if go(&key.1) && control.objects().get::<Route<F>>(&key).is_some() {
            control.delete::<Route<F>>(&key)?;
        }
    }
    Ok(())
}
