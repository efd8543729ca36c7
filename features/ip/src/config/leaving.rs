//! Tables that clients have deleted and that wait for their last users.
//!
//! While interfaces are bound to such a table, or routes lead into it, it stays, without routes of clients. VPP's clients expect that:
//! they take an interface away after its table. Whoever configures a table keeps it.

use std::collections::BTreeSet;
use std::marker::PhantomData;

use quiver_control::Signal;

use crate::family::Family;
use crate::fib::TableId;

/// Tables that clients have deleted and that somebody still uses.
#[derive(Default)]
pub(crate) struct Leaving<F: Family> {
    tables: BTreeSet<u32>,
    /// Those of them whose routes are being deleted.
    emptied: BTreeSet<u32>,
    changed: Signal,
    family: PhantomData<F>,
}

impl<F: Family> Leaving<F> {
    /// Keeps a table after all.
    pub fn keep(&mut self, table: u32) {
        self.tables.remove(&table);
    }
    /// The tables that have no routes of clients any more.
    pub fn empty(&self) -> Vec<u32> {
        self.tables.difference(&self.emptied).copied().collect()
    }
    /// Whether the routes of a table are being deleted, and it with them.
    pub fn is_emptied(&self, table: TableId) -> bool {
        self.emptied.contains(&table.0)
    }
    /// Whether a table is still to be deleted.
    pub fn is_leaving(&self, table: TableId) -> bool {
        self.tables.contains(&table.0)
    }
    /// Begins the deletion of a table, with that of its routes.
    pub fn begin(&mut self, table: TableId) {
        self.tables.insert(table.0);
        self.emptied.insert(table.0);
        self.changed.notify();
    }
    /// Ends the deletion of a table's routes.
    pub fn end(&mut self, table: TableId) {
        self.emptied.remove(&table.0);
        self.changed.notify();
    }
    /// Notifies when the deletion of a table's routes begins or ends.
    pub fn changed(&self) -> &Signal {
        &self.changed
    }
}
