//! A token bucket in one word, from which all workers take without waiting for each other.
//!
//! In place of tokens and the time of their count, a bucket keeps the time at which it will be full again: the missing
//! tokens are those that arrive until then. Taking tokens moves that time on by as long as they take to arrive.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Ticks of a bucket's time in a nanosecond: a byte at 100 Gbit/s takes 0.08 ns.
const TICKS: u64 = 256;
const TICKS_PER_SECOND: u128 = TICKS as u128 * 1_000_000_000;

/// A bucket's time, from nanoseconds of the engine's clock.
pub fn ticks(nanoseconds: u64) -> u64 {
    nanoseconds.saturating_mul(TICKS)
}

/// Rate and size of a token bucket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rate {
    /// Tokens per second; with 0 an emptied bucket stays empty.
    pub tokens_per_second: u64,
    /// Tokens of a full bucket.
    pub burst: u64,
}

impl Rate {
    /// Ticks that so many tokens take to come.
    pub fn time(&self, tokens: u64) -> u64 {
        match (u128::from(tokens) * TICKS_PER_SECOND).checked_div(self.tokens_per_second.into()) {
            Some(ticks) => u64::try_from(ticks).unwrap_or(u64::MAX),
            None => u64::MAX,
        }
    }
}

/// A bucket: the tick at which it will be full. It begins full.
#[derive(Debug, Default)]
pub struct Bucket(AtomicU64);

impl Bucket {
    /// Ticks until it is full.
    pub fn missing(&self, now: u64) -> u64 {
        self.0.load(Relaxed).saturating_sub(now)
    }
    /// Takes tokens that need `time` to come back, if the bucket would not be further from full than `most` then.
    pub fn take(&self, now: u64, time: u64, most: u64) -> bool {
        let taken = self.0.fetch_update(Relaxed, Relaxed, |full| {
            let full = full.max(now).checked_add(time)?;
            (full - now <= most).then_some(full)
        });
        taken.is_ok()
    }
    /// A bucket with the same fill.
    pub fn copy(&self) -> Bucket {
        Bucket(self.0.load(Relaxed).into())
    }
    /// Fills it.
    pub fn fill(&self) {
        self.0.store(0, Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_come_back_with_time() {
        let rate = Rate { tokens_per_second: 1000, burst: 10 };
        let (bucket, most) = (Bucket::default(), rate.time(10));
        let take = |at_ms: u64, tokens| bucket.take(ticks(at_ms * 1_000_000), rate.time(tokens), most);
        assert!(take(100, 4) && take(100, 6), "it begins full");
        assert!(!take(100, 1), "it is empty");
        assert!(take(101, 1) && !take(101, 1), "one in a millisecond");
        assert!(!take(105, 5) && take(105, 4), "all or nothing");
        assert!(!take(1000, 11) && take(1000, 10), "never more than a burst");
        assert_eq!(bucket.missing(ticks(1_002_000_000)), rate.time(8));
        bucket.fill();
        assert!(take(1002, 10));
    }

    #[test]
    fn no_rate_is_too_small_or_too_great() {
        let none = Rate { tokens_per_second: 0, burst: 10 };
        assert!(!Bucket::default().take(5, none.time(1), 7));
        let great = Rate { tokens_per_second: u64::MAX, burst: u64::MAX };
        assert_eq!(great.time(1500), 0);
        let small = Rate { tokens_per_second: 1, burst: u64::MAX };
        assert_eq!(small.time(u64::MAX), u64::MAX);
        let bucket = Bucket::default();
        assert!(bucket.take(0, u64::MAX, u64::MAX) && !bucket.take(0, 1, u64::MAX), "it does not run over");
    }

    #[test]
    fn workers_together_take_no_more_than_there_is() {
        let bucket = Bucket::default();
        let taken: usize = std::thread::scope(|scope| {
            let worker = || (0..10_000).filter(|_| bucket.take(1, 1, 7000)).count();
            let workers: Vec<_> = (0..4).map(|_| scope.spawn(worker)).collect();
            workers.into_iter().map(|worker| worker.join().expect("it counts")).sum()
        });
        assert_eq!(taken, 7000);
    }
}
