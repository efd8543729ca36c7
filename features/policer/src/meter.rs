//! A meter of two buckets: the color of a packet (RFC 2697, 3; RFC 2698, 3; RFC 4115, 3), and the action for it.

use std::sync::Arc;

use quiver_engine::{Counters, Guard, Row, Seed, Snapshot};

use crate::bucket::{Bucket, Rate, ticks};
use crate::config::{Action, Policer, RateUnit, Scheme};
use crate::mark::mark;

/// Color of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Color {
    /// It is within the rate: green.
    Conform = 0,
    /// Within the excess burst: yellow.
    Exceed = 1,
    /// It is neither: red.
    Violate = 2,
}

impl Color {
    /// All of them, by their numbers, and the words of their counters.
    pub const ALL: [(Color, &'static str); 3] =
        [(Color::Conform, "conform"), (Color::Exceed, "exceed"), (Color::Violate, "violate")];
}

/// A policer at work.
#[derive(Debug)]
pub struct Meter {
    scheme: Scheme,
    unit: RateUnit,
    rates: [Rate; 2],
    /// The second one holds, of a single rate, the tokens of both (RFC 2697), else those of the second rate.
    buckets: [Bucket; 2],
    actions: [Action; 3],
}

impl Meter {
    /// The meter of a policer; its buckets are full.
    pub fn new(policer: &Policer) -> Meter {
        let tokens = |rate: u32| match policer.unit {
            // Thousand bits are 125 bytes.
            RateUnit::Kbps => u64::from(rate) * 125,
            RateUnit::Pps => rate.into(),
        };
        // At least one packet, or nothing would ever pass; but no burst is none.
        let burst = |rate: u32, burst: u64| match policer.unit {
            RateUnit::Kbps => burst,
            RateUnit::Pps => (u64::from(rate).saturating_mul(burst) / 1000).max(burst.min(1)),
        };
        let committed = Rate { tokens_per_second: tokens(policer.cir), burst: burst(policer.cir, policer.cb) };
        let second = match policer.scheme {
            Scheme::OneRateTwoColor | Scheme::OneRateThreeColor => Rate {
                tokens_per_second: committed.tokens_per_second,
                burst: committed.burst.saturating_add(burst(policer.cir, policer.eb)),
            },
            _ => Rate { tokens_per_second: tokens(policer.eir), burst: burst(policer.eir, policer.eb) },
        };
        let actions = [policer.conform_action, policer.exceed_action, policer.violate_action];
        let scheme = match policer.scheme {
            // Without an excess burst nothing is yellow, and one bucket says all (RFC 2697, 2).
            Scheme::OneRateThreeColor if policer.eb == 0 => Scheme::OneRateTwoColor,
            scheme => scheme,
        };
        let unit = policer.unit;
        Meter { scheme, unit, rates: [committed, second], buckets: Default::default(), actions }
    }
    /// The color of a packet of `bytes` at `now`, in nanoseconds of the engine's clock; takes its tokens.
    pub fn color(&self, now: u64, bytes: u32) -> Color {
        let now = ticks(now);
        let tokens = if self.unit == RateUnit::Pps { 1 } else { u64::from(bytes) };
        let [first, second] = self.rates;
        let (times, most) =
            ([first.time(tokens), second.time(tokens)], [first.time(first.burst), second.time(second.burst)]);
        let take = |bucket: usize, most: u64| self.buckets[bucket].take(now, times[bucket], most);
        match self.scheme {
            Scheme::OneRateTwoColor if take(0, most[0]) => Color::Conform,
            Scheme::OneRateTwoColor => Color::Violate,
            Scheme::OneRateThreeColor => {
                if take(0, most[0]) {
                    // The second bucket has at least what the first had.
                    take(1, u64::MAX);
                    return Color::Conform;
                }
                // What the first one has is not for excess.
                let reserved = most[0].saturating_sub(self.buckets[0].missing(now));
                if take(1, most[1].saturating_sub(reserved)) { Color::Exceed } else { Color::Violate }
            }
            Scheme::TwoRate2698 => match take(1, most[1]) {
                false => Color::Violate,
                true if take(0, most[0]) => Color::Conform,
                true => Color::Exceed,
            },
            Scheme::TwoRate4115 if take(0, most[0]) => Color::Conform,
            Scheme::TwoRate4115 if take(1, most[1]) => Color::Exceed,
            Scheme::TwoRate4115 => Color::Violate,
        }
    }
    /// The color that a packet would have; nothing is taken.
    fn color_of_question(&self, now: u64, bytes: u32) -> Color {
        let Meter { scheme, unit, rates, actions, buckets } = self;
        let buckets = buckets.each_ref().map(Bucket::copy);
        Meter { scheme: *scheme, unit: *unit, rates: *rates, actions: *actions, buckets }.color(now, bytes)
    }
    /// Fills the buckets.
    pub fn fill(&self) {
        self.buckets.iter().for_each(Bucket::fill);
    }
}

/// All meters by number.
pub type Meters = Vec<Option<Arc<Meter>>>;

/// State that a worker's node polices packets with.
#[derive(Clone)]
pub struct Police {
    meters: Snapshot<Meters>,
    counted: [Arc<Row>; 3],
    is_rehearsal: bool,
}

impl Police {
    pub(crate) fn new(meters: Snapshot<Meters>, counters: &[Counters; 3], seed: Seed) -> Police {
        let counted = [0, 1, 2].map(|color: usize| counters[color].row(seed.worker));
        Police { meters, counted, is_rehearsal: seed.is_rehearsal }
    }
    /// Meters an IP packet of `length` bytes that begins with `packet`, by nanoseconds of the engine's clock, and marks it where
    /// the policer says so. False if it is to be dropped. Without such a policer it passes.
    pub fn passes(&self, guard: Guard<'_>, now: u64, policer: u32, packet: &mut [u8], length: u32) -> bool {
        let Some(Some(meter)) = self.meters.read(guard).get(policer as usize) else { return true };
        let color = match self.is_rehearsal {
            true => meter.color_of_question(now, length),
            false => meter.color(now, length),
        };
        let (action, counted) = match color {
            Color::Conform => (meter.actions[0], &self.counted[0]),
            Color::Exceed => (meter.actions[1], &self.counted[1]),
            Color::Violate => (meter.actions[2], &self.counted[2]),
        };
        counted.add(policer, 1, length.into());
        match action {
            Action::Drop => false,
            Action::Transmit => true,
            Action::Mark(dscp) => {
                mark(packet, dscp);
                true
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Color::{Conform, Exceed, Violate};

    fn meter(scheme: Scheme, cir: u32, eir: u32, cb: u64, eb: u64) -> Meter {
        Meter::new(&Policer { scheme, cir, eir, cb, eb, ..Policer::new("p".into()) })
    }

    const SECOND: u64 = 1_000_000_000;

    /// RFC 2697's own words, in bytes and whole seconds: two buckets, and tokens that flow over.
    struct Naive(u64, u64);
    impl Naive {
        fn come(&mut self, tokens: u64, cbs: u64, ebs: u64) {
            let first = tokens.min(cbs - self.0);
            self.0 += first;
            self.1 = (self.1 + tokens - first).min(ebs);
        }
        fn color(&mut self, bytes: u64) -> Color {
            if self.0 >= bytes {
                self.0 -= bytes;
                Conform
            } else if self.1 >= bytes {
                self.1 -= bytes;
                Exceed
            } else {
                Violate
            }
        }
    }

    #[test]
    fn one_rate_is_as_its_rfc_has_it() {
        // 8 kbit/s are 1,000 bytes a second.
        let (meter, mut naive) = (meter(Scheme::OneRateThreeColor, 8, 0, 3000, 2000), Naive(3000, 2000));
        let (mut state, mut now, mut seen) = (7u32, SECOND, [0; 3]);
        for _ in 0..5000 {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let (seconds, bytes) = (u64::from(state >> 30), 1 + (state >> 10) % 2500);
            now += seconds * SECOND;
            naive.come(seconds * 1000, 3000, 2000);
            let color = naive.color(bytes.into());
            assert_eq!(meter.color(now, bytes), color, "{now} {bytes}");
            seen[color as usize] += 1;
        }
        assert!(seen.iter().all(|count| *count > 100), "{seen:?}");
    }

    /// Two buckets in the RFCs' own words: tokens that are there, those of a full one, and those that come in a millisecond.
    struct Buckets {
        scheme: Scheme,
        tokens: [u64; 2],
        bursts: [u64; 2],
        rates: [u64; 2],
    }
    impl Buckets {
        fn wait(&mut self, ms: u64) {
            for _ in 0..ms {
                let [first, second] = self.tokens;
                let [committed, other] = self.rates;
                self.tokens[0] = (first + committed).min(self.bursts[0]);
                // RFC 2697, 3: of a single rate the second one has what the first has no room for.
                let come =
                    if self.scheme == Scheme::OneRateThreeColor { first + committed - self.tokens[0] } else { other };
                self.tokens[1] = (second + come).min(self.bursts[1]);
            }
        }
        fn color(&mut self, bytes: u64) -> Color {
            let [first, second] = self.tokens;
            let (color, takes) = match self.scheme {
                // RFC 2698, 3: the peak bucket is asked first, and whatever is green takes from both.
                Scheme::TwoRate2698 if second < bytes => (Violate, [0, 0]),
                Scheme::TwoRate2698 if first < bytes => (Exceed, [0, bytes]),
                Scheme::TwoRate2698 => (Conform, [bytes, bytes]),
                // RFC 2697, 3; RFC 4115, 3: a packet takes from one.
                _ if first >= bytes => (Conform, [bytes, 0]),
                _ if second >= bytes && self.scheme != Scheme::OneRateTwoColor => (Exceed, [0, bytes]),
                _ => (Violate, [0, 0]),
            };
            self.tokens = [first - takes[0], second - takes[1]];
            color
        }
    }

    #[test]
    fn meters_are_as_their_rfcs_have_them() {
        // Rates of which a byte comes in whole ticks: 8 kbit/s are a byte in a millisecond.
        let wanted = [
            (Scheme::OneRateTwoColor, 16, 0, 2500, 0),
            (Scheme::OneRateThreeColor, 16, 0, 2500, 4000),
            (Scheme::OneRateThreeColor, 16, 0, 2500, 0),
            (Scheme::OneRateThreeColor, 16, 0, 0, 2500),
            (Scheme::OneRateThreeColor, 8, 0, 100, 2500),
            (Scheme::TwoRate2698, 8, 16, 1500, 3000),
            (Scheme::TwoRate2698, 8, 24, 3000, 1500),
            (Scheme::TwoRate2698, 8, 40, 2000, 2000),
            (Scheme::TwoRate4115, 8, 16, 1500, 3000),
            (Scheme::TwoRate4115, 40, 8, 3000, 1500),
        ];
        for (number, (scheme, cir, eir, cb, eb)) in (1..).zip(wanted) {
            let meter = meter(scheme, cir, eir, cb, eb);
            let rates = [cir, eir].map(|kbps| u64::from(kbps / 8));
            let mut buckets = Buckets { scheme, tokens: [cb, eb], bursts: [cb, eb], rates };
            let (mut state, mut now, mut seen) = (number, SECOND, [0; 3]);
            let mut random = |below: u32| {
                state = u32::wrapping_mul(state, 1_664_525).wrapping_add(1_013_904_223);
                (state >> 8) % below
            };
            for _ in 0..20_000 {
                // Bursts, and gaps in which buckets fill.
                let ms = if random(4) > 0 { 0 } else { random(1500).into() };
                let longest = if random(2) == 0 { 1480 } else { 200 };
                let bytes = 20 + random(longest);
                now += ms * 1_000_000;
                buckets.wait(ms);
                let color = buckets.color(bytes.into());
                assert_eq!(meter.color_of_question(now, bytes), color, "{scheme:?} {number}: {now} {bytes}");
                assert_eq!(meter.color(now, bytes), color, "{scheme:?} {number}: {now} {bytes}");
                seen[color as usize] += 1;
            }
            // RFC 2697, 2: a burst of 0 is one that no packet is within.
            let is_possible = [cb > 0, eb > 0 && scheme != Scheme::OneRateTwoColor, true];
            assert_eq!(seen.map(|count| count > 200), is_possible, "{scheme:?} {number}: {seen:?}");
        }
    }

    #[test]
    fn without_an_excess_burst_nothing_is_within_it() {
        for unit in [RateUnit::Kbps, RateUnit::Pps] {
            let policer =
                Policer { scheme: Scheme::OneRateThreeColor, unit, cir: 8, cb: 1000, ..Policer::new("p".into()) };
            let meter = Meter::new(&policer);
            let colors: Vec<_> = (0..12).map(|_| meter.color(SECOND, 125)).collect();
            assert_eq!(colors, [[Conform; 8].as_slice(), &[Violate; 4]].concat(), "{unit:?}");
            let policer = Policer { cb: 0, eb: 1000, ..policer };
            let meter = Meter::new(&policer);
            let colors: Vec<_> = (0..12).map(|_| meter.color(SECOND, 125)).collect();
            assert_eq!(colors, [[Exceed; 8].as_slice(), &[Violate; 4]].concat(), "{unit:?}");
        }
    }

    #[test]
    fn two_colors_know_no_excess() {
        let meter = meter(Scheme::OneRateTwoColor, 8, 0, 1500, 9000);
        assert_eq!([1000, 500, 1].map(|bytes| meter.color(SECOND, bytes)), [Conform, Conform, Violate]);
        assert_eq!([1000, 1].map(|bytes| meter.color(2 * SECOND, bytes)), [Conform, Violate]);
        meter.fill();
        assert_eq!(meter.color(2 * SECOND, 1500), Conform);
    }

    #[test]
    fn two_rates_are_as_their_rfcs_have_them() {
        // RFC 2698: what is green takes from both; what is beyond the peak takes nothing.
        let meter2698 = meter(Scheme::TwoRate2698, 8, 16, 1000, 1500);
        assert_eq!(
            [1000, 400, 200, 100].map(|bytes| meter2698.color(SECOND, bytes)),
            [Conform, Exceed, Violate, Exceed]
        );
        assert_eq!(meter2698.color(2 * SECOND, 1000), Conform);
        // RFC 4115: what is green takes nothing from the excess.
        let meter4115 = meter(Scheme::TwoRate4115, 8, 16, 1000, 1500);
        assert_eq!([1000, 1500, 1].map(|bytes| meter4115.color(SECOND, bytes)), [Conform, Exceed, Violate]);
        assert_eq!([1000, 1500, 1].map(|bytes| meter4115.color(2 * SECOND, bytes)), [Conform, Exceed, Violate]);
    }

    #[test]
    fn packets_count_as_packets() {
        let policer = Policer { unit: RateUnit::Pps, cir: 400, cb: 10, ..Policer::new("p".into()) };
        let meter = Meter::new(&policer);
        let conforming = |now| (0..10).filter(|_| meter.color(now, 9000) == Conform).count();
        assert_eq!(conforming(SECOND), 4, "10 ms");
        assert_eq!(conforming(SECOND + 5_000_000), 2, "5 ms");
    }
}
