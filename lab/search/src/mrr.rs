//! MRR, the maximum receive rate: everything is sent, a few times, and what comes back is counted.
//!
//! It says nothing on loss, but takes seconds: what CSIT compares from day to day.

use serde::Serialize;

use crate::search::Ledger;
use crate::{Error, Load, Progress, Search, Seconds, Step, Trial, TrialResult};

/// How often, for how long, and at which load.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Mrr {
    /// The load of all trials: what the line, or the generator, can do.
    pub load: Load,
    /// Their number.
    pub trials: u32,
    /// How long each takes.
    pub duration: Seconds,
}

impl Mrr {
    /// CSIT's: ten trials of one second.
    pub const fn csit(load: Load) -> Mrr {
        Mrr { load, trials: 10, duration: Seconds::known(1.0) }
    }

    /// Begins.
    ///
    /// # Errors
    /// [`Error::Setting`] if load, number or duration is 0.
    pub fn search(self) -> Result<MrrSearch, Error> {
        let zero = |field| Error::Setting { of: "MRR".into(), field, value: "0".into(), remedy: "above 0" };
        match () {
            () if self.load.pps() <= 0.0 => Err(zero("load")),
            () if self.trials == 0 => Err(zero("trials")),
            () if self.duration.seconds() <= 0.0 => Err(zero("duration")),
            () => Ok(MrrSearch { mrr: self, ledger: Ledger::default(), rates: Rates::default() }),
        }
    }
}

/// The rates of the trials, in both directions together.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
pub struct Rates {
    /// The rate of each trial.
    pub values: Vec<Load>,
}

impl Rates {
    /// The mean, if there are any.
    pub fn average(&self) -> Option<Load> {
        let sum: f64 = self.values.iter().map(|rate| rate.pps()).sum();
        (!self.values.is_empty()).then(|| Load::known(sum / self.values.len() as f64))
    }

    /// The standard deviation of the trials as a whole population, as CSIT reports it.
    pub fn deviation(&self) -> Option<Load> {
        let average = self.average()?.pps();
        let squares: f64 = self.values.iter().map(|rate| (rate.pps() - average).powi(2)).sum();
        Some(Load::known((squares / self.values.len() as f64).sqrt()))
    }
}

/// Trials that are all the same.
#[derive(Clone, Debug)]
pub struct MrrSearch {
    mrr: Mrr,
    ledger: Ledger,
    rates: Rates,
}

impl MrrSearch {
    /// The rates so far.
    pub fn rates(&self) -> &Rates {
        &self.rates
    }

    fn to_go(&self) -> u64 {
        u64::from(self.mrr.trials) - self.ledger.trials
    }
}

impl Search for MrrSearch {
    type Outcome = Rates;

    fn next(&mut self) -> Result<Step<Rates>, Error> {
        Ok(match self.to_go() {
            0 => Step::Done(self.rates.clone()),
            _ => Step::Trial(self.ledger.ask(Trial { load: self.mrr.load, duration: self.mrr.duration })),
        })
    }

    fn record(&mut self, result: TrialResult) -> Result<(), Error> {
        self.ledger.close(&result)?;
        self.rates.values.push(result.receive_rate());
        Ok(())
    }

    fn progress(&self) -> Progress {
        self.ledger.progress(self.to_go() as f64 * self.mrr.duration.seconds(), Vec::new())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_of_what_came_back() {
        let mut search = Mrr::csit(Load::known(1000.0)).search().unwrap();
        assert_eq!(search.progress().remaining, Some(Seconds::known(10.0)));
        let mut received = [900, 700].into_iter().cycle();
        let rates = search.run(|trial| TrialResult::ideal(trial, received.next().unwrap())).unwrap();
        assert_eq!(rates.values.len(), 10);
        assert_eq!((rates.average(), rates.deviation()), (Some(Load::known(800.0)), Some(Load::known(100.0))));
        assert_eq!(search.progress().remaining, Some(Seconds::known(0.0)));
    }

    #[test]
    fn nothing_is_recorded_that_was_not_asked_for() {
        let mut search = Mrr::csit(Load::known(1000.0)).search().unwrap();
        let trial = Trial { load: Load::known(1000.0), duration: Seconds::known(1.0) };
        assert_eq!(search.record(TrialResult::ideal(trial, 1)), Err(Error::NotAsked));
        assert_eq!(search.rates().average(), None);
        let twice = [search.next().unwrap(), search.next().unwrap()];
        assert_eq!(twice, [Step::Trial(trial), Step::Trial(trial)]);
    }

    #[test]
    fn nothing_to_measure_is_said() {
        let mrr = Mrr { trials: 0, ..Mrr::csit(Load::known(1.0)) };
        assert_eq!(mrr.search().unwrap_err().to_string(), "MRR: trials is 0, must be above 0");
    }
}
