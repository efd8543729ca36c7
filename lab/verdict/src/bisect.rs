//! Which commit changed the performance: measurements of one commit after the other, each half-way between two bounds.
//!
//! The samples of the commit in the middle are told with those of the early bound, with those of the late one, or by
//! themselves, whichever takes the fewest bits, and the search goes on in the other half, as CSIT's bisection does. Nothing
//! is built or measured here: a runner asks for the [`next`](Bisect::next) commit and answers with samples.

use std::collections::BTreeSet;

use crate::bits::{Code, Resolution};
use crate::{Moments, Unusable};

/// A bisection of commits.
#[derive(Clone, Debug)]
pub struct Bisect<C> {
    commits: Vec<C>,
    resolution: Resolution,
    early: Bound,
    late: Bound,
    skipped: BTreeSet<usize>,
}

/// An end of what is still searched.
#[derive(Clone, Debug)]
struct Bound {
    commit: usize,
    /// Empty as long as it is not measured.
    samples: Vec<f64>,
}

/// The next step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next<'bisect, C> {
    /// Measure this commit, then [`answer`](Bisect::answer) or [`skip`](Bisect::skip).
    Measure(&'bisect C),
    /// The commit that made the change; several if those between them were skipped.
    Found(&'bisect [C]),
}

/// The side that the samples in the middle belong to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Joined {
    /// With the late bound, and not with the early one.
    pub is_late: bool,
    /// They are a level of their own, so there may be two changes: the larger step, by averages, is followed.
    pub is_double: bool,
    /// Bits of all samples, with those in the middle joined to the early ones.
    pub early_bits: f64,
    /// With the late ones.
    pub late_bits: f64,
    /// Bits of the samples in the middle as a group of their own.
    pub double_bits: f64,
}

/// A bisection that cannot be done.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum BisectError {
    /// There is nothing between good and bad.
    #[error("{commits} commits: a bisection needs a good one and a later bad one")]
    TooFew {
        /// How many were given.
        commits: usize,
    },
    /// An end is needed.
    #[error("the first and the last commit cannot be skipped: name others that can be measured")]
    End,
    /// The search is over.
    #[error("nothing is being asked for: the commit is found")]
    Over,
    /// The samples are of no use.
    #[error(transparent)]
    Samples(#[from] Unusable),
}

impl<C> Bisect<C> {
    /// Between the first, which is good, and the last, which is bad, in the order of history. CSIT's resolution is a unit of
    /// one packet a second.
    pub fn new(commits: Vec<C>, resolution: Resolution) -> Result<Bisect<C>, BisectError> {
        if commits.len() < 2 {
            return Err(BisectError::TooFew { commits: commits.len() });
        }
        let bound = |commit| Bound { commit, samples: Vec::new() };
        let (early, late) = (bound(0), bound(commits.len() - 1));
        Ok(Bisect { commits, resolution, early, late, skipped: BTreeSet::new() })
    }

    /// The next step.
    pub fn next(&self) -> Next<'_, C> {
        match self.wanted() {
            Some(commit) => Next::Measure(&self.commits[commit]),
            None => Next::Found(&self.commits[self.early.commit + 1..=self.late.commit]),
        }
    }

    /// At most so many commits remain to be measured.
    pub fn remaining(&self) -> u32 {
        let ends = [&self.early, &self.late].into_iter().filter(|bound| bound.samples.is_empty()).count() as u32;
        let between = self.late.commit - self.early.commit - 1;
        let skipped = self.skipped.range(self.early.commit..self.late.commit).count();
        ends + (between - skipped).checked_ilog2().map_or(0, |halves| halves + 1)
    }

    /// The samples of the commit that was asked for. Of one in the middle, it is said whom they belong with.
    pub fn answer(&mut self, samples: Vec<f64>) -> Result<Option<Joined>, BisectError> {
        let commit = self.wanted().ok_or(BisectError::Over)?;
        usable(&samples)?;
        let bound = Bound { commit, samples };
        if commit == self.early.commit {
            self.early = bound;
            return Ok(None);
        }
        if commit == self.late.commit {
            self.late = bound;
            return Ok(None);
        }
        let joined = join(&self.early.samples, &bound.samples, &self.late.samples, self.resolution)?;
        if joined.is_late {
            self.late = bound;
        } else {
            self.early = bound;
        }
        Ok(Some(joined))
    }

    /// The commit that was asked for cannot be measured, since it does not build, say: another one near it is taken.
    pub fn skip(&mut self) -> Result<(), BisectError> {
        let commit = self.wanted().ok_or(BisectError::Over)?;
        if commit == self.early.commit || commit == self.late.commit {
            return Err(BisectError::End);
        }
        self.skipped.insert(commit);
        Ok(())
    }

    /// Both ends first, then what is nearest to the middle.
    fn wanted(&self) -> Option<usize> {
        let unmeasured = [&self.early, &self.late].into_iter().find(|bound| bound.samples.is_empty());
        if let Some(bound) = unmeasured {
            return Some(bound.commit);
        }
        let middle = self.early.commit.midpoint(self.late.commit);
        let between = (self.early.commit + 1..self.late.commit).filter(|commit| !self.skipped.contains(commit));
        between.min_by_key(|commit| commit.abs_diff(middle))
    }
}

fn usable(samples: &[f64]) -> Result<(), Unusable> {
    if samples.is_empty() {
        return Err(Unusable::Empty);
    }
    match samples.iter().enumerate().find(|(_, sample)| !sample.is_finite()) {
        Some((index, &value)) => Err(Unusable::NotFinite { index, value }),
        None => Ok(()),
    }
}

/// Joins the samples in the middle to one side. None of the three lists may be empty.
pub fn join(early: &[f64], middle: &[f64], late: &[f64], resolution: Resolution) -> Result<Joined, Unusable> {
    [early, middle, late].into_iter().try_for_each(usable)?;
    let largest = [early, middle, late].into_iter().flatten().copied().fold(f64::MIN, f64::max);
    let code = Code::new(largest, resolution)?;
    let moments = |samples: &[f64]| Moments::of(samples.iter().copied().map(Moments::from));
    let with = |group: Moments, samples: &[f64]| {
        Moments::of([group].into_iter().chain(samples.iter().copied().map(Moments::from)))
    };
    let bits = |groups: &[Moments]| {
        let before = [None].into_iter().chain(groups.iter().map(|group| Some(group.average)));
        groups.iter().zip(before).map(|(group, before)| code.bits(*group, before)).sum::<f64>()
    };
    let [first, own, last] = [early, middle, late].map(moments);
    let early_bits = bits(&[with(first, middle), last]);
    let late_bits = bits(&[first, with(own, late)]);
    let double_bits = bits(&[first, own, last]);
    let is_double = double_bits <= early_bits.min(late_bits);
    let step = |one: Moments, other: Moments| {
        let larger = one.average.max(other.average);
        if larger == 0.0 { 0.0 } else { (one.average - other.average).abs() / larger }
    };
    let is_late = if is_double { step(first, own) > step(last, own) } else { early_bits > late_bits };
    Ok(Joined { is_late, is_double, early_bits, late_bits, double_bits })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Samples around a level, with noise that is the same each time.
    fn around(level: f64) -> Vec<f64> {
        (0..10).map(|at| level * (1.0 + f64::from(at * 7 % 10 - 5) * 1e-4)).collect()
    }

    /// Every place of the change among many commits is found, in as many measurements as were announced.
    #[test]
    fn the_commit_that_made_the_change_is_found() {
        for commits in [2, 3, 10, 33] {
            for bad in 1..commits {
                let mut bisect = Bisect::new((0..commits).collect(), Resolution::default()).unwrap();
                let announced = bisect.remaining();
                let mut asked = 0;
                while let Next::Measure(commit) = bisect.next() {
                    let level = if *commit < bad { 1e7 } else { 9.7e6 };
                    bisect.answer(around(level)).unwrap();
                    asked += 1;
                }
                assert_eq!(bisect.next(), Next::Found(&[bad]), "{commits} {bad}");
                assert!(asked <= announced, "{asked} {announced}");
                assert_eq!(bisect.answer(around(1.0)), Err(BisectError::Over));
            }
        }
    }

    #[test]
    fn what_cannot_be_measured_is_skipped() {
        let mut bisect = Bisect::new((0..10).collect(), Resolution::default()).unwrap();
        assert_eq!(bisect.skip(), Err(BisectError::End));
        while let Next::Measure(commit) = bisect.next() {
            let commit: i32 = *commit;
            match commit {
                4 | 5 => bisect.skip().unwrap(),
                _ => drop(bisect.answer(around(if commit < 5 { 1e7 } else { 9.7e6 })).unwrap()),
            }
        }
        assert_eq!(bisect.next(), Next::Found(&[4, 5, 6]));
        assert_eq!(bisect.remaining(), 0);
    }

    #[test]
    fn of_two_changes_the_larger_is_followed() {
        let joined = join(&around(1e7), &around(9.9e6), &around(9.5e6), Resolution::default()).unwrap();
        assert!(joined.is_double && !joined.is_late, "{joined:?}");
        let joined = join(&around(1e7), &around(9.6e6), &around(9.5e6), Resolution::default()).unwrap();
        assert!(joined.is_double && joined.is_late, "{joined:?}");
        let joined = join(&around(1e7), &around(1e7), &around(9.5e6), Resolution::default()).unwrap();
        assert!(!joined.is_double && !joined.is_late, "{joined:?}");
    }

    #[test]
    fn useless_samples_are_refused() {
        assert!(matches!(Bisect::new(vec![1], Resolution::default()), Err(BisectError::TooFew { commits: 1 })));
        let mut bisect = Bisect::new(vec![1, 2], Resolution::default()).unwrap();
        assert_eq!(bisect.answer(vec![]), Err(BisectError::Samples(Unusable::Empty)));
        assert!(matches!(bisect.answer(vec![f64::NAN]), Err(BisectError::Samples(Unusable::NotFinite { .. }))));
        assert_eq!(join(&[0.0], &[0.0], &[0.0], Resolution::default()), Err(Unusable::NotPositive));
    }
}
