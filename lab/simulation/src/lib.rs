//! The whole daemon as seeded coroutines on a virtual clock, with faults.
//!
//! - [`run`](mod@run): one seed, one run; `world`: its scheduler.
//! - [`daemon`]: quiverd's rooms, workers and control side, each thread a [`coroutine`].
//! - [`port`], [`wire`]: ports whose other ends are peers in memory; [`traffic`]: what peers send.
//! - [`operator`]: what operators ask.
//! - [`fates`]: the oracle: what became of every packet; [`network`]: where the configuration lets it go.
//! - [`memif`]: memif's protocol code, two ends against each other.
//! - [`log`]: what happened.
#![forbid(unsafe_code)]

pub mod coroutine;
pub mod daemon;
pub mod fates;
pub mod log;
pub mod memif;
pub mod network;
pub mod operator;
pub mod port;
pub mod run;
pub mod traffic;
pub mod wire;
mod world;

pub use run::{Bug, Failure, Report, Settings, run};
