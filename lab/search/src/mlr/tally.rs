//! Classifies a load by its trials, as a lower or an upper bound of a target.

use std::cmp::Ordering;

use super::goal::Target;

/// Seconds of trials at one load, as one target sees them.
#[derive(Clone, Default, Debug)]
pub struct Tally {
    /// Trials that count in full.
    good: f64,
    bad: f64,
    /// Shorter ones.
    good_short: f64,
    bad_short: f64,
    /// The loss ratios of the full trials with their seconds, the smallest first.
    losses: Vec<(f64, f64)>,
}

/// The class of a load for a target. A load is undecided while the missing trials can still change the class.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verdict {
    Lower,
    Upper,
    Undecided,
}

impl Tally {
    /// Counts a trial of an intended duration, which took `effective` seconds in all.
    pub fn add(&mut self, target: &Target, duration: f64, effective: f64, loss_ratio: f64) {
        let is_full = duration >= target.trial;
        let seconds = match (is_full, loss_ratio > target.loss_ratio) {
            (true, false) => &mut self.good,
            (true, true) => &mut self.bad,
            (false, false) => &mut self.good_short,
            (false, true) => &mut self.bad_short,
        };
        *seconds += effective;
        if is_full {
            match self.losses.binary_search_by(|(known, _)| known.partial_cmp(&loss_ratio).unwrap_or(Ordering::Less)) {
                Ok(at) => self.losses[at].1 += effective,
                Err(at) => self.losses.insert(at, (loss_ratio, effective)),
            }
        }
    }

    /// Draft-ietf-bmwg-mlrsearch, "Load Classification Logic". Short trials can only speak against a load: the bad ones as
    /// far as they are more than the good ones excuse.
    pub fn verdict(&self, target: &Target) -> Verdict {
        let exceed = target.exceed_ratio;
        let excused = self.good_short * exceed / (1.0 - exceed);
        let bad = self.bad + (self.bad_short - excused).max(0.0);
        let whole = (self.good + bad).max(target.sum);
        let allowed = whole * exceed;
        // The time that is missing would be bad at worst, and good at best.
        let (at_worst, at_best) = (whole - self.good <= allowed, bad <= allowed);
        match (at_worst, at_best) {
            (true, true) => Verdict::Lower,
            (false, false) => Verdict::Upper,
            _ => Verdict::Undecided,
        }
    }

    /// The loss ratio that the allowed part of the full trials may exceed; all time that is missing counts as lost. From
    /// it comes the draft's "Conditional Throughput".
    pub fn loss_at_quantile(&self, target: &Target) -> f64 {
        let all = (self.good + self.bad).max(target.sum);
        let mut remaining = all * (1.0 - target.exceed_ratio);
        for (loss_ratio, seconds) in &self.losses {
            remaining -= seconds;
            if remaining <= 0.0 {
                return *loss_ratio;
            }
        }
        1.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn target(exceed_ratio: f64, sum: f64) -> Target {
        Target { loss_ratio: 0.0, exceed_ratio, width: 1, trial: 1.0, sum, expansion: 2 }
    }

    fn tally(target: &Target, trials: &[(f64, f64)]) -> Tally {
        let mut tally = Tally::default();
        trials.iter().for_each(|(duration, loss_ratio)| tally.add(target, *duration, *duration, *loss_ratio));
        tally
    }

    #[test]
    fn half_of_the_trials_decide() {
        let target = target(0.5, 4.0);
        let verdict = |trials: &[f64]| {
            tally(&target, &trials.iter().map(|loss| (1.0, *loss)).collect::<Vec<_>>()).verdict(&target)
        };
        assert_eq!(verdict(&[]), Verdict::Undecided);
        assert_eq!(verdict(&[0.0, 0.1, 0.1]), Verdict::Undecided);
        assert_eq!(verdict(&[0.0, 0.1, 0.1, 0.0]), Verdict::Lower);
        assert_eq!(verdict(&[0.0, 0.1, 0.1, 0.1]), Verdict::Upper);
        assert_eq!(verdict(&[0.0, 0.0]), Verdict::Lower);
    }

    #[test]
    fn short_trials_only_speak_against() {
        let target = target(0.5, 1.0);
        let verdict = |trials: &[(f64, f64)]| tally(&target, trials).verdict(&target);
        assert_eq!(verdict(&[(0.9, 0.0); 9]), Verdict::Undecided);
        assert_eq!(verdict(&[(0.9, 0.1)]), Verdict::Upper);
        assert_eq!(verdict(&[(0.9, 0.1), (0.9, 0.0)]), Verdict::Undecided);
    }

    #[test]
    fn the_quantile_of_losses() {
        let target = target(0.5, 4.0);
        let quantile = |trials: &[(f64, f64)]| tally(&target, trials).loss_at_quantile(&target);
        assert_eq!(quantile(&[(1.0, 0.0), (1.0, 0.2), (1.0, 0.1), (1.0, 0.3)]), 0.1);
        assert_eq!(quantile(&[(1.0, 0.0), (1.0, 0.0)]), 0.0);
        // Half a second is missing of the two that have to be good.
        assert_eq!(quantile(&[(1.5, 0.0)]), 1.0);
        assert_eq!(quantile(&[]), 1.0);
    }
}
