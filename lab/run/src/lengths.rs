//! How long everything takes: CSIT's goals, or shorter ones.

use quiver_search::burst::Burst;
use quiver_search::endurance::Endurance;
use quiver_search::latency::Latency;
use quiver_search::mlr::{Goal, Mlr};
use quiver_search::mrr::Mrr;
use quiver_search::plr::Plr;
use quiver_search::reconf::Reconf;
use quiver_search::{Error, Load, Seconds};

/// The settings of all searches.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Lengths {
    /// Seconds of a trial, if not CSIT's.
    trial: Option<f64>,
    /// Seconds of endurance, if not hours.
    endurance: Option<f64>,
}

/// Seconds of the shortest trial: of a slow device some ten packets.
pub const TRIAL_MIN: f64 = 0.001;
/// With shorter trials intervals are this wide, and NDR and PDR have trials for so many of their lengths at each load.
const SHORT_WIDTH: f64 = 0.05;
const SHORT_TRIALS: f64 = 3.0;
/// Share below which a change over the whole time counts as steady.
const ENDURANCE_TOLERANCE: f64 = 0.005;

impl Lengths {
    /// CSIT's: hours for all cases.
    pub const CSIT: Lengths = Lengths { trial: None, endurance: None };
    /// For continuous integration and a first look: trials of 0.1 s.
    pub const SHORT: Lengths = Lengths { trial: Some(0.1), endurance: None };

    /// Trials of so many seconds, few of them, and wider intervals. [`TRIAL_MIN`] at least, and 1,000 at most.
    pub fn of_trials(seconds: f64) -> Option<Lengths> {
        (TRIAL_MIN..=1000.0).contains(&seconds).then_some(Lengths { trial: Some(seconds), endurance: None })
    }

    /// With so many seconds of endurance.
    #[must_use]
    pub fn enduring(self, seconds: Option<f64>) -> Lengths {
        Lengths { endurance: seconds, ..self }
    }

    /// Whether goals are CSIT's.
    pub fn is_csit(self) -> bool {
        self.trial.is_none()
    }

    /// Seconds of an ordinary trial.
    pub(crate) fn unit(self) -> f64 {
        self.trial.unwrap_or(1.0)
    }

    /// Seconds of a trial of the closed loop, and how many there are.
    pub fn closed_loop(self) -> (f64, u32) {
        self.trial.map_or((1.0, 10), |trial| (trial, 3))
    }

    /// Seconds of the load in searches that measure its cost.
    pub(crate) fn power(self) -> f64 {
        self.trial.unwrap_or(30.0)
    }

    /// Seconds in which the generator's own ceiling is measured.
    pub fn ceiling(self) -> f64 {
        self.trial.unwrap_or(1.0).min(1.0)
    }

    pub(crate) fn mrr(self, load: Load) -> Result<Mrr, Error> {
        let csit = Mrr::csit(load);
        let of = |trial| Ok(Mrr { trials: 3, duration: Seconds::new(trial)?, ..csit });
        self.trial.map_or(Ok(csit), of)
    }

    pub(crate) fn mlr(self, goals: Vec<Goal>, max_load: Load) -> Result<Mlr, Error> {
        let csit = Mlr { goals, ..Mlr::csit(max_load) };
        let Some(trial) = self.trial else { return Ok(csit) };
        let length = Seconds::new(trial)?;
        let shorter = |goal: Goal| -> Result<Goal, Error> {
            let duration_sum = Seconds::new(SHORT_TRIALS * trial)?;
            Ok(Goal { relative_width: SHORT_WIDTH, initial_trial: length, final_trial: length, duration_sum, ..goal })
        };
        let goals = csit.goals.into_iter().map(shorter).collect::<Result<_, _>>()?;
        Ok(Mlr { goals, ..csit })
    }

    pub(crate) fn plr(self, max_load: Load) -> Result<Plr, Error> {
        let csit = Plr::csit(max_load);
        let Some(trial) = self.trial else { return Ok(csit) };
        let (longer, duration) = (Seconds::new(trial / 50.0)?, Seconds::new(20.0 * trial)?);
        Ok(Plr { first: Seconds::new(trial)?, longer, duration, ..csit })
    }

    pub(crate) fn latency(self, load: Load) -> Result<Latency, Error> {
        let csit = Latency::csit(load);
        let of = |trial| Ok(Latency { duration: Seconds::new(trial)?, ..csit.clone() });
        self.trial.map_or(Ok(csit.clone()), of)
    }

    pub(crate) fn burst(self, line_rate: Load, throughput: Load) -> Burst {
        let rfc = Burst::rfc9004(line_rate, throughput);
        let Some(trial) = self.trial else { return rfc };
        let longest = ((line_rate.pps() * trial) as u64).max(2);
        Burst { longest, resolution: (longest / 64).max(1), repetitions: 2, ..rfc }
    }

    /// The time to wait after a burst, at most as long as the RFC asks for.
    pub(crate) fn settling(self, asked: Seconds) -> Seconds {
        let short = self.trial.and_then(|trial| Seconds::new(trial).ok());
        short.map_or(asked, |short| if short < asked { short } else { asked })
    }

    /// Trials of ten seconds for four hours, or twenty short ones.
    pub(crate) fn endurance(self, load: Load) -> Result<Endurance, Error> {
        let (trial, duration) = self.trial.map_or((10.0, 4.0 * 3600.0), |trial| (trial, 20.0 * trial));
        let duration = self.endurance.unwrap_or(duration);
        let (trial, duration) = (Seconds::new(trial.min(duration))?, Seconds::new(duration)?);
        Ok(Endurance { load, trial, duration, tolerance: ENDURANCE_TOLERANCE })
    }

    pub(crate) fn reconf(self, load: Load) -> Result<Reconf, Error> {
        match self.trial {
            // CSIT's trials for this are of 11 s.
            None => Ok(Reconf { load, duration: Seconds::new(11.0)?, changes: 5 }),
            Some(trial) => Ok(Reconf { load, duration: Seconds::new(trial)?, changes: 2 }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trials_have_a_least_and_a_greatest_length() {
        for (seconds, is_taken) in [(0.001, true), (1000.0, true), (1e-9, false), (0.0, false), (1001.0, false)] {
            assert_eq!(Lengths::of_trials(seconds).is_some(), is_taken, "{seconds}");
        }
        assert_eq!(Lengths::of_trials(f64::NAN), None);
    }
}
