//! The integration tests of this crate that run under the usual harness. They are one program, for each costs a link.

mod commands;
mod config;
mod described;
mod fuzz;
mod history;
mod objects;
mod ports;
mod tiny_room;
mod transactions;
