//! The writer of an exact-match table.
use super::{Bucket, Buckets, ExactTable, ExactView, SLOTS};
use crate::epoch::Domain;
use crate::simulation::seam;
use crate::snapshot::Publisher;
use crossbeam_queue::SegQueue;
use std::collections::HashSet;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Why a table refused an entry.
#[derive(Debug, thiserror::Error)]
pub enum ExactError {
    /// Zero marks an empty slot.
    #[error("exact-match table: key 0 is not a key; use one between 1 and 2^64 - 1")]
    ZeroKey,
    /// The limit on entries is reached.
    #[error("exact-match table: all {entries_max} entries are in use; raise the limit or remove some")]
    Full {
        /// The table's limit.
        entries_max: usize,
    },
    /// Slots of removed entries fill the table until workers have passed.
    #[error("exact-match table: {waiting} removed entries still wait for the workers; try again")]
    Draining {
        /// How many slots wait.
        waiting: usize,
    },
    /// The system gives no more memory.
    #[error("exact-match table: no memory for {bytes} bytes ({source}); lower the limit on entries or free memory")]
    Memory {
        /// How much was asked for.
        bytes: usize,
        /// The system's answer.
        source: io::Error,
    },
}

/// An entry as the writer sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row {
    /// The key, not zero.
    pub key: u64,
    /// The value.
    pub value: u64,
    /// The stamp that the writer or a worker set last.
    pub last_seen: u32,
}

/// Where an entry lies.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Place {
    bucket: usize,
    slot: usize,
}

/// Slots whose entries were removed, until no reader can be looking at them.
#[derive(Default)]
struct Vacated {
    waiting: HashSet<Place>,
    /// Filled by the domain when a slot's grace period is over.
    passed: Arc<SegQueue<Place>>,
}

struct Vacating {
    place: Place,
    passed: Arc<SegQueue<Place>>,
}

impl Drop for Vacating {
    fn drop(&mut self) {
        self.passed.push(self.place);
    }
}

/// The buckets before a growth, which workers may go on stamping until they have passed.
struct Former {
    buckets: Arc<Buckets>,
    passed: Arc<AtomicBool>,
}

struct Passing(Arc<AtomicBool>);

impl Drop for Passing {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Release);
    }
}

/// The only writer of a table, on the control thread.
pub struct ExactWriter {
    buckets: Publisher<Arc<Buckets>>,
    former: Vec<Former>,
    vacated: Vacated,
    domain: Domain,
    len: usize,
    entries_max: usize,
}

/// Three quarters of the slots are used before a table grows: few searches leave their first line.
fn buckets_for(entries: usize) -> usize {
    (entries.div_ceil(SLOTS) * 4).div_ceil(3).max(16).next_power_of_two()
}

impl ExactWriter {
    /// An empty table in the readers' domain. The seed decides which keys share buckets; take a random one
    /// where keys come from strangers.
    pub fn new(domain: &Domain, entries_max: usize, seed: u64) -> Result<ExactWriter, ExactError> {
        let buckets = Publisher::new(domain, make(buckets_for(0), seed)?);
        let (domain, vacated) = (domain.clone(), Vacated::default());
        Ok(ExactWriter { buckets, former: Vec::new(), vacated, domain, len: 0, entries_max })
    }

    /// A reader's handle.
    pub fn reader(&self) -> ExactTable {
        ExactTable(self.buckets.snapshot())
    }

    /// Adds an entry, or sets the value and stamp of the one that is there and returns its former value.
    /// Stamps are of a clock that does not go back, though it may wrap around.
    /// After an error nothing has changed.
    pub fn insert(&mut self, key: u64, value: u64, last_seen: u32) -> Result<Option<u64>, ExactError> {
        if key == 0 {
            return Err(ExactError::ZeroKey);
        }
        self.settle();
        if let Some((bucket, slot)) = self.view().locate(key) {
            bucket.stamps[slot].store(last_seen, Ordering::Relaxed);
            return Ok(Some(bucket.values[slot].swap(value, Ordering::AcqRel)));
        }
        if self.len >= self.entries_max {
            return Err(ExactError::Full { entries_max: self.entries_max });
        }
        self.make_room()?;
        let waiting = self.vacated.waiting.len();
        let place = vacancy(self.view(), key, &self.vacated.waiting).ok_or(ExactError::Draining { waiting })?;
        place_entry(self.view(), place, Row { key, value, last_seen });
        self.len += 1;
        Ok(None)
    }

    /// Removes an entry and returns its value.
    pub fn remove(&mut self, key: u64) -> Option<u64> {
        self.settle();
        let view = self.view();
        let (bucket, slot) = view.locate(key)?;
        let value = bucket.values[slot].load(Ordering::Relaxed);
        bucket.keys[slot].store(0, Ordering::Release);
        seam("an entry gone, still counted");
        let mut index = view.home(key);
        while !std::ptr::eq(&view.buckets[index], bucket) {
            view.buckets[index].passed.fetch_sub(1, Ordering::Release);
            index = (index + 1) & (view.buckets.len() - 1);
        }
        let place = Place { bucket: index, slot };
        self.len -= 1;
        self.vacated.waiting.insert(place);
        self.domain.retire(Vacating { place, passed: Arc::clone(&self.vacated.passed) });
        Some(value)
    }

    /// The entry of a key.
    pub fn get(&self, key: u64) -> Option<Row> {
        self.view().locate(key).map(|(bucket, slot)| row(bucket, slot))
    }

    /// All entries, in no order that means anything. Stamps that workers set while the table grows may
    /// appear only after they have passed and the writer changed something.
    pub fn iter(&self) -> impl Iterator<Item = Row> + '_ {
        let slots = |bucket| (0..SLOTS).map(move |slot| row(bucket, slot));
        self.view().buckets.iter().flat_map(slots).filter(|row| row.key != 0)
    }

    /// Removes the entries that are not to be kept, as ageing does; returns how many.
    pub fn retain(&mut self, mut keep: impl FnMut(Row) -> bool) -> usize {
        self.settle();
        let leaving: Vec<u64> = self.iter().filter(|row| !keep(*row)).map(|row| row.key).collect();
        leaving.into_iter().filter(|key| self.remove(*key).is_some()).count()
    }

    /// How many entries there are.
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
        size_of_val(self.view().buckets)
    }

    fn view(&self) -> ExactView<'_> {
        self.buckets.current().view()
    }

    /// Takes notice of readers that have passed.
    fn settle(&mut self) {
        while let Some(place) = self.vacated.passed.pop() {
            self.vacated.waiting.remove(&place);
        }
        while self.former.first().is_some_and(|former| former.passed.load(Ordering::Acquire)) {
            self.carry_stamps_over(self.former[0].buckets.view());
            self.former.remove(0);
        }
    }

    fn carry_stamps_over(&self, former: ExactView<'_>) {
        for (bucket, slot) in entries(former) {
            let stale = row(bucket, slot);
            if let Some((bucket, slot)) = self.view().locate(stale.key) {
                let stamp = &bucket.stamps[slot];
                // Stamps may wrap around: of two, the later is the one less than half a circle ahead.
                if (stale.last_seen.wrapping_sub(stamp.load(Ordering::Relaxed)) as i32) > 0 {
                    stamp.store(stale.last_seen, Ordering::Relaxed);
                }
            }
        }
    }

    /// Grows the table if one more entry would make it too full, as far as the limit on entries asks for.
    fn make_room(&mut self) -> Result<(), ExactError> {
        let needed = |table: &Self| buckets_for(table.len + table.vacated.waiting.len() + 1);
        let buckets = self.view().buckets.len();
        if needed(self) > buckets && !self.vacated.waiting.is_empty() {
            self.domain.reclaim();
            self.settle();
        }
        if needed(self) <= buckets || buckets >= buckets_for(self.entries_max) {
            return Ok(());
        }
        let larger = make(buckets * 2, self.buckets.current().seed)?;
        let none = HashSet::new();
        for (bucket, slot) in entries(self.view()) {
            let row = row(bucket, slot);
            let place = vacancy(larger.view(), row.key, &none).expect("the larger table has room for all entries");
            place_entry(larger.view(), place, row);
        }
        let passed = Arc::new(AtomicBool::new(false));
        let former = Former { buckets: Arc::clone(self.buckets.current()), passed: Arc::clone(&passed) };
        self.buckets.publish(larger);
        self.domain.retire(Passing(passed));
        self.former.push(former);
        self.vacated = Vacated::default();
        Ok(())
    }
}

fn make(buckets: usize, seed: u64) -> Result<Arc<Buckets>, ExactError> {
    let bytes = buckets * size_of::<Bucket>();
    Ok(Arc::new(Buckets::new(buckets, seed).map_err(|source| ExactError::Memory { bytes, source })?))
}

fn row(bucket: &Bucket, slot: usize) -> Row {
    Row {
        key: bucket.keys[slot].load(Ordering::Relaxed),
        value: bucket.values[slot].load(Ordering::Relaxed),
        last_seen: bucket.stamps[slot].load(Ordering::Relaxed),
    }
}

fn entries(view: ExactView<'_>) -> impl Iterator<Item = (&Bucket, usize)> {
    let slots = |bucket| (0..SLOTS).map(move |slot| (bucket, slot));
    view.buckets.iter().flat_map(slots).filter(|(bucket, slot)| bucket.keys[*slot].load(Ordering::Relaxed) != 0)
}

/// The first free slot from a key's home on, for a key that is not in the table.
fn vacancy(view: ExactView<'_>, key: u64, waiting: &HashSet<Place>) -> Option<Place> {
    let home = view.home(key);
    for step in 0..view.buckets.len() {
        let bucket = (home + step) & (view.buckets.len() - 1);
        for slot in 0..SLOTS {
            let place = Place { bucket, slot };
            if view.buckets[bucket].keys[slot].load(Ordering::Relaxed) == 0 && !waiting.contains(&place) {
                return Some(place);
            }
        }
    }
    None
}

/// Fills a vacancy that `vacancy` found; the key's store makes the entry visible as a whole.
fn place_entry(view: ExactView<'_>, place: Place, row: Row) {
    let mut index = view.home(row.key);
    while index != place.bucket {
        view.buckets[index].passed.fetch_add(1, Ordering::Release);
        index = (index + 1) & (view.buckets.len() - 1);
    }
    let bucket = &view.buckets[place.bucket];
    bucket.values[place.slot].store(row.value, Ordering::Relaxed);
    bucket.stamps[place.slot].store(row.last_seen, Ordering::Relaxed);
    seam("an entry written, its key not yet");
    bucket.keys[place.slot].store(row.key, Ordering::Release);
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn searches_are_short_again_when_entries_have_gone() {
        let mut table = ExactWriter::new(&Domain::new(), 500, 7).unwrap();
        for key in 1..=500 {
            table.insert(key, 0, 0).unwrap();
        }
        let passed = |table: &ExactWriter| -> u32 {
            table.view().buckets.iter().map(|bucket| bucket.passed.load(Ordering::Relaxed)).sum()
        };
        assert!(passed(&table) > 0, "some buckets are full");
        assert_eq!(table.retain(|_| false), 500);
        assert_eq!((passed(&table), table.iter().count()), (0, 0));
    }
}
