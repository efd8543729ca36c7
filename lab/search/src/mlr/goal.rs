//! Goals of the search, and the easier targets on the way to them.

use serde::{Deserialize, Serialize};

use super::grid::{Grid, Width};
use crate::{Error, Seconds};

/// A goal of a search: the highest load at which the loss is small enough often enough.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Goal {
    /// Name of the goal in reports.
    pub name: String,
    /// A trial is good up to this loss ratio. Within 0 and 1, 1 excluded.
    pub loss_ratio: f64,
    /// A load is good if at most this part of the trials, by time, is bad. Within 0 and 1, 1 excluded.
    pub exceed_ratio: f64,
    /// How near the bounds have to come to each other: their difference by the upper one. Within 0 and 1, both excluded.
    pub relative_width: f64,
    /// How long the first trials take.
    pub initial_trial: Seconds,
    /// How long a trial takes that counts in full.
    pub final_trial: Seconds,
    /// How long trials of one load take together.
    pub duration_sum: Seconds,
    /// How many easier targets are met before: each is twice as wide as the one after it, with a shorter sum.
    pub preceding_targets: u32,
    /// How much larger the next step is while a bound is still looked for. At least 2.
    pub expansion: u32,
    /// Whether the search ends with an error as soon as the smallest load turns out to be too much for this goal.
    pub fail_fast: bool,
}

/// More targets than this double the width beyond any use.
const PRECEDING_MAX: u32 = 32;

impl Goal {
    fn csit(name: &str, loss_ratio: f64) -> Goal {
        Goal {
            name: name.into(),
            loss_ratio,
            exceed_ratio: 0.5,
            relative_width: 0.005,
            initial_trial: Seconds::known(1.0),
            final_trial: Seconds::known(1.0),
            duration_sum: Seconds::known(21.0),
            preceding_targets: 2,
            expansion: 2,
            fail_fast: true,
        }
    }

    /// CSIT's no drop rate: no loss in at least half of 21 trials of one second.
    pub fn ndr() -> Goal {
        Goal::csit("NDR", 0.0)
    }

    /// CSIT's partial drop rate: 0.5 % loss at most, otherwise as [`Goal::ndr`].
    pub fn pdr() -> Goal {
        Goal::csit("PDR", 0.005)
    }

    /// The throughput of RFC 2544: no loss in a trial of 60 seconds (section 26.1).
    pub fn rfc2544() -> Goal {
        let minute = Seconds::known(60.0);
        Goal { exceed_ratio: 0.0, final_trial: minute, duration_sum: minute, ..Goal::csit("RFC 2544", 0.0) }
    }

    /// ETSI GS NFV-TST 009's binary search with loss verification: no loss in one of two trials of 60 seconds.
    pub fn tst009() -> Goal {
        let (final_trial, duration_sum) = (Seconds::known(60.0), Seconds::known(120.0));
        Goal { final_trial, duration_sum, ..Goal::csit("TST009", 0.0) }
    }

    /// # Errors
    /// [`Error::Setting`] names the goal, the field and what it must be.
    pub(super) fn check(&self) -> Result<(), Error> {
        let part = 0.0..1.0;
        let settings = [
            ("loss_ratio", self.loss_ratio, part.contains(&self.loss_ratio), "from 0 to below 1"),
            ("exceed_ratio", self.exceed_ratio, part.contains(&self.exceed_ratio), "from 0 to below 1"),
            (
                "relative_width",
                self.relative_width,
                part.contains(&self.relative_width) && self.relative_width > 0.0,
                "above 0 and below 1",
            ),
            ("initial_trial", self.initial_trial.seconds(), self.initial_trial.seconds() > 0.0, "above 0 seconds"),
            (
                "final_trial",
                self.final_trial.seconds(),
                self.final_trial >= self.initial_trial,
                "at least as long as initial_trial",
            ),
            (
                "duration_sum",
                self.duration_sum.seconds(),
                self.duration_sum >= self.final_trial,
                "at least as long as final_trial",
            ),
            (
                "preceding_targets",
                self.preceding_targets.into(),
                self.preceding_targets <= PRECEDING_MAX
                    && (self.preceding_targets > 0 || self.initial_trial >= self.duration_sum),
                "at most 32, and at least 1 if initial_trial is shorter than duration_sum",
            ),
            ("expansion", self.expansion.into(), self.expansion >= 2, "at least 2"),
        ];
        match settings.into_iter().find(|(.., is_right, _)| !is_right) {
            None => Ok(()),
            Some((field, value, _, remedy)) => {
                Err(Error::Setting { of: format!("goal {}", self.name), field, value: value.to_string(), remedy })
            }
        }
    }

    /// The targets of the goal, the easiest first, the goal itself at last.
    pub(super) fn targets(&self, grid: &Grid) -> Vec<Target> {
        let (count, sum) = (self.preceding_targets, self.duration_sum.seconds());
        let final_target = Target {
            loss_ratio: self.loss_ratio,
            exceed_ratio: self.exceed_ratio,
            width: grid.width(self.relative_width),
            trial: self.final_trial.seconds(),
            sum,
            expansion: self.expansion.into(),
        };
        // Sums are in proportion, the first is that of the initial trial.
        let ratio = (self.initial_trial.seconds() / sum).powf(1.0 / f64::from(count));
        let preceding = (1..=count).rev().map(|before| {
            let sum = match before == count {
                true => self.initial_trial.seconds(),
                false => sum * ratio.powf(f64::from(before)),
            };
            let width = final_target.width.saturating_mul(1 << before);
            Target { width, sum, trial: sum.min(final_target.trial), ..final_target }
        });
        preceding.chain([final_target]).collect()
    }
}

/// An intermediate target of a goal.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Target {
    pub loss_ratio: f64,
    pub exceed_ratio: f64,
    pub width: Width,
    /// Seconds of a trial that counts in full.
    pub trial: f64,
    /// Seconds of trials at one load.
    pub sum: f64,
    pub expansion: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_goals_are_right() {
        for goal in [Goal::ndr(), Goal::pdr(), Goal::rfc2544(), Goal::tst009()] {
            assert_eq!(goal.check(), Ok(()));
        }
    }

    #[test]
    fn wrong_goals_are_refused_by_field() {
        let refused = |goal: Goal| goal.check().unwrap_err().to_string();
        let second = Seconds::known(1.0);
        assert_eq!(
            refused(Goal { exceed_ratio: 1.0, ..Goal::ndr() }),
            "goal NDR: exceed_ratio is 1, must be from 0 to below 1"
        );
        assert!(refused(Goal { loss_ratio: f64::NAN, ..Goal::pdr() }).starts_with("goal PDR: loss_ratio is NaN"));
        assert!(refused(Goal { relative_width: 0.0, ..Goal::ndr() }).contains("relative_width"));
        assert!(refused(Goal { duration_sum: second, ..Goal::rfc2544() }).contains("at least as long as final_trial"));
        assert!(refused(Goal { preceding_targets: 0, ..Goal::ndr() }).contains("preceding_targets is 0"));
        assert!(refused(Goal { expansion: 1, ..Goal::ndr() }).contains("at least 2"));
    }

    #[test]
    fn targets_of_ndr_are_those_of_csit() {
        let grid = Grid::new(9001.0, 14_880_952.0, &[0.005]).unwrap();
        let targets = Goal::ndr().targets(&grid);
        let sums: Vec<_> = targets.iter().map(|target| (target.sum * 100.0).round() / 100.0).collect();
        assert_eq!(sums, [1.0, 4.58, 21.0]);
        let narrow = targets[2].width;
        assert_eq!([targets[0].width, targets[1].width], [4 * narrow, 2 * narrow]);
        assert!(targets.iter().all(|target| target.trial == 1.0));
    }
}
