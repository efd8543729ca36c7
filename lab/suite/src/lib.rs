//! The lab's suites: short files, the cases they expand to, and expressions that select cases.
//!
//! A suite is a matrix of [fields](field); [`read`] expands it into [cases](Case) with the names and tags that CSIT would
//! give them, or says, with file and line, which of its fields contradict each other. [`Selection`] is a tag expression.
//! [`Traffic`] is what the generator sends for a case, and what the device has to know of it. Nothing is run or probed here.
#![forbid(unsafe_code)]

mod bgp;
pub mod bgp6;
mod builtin;
mod case;
pub mod field;
mod matrix;
mod needs;
mod prefix;
mod rules;
mod select;
mod traffic;

pub use builtin::{builtin, with_builtin};
pub use case::Case;
pub use matrix::{SuiteError, read};
pub use needs::{Lack, Machine, Needs, Part};
pub use quiver_control::config::Position;
pub use select::{Selection, SelectionError};
pub use traffic::{Routes, Side, Traffic};
