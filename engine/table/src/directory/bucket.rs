//! A bucket of the directory: a cache line of slots, each of them one atomic word.
//!
//! | bits of a slot | contents |
//! |---|---|
//! | 48 to 63 | tag of the entry's hash; zero in a free slot |
//! | 47 | the entry is tentative: its insertion may still be undone |
//! | 44 to 46 | passes: keys of this spot that were stored in later buckets because this one was full, 7 for 7 or more |
//! | 0 to 43 | the entry's [`Reference`] |
//!
//! The passes belong to the bucket, not to the entry: they stay when the slot is filled, changed or emptied.
use super::tags::{SLOTS, TAG_SHIFT, Tags};
use crate::sync::{AtomicU64, Ordering};

/// Words without a tag are below, and those whose tag was taken away by exclusive or.
const NO_TAG: u64 = 1 << TAG_SHIFT;
const TENTATIVE: u64 = 1 << 47;
const PASS: u64 = 1 << 44;
const PASSES: u64 = 7 * PASS;
const OWNER_SHIFT: u32 = 32;
const KIND_SHIFT: u32 = 40;

/// Where a session's record is.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Reference {
    /// Worker that owns the record.
    pub owner: u8,
    /// Pool of the owner that has the record, 0 to 15; the directory stores the lower four bits.
    pub kind: u8,
    /// Number of the record in its pool.
    pub index: u32,
}

impl Reference {
    /// Largest kind.
    pub const KIND_MAX: u8 = 15;
}

/// The entry in a slot, if there is one, without the passes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Entry(u64);

impl Entry {
    pub(super) const FREE: Entry = Entry(0);

    /// A live entry. The tag is not zero.
    #[inline(always)]
    pub(super) fn live(tag: u16, to: Reference) -> Entry {
        let kind = u64::from(to.kind & Reference::KIND_MAX) << KIND_SHIFT;
        let owner = u64::from(to.owner) << OWNER_SHIFT;
        Entry(u64::from(tag) << TAG_SHIFT | kind | owner | u64::from(to.index))
    }
    #[inline(always)]
    pub(super) fn tentative(self) -> Entry {
        Entry(self.0 | TENTATIVE)
    }
    #[inline(always)]
    pub(super) fn is_tentative(self) -> bool {
        self.0 & TENTATIVE != 0
    }
    #[inline(always)]
    pub(super) fn has_tag(self, tag: u16) -> bool {
        self.0 >> TAG_SHIFT == u64::from(tag)
    }
    #[inline(always)]
    pub(super) fn reference(self) -> Reference {
        Reference {
            owner: (self.0 >> OWNER_SHIFT) as u8,
            kind: (self.0 >> KIND_SHIFT) as u8 & Reference::KIND_MAX,
            index: self.0 as u32,
        }
    }
}

/// Slots of a bucket at one time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Survey {
    /// The free ones, a bit each.
    pub(super) free: u32,
    /// The number of free ones.
    pub(super) room: u32,
    /// The number of those with the tag that was asked for.
    pub(super) tagged: u32,
}

/// A cache line of slots.
#[cfg_attr(not(loom), derive(zerocopy::FromZeros))]
#[repr(C, align(64))]
pub(super) struct Bucket([AtomicU64; SLOTS]);

impl Bucket {
    #[cfg(any(loom, test))]
    pub(super) fn new() -> Bucket {
        Bucket(std::array::from_fn(|_| AtomicU64::new(0)))
    }

    /// The slots with a tag, a bit each. Without branches: which slot it is depends on chance.
    #[inline(always)]
    pub(super) fn with_tag(&self, tag: u16) -> u32 {
        self.tags().equal(tag)
    }

    /// The same of two buckets, those of the second behind those of the first.
    #[inline(always)]
    pub(super) fn with_tag_of_both(first: &Bucket, second: &Bucket, tag: u16) -> u32 {
        Tags::equal_of_both([first.tags(), second.tags()], tag)
    }

    /// Counts the free slots, and those with a tag.
    #[inline(always)]
    pub(super) fn survey(&self, tag: u16) -> Survey {
        let tags = self.tags();
        let free = tags.equal(0);
        Survey { free, room: free.count_ones(), tagged: tags.equal(tag).count_ones() }
    }

    #[inline(always)]
    fn tags(&self) -> Tags {
        Tags::of(&self.0)
    }

    /// The entry in a slot.
    ///
    /// Sequentially consistent, as all of this file is: of two insertions that look for each other, one sees the other.
    /// Such a load is a plain one on x86.
    #[inline(always)]
    pub(super) fn entry(&self, slot: usize) -> Entry {
        self.0.get(slot).map_or(Entry::FREE, |slot| Entry(slot.load(Ordering::SeqCst) & !PASSES))
    }

    /// Stores an entry in a free slot, if one of those that were free still is. None if not.
    #[inline(always)]
    pub(super) fn put(&self, entry: Entry, mut free: u32) -> Option<usize> {
        while free != 0 {
            let number = free.trailing_zeros() as usize;
            let slot = self.0.get(number)?;
            let mut word = slot.load(Ordering::Relaxed);
            while word < NO_TAG {
                match slot.compare_exchange(word, word | entry.0, Ordering::SeqCst, Ordering::Relaxed) {
                    Ok(_) => return Some(number),
                    Err(now) => word = now,
                }
            }
            free &= free - 1;
        }
        None
    }

    /// Replaces an entry where it lies. False if the slot has another one, or none.
    #[inline(always)]
    pub(super) fn change(&self, slot: usize, from: Entry, to: Entry) -> bool {
        let Some(slot) = self.0.get(slot) else { return false };
        // Most often there are no passes, and nothing to read before.
        let mut word = from.0;
        loop {
            match slot.compare_exchange(word, word & PASSES | to.0, Ordering::SeqCst, Ordering::Relaxed) {
                Ok(_) => return true,
                Err(now) if now & !PASSES == from.0 => word = now,
                Err(_) => return false,
            }
        }
    }

    /// Whether a key of this spot may lie in a later bucket.
    #[inline(always)]
    pub(super) fn is_passed(&self, spot: u16) -> bool {
        self.0.get(usize::from(spot) % SLOTS).is_some_and(|slot| slot.load(Ordering::SeqCst) & PASSES != 0)
    }

    /// A key of this spot goes to a later bucket: before its entry is there.
    pub(super) fn pass(&self, spot: u16) {
        self.count(spot, |word| (word & PASSES != PASSES).then(|| word + PASS));
    }

    /// A key of this spot has left later buckets. From 7 on the number of passes is not known, so it stays.
    pub(super) fn unpass(&self, spot: u16) {
        self.count(spot, |word| (word & PASSES != 0 && word & PASSES != PASSES).then(|| word - PASS));
    }

    fn count(&self, spot: u16, change: impl FnMut(u64) -> Option<u64>) {
        if let Some(slot) = self.0.get(usize::from(spot) % SLOTS) {
            // Refused where the number is to stay.
            let _ = slot.fetch_update(Ordering::SeqCst, Ordering::SeqCst, change);
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    const TO: Reference = Reference { owner: 200, kind: 15, index: u32::MAX - 1 };

    #[test]
    fn an_entry_keeps_every_bit_of_its_reference() {
        for to in [TO, Reference { owner: 0, kind: 0, index: 0 }, Reference { owner: 255, kind: 1, index: 1 << 31 }] {
            for entry in [Entry::live(1, to), Entry::live(u16::MAX, to).tentative()] {
                assert_eq!(entry.reference(), to);
                assert_ne!(entry, Entry::FREE);
            }
        }
        assert!(Entry::live(7, TO).has_tag(7) && !Entry::live(7, TO).has_tag(6));
        assert!(!Entry::live(7, TO).is_tentative() && Entry::live(7, TO).tentative().is_tentative());
    }

    #[test]
    fn tags_are_found_in_every_slot_whatever_their_bits() {
        for tag in [1, 2, 0x7fff, 0x8000, 0x8001, 0xffff] {
            let (bucket, other) = (Bucket::new(), Bucket::new());
            assert_eq!(bucket.put(Entry::live(tag ^ 0x4000, TO), !0), Some(0));
            for slot in 1..SLOTS {
                assert_eq!(bucket.put(Entry::live(tag, TO), 1 << slot), Some(slot));
                assert_eq!(bucket.with_tag(tag), (2 << slot) - 2, "{tag:#x}");
                assert_eq!(Bucket::with_tag_of_both(&other, &bucket, tag), ((2 << slot) - 2) << SLOTS);
                assert_eq!(Bucket::with_tag_of_both(&bucket, &other, tag), (2 << slot) - 2);
            }
            assert_eq!((bucket.with_tag(0), other.with_tag(0)), (0, 0xff));
        }
    }

    #[test]
    fn passes_stay_while_entries_come_and_go() {
        let bucket = Bucket::new();
        assert_eq!(size_of::<Bucket>(), 64);
        bucket.pass(0);
        let entry = Entry::live(5, TO);
        for slot in 0..SLOTS {
            let survey = bucket.survey(5);
            assert_eq!((survey.room as usize, survey.tagged as usize), (SLOTS - slot, slot));
            assert_eq!(bucket.put(entry, survey.free), Some(slot));
        }
        assert_eq!(bucket.survey(5), Survey { free: 0, room: 0, tagged: 8 });
        assert_eq!((bucket.put(entry, 0xff), bucket.with_tag(5), bucket.with_tag(0)), (None, 0xff, 0));
        assert!(bucket.is_passed(0) && !bucket.is_passed(1));
        assert!(bucket.change(0, entry, entry.tentative()) && !bucket.change(0, entry, Entry::FREE));
        assert_eq!(bucket.entry(0), entry.tentative());
        assert!(bucket.change(0, entry.tentative(), Entry::FREE));
        assert_eq!((bucket.with_tag(0), bucket.with_tag(5), bucket.is_passed(0)), (1, 0xfe, true));
        bucket.unpass(0);
        bucket.unpass(0);
        assert!(!bucket.is_passed(0));
        assert_eq!(bucket.entry(0), Entry::FREE);
    }

    #[test]
    fn passes_beyond_seven_stay_for_ever() {
        let bucket = Bucket::new();
        (0..6).for_each(|_| bucket.pass(3));
        (0..6).for_each(|_| bucket.unpass(3));
        assert!(!bucket.is_passed(3));
        (0..8).for_each(|_| bucket.pass(3));
        (0..8).for_each(|_| bucket.unpass(3));
        assert!(bucket.is_passed(3));
        assert_eq!(bucket.entry(3), Entry::FREE);
    }
}
