//! Energy used by a trial, with the kind of the number.

use std::fmt;
use std::num::NonZeroU64;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::sensor::Origin;

/// Energy of a trial. Joules and CPU seconds are never mixed under one name.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "measure", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Energy {
    /// Energy, of the whole machine or of its processors: whatever else ran there is in it.
    Joules {
        /// The sum over the sensors.
        joules: f64,
        /// The kind of the sensors.
        origin: Origin,
        /// Each alone.
        sensors: Vec<Share>,
        /// The whole platform (RAPL's psys), which contains the packages.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schemars(with = "f64")]
        platform_joules: Option<f64>,
    },
    /// No energy, but the CPU time of the device under test.
    CpuSeconds {
        /// Seconds of CPU time.
        cpu_seconds: f64,
        /// Why there are no joules, and what to do about it.
        because: Vec<String>,
    },
}

/// Energy counted by one sensor.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Share {
    /// `package-0`, `power_meter/power1`.
    pub sensor: String,
    /// In joules.
    pub joules: f64,
}

/// Cost of a million packets.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Cost {
    /// Joules per million packets.
    Joules(f64),
    /// CPU seconds per million packets.
    CpuSeconds(f64),
}

impl Energy {
    /// For a million of the packets that were forwarded.
    pub fn per_million(&self, packets: NonZeroU64) -> Cost {
        let per_million = 1e6 / packets.get() as f64;
        match self {
            Energy::Joules { joules, .. } => Cost::Joules(joules * per_million),
            Energy::CpuSeconds { cpu_seconds, .. } => Cost::CpuSeconds(cpu_seconds * per_million),
        }
    }
}

impl fmt::Display for Cost {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Cost::Joules(joules) => write!(out, "{joules:.4} J per million packets"),
            Cost::CpuSeconds(seconds) => write!(out, "{seconds:.4} CPU seconds per million packets"),
        }
    }
}
