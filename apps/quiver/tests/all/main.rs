//! The integration tests of this crate that run under the usual harness. They are one program, for each costs a link.

mod client;
mod daemon;
mod demo;
mod doctor;
mod export;
mod health;
mod import;
mod lab;
mod session;
mod shell;
