//! A directory of sessions that all workers read and write: from the hash of a key to a [`Reference`].
//!
//! Records are private to their owner, the worker of a session's first packet. The directory holds neither keys nor records, only
//! a tag of each key's hash and where its record is, so callers compare keys themselves. No caller takes a lock; readers never
//! wait and never retry.
//!
//! - **Places of a key.** Two buckets by two halves of the hash, then a row of buckets in the overflow area. An entry goes into the emptier
//!   one of the two. Where both are full, it goes into the first bucket with room of its row, and counts as a pass in each full
//!   bucket before. A search ends at a bucket that no key of its spot has passed.
//! - **No entry ever moves**, and the directory never grows, so a search cannot miss an entry that is there throughout.
//! - **One entry per key.** An insertion stores a tentative entry, which readers overlook, and then looks for others of the same
//!   key. Of two insertions at once at least one sees the other, as both store before they look. Only an insertion that has seen no
//!   other entry, or has undone all tentative ones that it saw, makes its entry live.
//!
//! Reasons and measurements: docs/decisions/0047-session-directory.md.
use crate::memory::prefetch;
use std::hint::select_unpredictable;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};

mod bucket;
mod buckets;
mod insert;
mod tags;
#[cfg(all(test, not(loom)))]
mod tests;

pub use bucket::Reference;
use bucket::{Bucket, Entry};
use buckets::Buckets;
use tags::SLOTS;

/// Result of [`Directory::insert`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Inserted {
    /// The new entry is there.
    New,
    /// Another entry of the same key was there; nothing was stored.
    Known(Reference),
    /// All places of the key are taken; nothing was stored.
    Full,
}

/// Buckets of the overflow area that an entry may lie in. A search of an overfull directory ends after them.
const ROW_MAX: usize = 64;
/// Counters of entries, of whose sum only is said what it is. Owners with equal numbers modulo this one share a counter.
const COUNTERS: usize = 64;

/// Insertions less removals of some owners, on lines of its own.
#[repr(align(128))]
struct Counter(AtomicU64);

/// A fixed number of entries, shared by all workers. See the [module](self).
///
/// A record's key must not change while an entry refers to it. A record may have several entries, of different keys; their kinds should
/// differ, because [`Directory::remove`] and [`Directory::replace`] identify an entry by tag and reference.
pub struct Directory {
    /// Those of the two choices, then the overflow area.
    buckets: Buckets,
    /// Where the overflow area begins.
    overflow: usize,
    capacity: usize,
    counters: Box<[Counter]>,
}

/// The places of a key, and the tag of its entry.
#[derive(Clone, Copy, Default)]
pub struct Home {
    /// The two buckets of the key.
    first: u32,
    second: u32,
    /// Bits of which the others are made: a product of the hash, whose upper bits depend on all of it.
    mixed: u64,
}

impl Home {
    /// Places of no key.
    pub const NONE: Home = Home { first: 0, second: 0, mixed: 0 };

    #[inline(always)]
    fn tag(&self) -> u16 {
        ((self.mixed >> 48) as u16).max(1)
    }
    /// Which of a bucket's passes count for the key.
    #[inline(always)]
    fn spot(&self) -> u16 {
        (self.mixed >> 13) as u16 % SLOTS as u16
    }
}

/// A number of so many values, from the lower half of these bits.
#[inline(always)]
fn part(bits: u64, of: usize) -> u32 {
    (((bits & 0xffff_ffff) * of as u64) >> 32) as u32
}

/// Where a slot is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Place {
    bucket: u32,
    slot: usize,
}

impl Directory {
    /// A directory for `capacity` entries, all of which fit. It takes 9.5 bytes for each, page by page as entries come.
    ///
    /// # Errors
    /// If the system refuses the address space.
    ///
    /// # Panics
    /// If the capacity is more than 2^32: indices of records have 32 bits.
    pub fn new(capacity: usize) -> io::Result<Directory> {
        assert!(capacity <= 1 << 32, "a directory has at most 2^32 entries, not {capacity}");
        // PERF: with sessions that come and go at full capacity, 9.9 % of them overflow (0047): a load of 80 % there.
        let overflow = (capacity + capacity / 16).div_ceil(SLOTS).max(1);
        let spare = if cfg!(loom) { 1 } else { capacity.div_ceil(8 * SLOTS) + 8 };
        Ok(Directory {
            buckets: Buckets::new(overflow + spare)?,
            overflow,
            capacity,
            counters: (0..COUNTERS).map(|_| Counter(AtomicU64::new(0))).collect(),
        })
    }

    /// The number of entries that fit. More may.
    pub fn capacity(&self) -> usize {
        self.capacity
    }

    /// Bytes of memory, once all pages have been used.
    pub fn bytes(&self) -> usize {
        self.buckets.len() * size_of::<Bucket>() + size_of_val(&*self.counters)
    }

    /// Number of slots, in which the load of the directory can be expressed.
    pub fn slots(&self) -> usize {
        self.buckets.len() * SLOTS
    }

    /// Number of entries; approximate while workers change it.
    pub fn len(&self) -> usize {
        self.len_of(COUNTERS)
    }

    /// Number of entries, if only the first so many owners have any: reads a line for each.
    pub fn len_of(&self, owners: usize) -> usize {
        let counters = self.counters.iter().take(owners);
        let sum = counters.fold(0_u64, |sum, counter| sum.wrapping_add(counter.0.load(Ordering::Relaxed)));
        // An entry's removal may be counted where its insertion was not yet seen.
        (sum as i64).max(0) as usize
    }

    /// Whether there are no entries, as [`Directory::len`] counts them.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The places of a key with this hash, of which the two lines are fetched where its entry nearly always is.
    #[inline(always)]
    pub fn prefetch(&self, hash: u64) -> Home {
        let home = self.home(hash);
        self.fetch(home.first);
        self.fetch(home.second);
        home
    }

    /// The first entry with a key's tag in its two buckets, unverified: so that its record can be fetched. It is the key's if the record
    /// has the key. Where that has another one, or where there is none, [`Directory::find`] has the answer; its line in the overflow area is fetched if the key may be there.
    #[inline(always)]
    pub fn candidate(&self, home: &Home) -> Option<Reference> {
        let (first, second) = (self.bucket(home.first)?, self.bucket(home.second)?);
        let slots = Bucket::with_tag_of_both(first, second, home.tag());
        if slots == 0 {
            if second.is_passed(home.spot()) {
                self.fetch(self.row(home));
            }
            return None;
        }
        let slot = slots.trailing_zeros() as usize;
        let entry = select_unpredictable(slot < SLOTS, first, second).entry(slot % SLOTS);
        (entry.has_tag(home.tag()) && !entry.is_tentative()).then(|| entry.reference())
    }

    /// The entry of a key with this hash, which `is` recognizes by the record.
    #[inline(always)]
    pub fn find(&self, hash: u64, mut is: impl FnMut(Reference) -> bool) -> Option<Reference> {
        self.search(&self.home(hash), |_, entry| {
            let to = entry.reference();
            (!entry.is_tentative() && is(to)).then_some(to)
        })
    }

    /// Changes an entry's reference where it lies: the session has another record now. The key stays. False if no entry
    /// has the old reference.
    pub fn replace(&self, hash: u64, old: Reference, new: Reference) -> bool {
        let home = self.home(hash);
        self.change(&home, old, Entry::live(home.tag(), new)).is_some()
    }

    /// Removes an entry. False if no entry has this reference.
    pub fn remove(&self, hash: u64, old: Reference) -> bool {
        let home = self.home(hash);
        let Some(place) = self.change(&home, old, Entry::FREE) else { return false };
        self.unpass(&home, self.step(&home, place));
        self.count(old.owner, -1);
        true
    }

    /// Changes the live entry with a reference, and tells where it was.
    fn change(&self, home: &Home, old: Reference, to: Entry) -> Option<Place> {
        let from = Entry::live(home.tag(), old);
        self.search(home, |place, entry| {
            let bucket = self.bucket(place.bucket)?;
            (entry == from && bucket.change(place.slot, from, to)).then_some(place)
        })
    }

    /// Calls `visit` with each entry of the key's tag, until it returns something. An entry that changed meanwhile is visited
    /// again: a key stays in its slot when its record is replaced, and the old record may already have another key.
    #[inline(always)]
    fn search<R>(&self, home: &Home, mut visit: impl FnMut(Place, Entry) -> Option<R>) -> Option<R> {
        for step in 0..self.steps() {
            let number = self.bucket_of(home, step);
            let bucket = self.bucket(number)?;
            let mut slots = bucket.with_tag(home.tag());
            while slots != 0 {
                let slot = slots.trailing_zeros() as usize;
                slots &= slots - 1;
                let mut entry = bucket.entry(slot);
                while entry.has_tag(home.tag()) {
                    if let Some(result) = visit(Place { bucket: number, slot }, entry) {
                        return Some(result);
                    }
                    let before = std::mem::replace(&mut entry, bucket.entry(slot));
                    if before == entry {
                        break;
                    }
                }
            }
            if step > 0 && !bucket.is_passed(home.spot()) {
                return None;
            }
        }
        None
    }

    /// The places of a key by its hash, whose halves and bits must all depend on the whole key.
    #[inline(always)]
    fn home(&self, hash: u64) -> Home {
        // Halves select the buckets.
        let mixed = hash.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        Home { first: part(hash >> 32, self.overflow), second: part(hash, self.overflow), mixed }
    }

    /// The first bucket of a key's row in the overflow area.
    #[inline(always)]
    fn row(&self, home: &Home) -> u32 {
        self.overflow as u32 + part(home.mixed >> 16, self.buckets.len() - self.overflow)
    }

    /// Steps of the longest search: the two buckets and a row.
    #[inline(always)]
    fn steps(&self) -> usize {
        2 + ROW_MAX.min(self.buckets.len() - self.overflow)
    }

    /// The bucket of a step of the search for a key.
    #[inline(always)]
    fn bucket_of(&self, home: &Home, step: usize) -> u32 {
        match step {
            0 => home.first,
            1 => home.second,
            _ => {
                let number = self.row(home) as usize + step - 2;
                // The area is a circle, and longer than a row or as long.
                let past = number.checked_sub(self.buckets.len());
                past.map_or(number, |past| self.overflow + past) as u32
            }
        }
    }

    /// The step at which a search comes to a place.
    fn step(&self, home: &Home, place: Place) -> usize {
        (0..self.steps()).find(|step| self.bucket_of(home, *step) == place.bucket).unwrap_or_default()
    }

    /// Counts a key out of the buckets that it passed on its way to a step.
    fn unpass(&self, home: &Home, step: usize) {
        for number in (1..step).map(|step| self.bucket_of(home, step)) {
            if let Some(bucket) = self.bucket(number) {
                bucket.unpass(home.spot());
            }
        }
    }

    #[inline(always)]
    fn bucket(&self, number: u32) -> Option<&Bucket> {
        self.buckets.get(number)
    }

    #[inline(always)]
    fn fetch(&self, bucket: u32) {
        prefetch(self.buckets.address(bucket));
    }

    /// Counts entries of an owner.
    #[inline(always)]
    fn count(&self, owner: u8, by: i64) {
        if let Some(counter) = self.counters.get(usize::from(owner) % COUNTERS) {
            counter.0.fetch_add(by as u64, Ordering::Relaxed);
        }
    }
}
