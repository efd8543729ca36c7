//! Searches over connections, or transactions, per second.

use quiver_search::mlr::{Goal, Mlr};
use quiver_search::plr::Plr;
use quiver_search::{Load as Rate, Progress, Search, Step};
use quiver_stop::Stop;

use super::counting::Counting;
use super::field::Field;
use super::through::read;
use super::trial::Trial;
use crate::terms::check;
use crate::{Error, Lengths};

/// A search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Seek {
    /// MLRsearch for the rates without loss, and with 0.5 % of it.
    NdrPdr,
    /// PLRsearch for the rate at which one in ten million is lost in the long run.
    Soak,
}

impl Seek {
    /// As it stands in names of tests.
    pub fn word(self) -> &'static str {
        match self {
            Seek::NdrPdr => "ndrpdr",
            Seek::Soak => "soak",
        }
    }
}

/// Bounds of a goal: its name, the lower and the upper bound.
pub type Bounds = (String, Option<f64>, Option<f64>);

/// The most that is searched where nothing limits it.
const RATE_MAX: f64 = 100e6;
/// A ceiling of fewer connections per second is measured again, up to so many seconds.
const IMPLAUSIBLE: f64 = 20_000.0;
const LONGEST: f64 = 2.0;

/// A search that goes on.
pub(super) struct Seeking<'seek, 'run> {
    pub field: &'seek mut Field<'run>,
    pub words: &'seek str,
    pub counting: Counting,
    /// The generator's, where there is a device.
    pub ceiling: Option<f64>,
    pub stop: &'seek Stop,
    pub tell: &'seek mut dyn FnMut(&Progress),
}

impl Seeking<'_, '_> {
    /// Searches, and gives the bounds of each goal. The trials are appended.
    pub fn search(&mut self, seek: Seek, lengths: Lengths, trials: &mut Vec<Trial>) -> Result<Vec<Bounds>, Error> {
        let most = match self.ceiling {
            Some(ceiling) => ceiling,
            None => self.ceiling(lengths.ceiling())?,
        };
        let most = Rate::new(most.min(RATE_MAX))?;
        let least = Rate::new((most.pps() / 1000.0).max(1.0))?;
        match seek {
            Seek::NdrPdr => {
                let goals = vec![Goal::ndr(), Goal::pdr()];
                let found = self.drive(Mlr { min_load: least, ..lengths.mlr(goals, most)? }.search()?, trials)?;
                let pps = |load: Option<Rate>| load.map(|load| load.pps());
                let named = ["ndr", "pdr"].into_iter().zip(found);
                Ok(named.map(|(name, found)| (name.to_owned(), pps(found.lower), pps(found.upper))).collect())
            }
            Seek::Soak => {
                let found = self.drive(Plr { min_load: least, ..lengths.plr(most)? }.search()?, trials)?;
                let (average, deviation) = (found.average.pps(), found.deviation.pps());
                let lower = (average - deviation).max(0.0);
                Ok(vec![("critical rate".to_owned(), Some(lower), Some(average + deviation))])
            }
        }
    }

    /// Connections per second without a limit. A rate that no core is as slow as is measured again, twice as long: on a busy machine
    /// others may have had the core all the time.
    fn ceiling(&mut self, mut time: f64) -> Result<f64, Error> {
        let words = format!("{} rate 0 ramp 0 connections 0", self.words);
        loop {
            let rate = self.field.trial(&words, &read(&words)?, time, None)?.rate(Counting::Closed);
            if rate >= IMPLAUSIBLE || time >= LONGEST {
                return Ok(rate);
            }
            time *= 2.0;
        }
    }

    fn drive<S: Search>(&mut self, mut search: S, trials: &mut Vec<Trial>) -> Result<S::Outcome, Error> {
        loop {
            check(self.stop)?;
            match search.next()? {
                Step::Done(found) => return Ok(found),
                Step::Trial(trial) => {
                    let (rate, seconds) = (trial.load.pps(), trial.duration.seconds());
                    let intended = trial.packets().max(1);
                    let words = format!("{} rate {rate} ramp 0 connections {intended}", self.words);
                    let done = self.field.trial(&words, &read(&words)?, seconds, self.ceiling)?;
                    search.record(done.result(self.counting, intended)?)?;
                    trials.push(done);
                    (self.tell)(&search.progress());
                }
            }
        }
    }
}
