//! The lab's traffic generator.
//!
//! A quiverd of its own, with one worker that only polls on its own core, makes packets and takes them back: see
//! [`Generator`]. This crate knows no packets; it starts the program, tells it what to send, and reads its counters.
#![forbid(unsafe_code)]

pub mod cores;
pub mod daemon;
mod error;
mod generator;
mod streams;

pub use error::Error;
pub use generator::{Counts, Direction, Drops, Generator, Link, NAME, Outcome, Sending, Setup, Watch};
pub use streams::Streams;
