//! Terms of a run, and its interruption.

use std::path::PathBuf;

use quiver_stop::Stop;

use crate::{Error, Lengths};

/// Settings of all measurements.
#[derive(Clone, Debug)]
pub struct Terms {
    /// How long everything takes.
    pub lengths: Lengths,
    /// The device's program, a certain build of it say; without one it is the one that is installed.
    pub program: Option<PathBuf>,
}

impl From<Lengths> for Terms {
    fn from(lengths: Lengths) -> Terms {
        Terms { lengths, program: None }
    }
}

/// An error once the run was asked to end.
pub(crate) fn check(stop: &Stop) -> Result<(), Error> {
    if stop.is_set() { Err(Error::Interrupted) } else { Ok(()) }
}
