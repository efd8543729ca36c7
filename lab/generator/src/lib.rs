//! The lab's traffic generator.
//!
//! A quiverd of its own, with one worker that polls on its own core once the links are up, makes packets and takes them back: see
//! [`Generator`]. This crate knows no packets; it starts the program, tells it what to send, and reads its counters.
#![forbid(unsafe_code)]

pub mod connections;
pub mod cores;
pub mod daemon;
mod error;
mod generator;
mod link;
mod streams;
mod trial;

pub use error::Error;
pub use generator::{Generator, NAME};
pub use link::{Link, Makes, Setup};
pub use streams::Streams;
pub use trial::{Counts, Direction, Drops, Outcome, Sending, Watch};
