//! The integration tests of this crate that run under the usual harness. They are one program, for each costs a link.

#[path = "../quiverd/mod.rs"]
mod quiverd;

mod audit;
mod crash;
mod inspection;
mod log;
mod punt;
mod rust;
mod service;
mod startup;
mod streams;
mod vppctl;
