//! Finds, fills and empties slots, for the writer.
use super::ExactView;
use super::line::{Line, PASSED, RowOf, SLOTS, WAITING};
use crate::simulation::seam;
use std::sync::atomic::Ordering;

/// Where an entry lies.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Place {
    pub bucket: usize,
    pub slot: usize,
}

impl<L: Line> ExactView<'_, L> {
    /// Where the entry of a key lies.
    pub(super) fn place(self, key: L::Key) -> Option<Place> {
        let (found, slot) = self.locate(key)?;
        let bytes = std::ptr::from_ref(found).addr() - self.buckets.as_ptr().addr();
        Some(Place { bucket: bytes / size_of::<L>(), slot })
    }

    /// The first free slot from a key's home on, for a key that is not in the table.
    pub(super) fn vacancy(self, key: L::Key) -> Option<Place> {
        let home = self.home(key);
        for step in 0..self.buckets.len() {
            let index = (home + step) & (self.buckets.len() - 1);
            let bucket = &self.buckets[index];
            let passed = bucket.passed().load(Ordering::Relaxed);
            for slot in 0..SLOTS {
                if bucket.row(slot).is_none() && passed & WAITING << slot == 0 {
                    return Some(Place { bucket: index, slot });
                }
            }
        }
        None
    }

    /// Fills a vacancy that [`ExactView::vacancy`] found; the key's store makes the entry visible as a whole.
    pub(super) fn place_entry(self, place: Place, row: RowOf<L>) {
        let mut index = self.home(row.key);
        while index != place.bucket {
            self.buckets[index].passed().fetch_add(1, Ordering::Release);
            index = (index + 1) & (self.buckets.len() - 1);
        }
        let bucket = &self.buckets[place.bucket];
        bucket.set(place.slot, &row);
        seam("an entry written, its key not yet");
        bucket.set_key(place.slot, row.key);
    }

    /// Empties a slot, so that no search finds the entry or passes by for its sake.
    pub(super) fn take_entry(self, key: L::Key, place: Place) {
        self.buckets[place.bucket].clear(place.slot);
        seam("an entry gone, still counted");
        let mut index = self.home(key);
        while index != place.bucket {
            let before = self.buckets[index].passed().fetch_sub(1, Ordering::Release);
            debug_assert!(before & PASSED > 0, "somebody passed by");
            index = (index + 1) & (self.buckets.len() - 1);
        }
    }
}
