//! The whole daemon as seeded coroutines on a virtual clock, with faults.
//!
//! - `seed`: one seed, one run; [`run`](mod@run): what is asked of it, and what came of it; `world`: its scheduler.
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
mod seed;
pub mod traffic;
pub mod wire;
mod world;

pub use run::{Bug, Failure, Report, Settings, Tunneled};
pub use seed::run;
