//! Histograms of times that workers write while control reads them.
//!
//! Times are counted in the buckets of an HDR histogram with three digits from 1 ns to [`LONGEST`], so that crate
//! `hdrhistogram` takes them over without a loss; its own histograms cannot be read while they are written.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::{Serializer, V2DeflateSerializer};

/// The longest time that is told from longer ones, in nanoseconds: 68 seconds.
const LONGEST: u64 = (1 << 36) - 1;
/// Digits that are told apart, and the bits that these take: times below 2,048 have a bucket each, and those from any power
/// of two to the next share 1,024.
const DIGITS: u8 = 3;
const BITS: u32 = 11;
const HALF: u64 = 1 << (BITS - 1);

/// Counts of times. One thread counts, others may read.
#[derive(Debug)]
pub struct Counts {
    buckets: Box<[AtomicU64]>,
    sum: AtomicU64,
    least: AtomicU64,
    most: AtomicU64,
}

impl Counts {
    /// Counts of no times yet.
    #[expect(clippy::new_without_default, reason = "it takes memory")]
    pub fn new() -> Counts {
        let buckets = (0..=bucket(LONGEST)).map(|_| AtomicU64::new(0)).collect();
        let counts = Counts { buckets, sum: AtomicU64::new(0), least: AtomicU64::new(0), most: AtomicU64::new(0) };
        counts.clear();
        counts
    }
    /// Forgets all times.
    pub fn clear(&self) {
        self.buckets.iter().chain([&self.sum, &self.most]).for_each(|count| count.store(0, Relaxed));
        self.least.store(u64::MAX, Relaxed);
    }
    /// Counts a time in nanoseconds.
    #[inline]
    pub fn record(&self, time: u64) {
        // Loads and stores, since no other thread counts here: locked instructions cost more than all the rest.
        if let Some(count) = self.buckets.get(bucket(time.min(LONGEST))) {
            count.store(count.load(Relaxed).wrapping_add(1), Relaxed);
        }
        self.sum.store(self.sum.load(Relaxed).wrapping_add(time), Relaxed);
        if time < self.least.load(Relaxed) {
            self.least.store(time, Relaxed);
        }
        if time > self.most.load(Relaxed) {
            self.most.store(time, Relaxed);
        }
    }
}

/// The bucket of a time.
fn bucket(time: u64) -> usize {
    let shift = (u64::BITS - time.leading_zeros()).saturating_sub(BITS);
    (u64::from(shift) * HALF + (time >> shift)) as usize
}

/// The least time of a bucket.
fn least_of(bucket: usize) -> u64 {
    let bucket = bucket as u64;
    let shift = (bucket / HALF).saturating_sub(1);
    (bucket - shift * HALF) << shift
}

/// Sum of the counts of one or several workers. Times are in nanoseconds.
pub struct Summary {
    histogram: Histogram<u64>,
    sum: u64,
    least: u64,
    most: u64,
}

impl Summary {
    /// All that these have counted.
    pub fn of<'c>(all: impl IntoIterator<Item = &'c Counts>) -> Summary {
        let histogram = Histogram::new_with_bounds(1, LONGEST, DIGITS).expect("bounds and digits are possible ones");
        let mut summary = Summary { histogram, sum: 0, least: u64::MAX, most: 0 };
        for counts in all {
            for (bucket, count) in counts.buckets.iter().enumerate() {
                let count = count.load(Relaxed);
                if count > 0 {
                    summary.histogram.saturating_record_n(least_of(bucket), count);
                }
            }
            summary.sum = summary.sum.saturating_add(counts.sum.load(Relaxed));
            summary.least = summary.least.min(counts.least.load(Relaxed));
            summary.most = summary.most.max(counts.most.load(Relaxed));
        }
        summary
    }
    /// Number of times.
    pub fn count(&self) -> u64 {
        self.histogram.len()
    }
    /// The least time, exactly; zero if there is none.
    pub fn least(&self) -> u64 {
        if self.count() == 0 { 0 } else { self.least }
    }
    /// The greatest time, exactly.
    pub fn most(&self) -> u64 {
        self.most
    }
    /// The mean, exactly.
    pub fn mean(&self) -> f64 {
        self.sum as f64 / self.count().max(1) as f64
    }
    /// The time that a share of all, such as 0.99, do not exceed: to three digits, and never outside of what there was.
    pub fn quantile(&self, share: f64) -> u64 {
        self.within(self.histogram.value_at_quantile(share))
    }
    /// The time of this rank, 1 being the least one's.
    pub fn ranked(&self, rank: u64) -> u64 {
        let mut passed = 0;
        let found = self.histogram.iter_recorded().find(|step| {
            passed += step.count_since_last_iteration();
            passed >= rank
        });
        self.within(found.map_or(0, |step| step.value_iterated_to()))
    }
    fn within(&self, time: u64) -> u64 {
        time.clamp(self.least(), self.most.max(self.least()))
    }
    /// Times and how often they came, in their order.
    pub fn recorded(&self) -> impl Iterator<Item = (u64, u64)> {
        self.histogram.iter_recorded().map(|step| (self.within(step.value_iterated_to()), step.count_at_value()))
    }
    /// The histogram as tools for HDR histograms read it: version 2, compressed, in base64.
    pub fn encoded(&self) -> String {
        let mut bytes = vec![];
        match V2DeflateSerializer::new().serialize(&self.histogram, &mut bytes) {
            Ok(_) => STANDARD.encode(bytes),
            // Memory takes all that is written.
            Err(_) => String::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hdrhistogram::serialization::Deserializer;

    #[test]
    fn buckets_are_those_of_an_hdr_histogram() {
        let theirs = Histogram::<u64>::new_with_bounds(1, LONGEST, DIGITS).expect("bounds");
        let around =
            |power: u32| [(1_u64 << power) - 1, 1 << power, (1 << power) + 1, (1 << power) + (1 << power >> 1)];
        for time in (0..36).flat_map(around).chain([2047, 2048, 2049, 4095, 4096, 1_000_000, LONGEST]) {
            assert_eq!(least_of(bucket(time)), theirs.lowest_equivalent(time), "{time}");
        }
        for bucket in 0..self::bucket(LONGEST) {
            assert_eq!(self::bucket(least_of(bucket)), bucket);
        }
    }

    #[test]
    fn what_several_workers_count_is_one_histogram() {
        let workers = [Counts::new(), Counts::new()];
        (1..=1000).for_each(|time| workers[time as usize % 2].record(time * 1_000_003));
        let summary = Summary::of(&workers);
        assert_eq!((summary.count(), summary.least(), summary.most()), (1000, 1_000_003, 1_000_003_000));
        assert!((summary.mean() - 500_501_501.5).abs() < 1e-3);
        for (share, exact) in [(0.5, 500 * 1_000_003), (0.99, 990 * 1_000_003), (1.0, 1_000_003_000_u64)] {
            let error = summary.quantile(share).abs_diff(exact);
            assert!(error <= exact / 1000, "{share}: {error} of {exact}");
        }
        assert_eq!(summary.ranked(500), summary.quantile(0.5));
        workers[0].clear();
        assert_eq!(Summary::of(&workers).count(), 500);
        assert_eq!(Summary::of([&workers[0]]).least(), 0, "there is none");
    }

    #[test]
    fn times_beyond_the_longest_are_counted_with_it() {
        let counts = Counts::new();
        counts.record(LONGEST + 5);
        let summary = Summary::of([&counts]);
        assert_eq!((summary.count(), summary.most(), summary.quantile(0.5)), (1, LONGEST + 5, LONGEST + 5));
    }

    #[test]
    fn other_tools_read_the_encoded_histogram() {
        let counts = Counts::new();
        [5, 5, 70_000].into_iter().for_each(|time| counts.record(time));
        let encoded = Summary::of([&counts]).encoded();
        // "HISTF" begins what tools for HDR histograms have in common: the cookie of version 2, compressed.
        assert!(encoded.starts_with("HISTF"), "{encoded}");
        let bytes = STANDARD.decode(encoded).expect("base64");
        let again: Histogram<u64> = Deserializer::new().deserialize(&mut bytes.as_slice()).expect("a histogram");
        assert_eq!((again.len(), again.count_at(5), again.count_at(70_000)), (3, 2, 1));
    }
}
