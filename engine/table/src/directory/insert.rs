//! Insertion: one entry per key, also if several workers insert it at the same time.
use super::bucket::{Bucket, Entry, Survey};
use super::{Directory, Home, Inserted, Place, Reference};
use crate::sync::spin_loop;
use std::hint::select_unpredictable;

/// How often an insertion looks whether a tentative entry of its key, which goes first, has become live or is gone. Then it undoes that
/// entry: its worker does not run. It inserts again when it does, and finds this one. The model of loom needs few.
const LOOKS_MAX: u32 = if cfg!(loom) { 1 } else { 64 };

/// The two buckets of a key at one time.
pub(super) struct Surveys {
    first: Survey,
    second: Survey,
    /// Whether entries of the key's spot may lie beyond.
    is_passed: bool,
}

impl Surveys {
    /// Whether there may be other entries of the key than so many of its tag in the two buckets.
    #[inline(always)]
    fn may_have_others(&self, own: u32) -> bool {
        self.first.tagged + self.second.tagged > own || self.is_passed
    }
}

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
        let entry = Entry::live(home.tag(), new);
        loop {
            let Some(survey) = self.survey(&home) else { return Inserted::Full };
            // Mostly the key is new, and there is nothing to search for.
            if survey.may_have_others(0)
                && let Some(known) = self.find(hash, &mut is_same)
            {
                return Inserted::Known(known);
            }
            let Some(mine) = self.place(&home, &survey, entry.tentative()) else {
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

    /// Looks at the two buckets of a key.
    #[inline(always)]
    fn survey(&self, home: &Home) -> Option<Surveys> {
        let (first, second) = (self.bucket(home.first)?, self.bucket(home.second)?);
        Some(Surveys {
            first: first.survey(home.tag()),
            second: second.survey(home.tag()),
            is_passed: second.is_passed(home.spot()),
        })
    }

    /// Stores a tentative entry in one of its places. None if all are taken.
    #[inline(always)]
    fn place(&self, home: &Home, survey: &Surveys, entry: Entry) -> Option<Tentative> {
        let Surveys { first, second, .. } = survey;
        let is_second = second.room > first.room;
        let number = select_unpredictable(is_second, home.second, home.first);
        let free = select_unpredictable(is_second, second.free, first.free);
        if let Some(slot) = self.bucket(number)?.put(entry, free) {
            return Some(Tentative { entry, place: Place { bucket: number, slot }, step: usize::from(is_second) });
        }
        self.place_in_row(home, entry)
    }

    /// The same where the emptier bucket is full, at least by now.
    #[cold]
    fn place_in_row(&self, home: &Home, entry: Entry) -> Option<Tentative> {
        let mut passed = 1;
        for step in 0..self.steps() {
            let number = self.bucket_of(home, step);
            let bucket = self.bucket(number)?;
            let free = bucket.with_tag(0);
            if free == 0 {
                continue;
            }
            // A search that comes by between these and the entry only looks further than it has to.
            for step in passed..step {
                self.bucket(self.bucket_of(home, step))?.pass(home.spot());
            }
            passed = passed.max(step);
            if let Some(slot) = bucket.put(entry, free) {
                return Some(Tentative { entry, place: Place { bucket: number, slot }, step });
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
        // Mostly ours is the only one of its tag.
        if self.survey(home).is_some_and(|survey| !survey.may_have_others(1)) && mine.step < 2 {
            return None;
        }
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
        self.bucket(place.bucket).is_some_and(|bucket| change(bucket, place.slot))
    }
}

/// Nothing but for loom, which takes sequentially consistent accesses for weaker ones than they are, and fences for what they are.
#[inline(always)]
fn after_storing() {
    #[cfg(loom)]
    crate::sync::fence(crate::sync::Ordering::SeqCst);
}

/// A worker that is stopped in the middle of an insertion, for tests.
#[cfg(all(test, not(loom)))]
impl Directory {
    pub(super) fn insert_half(&self, hash: u64, new: Reference) -> (Place, Entry) {
        let home = self.home(hash);
        let survey = self.survey(&home).expect("buckets");
        let mine = self.place(&home, &survey, Entry::live(home.tag(), new).tentative()).expect("room");
        (mine.place, mine.entry)
    }
}
