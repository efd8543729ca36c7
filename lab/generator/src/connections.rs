//! Connections of a generator that makes these: one side opens them, the other one answers.

use std::time::Duration;

use quiver_stop::Wait;
use serde_json::Value;

use crate::{Error, Generator};

/// How often is looked whether connections have ended. Rarely: with two cores, control shares one with the worker.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// Counts of one side of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Ends {
    /// As `show connections` tells it.
    pub shown: Value,
}

impl Ends {
    /// A count by its name; 0 if there is none.
    pub fn count(&self, name: &str) -> u64 {
        self.shown[name].as_u64().unwrap_or(0)
    }
    /// Seconds from the first connection's beginning to the last one's end.
    pub fn seconds(&self) -> f64 {
        self.count("last-at").saturating_sub(self.count("first-at")) as f64 / 1e9
    }
}

impl Generator {
    /// Begins a run of connections on the interface of a side, 0 or 1. `words` say what it is, as `connections start` reads them.
    ///
    /// # Errors
    /// They are refused, or the generator does not answer.
    pub fn begin(&mut self, side: usize, words: &str) -> Result<(), Error> {
        let (daemon, own) = self.side(side);
        daemon.ask(&format!("connections start {own} {words}")).map(drop)
    }

    /// Opens no more connections; those that are open go on.
    ///
    /// # Errors
    /// The generator does not answer.
    pub fn stop_opening(&mut self, side: usize) -> Result<(), Error> {
        let (daemon, own) = self.side(side);
        daemon.ask(&format!("connections stop {own}")).map(drop)
    }

    /// The counts of a side's run so far.
    ///
    /// # Errors
    /// The generator does not answer, or there is no run.
    pub fn ends(&mut self, side: usize) -> Result<Ends, Error> {
        let (daemon, own) = self.side(side);
        let line = format!("show connections {own}");
        let mut shown = daemon.ask(&line)?;
        match shown.get_mut(0) {
            Some(shown) => Ok(Ends { shown: shown.take() }),
            None => Err(daemon.foreign(&line, "a run")),
        }
    }

    /// Waits until a side has opened all connections that it was to open and none is open, or until `wait` is over.
    ///
    /// # Errors
    /// As of [`Generator::ends`].
    pub fn wait_for_end(&mut self, side: usize, mut wait: Wait) -> Result<Ends, Error> {
        loop {
            let ends = self.ends(side)?;
            let is_over = ends.shown["opening"] == false && ends.count("open") == 0;
            if is_over || wait.is_over() {
                return Ok(ends);
            }
            wait.sleep(LOOK_EVERY);
        }
    }
}
