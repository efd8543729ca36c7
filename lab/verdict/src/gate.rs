//! Whether a change may pass: a verdict on the ratio of current to parent, with its reason.

use std::fmt;

use crate::compare::{Ratio, pairs_needed};

/// Which way is better.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Better {
    /// Higher is better: packets a second.
    Higher,
    /// Lower is better: ticks a packet.
    Lower,
}

/// Rule that decides what passes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Gate {
    /// The direction that is better for this measure.
    pub better: Better,
    /// The smallest difference that matters, as a share: 0.01 is one percent.
    pub smallest: f64,
}

/// The verdict on a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Verdict {
    /// It is slower, certainly and by more than the smallest difference that matters.
    Regression,
    /// It is faster, likewise.
    Progression,
    /// A difference, if there is one, is certainly smaller than what matters.
    Same,
    /// Too little was measured for the noise: a difference that matters is neither found nor excluded.
    Undecided,
}

/// A verdict, and what it rests on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Judgement {
    /// The verdict.
    pub verdict: Verdict,
    /// Ratio of current to parent, as measured.
    pub ratio: Ratio,
    /// The smallest difference that matters, as a share.
    pub smallest: f64,
}

impl Gate {
    /// Judges a ratio of current to parent.
    pub fn judge(&self, ratio: Ratio) -> Judgement {
        // As if more were better.
        let (low, estimate, high) = match self.better {
            Better::Higher => (ratio.low, ratio.estimate, ratio.high),
            Better::Lower => (1.0 / ratio.high, 1.0 / ratio.estimate, 1.0 / ratio.low),
        };
        // A share less, or as much more: both are the same step, up and down.
        let (slower, faster) = (1.0 - self.smallest, 1.0 / (1.0 - self.smallest));
        let verdict = if high < 1.0 && estimate <= slower {
            Verdict::Regression
        } else if low > 1.0 && estimate >= faster {
            Verdict::Progression
        } else if low > slower && high < faster {
            Verdict::Same
        } else {
            Verdict::Undecided
        };
        Judgement { verdict, ratio, smallest: self.smallest }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Verdict::Regression => "regression",
            Verdict::Progression => "progression",
            Verdict::Same => "same",
            Verdict::Undecided => "undecided",
        })
    }
}

/// `regression: -3.02 % (-3.41 to -2.60 % at 99 % confidence); 1 % matters`.
impl fmt::Display for Judgement {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Ratio { estimate, low, high, confidence } = self.ratio;
        let percent = |ratio: f64| (ratio - 1.0) * 100.0;
        let sure = confidence.value() * 100.0;
        write!(out, "{}: {:+.2} %", self.verdict, percent(estimate))?;
        if high.is_infinite() {
            return write!(out, "; {sure} % confidence needs at least {} pairs", pairs_needed(confidence));
        }
        let matters = self.smallest * 100.0;
        write!(out, " ({:+.2} to {:+.2} % at {sure} % confidence); {matters} % matters", percent(low), percent(high))?;
        match self.verdict {
            Verdict::Undecided => out.write_str(", so measure more pairs"),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::{Confidence, paired};

    fn ratio(low: f64, estimate: f64, high: f64) -> Ratio {
        Ratio { low, estimate, high, confidence: Confidence::HIGH }
    }

    #[test]
    fn a_verdict_is_certain_and_matters() {
        let gate = |better| Gate { better, smallest: 0.01 };
        for (low, estimate, high, verdict) in [
            (0.960, 0.970, 0.980, Verdict::Regression),
            (0.980, 0.985, 0.999, Verdict::Regression),
            (0.940, 0.970, 1.001, Verdict::Undecided),
            (0.993, 0.995, 0.997, Verdict::Same),
            (0.995, 1.000, 1.005, Verdict::Same),
            (0.985, 0.995, 0.999, Verdict::Undecided),
            (1.020, 1.030, 1.040, Verdict::Progression),
            (1.001, 1.009, 1.020, Verdict::Undecided),
            (0.000, 0.900, f64::INFINITY, Verdict::Undecided),
        ] {
            assert_eq!(gate(Better::Higher).judge(ratio(low, estimate, high)).verdict, verdict, "{low} {high}");
            // The same in ticks a packet.
            let ticks = ratio(1.0 / high, 1.0 / estimate, 1.0 / low);
            assert_eq!(gate(Better::Lower).judge(ticks).verdict, verdict, "{ticks:?}");
        }
    }

    #[test]
    fn a_verdict_says_why() {
        let gate = Gate { better: Better::Higher, smallest: 0.01 };
        let said = |ratio| gate.judge(ratio).to_string();
        let slower = "regression: -3.02 % (-3.41 to -2.60 % at 99 % confidence); 1 % matters";
        assert_eq!(said(ratio(0.9659, 0.9698, 0.974)), slower);
        let wide = "undecided: -2.00 % (-5.00 to +1.00 % at 99 % confidence); 1 % matters, so measure more pairs";
        assert_eq!(said(ratio(0.95, 0.98, 1.01)), wide);
        let few = said(paired(&[(1.0, 0.5)], Confidence::HIGH).unwrap());
        assert_eq!(few, "undecided: -50.00 %; 99 % confidence needs at least 8 pairs");
    }
}
