//! A trial, and what came of it.

use serde::{Deserialize, Serialize};

use crate::Error;
use crate::quantity::{Load, Seconds};

/// A trial that a search asks for: a load and a duration.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct Trial {
    /// The intended load.
    pub load: Load,
    /// The intended duration.
    pub duration: Seconds,
}

impl Trial {
    /// Number of packets to send in one direction.
    pub fn packets(&self) -> u64 {
        (self.load.pps() * self.duration.seconds()) as u64
    }
}

/// Result of a trial. Packets of both directions are counted together.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct TrialResult {
    /// Packets that should have been sent.
    pub intended: u64,
    /// Packets that were sent.
    pub sent: u64,
    /// Packets that came back.
    pub received: u64,
    /// How long packets were sent.
    pub sending: Seconds,
    /// How long the trial took in all, with what its start and its end cost. Trials count by this time when a load is
    /// classified, so that overhead is not paid for twice.
    pub effective: Seconds,
}

impl TrialResult {
    /// The result of a trial that sent all in time, and cost nothing beside.
    pub fn ideal(trial: Trial, received: u64) -> TrialResult {
        let (packets, duration) = (trial.packets(), trial.duration);
        TrialResult { intended: packets, sent: packets, received, sending: duration, effective: duration }
    }

    /// The part of the packets that did not make it, 0 to 1. A packet that was not sent is lost: who cannot send it has not
    /// shown that the device forwards it. What is too much, sent or received, counts like what is missing, as it does in
    /// CSIT: an odd trial never looks better than a good one. A trial that sent nothing, as it should, lost nothing.
    pub fn loss_ratio(&self) -> f64 {
        let missing = self.sent.abs_diff(self.received) as f64 + self.intended.abs_diff(self.sent) as f64;
        match self.intended.max(self.sent) {
            0 => 0.0,
            all => (missing / all as f64).min(1.0),
        }
    }

    /// The rate at which packets came back, in both directions together.
    pub fn receive_rate(&self) -> Load {
        Load::known(self.received as f64 / self.sending.seconds())
    }

    /// Whether this can have come of the trial.
    ///
    /// # Errors
    /// [`Error::NoTime`] and [`Error::Surplus`].
    pub(crate) fn check(&self, trial: Trial) -> Result<(), Error> {
        let (load, effective, sending) = (trial.load, self.effective, self.sending);
        if effective.seconds() <= 0.0 || sending.seconds() <= 0.0 {
            return Err(Error::NoTime { load, effective, sending });
        }
        match self.received.saturating_sub(self.sent) > self.sent {
            true => Err(Error::Surplus { load, sent: self.sent, received: self.received }),
            false => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn result(intended: u64, sent: u64, received: u64) -> TrialResult {
        let second = Seconds::known(1.0);
        TrialResult { intended, sent, received, sending: second, effective: second }
    }

    #[test]
    fn what_is_not_sent_is_lost() {
        assert_eq!(result(100, 100, 100).loss_ratio(), 0.0);
        assert_eq!(result(100, 90, 90).loss_ratio(), 0.1);
        assert_eq!(result(100, 90, 80).loss_ratio(), 0.2);
        assert_eq!(result(0, 0, 0).loss_ratio(), 0.0);
    }

    #[test]
    fn what_is_too_much_is_no_gain() {
        assert_eq!(result(100, 100, 105).loss_ratio(), 0.05);
        assert_eq!(result(100, 125, 125).loss_ratio(), 0.2);
        assert_eq!(result(0, 10, 0).loss_ratio(), 1.0);
    }

    #[test]
    fn odd_numbers_are_refused() {
        for value in [f64::NAN, f64::INFINITY, -1.0] {
            assert!(matches!(Load::new(value), Err(Error::Quantity { .. })));
            assert!(matches!(Seconds::new(value), Err(Error::Quantity { .. })));
        }
        let read: Result<Seconds, _> = serde_json::from_str("-0.5");
        assert!(read.unwrap_err().to_string().contains("must be a number from 0 on"));
    }

    #[test]
    fn odd_results_are_refused() {
        let trial = Trial { load: Load::known(100.0), duration: Seconds::known(1.0) };
        assert_eq!(result(100, 100, 200).check(trial), Ok(()));
        assert!(matches!(result(100, 100, 201).check(trial), Err(Error::Surplus { received: 201, .. })));
        let timeless = TrialResult { effective: Seconds::default(), ..result(1, 1, 1) };
        assert!(matches!(timeless.check(trial), Err(Error::NoTime { .. })));
    }
}
