//! The integration tests of this crate that run under the usual harness. They are one program, for each costs a link.

mod cookies;
mod draw;
mod events;
mod fuzz;
mod limits;
mod metrics;
mod operations;
mod oracle;
mod packets;
mod router;
mod simulation;
mod workers;
