//! How much faster one of two is: a ratio with its interval.
//!
//! On a shared machine only what is measured side by side can be compared: both take turns, who comes first is tossed for
//! ([`order`]), and each [`pair`](paired) gives a ratio in which what the machine did to both cancels. The estimate is Hodges and Lehmann's: the median of all averages
//! of two logarithms of ratios, which neither a few spikes nor heavy tails move much. Its interval comes from the
//! distribution of Wilcoxon's signed ranks, which the tossed order makes exact for every noise (up to
//! [`EXACT_MAX`] pairs; then by the normal approximation). Where nothing can be interleaved, such as results of another
//! day, [`unpaired`] does the same by all ratios between both, with the distribution of Mann and Whitney; what changed in
//! the machine in between is then part of the ratio.

mod chance;

pub use chance::EXACT_MAX;

use chance::Chance;

/// How sure an interval is: the share of intervals that hold the truth.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub struct Confidence(f64);

impl Confidence {
    /// 99 % confidence.
    pub const HIGH: Confidence = Confidence(0.99);

    /// Above 0 and below 1.
    pub fn new(confidence: f64) -> Option<Confidence> {
        (confidence > 0.0 && confidence < 1.0).then_some(Confidence(confidence))
    }

    /// Between 0 and 1.
    pub fn value(self) -> f64 {
        self.0
    }

    /// For one of several verdicts that shall all be right together with this confidence (Bonferroni).
    pub fn shared_by(self, verdicts: usize) -> Confidence {
        Confidence(1.0 - (1.0 - self.0) / verdicts.max(1) as f64)
    }

    /// The chance of an error on one side.
    fn tail(self) -> f64 {
        (1.0 - self.0) / 2.0
    }
}

/// A side of a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Side {
    /// The reference: the parent revision, another machine, a peer.
    Parent,
    /// The side that is judged.
    Current,
}

/// The order within a pair, counted from 0: a fair coin for each pair, repeatable by its seed.
///
/// Where both are equal, the coin alone gives a pair's difference its sign, so [`paired`]'s interval is exact whatever the
/// machine does meanwhile: it may heat up, wander, or take after itself. A fixed order, A B B A as well as A B A B, is
/// deceived by a machine with a rhythm: what comes back every fourth measurement is always in the same side's.
pub fn order(seed: u64, pair: usize) -> [Side; 2] {
    // Steele, Lea and Flood's splitmix64 (2014): neighbouring seeds and pairs have nothing to do with each other.
    let mut mixed = seed.wrapping_add((pair as u64).wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    match (mixed ^ mixed >> 31) >> 63 {
        0 => [Side::Parent, Side::Current],
        _ => [Side::Current, Side::Parent],
    }
}

/// A ratio of current to parent.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ratio {
    /// The best guess.
    pub estimate: f64,
    /// The truth is not below this.
    pub low: f64,
    /// The truth is not above this. Where there are too few measurements to be so sure, the interval is 0 to infinity.
    pub high: f64,
    /// With which it lies in the interval.
    pub confidence: Confidence,
}

/// Measurements without a ratio.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Incomparable {
    /// There is nothing.
    #[error("no measurements of one side: measure both at least once")]
    Empty,
    /// Ratios need positive numbers.
    #[error("measurement {index} is {value}: ratios need finite values above zero; leave out the pair")]
    NotPositive {
        /// Index of the pair, or of the measurement of its side, from 0.
        index: usize,
        /// The sample.
        value: f64,
    },
}

/// The ratio of pairs (parent, current) that were measured side by side, in the order that [`order`] says.
pub fn paired(pairs: &[(f64, f64)], confidence: Confidence) -> Result<Ratio, Incomparable> {
    let logarithm = |(index, (parent, current))| Ok(log(index, current)? - log(index, parent)?);
    let ratios = pairs.iter().copied().enumerate().map(logarithm).collect::<Result<Vec<f64>, _>>()?;
    let averages =
        ratios.iter().enumerate().flat_map(|(at, one)| ratios[at..].iter().map(move |two| (one + two) / 2.0));
    of_candidates(averages.collect(), ends_paired(ratios.len(), confidence), confidence)
}

/// The ratio of measurements that have nothing to do with each other.
pub fn unpaired(parent: &[f64], current: &[f64], confidence: Confidence) -> Result<Ratio, Incomparable> {
    let logarithms = |samples: &[f64]| {
        samples.iter().enumerate().map(|(index, sample)| log(index, *sample)).collect::<Result<Vec<f64>, _>>()
    };
    let (parent, current) = (logarithms(parent)?, logarithms(current)?);
    let ratios = parent.iter().flat_map(|one| current.iter().map(move |other| other - one));
    of_candidates(ratios.collect(), ends_unpaired(parent.len(), current.len(), confidence), confidence)
}

/// How many of the sorted averages of two of `pairs` ratios lie before the lower end of the interval of [`paired`], and
/// behind its upper end. None where there are too few pairs for an end.
pub fn ends_paired(pairs: usize, confidence: Confidence) -> Option<usize> {
    Chance::signed_ranks(pairs).passed_over(confidence.tail())
}

/// How many of the sorted ratios between so many measurements of both sides lie before the lower end of the interval of
/// [`unpaired`], and behind its upper end. None where there are too few for an end.
pub fn ends_unpaired(parent: usize, current: usize, confidence: Confidence) -> Option<usize> {
    Chance::pairs_in_order(parent, current).passed_over(confidence.tail())
}

/// How many pairs a finite interval of this confidence needs.
pub fn pairs_needed(confidence: Confidence) -> usize {
    // All signs are positive in one case of 2^n.
    (-confidence.tail().log2()).ceil() as usize
}

fn log(index: usize, value: f64) -> Result<f64, Incomparable> {
    if value.is_finite() && value > 0.0 { Ok(value.ln()) } else { Err(Incomparable::NotPositive { index, value }) }
}

/// The middle of the candidates, and those that so many lie before and behind.
fn of_candidates(mut candidates: Vec<f64>, ends: Option<usize>, confidence: Confidence) -> Result<Ratio, Incomparable> {
    if candidates.is_empty() {
        return Err(Incomparable::Empty);
    }
    candidates.sort_by(f64::total_cmp);
    let last = candidates.len() - 1;
    let estimate = ((candidates[last / 2] + candidates[last.div_ceil(2)]) / 2.0).exp();
    let (low, high) = match ends {
        Some(ends) => (candidates[ends].exp(), candidates[last - ends].exp()),
        None => (0.0, f64::INFINITY),
    };
    Ok(Ratio { estimate, low, high, confidence })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ratio_lies_in_the_middle_of_the_pairs() {
        let pairs: Vec<_> = (0..10).map(|at| (100.0 + f64::from(at), (100.0 + f64::from(at)) * 0.97)).collect();
        let ratio = paired(&pairs, Confidence::HIGH).unwrap();
        for value in [ratio.low, ratio.estimate, ratio.high] {
            assert!((value - 0.97).abs() < 1e-12, "{ratio:?}");
        }
        let same = unpaired(&[5.0; 8], &[10.0; 8], Confidence::HIGH).unwrap();
        assert!((same.estimate - 2.0).abs() < 1e-12 && (same.low - 2.0).abs() < 1e-12, "{same:?}");
    }

    #[test]
    fn a_fair_coin_says_who_is_first() {
        for seed in 0..4 {
            let firsts: Vec<bool> = (0..10_000).map(|pair| order(seed, pair)[0] == Side::Parent).collect();
            let count = |is: &dyn Fn(usize) -> bool| (0..9_990).filter(|at| is(*at)).count();
            // Half of all; and whatever pairs follow each other by, half of them are in the same order.
            assert!(count(&|at| firsts[at]).abs_diff(4_995) < 200);
            for lag in 1..10 {
                assert!(count(&|at| firsts[at] == firsts[at + lag]).abs_diff(4_995) < 200, "{seed} {lag}");
            }
            assert!((0..100).all(|pair| order(seed, pair) == order(seed, pair)));
            assert!((0..1_000).filter(|pair| order(seed, *pair) == order(seed + 1, *pair)).count().abs_diff(500) < 100);
        }
    }

    #[test]
    fn few_pairs_have_no_interval() {
        let ratio = |pairs: usize, confidence| paired(&vec![(1.0, 2.0); pairs], confidence).unwrap();
        for confidence in [0.5, 0.9, 0.95, 0.99, 0.999].map(|value| Confidence::new(value).unwrap()) {
            let needed = pairs_needed(confidence);
            assert_eq!(ratio(needed - 1, confidence).high, f64::INFINITY, "{confidence:?}");
            assert!(ratio(needed, confidence).high.is_finite(), "{confidence:?}");
        }
        assert_eq!(pairs_needed(Confidence::HIGH), 8);
    }

    #[test]
    fn what_has_no_ratio_is_refused() {
        assert_eq!(paired(&[], Confidence::HIGH), Err(Incomparable::Empty));
        assert_eq!(unpaired(&[1.0], &[], Confidence::HIGH), Err(Incomparable::Empty));
        let error = paired(&[(1.0, 1.0), (1.0, 0.0)], Confidence::HIGH);
        assert_eq!(error, Err(Incomparable::NotPositive { index: 1, value: 0.0 }));
        assert!(unpaired(&[f64::NAN], &[1.0], Confidence::HIGH).is_err());
        assert_eq!([0.0, 1.0, f64::NAN].map(Confidence::new), [None; 3]);
    }

    #[test]
    fn verdicts_share_a_confidence() {
        let each = Confidence::HIGH.shared_by(10);
        assert!((each.value() - 0.999).abs() < 1e-12);
        assert_eq!(Confidence::HIGH.shared_by(0), Confidence::HIGH);
    }
}
