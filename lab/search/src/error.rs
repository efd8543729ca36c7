//! Why a search does not start, or ends without an answer.

use crate::quantity::{Load, Seconds};

/// A wrong setting, a wrong result of a trial, or a device that has no answer.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
pub enum Error {
    /// A load or a time that is negative, infinite or not a number.
    #[error("{quantity} of {value}: must be a number from 0 on")]
    Quantity {
        /// The quantity, with its unit.
        quantity: &'static str,
        /// The refused value.
        value: f64,
    },
    /// A setting of a search.
    #[error("{of}: {field} is {value}, must be {remedy}")]
    Setting {
        /// The search, or the goal by its name.
        of: String,
        /// The field.
        field: &'static str,
        /// The refused value.
        value: String,
        /// The remedy.
        remedy: &'static str,
    },
    /// A result without a trial that was asked for.
    #[error("a trial's result is recorded, but none was asked for: call next first")]
    NotAsked,
    /// More packets came back than can be of this trial.
    #[error("trial at {load}: {received} packets came back of {sent} sent, more than twice: is there other traffic?")]
    Surplus {
        /// The load of the trial.
        load: Load,
        /// Packets that were sent.
        sent: u64,
        /// Packets that came back.
        received: u64,
    },
    /// A trial that took no time.
    #[error("trial at {load}: took {effective} and sent for {sending}, must be above 0")]
    NoTime {
        /// The load of the trial.
        load: Load,
        /// How long it took in all.
        effective: Seconds,
        /// How long packets were sent.
        sending: Seconds,
    },
    /// Even the smallest load loses too much.
    #[error("goal {goal}: even {load}, the smallest load, loses more than the goal allows")]
    NoLowerBound {
        /// The goal's name.
        goal: String,
        /// The smallest load of the search.
        load: Load,
    },
    /// The trials took longer than they may.
    #[error("no end after {spent} of trials, {limit} are allowed: the bounds so far can be read")]
    TimedOut {
        /// The sum of the trials' effective durations.
        spent: Seconds,
        /// Its limit.
        limit: Seconds,
    },
}
