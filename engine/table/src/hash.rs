//! Exact match on keys of 64 bits, such as a MAC address and its bridge domain, or of 128, such as an IPv6 address.
//!
//! An open-addressed table of one-line buckets, three entries each ([`Line`]). A worker's lookup is lock-free and never
//! retries: an entry becomes visible with the store of its key, when its value is already there, and a slot
//! whose entry was removed is used again only after a grace period, so that nobody can find one key's value
//! under another. Workers refresh an entry's `last seen` stamp themselves; all else the writer does.
//!
//! A table that has become too small is copied into one of twice the size, a few buckets with each change, so that
//! no change has to wait for a million entries; then the copy is published. Workers may stamp the entries of the old
//! one until they have passed; the writer carries that over, a few buckets at a time as well. A table that has become
//! empty gives its buckets back.
use crate::epoch::Guard;
use crate::memory::{Cells, prefetch};
use crate::snapshot::Snapshot;
use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;

mod growth;
mod line;
mod slots;
mod writer;

use line::PASSED;
pub use line::{Entry, Keys64, Keys128, Line, Row, STILL};
pub use writer::{ExactError, ExactWriter};

/// The buckets of one size; a power of two of them.
struct Buckets<L: Line> {
    cells: Cells<L>,
    len: usize,
    seed: u64,
}

impl<L: Line> Buckets<L> {
    fn new(len: usize, seed: u64) -> io::Result<Buckets<L>> {
        let cells = Cells::reserve(len, len * size_of::<L>() >= 2 << 20)?;
        cells.commit(len)?;
        Ok(Buckets { cells, len, seed })
    }

    fn view(&self) -> ExactView<'_, L> {
        ExactView { buckets: self.cells.slice(0, self.len), seed: self.seed }
    }
}

/// The readers' side of a table, for workers: cheap to clone.
pub struct ExactTable<L: Line = Keys64>(Snapshot<Arc<Buckets<L>>>);

impl<L: Line> Clone for ExactTable<L> {
    fn clone(&self) -> ExactTable<L> {
        ExactTable(self.0.clone())
    }
}

impl<L: Line> ExactTable<L> {
    /// The table as hot loops want it; take it once per frame.
    ///
    /// # Panics
    /// If the guard is of another domain than the table, which is a mistake in the program's wiring.
    #[inline(always)]
    pub fn view<'g>(&self, guard: Guard<'g>) -> ExactView<'g, L> {
        self.0.read(guard).view()
    }
}

/// A table in a worker's hands during a frame. It shows changes as they happen, until the table grows.
pub struct ExactView<'g, L: Line = Keys64> {
    buckets: &'g [L],
    seed: u64,
}

impl<L: Line> Clone for ExactView<'_, L> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<L: Line> Copy for ExactView<'_, L> {}

impl<'g> ExactView<'g> {
    /// The entry of a key.
    #[inline(always)]
    pub fn find(&self, key: u64) -> Option<Entry<'g>> {
        let (bucket, slot) = self.locate(key)?;
        Some(Entry { value: bucket.value(slot)?, stamp: bucket.stamps.get(slot)? })
    }
}

impl<'g, L: Line> ExactView<'g, L> {
    /// The value of a key.
    #[inline(always)]
    pub fn get(&self, key: L::Key) -> Option<L::Value> {
        let (bucket, slot) = self.locate(key)?;
        bucket.value(slot)
    }

    /// Whether the lines of the table are more than the caches next to a core have for long: only then is it worth while to
    /// fetch them ahead.
    #[inline(always)]
    pub fn is_large(&self) -> bool {
        size_of_val(self.buckets) > 256 << 10
    }

    /// Fetches the line where a search for the key begins, and nearly always ends.
    #[inline(always)]
    pub fn prefetch(&self, key: L::Key) {
        prefetch(self.buckets.as_ptr().wrapping_add(self.home(key)));
    }

    #[inline(always)]
    fn locate(&self, key: L::Key) -> Option<(&'g L, usize)> {
        if !L::is_key(key) {
            return None; // Empty slots hold it.
        }
        let home = self.home(key);
        // The bound matters only to a table whose every bucket overflowed.
        for step in 0..self.buckets.len() {
            let bucket = self.buckets.get((home + step) & (self.buckets.len() - 1))?;
            if let Some(slot) = bucket.find(key) {
                return Some((bucket, slot));
            }
            if bucket.passed().load(Ordering::Acquire) & PASSED == 0 {
                return None;
            }
        }
        None
    }

    /// The bucket where a key belongs.
    #[inline(always)]
    fn home(&self, key: L::Key) -> usize {
        L::spread(key, self.seed) as usize & (self.buckets.len() - 1)
    }
}
