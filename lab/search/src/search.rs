//! The interface of all searches.

use serde::{Deserialize, Serialize};

use crate::{Error, Load, Seconds, Trial, TrialResult};

/// The next step of a search.
#[derive(Clone, PartialEq, Debug)]
pub enum Step<O> {
    /// This trial is next.
    Trial(Trial),
    /// The answer.
    Done(O),
}

/// A search, as a state machine: ask for the [`Step`], run its trial, record the result, ask again.
///
/// Between two trials it may be left for good: [`Search::progress`] tells the bounds that were found, and each search has
/// a method that gives its outcome as far as it is known.
pub trait Search {
    /// The answer.
    type Outcome;

    /// The next trial, or the answer. Asked again before the result is recorded, it is the same.
    ///
    /// # Errors
    /// When no answer can be found; again when asked again.
    fn next(&mut self) -> Result<Step<Self::Outcome>, Error>;

    /// The result of the trial that [`Search::next`] asked for.
    ///
    /// # Errors
    /// [`Error::NotAsked`], or what is wrong with the result. The trial is asked for again then.
    fn record(&mut self, result: TrialResult) -> Result<(), Error>;

    /// Bounds so far, and the time to go.
    fn progress(&self) -> Progress;

    /// Searches on to the end, for a caller who has no clock to mind.
    ///
    /// # Errors
    /// As of [`Search::next`] and [`Search::record`].
    fn run(&mut self, mut measure: impl FnMut(Trial) -> TrialResult) -> Result<Self::Outcome, Error>
    where
        Self: Sized,
    {
        loop {
            match self.next()? {
                Step::Trial(trial) => self.record(measure(trial))?,
                Step::Done(outcome) => return Ok(outcome),
            }
        }
    }
}

/// Progress of a search, for a display.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
pub struct Progress {
    /// Trials that were recorded.
    pub trials: u64,
    /// Their effective durations together.
    pub spent: Seconds,
    /// About how long the trials to come take, as far as can be said.
    pub remaining: Option<Seconds>,
    /// Bounds of each result that is searched for.
    pub bounds: Vec<Bounds>,
}

/// Between which loads an answer lies.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Bounds {
    /// Which answer: a goal's name.
    pub name: String,
    /// A load that is within the goal.
    pub lower: Option<Load>,
    /// A load that is not. There is none when the device passes the largest load.
    pub upper: Option<Load>,
}

/// The trial that was asked for, and the account of those before: each search has one.
#[derive(Clone, Default, Debug)]
pub(crate) struct Ledger {
    asked: Option<Trial>,
    pub trials: u64,
    pub spent: f64,
}

impl Ledger {
    /// The trial that has no result yet.
    pub fn asked(&self) -> Option<Trial> {
        self.asked
    }

    pub fn ask(&mut self, trial: Trial) -> Trial {
        *self.asked.insert(trial)
    }

    /// Progress with about `remaining` seconds of trials to come.
    pub fn progress(&self, remaining: f64, bounds: Vec<Bounds>) -> Progress {
        let (spent, remaining) = (Seconds::known(self.spent), Some(Seconds::known(remaining)));
        Progress { trials: self.trials, spent, remaining, bounds }
    }

    /// Takes the result for the trial that was asked for, which is given back.
    pub fn close(&mut self, result: &TrialResult) -> Result<Trial, Error> {
        let trial = self.asked.ok_or(Error::NotAsked)?;
        result.check(trial)?;
        self.asked = None;
        self.trials += 1;
        self.spent += result.effective.seconds();
        Ok(trial)
    }
}
