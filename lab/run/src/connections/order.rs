//! Order for a run of connections.

use std::path::PathBuf;

use super::counting::Counting;
use super::search::Seek;
use super::through::Through;
use crate::Lengths;

/// Order for a run.
#[derive(Clone, Debug)]
pub struct RunOrder {
    /// The load in words, as `connections start` reads them; addresses are added where a device has its own.
    pub words: String,
    /// Path of the connections.
    pub through: Through,
    /// Seconds in which connections are opened.
    pub time: f64,
    /// Which connections count.
    pub counting: Counting,
    /// The search for a rate, and its lengths; else there is one trial.
    pub search: Option<(Seek, Lengths)>,
    /// The quiverd to be measured, if that is not the one beside this program.
    pub program: Option<PathBuf>,
}
