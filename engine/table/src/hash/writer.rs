//! The writer of an exact-match table.
use super::growth::{EACH, Former, Growing, Passing};
use super::line::{Keys64, Line, Row, RowOf, SLOTS, WAITING, later};
use super::slots::Place;
use super::{Buckets, ExactTable, ExactView};
use crate::epoch::Domain;
use crate::snapshot::Publisher;
use crossbeam_queue::SegQueue;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Why a table refused an entry.
#[derive(Debug, thiserror::Error)]
pub enum ExactError {
    /// It marks an empty slot.
    #[error("exact-match table: zero is no key, nor is one of 128 bits with a lower half of zero; use another")]
    NoKey,
    /// The limit on entries is reached.
    #[error("exact-match table: all {entries_max} entries are in use; raise the limit or remove some")]
    Full {
        /// The table's limit.
        entries_max: usize,
    },
    /// Slots of removed entries fill the table until workers have passed.
    #[error("exact-match table: {waiting} removed entries still wait for the workers; try again")]
    Draining {
        /// Number of waiting slots.
        waiting: usize,
    },
    /// The system gives no more memory.
    #[error("exact-match table: no memory for {bytes} bytes ({source}); lower the limit on entries or free memory")]
    Memory {
        /// Bytes requested.
        bytes: usize,
        /// Error of the system.
        source: io::Error,
    },
}

/// Slots whose entries were removed, until no reader can be looking at them. They are marked in their buckets.
#[derive(Default)]
struct Vacated {
    waiting: usize,
    /// Filled by the domain when a grace period is over.
    passed: Arc<SegQueue<Vec<Place>>>,
}

/// Slots that were vacated together.
struct Vacating {
    places: Vec<Place>,
    passed: Arc<SegQueue<Vec<Place>>>,
}

impl Drop for Vacating {
    fn drop(&mut self) {
        self.passed.push(std::mem::take(&mut self.places));
    }
}

/// The only writer of a table, on the control thread.
pub struct ExactWriter<L: Line = Keys64> {
    buckets: Publisher<Arc<Buckets<L>>>,
    growing: Option<Growing<L>>,
    former: Vec<Former<L>>,
    vacated: Vacated,
    domain: Domain,
    len: usize,
    entries_max: usize,
}

/// Half of the slots are used before a table grows: few searches leave their first line, and wait for a line that was
/// not prefetched.
///
/// PERF: 28 ticks for one of a million keys that is fetched ahead, instead of 47, where a third of the slots is used, not two
/// (Zen 4).
fn buckets_for(entries: usize) -> usize {
    (entries.div_ceil(SLOTS) * 2).max(16).next_power_of_two()
}

impl ExactWriter {
    /// A table with keys of 64 bits; see [`ExactWriter::of_lines`].
    pub fn new(domain: &Domain, entries_max: usize, seed: u64) -> Result<ExactWriter, ExactError> {
        ExactWriter::of_lines(domain, entries_max, seed)
    }
}

impl<L: Line> ExactWriter<L> {
    /// An empty table in the readers' domain. The seed decides which keys share buckets; take a random one
    /// where keys come from strangers.
    pub fn of_lines(domain: &Domain, entries_max: usize, seed: u64) -> Result<ExactWriter<L>, ExactError> {
        let buckets = Publisher::new(domain, make(buckets_for(0), seed)?);
        let (domain, vacated) = (domain.clone(), Vacated::default());
        Ok(ExactWriter { buckets, growing: None, former: Vec::new(), vacated, domain, len: 0, entries_max })
    }

    /// A reader's handle.
    pub fn reader(&self) -> ExactTable<L> {
        ExactTable(self.buckets.snapshot())
    }

    /// Adds an entry, or sets the value and stamp of the one that is there and returns its former value.
    /// Stamps are of a clock that does not go back, though it may wrap around.
    /// After an error nothing has changed.
    pub fn insert(&mut self, key: L::Key, value: L::Value, last_seen: u32) -> Result<Option<L::Value>, ExactError> {
        self.domain.flush();
        self.insert_early(key, value, last_seen)
    }

    /// The same for an entry that readers may find before the changes of other tables that wait ([`Domain::hold`]).
    pub fn insert_early(
        &mut self,
        key: L::Key,
        value: L::Value,
        last_seen: u32,
    ) -> Result<Option<L::Value>, ExactError> {
        if !L::is_key(key) {
            return Err(ExactError::NoKey);
        }
        self.settle();
        let (view, row) = (self.view(), Row { key, value, last_seen });
        if let Some(place) = view.place(key) {
            let bucket = &view.buckets[place.bucket];
            let old = bucket.value(place.slot);
            bucket.set(place.slot, &row);
            self.copied(place).into_iter().for_each(|growing| growing.put(row));
            return Ok(old);
        }
        if self.len >= self.entries_max {
            return Err(ExactError::Full { entries_max: self.entries_max });
        }
        self.make_room()?;
        let waiting = self.vacated.waiting;
        let place = self.view().vacancy(key).ok_or(ExactError::Draining { waiting })?;
        self.view().place_entry(place, row);
        self.copied(place).into_iter().for_each(|growing| growing.put(row));
        self.len += 1;
        self.grow(EACH);
        Ok(None)
    }

    /// Fetches what [`ExactWriter::insert`] of a key will touch. Worth its while some keys ahead in a large table.
    pub fn prefetch(&self, key: L::Key) {
        self.view().prefetch(key);
        if let Some(growing) = &self.growing {
            growing.buckets.view().prefetch(key);
        }
    }

    /// Removes an entry and returns its value.
    pub fn remove(&mut self, key: L::Key) -> Option<L::Value> {
        self.settle();
        let place = self.view().place(key)?;
        let value = self.view().buckets[place.bucket].value(place.slot);
        self.vacate(key, place);
        self.retire(vec![place]);
        value
    }

    /// The entry of a key.
    pub fn get(&self, key: L::Key) -> Option<RowOf<L>> {
        let (bucket, slot) = self.view().locate(key)?;
        Some(self.latest(bucket.row(slot)?))
    }

    /// All entries, in no order that means anything.
    pub fn iter(&self) -> impl Iterator<Item = RowOf<L>> + '_ {
        let entries = |bucket| (0..SLOTS).filter_map(move |slot| L::row(bucket, slot));
        self.view().buckets.iter().flat_map(entries).map(|row| self.latest(row))
    }

    /// The entries in a part of the table: those in so many buckets of three entries, from the place `from` on, which begins as
    /// 0, and the place to go on from; None at the end. Entries that come or move meanwhile may be missed, or met twice; all of
    /// them move when [`ExactWriter::places`] changes.
    pub fn some(&self, from: usize, buckets: usize) -> (Vec<RowOf<L>>, Option<usize>) {
        let all = self.view().buckets;
        let end = from.saturating_add(buckets).min(all.len());
        let entries = |bucket| (0..SLOTS).filter_map(move |slot| L::row(bucket, slot));
        let some =
            all.get(from..end).unwrap_or_default().iter().flat_map(entries).map(|row| self.latest(row)).collect();
        (some, (end < all.len()).then_some(end))
    }

    /// The number of buckets.
    pub fn places(&self) -> usize {
        self.view().buckets.len()
    }

    /// Removes the entries that are not to be kept; returns how many.
    pub fn retain(&mut self, keep: impl FnMut(RowOf<L>) -> bool) -> usize {
        let before = self.len;
        self.sweep(0, usize::MAX, keep);
        before - self.len
    }

    /// Removes those of a part of the entries that are not to be kept, as ageing does in turns that others wait for: those
    /// in so many buckets of three entries, from the place `from` on, which begins as 0. Returns the place to go on from;
    /// None at the end. Entries that come or move meanwhile may be missed, or looked at twice.
    pub fn sweep(&mut self, from: usize, buckets: usize, mut keep: impl FnMut(RowOf<L>) -> bool) -> Option<usize> {
        self.settle();
        let view = self.view();
        let end = from.saturating_add(buckets).min(view.buckets.len());
        let mut leaving = Vec::new();
        for bucket in from..end {
            for slot in 0..SLOTS {
                let row = view.buckets[bucket].row(slot).filter(|row| !keep(self.latest(*row)));
                leaving.extend(row.map(|row| (row.key, Place { bucket, slot })));
            }
        }
        leaving.iter().for_each(|(key, place)| self.vacate(*key, *place));
        if !leaving.is_empty() {
            self.retire(leaving.into_iter().map(|(_, place)| place).collect());
        }
        (end < self.view().buckets.len()).then_some(end)
    }

    /// Number of entries.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The limit on entries.
    pub fn entries_max(&self) -> usize {
        self.entries_max
    }

    /// The memory of the buckets, without those of a former size that wait for readers.
    pub fn memory_bytes(&self) -> usize {
        let growing = self.growing.as_ref().map_or(0, |growing| size_of_val(growing.buckets.view().buckets));
        size_of_val(self.view().buckets) + growing
    }

    fn view(&self) -> ExactView<'_, L> {
        self.buckets.current().view()
    }

    /// The copy, if what lies at a place is there, too.
    fn copied(&self, place: Place) -> Option<&Growing<L>> {
        self.growing.as_ref().filter(|growing| growing.has(place.bucket))
    }

    /// An entry with the latest of its stamps: workers may have set one on the buckets of a former size.
    fn latest(&self, mut row: RowOf<L>) -> RowOf<L> {
        for former in &self.former {
            let found = former.buckets.view().locate(row.key).and_then(|(bucket, slot)| bucket.row(slot));
            row.last_seen = found.map_or(row.last_seen, |found| later(row.last_seen, found.last_seen));
        }
        row
    }

    /// Takes an entry out, and marks its slot as waiting.
    fn vacate(&mut self, key: L::Key, place: Place) {
        self.domain.flush();
        let bucket = &self.view().buckets[place.bucket];
        bucket.passed().fetch_or(WAITING << place.slot, Ordering::Release);
        self.view().take_entry(key, place);
        self.copied(place).into_iter().for_each(|growing| growing.remove(key));
        self.len -= 1;
        self.vacated.waiting += 1;
    }

    /// Lets vacated slots be used again when all readers have passed; if nothing is left in a table that has grown, it begins
    /// anew.
    fn retire(&mut self, places: Vec<Place>) {
        if self.len == 0
            && self.view().buckets.len() > buckets_for(0)
            && let Ok(small) = make(buckets_for(0), self.buckets.current().seed)
        {
            self.buckets.publish(small);
            (self.growing, self.vacated) = (None, Vacated::default());
            return self.former.clear();
        }
        self.domain.retire(Vacating { places, passed: Arc::clone(&self.vacated.passed) });
    }

    /// Takes notice of readers that have passed.
    fn settle(&mut self) {
        while let Some(places) = self.vacated.passed.pop() {
            self.vacated.waiting -= places.len();
            for place in places {
                let bucket = &self.view().buckets[place.bucket];
                bucket.passed().fetch_and(!(WAITING << place.slot), Ordering::Relaxed);
            }
        }
        if self.former.first().is_some_and(Former::is_past) {
            let to = self.buckets.current().view();
            if self.former[0].carry_over(to, EACH) {
                self.former.remove(0);
            }
        }
    }

    /// Begins to grow the table if one more entry would make it too full, as far as the limit on entries asks for.
    fn make_room(&mut self) -> Result<(), ExactError> {
        let needed = |table: &Self| buckets_for(table.len + table.vacated.waiting + 1);
        let buckets = self.view().buckets.len();
        if needed(self) > buckets && self.vacated.waiting > 0 {
            self.domain.reclaim();
            self.settle();
        }
        if self.growing.is_none() && needed(self) > buckets && buckets < buckets_for(self.entries_max) {
            self.growing = Some(Growing { buckets: make(buckets * 2, self.buckets.current().seed)?, next: 0 });
        }
        Ok(())
    }

    /// Goes on with growing, and publishes what has grown.
    fn grow(&mut self, buckets: usize) {
        let from = self.buckets.current().view();
        let Some(growing) = self.growing.take_if(|growing| growing.copy(from, buckets)) else { return };
        let passed = Arc::new(AtomicBool::new(false));
        let former = Former { buckets: Arc::clone(self.buckets.current()), passed: Arc::clone(&passed), next: 0 };
        self.buckets.publish(growing.buckets);
        self.domain.retire(Passing(passed));
        self.former.push(former);
        // Slots that wait are those of the former buckets.
        self.vacated = Vacated::default();
    }
}

fn make<L: Line>(buckets: usize, seed: u64) -> Result<Arc<Buckets<L>>, ExactError> {
    let bytes = buckets * size_of::<L>();
    Ok(Arc::new(Buckets::new(buckets, seed).map_err(|source| ExactError::Memory { bytes, source })?))
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::hash::line::PASSED;

    /// Growth costs a few copied buckets per change, for any size of the table.
    #[test]
    fn growth_is_a_few_buckets_with_each_change() {
        let domain = Domain::new();
        let mut table = ExactWriter::new(&domain, 100_000, 7).unwrap();
        let (mut steps, mut sizes) = (0, vec![]);
        for key in 1..=100_000 {
            let before = table.growing.as_ref().map_or(0, |growing| growing.next);
            table.insert(key, key, key as u32).unwrap();
            if let Some(growing) = &table.growing {
                assert!(growing.next - before <= EACH, "{} at {key}", growing.next - before);
                steps += 1;
            }
            sizes.push(table.view().buckets.len());
            if key % 1000 == 0 {
                domain.reclaim();
            }
        }
        assert!(steps > 10_000, "it did grow on the way, {steps} times");
        sizes.dedup();
        assert_eq!(sizes, (4..=16).map(|bits| 1 << bits).collect::<Vec<_>>());
        assert!((1..=100_000).all(|key| table.get(key).is_some_and(|row| row.last_seen == key as u32)));
        assert_eq!(table.iter().count(), 100_000);
    }

    #[test]
    fn a_sweep_looks_at_each_entry_in_parts() {
        let mut table = ExactWriter::new(&Domain::new(), 5000, 7).unwrap();
        (1..=5000).for_each(|key| assert!(table.insert(key, key, 0).is_ok()));
        let (mut from, mut parts, mut seen) = (Some(0), 0, vec![]);
        while let Some(place) = from {
            let before = seen.len();
            from = table.sweep(place, 64, |row| {
                seen.push(row.key);
                row.key % 2 == 0
            });
            assert!(seen.len() - before <= 64 * SLOTS);
            parts += 1;
        }
        seen.sort_unstable();
        assert_eq!((seen, parts), ((1..=5000).collect(), table.view().buckets.len() / 64));
        assert_eq!((table.len(), table.iter().count()), (2500, 2500));
        assert!(table.iter().all(|row| row.key % 2 == 0));
    }

    #[test]
    fn searches_are_short_again_when_entries_have_gone() {
        let mut table = ExactWriter::new(&Domain::new(), 500, 7).unwrap();
        for key in 1..=500 {
            table.insert(key, 0, 0).unwrap();
        }
        let passed = |table: &ExactWriter| -> u32 {
            table.view().buckets.iter().map(|bucket| bucket.passed().load(Ordering::Relaxed) & PASSED).sum()
        };
        assert!(passed(&table) > 0, "some buckets are full");
        assert_eq!(table.retain(|row| row.key == 1), 499);
        assert_eq!((passed(&table), table.iter().count()), (0, 1));
    }
}
