//! Latency after the search: trials at parts of the load that was found, in which the generator measures latency.
//!
//! A queue that is about to overflow says little on how long packets take otherwise, so it is asked at 90, 50 and 10 % of
//! the partial drop rate, and with nothing but the packets that are measured.

use serde::Serialize;

use crate::search::Ledger;
use crate::{Error, Load, Progress, Search, Seconds, Step, Trial, TrialResult};

/// At which loads, and for how long.
#[derive(Clone, PartialEq, Debug)]
pub struct Latency {
    /// The load that was found, usually the partial drop rate.
    pub load: Load,
    /// Parts of it, in the order of the trials. Within 0 and 1.
    pub parts: Vec<f64>,
    /// The load of the measured packets alone, below which none goes: the load of part 0.
    pub floor: Load,
    /// How long each trial takes.
    pub duration: Seconds,
}

impl Latency {
    /// CSIT's: 90, 50, 10 and 0 % of the load, five seconds each, with 9,000 measured packets a second.
    pub fn csit(load: Load) -> Latency {
        let (floor, duration) = (Load::known(9000.0), Seconds::known(5.0));
        Latency { load, parts: vec![0.9, 0.5, 0.1, 0.0], floor, duration }
    }

    /// Begins.
    ///
    /// # Errors
    /// [`Error::Setting`] names what is wrong.
    pub fn search(self) -> Result<LatencySearch, Error> {
        let refused = |field, value: f64, remedy| {
            Err(Error::Setting { of: "latency".into(), field, value: value.to_string(), remedy })
        };
        match self.parts.iter().find(|part| !(0.0..=1.0).contains(*part)) {
            Some(part) => refused("parts", *part, "from 0 to 1"),
            None if self.floor.pps() <= 0.0 => refused("floor", 0.0, "above 0"),
            None if self.duration.seconds() <= 0.0 => refused("duration", 0.0, "above 0 seconds"),
            None => Ok(LatencySearch { latency: self, ledger: Ledger::default(), points: Vec::new() }),
        }
    }
}

/// A trial at a part of the load. The caller keeps its latencies.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct Point {
    /// The part.
    pub part: f64,
    /// The trial.
    pub trial: Trial,
    /// The trial's result: with loss, latencies are those of the packets that came back.
    pub result: TrialResult,
}

/// The trials, one after the other.
#[derive(Clone, Debug)]
pub struct LatencySearch {
    latency: Latency,
    ledger: Ledger,
    points: Vec<Point>,
}

impl LatencySearch {
    /// The trials so far.
    pub fn points(&self) -> &[Point] {
        &self.points
    }
}

impl Search for LatencySearch {
    type Outcome = Vec<Point>;

    fn next(&mut self) -> Result<Step<Vec<Point>>, Error> {
        Ok(match self.latency.parts.get(self.points.len()) {
            None => Step::Done(self.points.clone()),
            Some(part) => {
                let pps = (self.latency.load.pps() * part).max(self.latency.floor.pps());
                Step::Trial(self.ledger.ask(Trial { load: Load::known(pps), duration: self.latency.duration }))
            }
        })
    }

    fn record(&mut self, result: TrialResult) -> Result<(), Error> {
        let trial = self.ledger.close(&result)?;
        let part = self.latency.parts[self.points.len()];
        self.points.push(Point { part, trial, result });
        Ok(())
    }

    fn progress(&self) -> Progress {
        let to_go = self.latency.parts.len() - self.points.len();
        self.ledger.progress(to_go as f64 * self.latency.duration.seconds(), Vec::new())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::{Behaviour, Device};

    #[test]
    fn four_parts_of_the_load() {
        let mut search = Latency::csit(Load::known(1e6)).search().unwrap();
        assert_eq!(search.progress().remaining, Some(Seconds::known(20.0)));
        let mut device = Device::new(Behaviour::Hard { rate: 1e6 }, 1);
        let points = search.run(|trial| device.measure(trial)).unwrap();
        let loads: Vec<_> = points.iter().map(|point| point.trial.load.pps()).collect();
        assert_eq!(loads, [900_000.0, 500_000.0, 100_000.0, 9000.0]);
        assert!(points.iter().all(|point| point.result.loss_ratio() == 0.0));
        assert_eq!(search.progress().remaining, Some(Seconds::default()));
    }

    #[test]
    fn odd_parts_are_refused() {
        let latency = Latency { parts: vec![0.5, 1.5], ..Latency::csit(Load::known(1e6)) };
        assert_eq!(latency.search().unwrap_err().to_string(), "latency: parts is 1.5, must be from 0 to 1");
    }
}
