//! Endurance: the same load for hours, and what drifts or leaks meanwhile.
//!
//! Beside the trials the caller samples whatever may change: memory, buffers in use, ticks per packet. A series drifts if it
//! goes one way (Mann-Kendall's test), and so far that it matters (the median of all slopes, after Theil and Sen). Neither
//! is misled by a few odd samples.

use std::collections::BTreeMap;

use quiver_verdict::median;
use serde::Serialize;

use crate::search::Ledger;
use crate::{Error, Load, Progress, Search, Seconds, Step, Trial, TrialResult};

/// At which load, for how long, and what counts as drift.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Endurance {
    /// The load of all trials.
    pub load: Load,
    /// How long a trial takes.
    pub trial: Seconds,
    /// The trials end when their effective durations come to that.
    pub duration: Seconds,
    /// A series that changes less than this part of its median over the whole time is steady.
    pub tolerance: f64,
}

impl Endurance {
    /// Begins.
    ///
    /// # Errors
    /// [`Error::Setting`] names what is wrong.
    pub fn search(self) -> Result<EnduranceSearch, Error> {
        let settings = [
            ("load", self.load.pps(), self.load.pps() > 0.0, "above 0"),
            ("trial", self.trial.seconds(), self.trial.seconds() > 0.0, "above 0 seconds"),
            ("tolerance", self.tolerance, self.tolerance.is_finite() && self.tolerance >= 0.0, "0 or more"),
        ];
        match settings.into_iter().find(|(.., is_right, _)| !is_right) {
            Some((field, value, _, remedy)) => {
                Err(Error::Setting { of: "endurance".into(), field, value: value.to_string(), remedy })
            }
            None => {
                Ok(EnduranceSearch { endurance: self, ledger: Ledger::default(), lost: 0, series: BTreeMap::new() })
            }
        }
    }
}

/// Where a series goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Direction {
    /// No direction, or too small a change to matter.
    Steady,
    /// Up: a leak, if it is of something that is taken and should be given back.
    Rising,
    /// Down.
    Falling,
}

/// Trend of a series.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Drift {
    /// Its name.
    pub name: String,
    /// How many samples it has.
    pub samples: usize,
    /// Their median.
    pub median: f64,
    /// The median slope, in units of the series for an hour.
    pub per_hour: f64,
    /// How likely a series without a direction goes so far one way, by chance.
    pub chance: f64,
    /// The verdict: a direction if chance is below 1 in 1,000 and the change above the tolerance.
    pub direction: Direction,
}

/// The whole time.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Endured {
    /// Trials.
    pub trials: u64,
    /// Packets that were lost in all of them.
    pub lost: u64,
    /// Each series, by name.
    pub drifts: Vec<Drift>,
}

/// The trials, one after the other.
#[derive(Clone, Debug)]
pub struct EnduranceSearch {
    endurance: Endurance,
    ledger: Ledger,
    lost: u64,
    /// Times in seconds, and samples.
    series: BTreeMap<String, Vec<(f64, f64)>>,
}

/// The series that each search has: packets that came back per second.
pub const RECEIVED: &str = "packets received per second";

impl EnduranceSearch {
    /// Adds a sample to a series, at a time since the begin. What is not a number is left out.
    pub fn sample(&mut self, name: &str, at: Seconds, value: f64) {
        if value.is_finite() {
            self.series.entry(name.to_owned()).or_default().push((at.seconds(), value));
        }
    }

    /// Results so far.
    pub fn endured(&self) -> Endured {
        let drift = |(name, samples): (&String, &Vec<_>)| drift(name, samples, self.endurance.tolerance);
        Endured { trials: self.ledger.trials, lost: self.lost, drifts: self.series.iter().map(drift).collect() }
    }

    fn to_go(&self) -> f64 {
        (self.endurance.duration.seconds() - self.ledger.spent).max(0.0)
    }
}

impl Search for EnduranceSearch {
    type Outcome = Endured;

    fn next(&mut self) -> Result<Step<Endured>, Error> {
        if let Some(trial) = self.ledger.asked() {
            return Ok(Step::Trial(trial));
        }
        Ok(match self.to_go() > 0.0 {
            true => Step::Trial(self.ledger.ask(Trial { load: self.endurance.load, duration: self.endurance.trial })),
            false => Step::Done(self.endured()),
        })
    }

    fn record(&mut self, result: TrialResult) -> Result<(), Error> {
        self.ledger.close(&result)?;
        self.lost += result.sent.saturating_sub(result.received);
        self.sample(RECEIVED, Seconds::known(self.ledger.spent), result.receive_rate().pps());
        Ok(())
    }

    fn progress(&self) -> Progress {
        self.ledger.progress(self.to_go(), Vec::new())
    }
}

/// Series with more samples are thinned out to medians of as many groups: all pairs are looked at.
const GROUPS_MAX: usize = 500;

/// Below this it is not by chance.
const CHANCE_MAX: f64 = 1e-3;

fn drift(name: &str, samples: &[(f64, f64)], tolerance: f64) -> Drift {
    let mut sorted = samples.to_vec();
    sorted.sort_by(|one, other| one.0.total_cmp(&other.0));
    let group = sorted.len().div_ceil(GROUPS_MAX).max(1);
    let of_group = |group: &[(f64, f64)]| {
        (middle(group.iter().map(|sample| sample.0).collect()), middle(group.iter().map(|sample| sample.1).collect()))
    };
    let thin: Vec<_> = sorted.chunks(group).map(of_group).collect();
    let thin = &thin;
    let pairs =
        || thin.iter().enumerate().flat_map(move |(at, one)| thin[at + 1..].iter().map(move |other| (one, other)));
    let slopes: Vec<_> = pairs()
        .filter(|(one, other)| other.0 > one.0)
        .map(|(one, other)| (other.1 - one.1) / (other.0 - one.0))
        .collect();
    let (median_value, slope) = (middle(thin.iter().map(|sample| sample.1).collect()), middle(slopes));
    let rises: i64 = pairs().map(|(one, other)| (other.1 > one.1) as i64 - (other.1 < one.1) as i64).sum();
    let chance = chance(rises, thin);
    let whole = match (thin.first(), thin.last()) {
        (Some(first), Some(last)) => slope * (last.0 - first.0),
        _ => 0.0,
    };
    let matters = chance < CHANCE_MAX && whole.abs() > tolerance * median_value.abs();
    let direction = match matters {
        true if whole > 0.0 => Direction::Rising,
        true if whole < 0.0 => Direction::Falling,
        _ => Direction::Steady,
    };
    let (samples, per_hour) = (samples.len(), slope * 3600.0);
    Drift { name: name.to_owned(), samples, median: median_value, per_hour, chance, direction }
}

/// 0 of none.
fn middle(values: Vec<f64>) -> f64 {
    median(values).unwrap_or(0.0)
}

/// How likely pairs rise so much more often than they fall, or the other way, when order means nothing: Mann-Kendall's test
/// by the normal distribution, with its correction for equal values. Few samples prove nothing.
fn chance(rises: i64, samples: &[(f64, f64)]) -> f64 {
    const FEW: usize = 10;
    if samples.len() < FEW {
        return 1.0;
    }
    let variance_of = |many: usize| (many * (many - 1) * (2 * many + 5)) as f64 / 18.0;
    let mut values: Vec<_> = samples.iter().map(|sample| sample.1).collect();
    values.sort_by(f64::total_cmp);
    let ties: f64 = values.chunk_by(|one, other| one == other).map(|equal| variance_of(equal.len())).sum();
    let variance = variance_of(samples.len()) - ties;
    match variance > 0.0 {
        true => libm::erfc((rises.abs() - 1).max(0) as f64 / (2.0 * variance).sqrt()),
        false => 1.0,
    }
}

#[cfg(test)]
mod tests {
    use fastrand::Rng;

    use super::*;

    const HOURS: Endurance = Endurance {
        load: Load::known(1e6),
        trial: Seconds::known(60.0),
        duration: Seconds::known(4.0 * 3600.0),
        tolerance: 0.001,
    };

    /// Four hours: rates with noise, of a device that gets slower or not, and its memory.
    fn endure(slower: f64, leak: f64, seed: u64) -> Endured {
        let (mut rng, mut search) = (Rng::with_seed(seed), HOURS.search().unwrap());
        while let Step::Trial(trial) = search.next().unwrap() {
            let spent = search.progress().spent;
            let hours = spent.seconds() / 3600.0;
            let part = 0.9 * (1.0 - slower * hours) * (1.0 + 0.002 * (rng.f64() - 0.5));
            search.sample("memory", spent, 1e8 + leak * hours + 1e5 * rng.f64());
            search.record(TrialResult::ideal(trial, (trial.packets() as f64 * part) as u64)).unwrap();
        }
        search.endured()
    }

    #[test]
    fn a_leak_is_found_and_measured() {
        for seed in 0..20 {
            let endured = endure(0.0, 1e6, seed);
            let [memory, received] = &endured.drifts[..] else { panic!("{endured:?}") };
            assert_eq!((memory.name.as_str(), memory.direction), ("memory", Direction::Rising));
            assert!((memory.per_hour / 1e6 - 1.0).abs() < 0.05, "{memory:?}");
            assert_eq!((received.name.as_str(), received.direction), (RECEIVED, Direction::Steady), "{received:?}");
            assert_eq!((endured.trials, received.samples), (240, 240));
        }
    }

    #[test]
    fn a_device_that_gets_slower_is_found() {
        for seed in 0..20 {
            let endured = endure(0.001, 0.0, seed);
            let directions: Vec<_> = endured.drifts.iter().map(|drift| drift.direction).collect();
            assert_eq!(directions, [Direction::Steady, Direction::Falling], "{endured:?}");
        }
    }

    #[test]
    fn odd_series_are_steady() {
        let of = |values: &[f64]| {
            let samples: Vec<_> = values.iter().enumerate().map(|(at, value)| (at as f64, *value)).collect();
            drift("x", &samples, 0.0).direction
        };
        assert_eq!(of(&[]), Direction::Steady);
        assert_eq!(of(&[1.0, 2.0, 3.0]), Direction::Steady);
        assert_eq!(of(&[7.0; 100]), Direction::Steady);
        let mut jump = vec![1.0; 100];
        jump.push(9.0);
        assert_eq!(of(&jump), Direction::Steady);
        let rising: Vec<_> = (0..5000).map(f64::from).collect();
        assert_eq!(of(&rising), Direction::Rising);
    }

    #[test]
    fn what_is_no_number_is_left_out() {
        let mut search = HOURS.search().unwrap();
        search.sample("x", Seconds::default(), f64::NAN);
        assert_eq!(search.endured().drifts, []);
        let endurance = Endurance { tolerance: f64::NAN, ..HOURS };
        assert!(endurance.search().unwrap_err().to_string().starts_with("endurance: tolerance is NaN"));
    }
}
