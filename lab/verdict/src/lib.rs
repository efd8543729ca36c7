//! Whether performance changed: pure functions over measured values, without clock or I/O.
//!
//! - [`bits`]: the change points that CSIT's library jumpavg 0.4.2 finds, bit for bit; [`steps`]: smaller steps, by ranks.
//! - [`compare`] and [`gate`]: builds and peers that were measured in turns; [`bisect`]: the commit that changed something.
#![forbid(unsafe_code)]

pub mod bisect;
pub mod bits;
pub mod compare;
pub mod gate;
mod median;
mod moments;
pub mod steps;

pub use median::median;
pub use moments::Moments;

/// Where a series went, or one group of it after the group before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Trend {
    /// Neither better nor worse.
    Normal,
    /// Better.
    Progression,
    /// Worse.
    Regression,
}

impl Trend {
    /// The word that CSIT has for it.
    pub fn name(self) -> &'static str {
        match self {
            Trend::Normal => "normal",
            Trend::Progression => "progression",
            Trend::Regression => "regression",
        }
    }
}

/// Values that no verdict can be drawn from.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Unusable {
    /// There is nothing.
    #[error("no samples: at least one is needed")]
    Empty,
    /// A run that was to be kept together has no samples.
    #[error("run {index} has no samples: leave it out")]
    EmptyRun {
        /// Index of the run, from 0.
        index: usize,
    },
    /// A sample is infinite or no number.
    #[error("run {index}: {value} is no finite number: leave the sample out, or take 0 for a failed test")]
    NotFinite {
        /// Index of the run or sample, from 0.
        index: usize,
        /// The refused value.
        value: f64,
    },
    /// Nothing is above zero, so the samples have no scale.
    #[error("no sample is above zero: performance is measured in positive values")]
    NotPositive,
    /// The resolution is negative or no number.
    #[error("resolution {value}: a unit, or a number of significant bits, is above zero")]
    Resolution {
        /// The refused value.
        value: f64,
    },
}
