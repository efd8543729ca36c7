//! The whole daemon as seeded coroutines on a virtual clock, with faults.
//!
//! - [`world`]: the scheduler; one seed, one run.
//! - [`daemon`]: quiverd's rooms, workers and control side, each thread a [`coroutine`].
//! - [`port`], [`wire`]: ports whose other ends are peers in memory; [`traffic`]: what peers send.
//! - [`operator`]: what operators ask.
//! - [`fates`]: the oracle: what became of every packet; [`network`]: where the configuration lets it go.
//! - [`log`]: what happened.
#![forbid(unsafe_code)]

pub mod coroutine;
pub mod daemon;
pub mod fates;
pub mod log;
pub mod network;
pub mod operator;
pub mod port;
pub mod traffic;
pub mod wire;
pub mod world;

pub use world::{Bug, Failure, Report, Settings, run};
