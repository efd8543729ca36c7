//! Tables that clients delete: first their routes, in turns with others, and then, when nobody uses them any more, they
//! themselves.

use std::collections::BTreeSet;
use std::marker::PhantomData;
use std::time::Duration;

use quiver_compat::{Refusal, Retval};
use quiver_control::{Control, Pace, Signal};

use super::routes::{keys, remove};
use crate::family::Family;
use crate::fib::TableId;
use crate::objects::IpTable;

/// How often tables are looked at that somebody uses still.
const SWEEP: Duration = Duration::from_secs(1);

/// Tables that clients have deleted. While interfaces are bound to one, or routes lead into it, it stays, without routes of
/// clients, as VPP's clients expect, which take an interface away after its table. Whoever configures a table keeps it.
#[derive(Default)]
pub(crate) struct Leaving<F: Family> {
    tables: BTreeSet<u32>,
    /// Those of them whose routes are being deleted.
    emptied: BTreeSet<u32>,
    changed: Signal,
    family: PhantomData<F>,
}

impl<F: Family> Leaving<F> {
    /// Somebody wants the table.
    pub fn keep(&mut self, table: u32) {
        self.tables.remove(&table);
    }
    /// Those that have no routes of clients any more.
    fn empty(&self) -> Vec<u32> {
        self.tables.difference(&self.emptied).copied().collect()
    }
    /// Whether the routes of a table are being deleted, and it with them.
    pub fn is_emptied(&self, table: TableId) -> bool {
        self.emptied.contains(&table.0)
    }
}

/// Waits until a table is not being emptied.
pub(super) async fn settled<F: Family>(control: &Control, table: TableId) {
    loop {
        let changed = control.room::<Leaving<F>>().changed.changed();
        if !control.room::<Leaving<F>>().is_emptied(table) {
            return;
        }
        changed.await;
    }
}

/// A table is being emptied until this is dropped.
struct Emptied<'a, F: Family>(&'a Control, TableId, PhantomData<F>);

impl<F: Family> Drop for Emptied<'_, F> {
    fn drop(&mut self) {
        let mut leaving = self.0.room_mut::<Leaving<F>>();
        leaving.emptied.remove(&self.1.0);
        leaving.changed.notify();
    }
}

/// Deletes a table that is there, with its routes, in short turns: other clients do not wait for the end of it.
pub(super) async fn delete<F: Family>(control: &Control, table: TableId) -> Result<(), Refusal> {
    let emptied = {
        let mut leaving = control.room_mut::<Leaving<F>>();
        leaving.tables.insert(table.0);
        leaving.emptied.insert(table.0);
        leaving.changed.notify();
        Emptied(control, table, PhantomData::<F>)
    };
    let is_wanted = || !control.room::<Leaving<F>>().tables.contains(&table.0);
    let removed = remove(control, keys::<F>(control, table), |_| !is_wanted()).await;
    drop(emptied);
    if let Err(error) = removed {
        control.room_mut::<Leaving<F>>().keep(table.0);
        return Err(error);
    }
    if is_wanted() && control.objects().get::<IpTable<F>>(&table.0).is_some() {
        let what = format!("table.table_id: table {table} was configured anew while its routes were deleted");
        return Err(Refusal::new(Retval::INSTANCE_IN_USE, what));
    }
    sweep::<F>(control);
    Ok(())
}

/// Deletes the tables that clients have deleted and nobody uses any more.
pub(super) fn sweep<F: Family>(control: &Control) {
    let leaving = control.room::<Leaving<F>>().empty();
    for id in leaving {
        sweep_table::<F>(control, id);
    }
}

fn sweep_table<F: Family>(control: &Control, id: u32) {
    let is_there = control.objects().get::<IpTable<F>>(&id).is_some();
    // Who uses it keeps it: the error names them.
    if is_there && let Err(error) = control.delete::<IpTable<F>>(&id) {
        tracing::debug!("{error}");
        return;
    }
    control.room_mut::<Leaving<F>>().keep(id);
}

/// Deletes tables some time after their last users have left, whoever took these away.
pub(super) async fn sweep_on<F: Family>(control: Control) {
    loop {
        let changed = control.room::<Leaving<F>>().changed.changed();
        let leaving = control.room::<Leaving<F>>().empty();
        if leaving.is_empty() {
            changed.await;
            continue;
        }
        let mut pace = Pace::in_turns(&control);
        for id in leaving {
            pace.step().await;
            // It may have been configured anew meanwhile.
            if control.room::<Leaving<F>>().tables.contains(&id) {
                sweep_table::<F>(&control, id);
            }
        }
        control.sleep(SWEEP).await;
    }
}
