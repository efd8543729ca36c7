//! How sure we are of a neighbour.

use std::time::Duration;

use crate::manners::Manners;

/// How long neighbours are let be that are kept: for ever, but in the order in which they were heard.
pub(crate) const NEVER: Duration = Duration::from_nanos(1 << 62);

/// How sure we are of a neighbour.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum State {
    /// Packets wait for it; it was asked so many times.
    Incomplete(u32),
    /// It was heard, or answered, not long ago.
    Reachable,
    /// It was not heard for long; it was asked so many times.
    Probing(u32),
    /// It was configured, and is never forgotten.
    Static,
}

impl State {
    /// After how long without a word from the neighbour something is to be done about it.
    pub(crate) fn patience(self, manners: Manners) -> Option<Duration> {
        match self {
            State::Incomplete(_) | State::Probing(_) => Some(manners.interval),
            // One that is kept may have to make room all the same.
            State::Reachable => Some(manners.age.unwrap_or(NEVER)),
            State::Static => None,
        }
    }
}
