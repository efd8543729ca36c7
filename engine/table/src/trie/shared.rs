//! Ownership of a table, which outlives its handles.
#![allow(unsafe_code)]
use crate::epoch::{Domain, Guard};
use crate::simulation::seam;
use std::mem::ManuallyDrop;

/// A table that outlives its handles until the readers of views have passed: these do not borrow a handle.
pub struct Shared<T: Send + 'static> {
    table: ManuallyDrop<T>,
    domain: Domain,
}

impl<T: Send + 'static> Shared<T> {
    pub(crate) fn new(table: T, domain: &Domain) -> Shared<T> {
        Shared { table: ManuallyDrop::new(table), domain: domain.clone() }
    }

    #[inline(always)]
    pub(crate) fn table(&self) -> &T {
        &self.table
    }

    pub(crate) fn domain(&self) -> &Domain {
        &self.domain
    }

    /// The table for a reader.
    ///
    /// # Panics
    /// If the guard is of another domain than the table, which is a mistake in the program's wiring.
    #[inline(always)]
    pub(crate) fn table_under(&self, guard: Guard<'_>) -> &T {
        assert!(guard.domain().is(&self.domain), "the guard belongs to another domain than the table");
        seam("table viewed");
        &self.table
    }
}

impl<T: Send + 'static> Drop for Shared<T> {
    fn drop(&mut self) {
        // SAFETY: nothing uses the field after this, and its own drop does nothing.
        self.domain.retire(unsafe { ManuallyDrop::take(&mut self.table) });
    }
}
