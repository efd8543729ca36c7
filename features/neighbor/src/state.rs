//! Reachability state of a neighbor.

use std::time::Duration;

use crate::manners::Manners;

/// Timeout of neighbors that are kept: never, but in the order in which they were heard.
pub(crate) const NEVER: Duration = Duration::from_nanos(1 << 62);

/// Reachability state of a neighbor.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum State {
    /// Packets wait for it; holds the number of requests sent.
    Incomplete(u32),
    /// It sent a packet or replied not long ago.
    Reachable,
    /// It was not heard for a long time; holds the number of requests sent.
    Probing(u32),
    /// It was configured, and never expires.
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
