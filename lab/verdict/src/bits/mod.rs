//! Change points by description length, as CSIT's library jumpavg 0.4.2 finds them.
//!
//! A series is cut into groups so that telling it costs the fewest bits: each group its size, average and deviation, and
//! the samples within it as normal noise (the [`code`]). What the library computes is the definition, not what it says
//! about itself, and the test in `tests/jumpavg.rs` holds this against it.
//!
//! It is weak where a step is no larger than twice the noise; [`steps`](crate::steps) is better at these.

mod code;

use std::ops::Range;

pub use code::Code;

use crate::{Moments, Trend, Unusable};

/// Samples of one measurement, which are never cut in two.
#[derive(Clone, Debug, PartialEq)]
pub enum Run {
    /// One sample.
    One(f64),
    /// Several samples, such as the trials of one test.
    Many(Vec<f64>),
}

impl Run {
    /// Its samples.
    pub fn samples(&self) -> &[f64] {
        match self {
            Run::One(sample) => std::slice::from_ref(sample),
            Run::Many(samples) => samples,
        }
    }
}

/// How finely samples are told.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Resolution {
    /// The smallest difference that means something, in the samples' unit.
    Unit(f64),
    /// The largest sample takes this many bits and one more, as in CSIT.
    SignificantBits(f64),
}

impl Default for Resolution {
    fn default() -> Resolution {
        Resolution::SignificantBits(12.0)
    }
}

/// Runs that belong together.
#[derive(Clone, Debug, PartialEq)]
pub struct Group {
    /// Their places in the series.
    pub runs: Range<usize>,
    /// Moments of all their samples.
    pub moments: Moments,
    /// Description length in bits, after the group before.
    pub bits: f64,
    /// Against the group before, by average: more is better.
    pub trend: Trend,
}

/// The best groups of the runs up to one of them.
struct Best {
    /// Where the last group begins.
    start: usize,
    last: Moments,
    bits: f64,
}

/// A last group that may still grow, behind the best groups of all runs before it.
struct Open {
    start: usize,
    moments: Moments,
    /// Bits of the groups before it.
    before: f64,
    previous: Option<f64>,
}

impl Open {
    fn bits(&self, code: &Code) -> f64 {
        self.before + code.bits(self.moments, self.previous)
    }
}

/// The groups of a series that cost the fewest bits; of equal ones, the later beginning of the last group, and then the
/// earliest. Takes time in proportion to the square of the number of runs.
pub fn classify(runs: &[Run], resolution: Resolution) -> Result<Vec<Group>, Unusable> {
    let code = code_for(runs, resolution)?;
    let mut open: Vec<Open> = Vec::new();
    let mut best: Vec<Best> = Vec::new();
    for (at, run) in runs.iter().enumerate() {
        let moments = match run {
            Run::One(sample) => Moments::from(*sample),
            Run::Many(samples) => Moments::of(samples.iter().copied().map(Moments::from)),
        };
        let (before, previous) = match best.last() {
            Some(best) => (best.bits, Some(closed(best.last).average)),
            None => (0.0, None),
        };
        let alone = Open { start: at, moments, before, previous };
        let mut found = Best { start: at, last: moments, bits: alone.bits(&code) };
        for group in &mut open {
            group.moments = Moments::of([group.moments, moments]);
            let bits = group.bits(&code);
            if bits < found.bits {
                found = Best { start: group.start, last: group.moments, bits };
            }
        }
        open.push(alone);
        best.push(found);
    }
    Ok(groups(&best, &code))
}

/// A group that another one follows. The library computes its moments anew then, which rounds once more.
fn closed(moments: Moments) -> Moments {
    Moments::of([moments])
}

/// Walks back through the best groups, and tells them from the first on.
fn groups(best: &[Best], code: &Code) -> Vec<Group> {
    let mut parts = Vec::new();
    let mut end = best.len();
    while let Some(last) = end.checked_sub(1).map(|at| &best[at]) {
        let moments = if end == best.len() { last.last } else { closed(last.last) };
        parts.push((last.start..end, moments));
        end = last.start;
    }
    let mut previous: Option<f64> = None;
    let group = |(runs, moments): (Range<usize>, Moments)| {
        let trend = match previous {
            Some(previous) if moments.average < previous => Trend::Regression,
            Some(previous) if moments.average > previous => Trend::Progression,
            _ => Trend::Normal,
        };
        let bits = code.bits(moments, previous.replace(moments.average));
        Group { runs, moments, bits, trend }
    };
    parts.into_iter().rev().map(group).collect()
}

/// Description length of all groups in bits.
pub fn bits(groups: &[Group]) -> f64 {
    groups.iter().map(|group| group.bits).sum()
}

fn code_for(runs: &[Run], resolution: Resolution) -> Result<Code, Unusable> {
    let mut max: f64 = 0.0;
    for (index, run) in runs.iter().enumerate() {
        if run.samples().is_empty() {
            return Err(Unusable::EmptyRun { index });
        }
        for &value in run.samples() {
            if !value.is_finite() {
                return Err(Unusable::NotFinite { index, value });
            }
            max = max.max(value);
        }
    }
    if runs.is_empty() { Err(Unusable::Empty) } else { Code::new(max, resolution) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ones(samples: &[f64]) -> Vec<Run> {
        samples.iter().copied().map(Run::One).collect()
    }

    fn shapes(runs: &[Run]) -> Vec<(Range<usize>, &'static str)> {
        let groups = classify(runs, Resolution::default()).unwrap();
        groups.into_iter().map(|group| (group.runs, group.trend.name())).collect()
    }

    #[test]
    fn a_step_begins_a_group() {
        let series = ones(&[[10.0; 8], [9.5; 8]].concat());
        assert_eq!(shapes(&series), [(0..8, "normal"), (8..16, "regression")]);
        let series = ones(&[[10.0; 8], [10.5; 8]].concat());
        assert_eq!(shapes(&series), [(0..8, "normal"), (8..16, "progression")]);
        assert_eq!(shapes(&ones(&[7.0; 20])), [(0..20, "normal")]);
        assert_eq!(shapes(&ones(&[7.0])), [(0..1, "normal")]);
    }

    #[test]
    fn a_run_is_never_cut() {
        let series = [Run::Many(vec![10.0; 4]), Run::Many(vec![10.0, 10.0, 9.0, 9.0]), Run::Many(vec![9.0; 4])];
        let groups = classify(&series, Resolution::default()).unwrap();
        let samples: Vec<_> = groups.iter().map(|group| group.moments.size).collect();
        assert!(samples.iter().all(|size| size % 4 == 0), "{samples:?}");
        assert_eq!(samples.iter().sum::<usize>(), 12);
    }

    #[test]
    fn what_has_no_meaning_is_refused() {
        let refused = |runs: &[Run], resolution| classify(runs, resolution).unwrap_err();
        assert_eq!(refused(&[], Resolution::default()), Unusable::Empty);
        assert_eq!(refused(&ones(&[0.0, -1.0]), Resolution::default()), Unusable::NotPositive);
        let empty = [Run::One(1.0), Run::Many(vec![])];
        assert_eq!(refused(&empty, Resolution::default()), Unusable::EmptyRun { index: 1 });
        assert!(matches!(
            refused(&ones(&[1.0, f64::NAN]), Resolution::default()),
            Unusable::NotFinite { index: 1, .. }
        ));
        for value in [0.0, -1.0, f64::INFINITY] {
            assert_eq!(refused(&ones(&[1.0]), Resolution::Unit(value)), Unusable::Resolution { value });
            assert_eq!(refused(&ones(&[1.0]), Resolution::SignificantBits(value)), Unusable::Resolution { value });
        }
    }
}
