//! Delay of a stream's packets, its variation, and the spacing of sent packets.
//!
//! Delays are from the making of a packet on its worker to the moment in which an interface of the generator is given it to
//! send, by the workers' fine clock. Each worker counts what it receives; control adds that up.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use quiver_engine::thread::FineClock;
use serde_json::{Value, json};

use crate::histogram::{Counts, Summary};

/// Times of a stream.
#[derive(Debug)]
pub(crate) struct Timing {
    clock: AtomicU64,
    /// Delays by worker.
    delays: Box<[Delays]>,
    /// Between one packet's making and the next's.
    pub gaps: Counts,
}

/// Delays of the packets that a worker receives.
#[derive(Debug)]
struct Delays {
    delay: Counts,
    /// Delays longer than that of the packet before in the stream, by the difference.
    later: Counts,
    /// Delays shorter than that, by the difference.
    sooner: Counts,
}

/// The delay of the packet that a queue has sent last: its number, and nanoseconds.
pub(crate) type Last = Option<(u64, u64)>;

impl Timing {
    pub fn new(workers: usize) -> Timing {
        let delays = || Delays { delay: Counts::new(), later: Counts::new(), sooner: Counts::new() };
        Timing { clock: AtomicU64::new(0), delays: (0..workers).map(|_| delays()).collect(), gaps: Counts::new() }
    }
    /// Forgets all times.
    pub fn clear(&self) {
        self.delays
            .iter()
            .flat_map(|of| [&of.delay, &of.later, &of.sooner])
            .chain([&self.gaps])
            .for_each(Counts::clear);
    }
    /// Sets the clock that both ends go by.
    pub fn set_clock(&self, clock: FineClock) {
        self.clock.store(clock.to_bits(), Relaxed);
    }
    /// The moment, in nanoseconds; `now` is that of the engine's clock.
    pub fn moment(&self, now: u64) -> u64 {
        FineClock::from_bits(self.clock.load(Relaxed)).read(now)
    }
    /// Counts the delay of a packet that a worker was given to send. The variation of delays counts for packets that are
    /// neighbours in their stream and leave by one queue, in their order (the selection function of RFC 3393, section 2.4).
    pub fn received(&self, worker: usize, number: u64, delay: u64, last: &mut Last) {
        let Some(of) = self.delays.get(worker) else { return };
        of.delay.record(delay);
        if let Some((before, took)) = last.replace((number, delay))
            && number == before.wrapping_add(1)
        {
            let side = if delay < took { &of.sooner } else { &of.later };
            side.record(delay.abs_diff(took));
        }
    }
    /// The delays so far.
    pub fn latency(&self) -> Latency {
        let sum = |part: fn(&Delays) -> &Counts| Summary::of(self.delays.iter().map(part));
        let (delay, later, sooner) = (sum(|of| &of.delay), sum(|of| &of.later), sum(|of| &of.sooner));
        let [p50, p90, p99, p999] = [0.5, 0.9, 0.99, 0.999].map(|share| delay.quantile(share));
        Latency {
            packets: delay.count(),
            min: delay.least(),
            mean: delay.mean(),
            p50,
            p90,
            p99,
            p999,
            max: delay.most(),
            variation: Variation::of(&later, &sooner),
            hdrh: delay.encoded(),
        }
    }
}

/// Delays of a stream's packets in nanoseconds. Least, mean and greatest are exact; the others have three digits.
#[derive(Clone, Debug, PartialEq)]
pub struct Latency {
    /// Packets that were received for the first time.
    pub packets: u64,
    /// The least delay.
    pub min: u64,
    /// The mean.
    pub mean: f64,
    /// The median.
    pub p50: u64,
    /// The 90th percentile.
    pub p90: u64,
    /// The 99th percentile.
    pub p99: u64,
    /// The 99.9th percentile.
    pub p999: u64,
    /// The greatest delay.
    pub max: u64,
    /// The variation from packet to packet.
    pub variation: Variation,
    /// The histogram of delays, as tools for HDR histograms read it: version 2, compressed, in base64.
    pub hdrh: String,
}

impl Latency {
    /// Packet delay variation (RFC 8219, section 7.3.1).
    pub fn pdv(&self) -> u64 {
        self.p999.saturating_sub(self.min)
    }
    pub(crate) fn to_json(&self) -> Value {
        let Latency { packets, min, mean, p50, p90, p99, p999, max, variation, hdrh } = self;
        json!({
            "unit": "ns", "packets": packets, "min": min, "mean": mean,
            "p50": p50, "p90": p90, "p99": p99, "p99.9": p999, "max": max, "pdv": self.pdv(),
            "ipdv": {"pairs": variation.pairs, "min": variation.min, "median": variation.median, "max": variation.max},
            "hdrh": hdrh,
        })
    }
}

/// Inter-packet delay variation (RFC 8219, section 7.3.2): what packets took longer than the ones before them, in
/// nanoseconds; negative if they took less.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Variation {
    /// Pairs of packets.
    pub pairs: u64,
    /// The least.
    pub min: i64,
    /// The one in the middle.
    pub median: i64,
    /// The greatest.
    pub max: i64,
}

impl Variation {
    fn of(later: &Summary, sooner: &Summary) -> Variation {
        let (longer, shorter) = (later.count(), sooner.count());
        let pairs = longer + shorter;
        let signed = |time: u64| i64::try_from(time).unwrap_or(i64::MAX);
        let middle = pairs.div_ceil(2);
        Variation {
            pairs,
            min: if shorter > 0 { -signed(sooner.most()) } else { signed(later.least()) },
            // Of those that took less, the one that took least comes first.
            median: match middle {
                0 => 0,
                _ if middle <= shorter => -signed(sooner.ranked(shorter - middle + 1)),
                _ => signed(later.ranked(middle - shorter)),
            },
            max: if longer > 0 { signed(later.most()) } else { -signed(sooner.least()) },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Latency of packets with these numbers and delays, received by two workers in turn or by one.
    fn latency(packets: &[(u64, u64)], workers: usize) -> Latency {
        let (timing, mut last) = (Timing::new(workers), vec![None; workers]);
        for (at, (number, delay)) in packets.iter().enumerate() {
            timing.received(at % workers, *number, *delay, &mut last[at % workers]);
        }
        timing.latency()
    }

    #[test]
    fn delays_and_their_variation_are_told() {
        let found = latency(&[(0, 10), (1, 30), (2, 20), (3, 20), (4, 15)], 1);
        assert_eq!((found.packets, found.min, found.p50, found.max), (5, 10, 20, 30));
        assert_eq!((found.mean, found.pdv()), (19.0, 20));
        // 20, -10, 0, -5: in order -10, -5, 0, 20.
        assert_eq!(found.variation, Variation { pairs: 4, min: -10, median: -5, max: 20 });
        let rising = latency(&[(0, 1), (1, 2), (2, 4), (3, 8)], 1);
        assert_eq!(rising.variation, Variation { pairs: 3, min: 1, median: 2, max: 4 });
        let falling = latency(&[(0, 8), (1, 4), (2, 2), (3, 1)], 1);
        assert_eq!(falling.variation, Variation { pairs: 3, min: -4, median: -2, max: -1 });
        assert_eq!(latency(&[], 1).variation, Variation { pairs: 0, min: 0, median: 0, max: 0 });
    }

    #[test]
    fn only_neighbours_in_one_queue_are_compared() {
        let lost = latency(&[(0, 10), (2, 500), (3, 20)], 1);
        assert_eq!(lost.variation, Variation { pairs: 1, min: -480, median: -480, max: -480 });
        let two = latency(&[(0, 10), (1, 500), (2, 20), (3, 600)], 2);
        assert_eq!((two.packets, two.variation.pairs), (4, 0));
        assert_eq!((two.min, two.max, two.p50), (10, 600, 20), "both workers' count");
    }
}
