//! Tables that clients delete: first their routes, in turns with others, and then, when nobody uses them any more, they
//! themselves.

use std::marker::PhantomData;
use std::time::Duration;

use quiver_compat::{Refusal, Retval};
use quiver_control::{Control, Pace};

use super::emptying::{keys, remove};
use crate::config::leaving::Leaving;
use crate::config::objects::IpTable;
use crate::family::Family;
use crate::fib::TableId;

/// Interval between checks of deleted tables that are still in use.
const SWEEP: Duration = Duration::from_secs(1);

/// Waits until a table is not being emptied.
pub(super) async fn settled<F: Family>(control: &Control, table: TableId) {
    loop {
        let changed = control.room::<Leaving<F>>().changed().changed();
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
        self.0.room_mut::<Leaving<F>>().end(self.1);
    }
}

/// Deletes a table that is there, with its routes, in short turns: other clients do not wait for the end of it.
pub(super) async fn delete<F: Family>(control: &Control, table: TableId) -> Result<(), Refusal> {
    let emptied = {
        control.room_mut::<Leaving<F>>().begin(table);
        Emptied(control, table, PhantomData::<F>)
    };
    let is_wanted = || !control.room::<Leaving<F>>().is_leaving(table);
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
        let changed = control.room::<Leaving<F>>().changed().changed();
        let leaving = control.room::<Leaving<F>>().empty();
        if leaving.is_empty() {
            changed.await;
            continue;
        }
        let mut pace = Pace::in_turns(&control);
        for id in leaving {
            pace.step().await;
            // It may have been configured anew meanwhile.
            if control.room::<Leaving<F>>().is_leaving(TableId(id)) {
                sweep_table::<F>(&control, id);
            }
        }
        control.sleep(SWEEP).await;
    }
}
