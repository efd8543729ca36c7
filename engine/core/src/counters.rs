//! Counters with one writer each, a worker, and any number of readers.
//!
//! A [`Counters`] is a vector of (packets, bytes) pairs by index (interface, adjacency, route), with a [`Row`] for every
//! worker. Rows grow in segments that double, so a counter never moves while its writer runs; control grows them before
//! it hands out an index, and a worker that counts an index without a segment counts nothing.

use crate::isa::Mask16;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, OnceLock};

/// One counter, written by one thread only: plain loads and stores do, no locked instruction.
#[derive(Default, Debug)]
pub struct Counter(AtomicU64);

impl Counter {
    /// Adds `n`; only the owning thread may call it, others would lose counts (but nothing worse).
    #[inline(always)]
    pub fn add(&self, n: u64) {
        self.0.store(self.0.load(Relaxed).wrapping_add(n), Relaxed);
    }
    /// Raises the counter to `n` if it is less: for the largest value seen.
    #[inline(always)]
    pub fn raise(&self, n: u64) {
        if n > self.0.load(Relaxed) {
            self.0.store(n, Relaxed);
        }
    }
    /// The value, at most a moment old.
    pub fn get(&self) -> u64 {
        self.0.load(Relaxed)
    }
}

/// What passed somewhere.
#[derive(Default, Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Traffic {
    /// Packets.
    pub packets: u64,
    /// Their bytes.
    pub bytes: u64,
}

/// Packets and bytes.
#[derive(Default, Debug)]
struct Pair {
    packets: Counter,
    bytes: Counter,
}

const FIRST_BITS: u32 = 6;
const SEGMENTS: usize = 26;

/// The counters of one worker.
#[derive(Debug)]
pub struct Row {
    segments: [OnceLock<Box<[Pair]>>; SEGMENTS],
}

impl Default for Row {
    fn default() -> Row {
        Row { segments: [const { OnceLock::new() }; SEGMENTS] }
    }
}

/// Segment and place in it: segment k holds 64 << k counters.
#[inline(always)]
fn place(index: u32) -> (usize, usize) {
    let shifted = u64::from(index) + (1 << FIRST_BITS);
    let segment = 63 - shifted.leading_zeros() - FIRST_BITS;
    (segment as usize, (shifted - (1 << (segment + FIRST_BITS))) as usize)
}

impl Row {
    /// Counts packets and bytes at an index.
    #[inline(always)]
    pub fn add(&self, index: u32, packets: u64, bytes: u64) {
        if let Some(pair) = self.pair(index) {
            pair.packets.add(packets);
            pair.bytes.add(bytes);
        }
    }
    /// Counts a packet of so many bytes at the index of each lane.
    #[inline(always)]
    pub fn add_lanes(&self, lanes: Mask16, indexes: &[u32; 16], bytes: &[u32; 16]) {
        // Indexes are near each other more often than not: a segment is looked up when it changes.
        let (mut last, mut pairs) = (SEGMENTS, &[][..]);
        for lane in lanes {
            let (segment, at) = place(indexes[lane]);
            if segment != last {
                let found = self.segments.get(segment).and_then(OnceLock::get);
                (last, pairs) = (segment, found.map_or(&[][..], |pairs| &**pairs));
            }
            if let Some(pair) = pairs.get(at) {
                pair.packets.add(1);
                pair.bytes.add(bytes[lane].into());
            }
        }
    }
    /// Asks for the line of a counter to be brought near.
    #[inline(always)]
    pub fn prefetch(&self, index: u32) {
        if let Some(pair) = self.pair(index) {
            crate::isa::prefetch(pair);
        }
    }
    #[inline(always)]
    fn pair(&self, index: u32) -> Option<&Pair> {
        let (segment, at) = place(index);
        self.segments.get(segment)?.get()?.get(at)
    }
    fn grow(&self, capacity: u32) {
        for segment in 0..=place(capacity.saturating_sub(1)).0.min(SEGMENTS - 1) {
            self.segments[segment]
                .get_or_init(|| (0..1usize << (segment as u32 + FIRST_BITS)).map(|_| Pair::default()).collect());
        }
    }
}

/// A vector of counters, a row for each worker.
#[derive(Clone, Debug)]
pub struct Counters {
    rows: Arc<[Arc<Row>]>,
}

impl Counters {
    /// Counters for `workers` workers; call [`Counters::grow`] before the first index is used.
    pub fn new(workers: usize) -> Counters {
        Counters { rows: (0..workers).map(|_| Arc::default()).collect() }
    }
    /// Makes room for the indexes below `capacity`.
    pub fn grow(&self, capacity: u32) {
        self.rows.iter().for_each(|row| row.grow(capacity));
    }
    /// The row that worker `worker` writes; the last one if there are fewer.
    pub fn row(&self, worker: usize) -> Arc<Row> {
        self.rows[worker.min(self.rows.len() - 1)].clone()
    }
    /// What all workers counted.
    pub fn sum(&self, index: u32) -> Traffic {
        let mut sum = Traffic::default();
        for pair in self.rows.iter().filter_map(|row| row.pair(index)) {
            sum.packets += pair.packets.get();
            sum.bytes += pair.bytes.get();
        }
        sum
    }
    /// Sets an index back to zero. Counts that workers add at the same moment may be lost.
    pub fn clear(&self, index: u32) {
        for pair in self.rows.iter().filter_map(|row| row.pair(index)) {
            pair.packets.0.store(0, Relaxed);
            pair.bytes.0.store(0, Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_dense_and_distinct() {
        assert_eq!(place(0), (0, 0));
        assert_eq!(place(63), (0, 63));
        assert_eq!(place(64), (1, 0));
        assert_eq!(place(191), (1, 127));
        assert_eq!(place(192), (2, 0));
        assert_eq!(place(u32::MAX), (26, 63));
    }

    #[test]
    fn counts_survive_growth_and_add_up_over_workers() {
        let counters = Counters::new(2);
        let of = |packets, bytes| Traffic { packets, bytes };
        counters.row(0).add(5, 1, 100);
        assert_eq!(counters.sum(5), of(0, 0), "no room yet: nothing is counted");
        counters.grow(6);
        counters.row(0).add(5, 1, 100);
        counters.grow(1000);
        counters.row(1).add(5, 2, 50);
        counters.row(1).add(999, 7, 7);
        assert_eq!((counters.sum(5), counters.sum(999)), (of(3, 150), of(7, 7)));
        counters.clear(5);
        assert_eq!(counters.sum(5), of(0, 0));
        let indexes = [0, 5, 63, 64, 1000, 5, 999, 1_000_000, 1, 2, 3, 4, 5, 6, 7, 8];
        counters.row(0).add_lanes(Mask16(0b1111_1111), &indexes, &[10; 16]);
        assert_eq!([5, 64, 999].map(|index| counters.sum(index)), [of(2, 20), of(1, 10), of(8, 17)]);
        let others = [8, 1_000_000].map(|index| counters.sum(index));
        assert_eq!(others, [of(0, 0); 2], "a lane that is not counted, and one without room");
    }
}
