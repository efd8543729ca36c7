//! Growth of a table while it is read: each change copies a part, so that no change takes long.
use super::line::{Line, RowOf, SLOTS, later};
use super::slots::Place;
use super::{Buckets, ExactView};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Buckets that are copied with each change: a table that begins to grow when it is full to the half (`buckets_for`) is done
/// before it is full to three fifths.
pub(super) const EACH: usize = 4;

/// A copy of twice the size, which no reader knows yet. It has the entries of the buckets before `next`.
pub(super) struct Growing<L: Line> {
    pub buckets: Arc<Buckets<L>>,
    pub next: usize,
}

impl<L: Line> Growing<L> {
    /// Copies so many buckets more; true if all are there.
    pub fn copy(&mut self, from: ExactView<'_, L>, buckets: usize) -> bool {
        let to = self.buckets.view();
        let end = self.next.saturating_add(buckets).min(from.buckets.len());
        for bucket in &from.buckets[self.next..end] {
            for row in (0..SLOTS).filter_map(|slot| bucket.row(slot)) {
                to.place_entry(room(to, row.key), row);
            }
        }
        self.next = end;
        end == from.buckets.len()
    }

    /// Whether what lies in a bucket of the old table is in the copy, too.
    pub fn has(&self, bucket: usize) -> bool {
        bucket < self.next
    }

    /// Adds an entry, or changes it.
    pub fn put(&self, entry: RowOf<L>) {
        let to = self.buckets.view();
        match to.place(entry.key) {
            Some(place) => to.buckets[place.bucket].set(place.slot, &entry),
            None => to.place_entry(room(to, entry.key), entry),
        }
    }

    /// Removes an entry. No reader uses the copy yet, so its slot is free at once.
    pub fn remove(&self, key: L::Key) {
        let view = self.buckets.view();
        if let Some(place) = view.place(key) {
            view.take_entry(key, place);
        }
    }
}

fn room<L: Line>(to: ExactView<'_, L>, key: L::Key) -> Place {
    to.vacancy(key).expect("a table of twice the size has room for all entries")
}

/// The buckets before a growth, which workers may go on stamping until they have passed.
pub(super) struct Former<L: Line> {
    pub buckets: Arc<Buckets<L>>,
    pub passed: Arc<AtomicBool>,
    /// Stamps of the buckets before have been carried over.
    pub next: usize,
}

/// Notes that all workers have passed.
pub(super) struct Passing(pub Arc<AtomicBool>);

impl Drop for Passing {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Release);
    }
}

impl<L: Line> Former<L> {
    /// Whether all readers that could stamp it have passed.
    pub fn is_past(&self) -> bool {
        self.passed.load(Ordering::Acquire)
    }

    /// Carries the stamps of so many buckets over; true if that were the last.
    pub fn carry_over(&mut self, to: ExactView<'_, L>, buckets: usize) -> bool {
        let from = self.buckets.view();
        let end = self.next.saturating_add(buckets).min(from.buckets.len());
        for bucket in &from.buckets[self.next..end] {
            for stale in (0..SLOTS).filter_map(|slot| bucket.row(slot)) {
                let to = to.locate(stale.key).and_then(|(bucket, slot)| Some((bucket, slot, bucket.row(slot)?)));
                if let Some((bucket, slot, row)) = to {
                    bucket.stamp(slot, later(row.last_seen, stale.last_seen));
                }
            }
        }
        self.next = end;
        end == from.buckets.len()
    }
}
