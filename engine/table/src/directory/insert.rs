//! Insertion: one entry per key, whoever inserts at the same time.
use super::bucket::{Bucket, Entry};
use super::{Directory, Home, Inserted, Place, Reference};
use crate::sync::spin_loop;

/// How often an insertion looks whether a tentative entry of its key, which goes first, has become live or is gone. Then it undoes that
/// entry: its worker does not run. It inserts again when it does, and finds this one. The model of loom needs few.
const LOOKS_MAX: u32 = if cfg!(loom) { 1 } else { 64 };

/// A tentative entry.
struct Tentative {
    entry: Entry,
    place: Place,
    /// The step of the search at which its place comes.
    step: usize,
}

impl Directory {
    /// Stores an entry unless there is one of the same key, which `is_same` recognizes by the record. The new entry's record must have its
    /// key already. Of two insertions of one key at once, one stores its entry, and the other one is told of it.
    ///
    /// Never waits for another worker for more than some looks at a few lines.
    pub fn insert(&self, hash: u64, new: Reference, mut is_same: impl FnMut(Reference) -> bool) -> Inserted {
        let home = self.home(hash);
        let entry = Entry::live(home.tag, new);
        loop {
            if let Some(known) = self.find(hash, &mut is_same) {
                return Inserted::Known(known);
            }
            let Some(mine) = self.place(&home, entry.tentative()) else {
                // The same key may have taken the last place.
                return self.find(hash, &mut is_same).map_or(Inserted::Full, Inserted::Known);
            };
            if let Some(known) = self.look(&home, &mine, &mut is_same) {
                self.at(mine.place, |bucket, slot| bucket.change(slot, mine.entry, Entry::FREE));
                self.unpass(&home, mine.step);
                return Inserted::Known(known);
            }
            if self.at(mine.place, |bucket, slot| bucket.change(slot, mine.entry, entry)) {
                self.count(new.owner, 1);
                return Inserted::New;
            }
            // Another insertion of this key has undone it.
            self.unpass(&home, mine.step);
        }
    }

    /// Stores a tentative entry in one of its places. None if all are taken.
    #[inline(always)]
    fn place(&self, home: &Home, entry: Entry) -> Option<Tentative> {
        let put = |number: usize, step| {
            let slot = self.buckets.get(number)?.put(entry)?;
            Some(Tentative { entry, place: Place { bucket: number, slot }, step })
        };
        let room = |number: usize| self.buckets.get(number).map_or(0, Bucket::room);
        let placed = if room(home.second) > room(home.first) {
            put(home.second, 1).or_else(|| put(home.first, 0))
        } else {
            put(home.first, 0).or_else(|| put(home.second, 1))
        };
        placed.or_else(|| self.place_in_row(home, room, put))
    }

    /// The same beyond the two buckets, which are full.
    #[cold]
    fn place_in_row(
        &self,
        home: &Home,
        room: impl Fn(usize) -> u32,
        put: impl Fn(usize, usize) -> Option<Tentative>,
    ) -> Option<Tentative> {
        let mut passed = 1;
        for step in 2..self.steps() {
            let number = self.bucket_of(home, step);
            if room(number) == 0 {
                continue;
            }
            // A search that comes by between these and the entry only looks further than it has to.
            for step in passed..step {
                self.buckets.get(self.bucket_of(home, step))?.pass(home.spot);
            }
            passed = step;
            if let Some(placed) = put(number, step) {
                return Some(placed);
            }
        }
        self.unpass(home, passed);
        None
    }

    /// Looks for another entry of the key, after a tentative one was stored: returns a live one. Undoes tentative ones that lie behind
    /// ours, and gives those before it some time. Without any, ours can become live.
    #[inline(always)]
    fn look(&self, home: &Home, mine: &Tentative, is_same: &mut impl FnMut(Reference) -> bool) -> Option<Reference> {
        after_storing();
        for look in 0.. {
            let mut waits = false;
            let known = self.search(home, |place, entry| {
                if place == mine.place || !is_same(entry.reference()) {
                    return None;
                }
                if !entry.is_tentative() {
                    return Some(entry.reference());
                }
                if place < mine.place && look < LOOKS_MAX {
                    waits = true;
                } else {
                    // If it was changed first, the search visits it again.
                    self.at(place, |bucket, slot| bucket.change(slot, entry, Entry::FREE));
                }
                None
            });
            if known.is_some() || !waits {
                return known;
            }
            spin_loop();
        }
        None
    }

    #[inline(always)]
    fn at(&self, place: Place, change: impl FnOnce(&Bucket, usize) -> bool) -> bool {
        self.buckets.get(place.bucket).is_some_and(|bucket| change(bucket, place.slot))
    }
}

/// Nothing but for loom, which takes sequentially consistent accesses for weaker ones than they are, and fences for what they are.
#[inline(always)]
fn after_storing() {
    #[cfg(loom)]
    crate::sync::fence(crate::sync::Ordering::SeqCst);
}
