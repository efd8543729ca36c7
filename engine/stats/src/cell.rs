//! Cells of counters. One thread writes a counter, any number of threads read it.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// One counter, written by one thread only: plain loads and stores do, no locked instruction.
#[derive(Default, Debug)]
#[repr(transparent)]
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
    /// Sets it. Counts that its thread adds at the same moment may be lost.
    pub fn set(&self, n: u64) {
        self.0.store(n, Relaxed);
    }
    /// The value, at most a moment old.
    pub fn get(&self) -> u64 {
        self.0.load(Relaxed)
    }
}

/// Packets and their bytes.
#[derive(Default, Debug)]
#[repr(C)]
pub struct Pair {
    /// Packets.
    pub packets: Counter,
    /// Their bytes.
    pub bytes: Counter,
}

impl Pair {
    /// Adds both; as [`Counter::add`].
    #[inline(always)]
    pub fn add(&self, packets: u64, bytes: u64) {
        self.packets.add(packets);
        self.bytes.add(bytes);
    }
}

/// A type that consists of counters only; zero bytes are counters with a count of zero.
pub trait CounterBlock: sealed::Sealed + Default + Send + Sync + 'static {
    /// Its words of eight bytes.
    const WORDS: usize = size_of::<Self>() / 8;
}
impl CounterBlock for Counter {}
impl CounterBlock for Pair {}

mod sealed {
    /// Seals [`super::CounterBlock`]: `memory` relies on its types consisting of counters.
    pub trait Sealed {}
    impl Sealed for super::Counter {}
    impl Sealed for super::Pair {}
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_add_wrap_and_rise() {
        let pair = Pair::default();
        pair.add(2, 120);
        pair.add(1, 60);
        assert_eq!((pair.packets.get(), pair.bytes.get()), (3, 180));
        pair.packets.raise(2);
        pair.bytes.raise(200);
        assert_eq!((pair.packets.get(), pair.bytes.get()), (3, 200));
        pair.packets.set(u64::MAX);
        pair.add(2, 0);
        assert_eq!(pair.packets.get(), 1, "the field wraps, as every counter of 64 bits does");
    }
}
