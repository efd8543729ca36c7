//! Exact match on 64-bit keys: a MAC address and its bridge domain, say.
//!
//! An open-addressed table of one-line buckets, three entries each. A worker's lookup is lock-free and never
//! retries: an entry becomes visible with the store of its key, when its value is already there, and a slot
//! whose entry was removed is used again only after a grace period, so that nobody can find one key's value
//! under another. Workers refresh an entry's `last seen` stamp themselves; all else the writer does.
//!
//! A table that has become too small is copied into one of twice the size, a few buckets with each change, so that
//! no change has to wait for a million entries; then the copy is published. Workers may stamp the entries of the old
//! one until they have passed; the writer carries that over, a few buckets at a time as well.
#![allow(unsafe_code)]
use crate::epoch::Guard;
use crate::memory::{Cell, Cells, prefetch};
use crate::snapshot::Snapshot;
use std::hint::select_unpredictable;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

mod growth;
mod writer;

use writer::Place;
pub use writer::{ExactError, ExactWriter, Row};

/// Entries per bucket.
const SLOTS: usize = 3;

/// In [`Bucket::passed`], a bit for each slot: its entry was removed, and the slot waits until no reader can be looking at
/// it. Only the writer asks.
const WAITING: u32 = 1 << 29;
/// The rest of [`Bucket::passed`].
const PASSED: u32 = WAITING - 1;

/// A stamp that is never stored: of readers that only want to know.
pub const STILL: u32 = u32::MAX;

/// One cache line.
#[repr(C, align(64))]
struct Bucket {
    /// Zero where there is no entry.
    keys: [AtomicU64; SLOTS],
    values: [AtomicU64; SLOTS],
    stamps: [AtomicU32; SLOTS],
    /// How many entries lie further on because this bucket was full; a search ends where that is zero. Above it
    /// [`WAITING`] slots.
    passed: AtomicU32,
}
// SAFETY: it consists of atomics, for which zero is valid, and its alignment is a line's.
unsafe impl Cell for Bucket {}

/// The buckets of one size; a power of two of them.
struct Buckets {
    cells: Cells<Bucket>,
    len: usize,
    seed: u64,
}

impl Buckets {
    fn new(len: usize, seed: u64) -> io::Result<Buckets> {
        let cells = Cells::reserve(len, len * size_of::<Bucket>() >= 2 << 20)?;
        cells.commit(len)?;
        Ok(Buckets { cells, len, seed })
    }

    fn view(&self) -> ExactView<'_> {
        ExactView { buckets: self.cells.slice(0, self.len), seed: self.seed }
    }
}

/// The readers' side of a table, for workers: cheap to clone.
#[derive(Clone)]
pub struct ExactTable(Snapshot<Arc<Buckets>>);

impl ExactTable {
    /// The table as hot loops want it; take it once per frame.
    ///
    /// # Panics
    /// If the guard is of another domain than the table, which is a mistake in the program's wiring.
    #[inline]
    pub fn view<'g>(&self, guard: Guard<'g>) -> ExactView<'g> {
        self.0.read(guard).view()
    }
}

/// A table in a worker's hands during a frame. It shows changes as they happen, until the table grows.
#[derive(Clone, Copy)]
pub struct ExactView<'g> {
    buckets: &'g [Bucket],
    seed: u64,
}

/// An entry that was found, as it was then.
#[derive(Clone, Copy)]
pub struct Entry<'g> {
    value: u64,
    stamp: &'g AtomicU32,
}

impl<'g> ExactView<'g> {
    /// The entry of a key.
    #[inline(always)]
    pub fn find(&self, key: u64) -> Option<Entry<'g>> {
        let (bucket, slot) = self.locate(key)?;
        Some(Entry { value: bucket.values.get(slot)?.load(Ordering::Acquire), stamp: bucket.stamps.get(slot)? })
    }

    /// The value of a key.
    #[inline(always)]
    pub fn get(&self, key: u64) -> Option<u64> {
        self.find(key).map(|entry| entry.value)
    }

    /// Whether the lines of the table are more than the caches next to a core have for long: only then is it worth while to
    /// fetch them ahead.
    #[inline(always)]
    pub fn is_large(&self) -> bool {
        size_of_val(self.buckets) > 256 << 10
    }

    /// Fetches the line where a search for the key begins, and nearly always ends.
    #[inline(always)]
    pub fn prefetch(&self, key: u64) {
        prefetch(self.buckets.as_ptr().wrapping_add(self.home(key)));
    }

    /// Where an entry lies, for the writer.
    fn place(&self, key: u64) -> Option<Place> {
        let (found, slot) = self.locate(key)?;
        let bytes = std::ptr::from_ref(found).addr() - self.buckets.as_ptr().addr();
        Some(Place { bucket: bytes / size_of::<Bucket>(), slot })
    }

    #[inline(always)]
    fn locate(&self, key: u64) -> Option<(&'g Bucket, usize)> {
        if key == 0 {
            return None; // Empty slots hold it.
        }
        let home = self.home(key);
        // The bound matters only to a table whose every bucket overflowed.
        for step in 0..self.buckets.len() {
            let bucket = self.buckets.get((home + step) & (self.buckets.len() - 1))?;
            // Which slot it is depends on chance, and a branch that guesses wrong costs more than the line. So look
            // for the least difference: the compiler would turn plain comparisons back into branches.
            // PERF: 12 ticks instead of 21 (1,000 entries, Zen 4).
            let (mut slot, mut least) = (0, bucket.keys[0].load(Ordering::Acquire) ^ key);
            for other in 1..SLOTS {
                let difference = bucket.keys[other].load(Ordering::Acquire) ^ key;
                slot = select_unpredictable(difference < least, other, slot);
                least = least.min(difference);
            }
            if least == 0 {
                return Some((bucket, slot));
            }
            if bucket.passed.load(Ordering::Acquire) & PASSED == 0 {
                return None;
            }
        }
        None
    }

    /// The bucket where a key belongs. Both halves of a product depend on all bits of the key and the seed,
    /// so neither neighbouring addresses nor chosen ones pile up in one bucket.
    #[inline(always)]
    fn home(&self, key: u64) -> usize {
        let product = u128::from(key ^ self.seed) * 0x9e37_79b9_7f4a_7c15;
        ((product >> 64) as u64 ^ product as u64) as usize & (self.buckets.len() - 1)
    }
}

impl Entry<'_> {
    /// What the writer stored.
    #[inline(always)]
    pub fn value(&self) -> u64 {
        self.value
    }

    /// When the entry was last stamped, on the clock of those who stamp; it may wrap around.
    #[inline(always)]
    pub fn last_seen(&self) -> u32 {
        self.stamp.load(Ordering::Relaxed)
    }

    /// Stamps the entry. A stamp that is already there is not stored again, so that the line stays shared; nor is [`STILL`].
    #[inline(always)]
    pub fn touch(&self, now: u32) {
        if self.last_seen() != now && now != STILL {
            self.stamp.store(now, Ordering::Relaxed);
        }
    }
}
