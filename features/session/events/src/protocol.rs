//! Messages between an exporter and quiverd's socket of events: JSON objects, one in a packet.
//!
//! The exporter says its name, and quiverd answers with the ring's file and the place where an exporter of this name was. From then on the
//! exporter reports its place and its counts now and then. quiverd keeps them for `show sfdp events` and for the next exporter of that
//! name, and trusts them no further.

use serde::{Deserialize, Serialize};

use crate::export::Counts;

/// Bytes of the longest message: a number of 20 digits for each worker, and room for the rest.
pub const MESSAGE_MAX: usize = 32 << 10;
/// Bytes of the longest name.
pub const NAME_MAX: usize = 64;

/// First message of an exporter.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hello {
    /// Its name.
    pub name: String,
}

/// Answer of quiverd. With it comes the file of the ring, unless there is an error.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Welcome {
    /// Where an exporter of this name was.
    #[serde(default)]
    pub resume: Option<Place>,
    /// Why there is no ring.
    #[serde(default)]
    pub error: Option<String>,
}

/// Place of an exporter in a ring.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Place {
    /// The number of the ring.
    pub instance: u64,
    /// The number of the next event of each worker.
    pub next: Vec<u64>,
}

/// Report of an exporter.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Report {
    /// Where it is.
    pub place: Place,
    /// Its counts since it began.
    pub counts: Counts,
}
