//! Two sides against each other: [documents](compare) that are stored, [builds](gate) that are measured in turns,
//! [commits](bisect) between a good and a bad one.
#![forbid(unsafe_code)]

pub mod bisect;
mod builds;
mod command;
mod documents;
pub mod gate;
mod git;
mod measure;
mod names;
mod selection;

pub use builds::{BuildError, Builds, CARGO};
pub use command::{CommandError, Script};
pub use documents::{Alone, Comparison, Row, Summary, compare};
pub use git::{Git, GitError};
pub use measure::{Measure, measures};
pub use names::{Across, Name, without_device};
pub use selection::{Selection, SelectionError};
