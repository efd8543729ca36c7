//! A line of an exact-match table: keys, values, and for some kinds of keys stamps.
use crate::memory::Cell;
use std::hint::select_unpredictable;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// Entries per bucket.
pub(super) const SLOTS: usize = 3;

/// In [`Line::passed`], a bit for each slot: its entry was removed, and the slot waits until no reader can be looking at
/// it. Only the writer asks.
pub(super) const WAITING: u32 = 1 << 29;
/// The rest of [`Line::passed`].
pub(super) const PASSED: u32 = WAITING - 1;

/// A stamp that is never stored: of readers that only want to know.
pub const STILL: u32 = u32::MAX;

/// A line with three entries, none of which has a key at first.
///
/// An entry is there as a whole once its key is, and its key goes first. A slot has no other entry before all readers who may
/// look at it have passed, which is the writer's affair.
pub trait Line: Cell {
    /// Key of an entry. One value of each type is reserved to mark empty slots.
    type Key: Copy + Eq;
    /// Value of an entry.
    type Value: Copy + Eq;

    /// Whether entries may have this key.
    fn is_key(key: Self::Key) -> bool;
    /// A number by which keys lie apart, all of whose bits depend on all bits of the key and the seed: neither neighbouring
    /// keys nor chosen ones pile up in one line.
    fn spread(key: Self::Key, seed: u64) -> u64;
    /// The slot of a key.
    fn find(&self, key: Self::Key) -> Option<usize>;
    /// The value in a slot that was found.
    fn value(&self, slot: usize) -> Option<Self::Value>;
    /// The entry in a slot, if there is one, as the writer sees it.
    fn row(&self, slot: usize) -> Option<Row<Self::Key, Self::Value>>;
    /// Changes the value and the stamp of an entry that is there.
    fn set(&self, slot: usize, row: &Row<Self::Key, Self::Value>);
    /// Stores the key, which makes the entry visible.
    fn set_key(&self, slot: usize, key: Self::Key);
    /// Takes the key away.
    fn clear(&self, slot: usize);
    /// Stamps an entry that is there.
    fn stamp(&self, slot: usize, stamp: u32);
    /// Number of entries that lie in later lines because this line was full; a search ends where it is zero. The bits
    /// above it, from `WAITING` on, mark the slots that wait.
    fn passed(&self) -> &AtomicU32;
}

/// An entry as the writer sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row<K = u64, V = u64> {
    /// The key, not zero.
    pub key: K,
    /// The value.
    pub value: V,
    /// The stamp that the writer or a worker set last; zero where there are none.
    pub last_seen: u32,
}

/// A row of a table with such lines.
pub(super) type RowOf<L> = Row<<L as Line>::Key, <L as Line>::Value>;

/// Keys and values of 64 bits with a stamp each: a MAC address and its bridge domain, say. 0 is no key.
#[derive(zerocopy::FromZeros)]
#[repr(C, align(64))]
pub struct Keys64 {
    keys: [AtomicU64; SLOTS],
    values: [AtomicU64; SLOTS],
    pub(super) stamps: [AtomicU32; SLOTS],
    passed: AtomicU32,
}

/// Keys of 128 bits with values of 32: IPv6 addresses, say. Those whose lower half is zero are none.
#[derive(zerocopy::FromZeros)]
#[repr(C, align(64))]
pub struct Keys128 {
    lower: [AtomicU64; SLOTS],
    upper: [AtomicU64; SLOTS],
    values: [AtomicU32; SLOTS],
    passed: AtomicU32,
}

/// Half of the digits of the golden ratio, as a number without small factors.
const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

/// Both halves of a product depend on all bits of the number.
#[inline(always)]
fn fold(number: u64) -> u64 {
    let product = u128::from(number) * u128::from(GOLDEN);
    (product >> 64) as u64 ^ product as u64
}

/// The slot with no difference from a key.
///
/// Which one it is depends on chance, and a branch that guesses wrong costs more than the line. So look for the least
/// difference: the compiler would turn plain comparisons back into branches.
/// PERF: 12 ticks instead of 21 (1,000 entries, Zen 4).
#[inline(always)]
fn equal(difference: impl Fn(usize) -> u64) -> Option<usize> {
    let (mut slot, mut least) = (0, difference(0));
    for other in 1..SLOTS {
        let difference = difference(other);
        slot = select_unpredictable(difference < least, other, slot);
        least = least.min(difference);
    }
    (least == 0).then_some(slot)
}

impl Line for Keys64 {
    type Key = u64;
    type Value = u64;

    #[inline(always)]
    fn is_key(key: u64) -> bool {
        key != 0
    }
    #[inline(always)]
    fn spread(key: u64, seed: u64) -> u64 {
        fold(key ^ seed)
    }
    #[inline(always)]
    fn find(&self, key: u64) -> Option<usize> {
        equal(|slot| self.keys[slot].load(Ordering::Acquire) ^ key)
    }
    #[inline(always)]
    fn value(&self, slot: usize) -> Option<u64> {
        Some(self.values.get(slot)?.load(Ordering::Acquire))
    }
    fn row(&self, slot: usize) -> Option<Row> {
        let row = Row {
            key: self.keys[slot].load(Ordering::Relaxed),
            value: self.values[slot].load(Ordering::Relaxed),
            last_seen: self.stamps[slot].load(Ordering::Relaxed),
        };
        (row.key != 0).then_some(row)
    }
    fn set(&self, slot: usize, row: &Row) {
        self.values[slot].store(row.value, Ordering::Release);
        self.stamp(slot, row.last_seen);
    }
    fn set_key(&self, slot: usize, key: u64) {
        self.keys[slot].store(key, Ordering::Release);
    }
    fn clear(&self, slot: usize) {
        self.keys[slot].store(0, Ordering::Release);
    }
    fn stamp(&self, slot: usize, stamp: u32) {
        self.stamps[slot].store(stamp, Ordering::Relaxed);
    }
    #[inline(always)]
    fn passed(&self) -> &AtomicU32 {
        &self.passed
    }
}

impl Line for Keys128 {
    type Key = u128;
    type Value = u32;

    #[inline(always)]
    fn is_key(key: u128) -> bool {
        key as u64 != 0
    }
    #[inline(always)]
    fn spread(key: u128, seed: u64) -> u64 {
        fold(fold(key as u64 ^ seed) ^ (key >> 64) as u64)
    }
    #[inline(always)]
    fn find(&self, key: u128) -> Option<usize> {
        // The upper half was stored before the lower one was, and stays while anybody may look at it.
        equal(|slot| {
            let lower = self.lower[slot].load(Ordering::Acquire) ^ key as u64;
            lower | self.upper[slot].load(Ordering::Relaxed) ^ (key >> 64) as u64
        })
    }
    #[inline(always)]
    fn value(&self, slot: usize) -> Option<u32> {
        Some(self.values.get(slot)?.load(Ordering::Acquire))
    }
    fn row(&self, slot: usize) -> Option<Row<u128, u32>> {
        let half = |half: &[AtomicU64; SLOTS]| u128::from(half[slot].load(Ordering::Relaxed));
        let key = half(&self.upper) << 64 | half(&self.lower);
        let value = self.values[slot].load(Ordering::Relaxed);
        Keys128::is_key(key).then_some(Row { key, value, last_seen: 0 })
    }
    fn set(&self, slot: usize, row: &Row<u128, u32>) {
        self.values[slot].store(row.value, Ordering::Release);
    }
    fn set_key(&self, slot: usize, key: u128) {
        self.upper[slot].store((key >> 64) as u64, Ordering::Relaxed);
        self.lower[slot].store(key as u64, Ordering::Release);
    }
    fn clear(&self, slot: usize) {
        self.lower[slot].store(0, Ordering::Release);
    }
    fn stamp(&self, _: usize, _: u32) {}
    #[inline(always)]
    fn passed(&self) -> &AtomicU32 {
        &self.passed
    }
}

/// An entry that was found, as it was then.
#[derive(Clone, Copy)]
pub struct Entry<'g> {
    pub(super) value: u64,
    pub(super) stamp: &'g AtomicU32,
}

impl Entry<'_> {
    /// The stored value.
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

/// The later of two stamps, which wrap around: the one less than half a circle ahead.
pub(super) fn later(one: u32, other: u32) -> u32 {
    if other.wrapping_sub(one) as i32 > 0 { other } else { one }
}
