//! Reconfiguration under load: what is lost while routes or tunnels are added.
//!
//! The load is one that the device forwards without loss, its NDR. What it loses nevertheless while its configuration
//! grows stands for the time that it was blocked. A trial without changes comes first: what that loses is not due to them.

use serde::Serialize;

use crate::search::Ledger;
use crate::{Error, Load, Progress, Search, Seconds, Step, Trial, TrialResult};

/// At which load, and how often.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Reconf {
    /// The load to hold.
    pub load: Load,
    /// Shortest duration of a trial; the caller extends it until the change is done.
    pub duration: Seconds,
    /// How many changes.
    pub changes: u32,
}

impl Reconf {
    /// Begins.
    ///
    /// # Errors
    /// [`Error::Setting`] if anything is 0.
    pub fn search(self) -> Result<ReconfSearch, Error> {
        let zero = |field| Error::Setting { of: "reconf".into(), field, value: "0".into(), remedy: "above 0" };
        match () {
            () if self.load.pps() <= 0.0 => Err(zero("load")),
            () if self.duration.seconds() <= 0.0 => Err(zero("duration")),
            () if self.changes == 0 => Err(zero("changes")),
            () => Ok(ReconfSearch { reconf: self, ledger: Ledger::default(), blocked: Vec::new() }),
        }
    }
}

/// Loss of one trial.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct Blocked {
    /// Packets that were sent and did not come back, in both directions together.
    pub lost: u64,
    /// How long it takes to send as many.
    pub time: Seconds,
}

impl Blocked {
    fn of(result: &TrialResult) -> Blocked {
        let lost = result.sent.saturating_sub(result.received);
        let rate = result.sent as f64 / result.sending.seconds();
        Blocked { lost, time: Seconds::known(if lost == 0 { 0.0 } else { lost as f64 / rate }) }
    }
}

/// The trial without a change, and those with one each.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
pub struct Reconfigured {
    /// Without a change. A loss here means that the load was too high for what follows to be blamed on the changes.
    pub calm: Option<Blocked>,
    /// The loss of each change.
    pub changes: Vec<Blocked>,
}

/// The trials, one after the other.
#[derive(Clone, Debug)]
pub struct ReconfSearch {
    reconf: Reconf,
    ledger: Ledger,
    blocked: Vec<Blocked>,
}

impl ReconfSearch {
    /// Which change is to be made during the trial that is next: none during the first trial.
    pub fn change(&self) -> Option<u32> {
        (self.blocked.len() as u32).checked_sub(1).filter(|change| *change < self.reconf.changes)
    }

    /// Losses so far.
    pub fn reconfigured(&self) -> Reconfigured {
        let changes = self.blocked.iter().skip(1).copied().collect();
        Reconfigured { calm: self.blocked.first().copied(), changes }
    }

    fn to_go(&self) -> u64 {
        u64::from(self.reconf.changes) + 1 - self.ledger.trials
    }
}

impl Search for ReconfSearch {
    type Outcome = Reconfigured;

    fn next(&mut self) -> Result<Step<Reconfigured>, Error> {
        Ok(match self.to_go() {
            0 => Step::Done(self.reconfigured()),
            _ => Step::Trial(self.ledger.ask(Trial { load: self.reconf.load, duration: self.reconf.duration })),
        })
    }

    fn record(&mut self, result: TrialResult) -> Result<(), Error> {
        self.ledger.close(&result)?;
        self.blocked.push(Blocked::of(&result));
        Ok(())
    }

    fn progress(&self) -> Progress {
        self.ledger.progress(self.to_go() as f64 * self.reconf.duration.seconds(), Vec::new())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stall_is_measured() {
        let reconf = Reconf { load: Load::known(1e6), duration: Seconds::known(10.0), changes: 2 };
        let mut search = reconf.search().unwrap();
        let mut changes = Vec::new();
        while let Step::Trial(trial) = search.next().unwrap() {
            changes.push(search.change());
            // The second change blocks the device for 30 ms.
            let lost = if search.change() == Some(1) { 30_000 } else { 0 };
            search.record(TrialResult::ideal(trial, trial.packets() - lost)).unwrap();
        }
        assert_eq!(changes, [None, Some(0), Some(1)]);
        let none = Blocked { lost: 0, time: Seconds::default() };
        let stalled = Blocked { lost: 30_000, time: Seconds::known(0.03) };
        assert_eq!(search.reconfigured(), Reconfigured { calm: Some(none), changes: vec![none, stalled] });
        assert_eq!((search.change(), search.progress().remaining), (None, Some(Seconds::default())));
    }

    /// The time is that of packets in both directions, if they are counted in both.
    #[test]
    fn both_directions_are_one_time() {
        let ten = Seconds::known(10.0);
        let result = TrialResult { intended: 20_000, sent: 20_000, received: 19_000, sending: ten, effective: ten };
        assert_eq!(Blocked::of(&result).time, Seconds::known(0.5));
        assert_eq!(Blocked::of(&TrialResult { sent: 0, received: 0, ..result }).time, Seconds::default());
    }

    #[test]
    fn nothing_to_change_is_refused() {
        let reconf = Reconf { load: Load::known(1e6), duration: Seconds::known(1.0), changes: 0 };
        assert_eq!(reconf.search().unwrap_err().to_string(), "reconf: changes is 0, must be above 0");
    }
}
