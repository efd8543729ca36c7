//! The integration tests of this crate that run under the usual harness. They are one program, for each costs a link.

#[path = "../built/mod.rs"]
mod built;

mod examples;
mod failing;
mod fuzz;
mod messages;
mod router;
