//! The integration tests of this crate that run under the usual harness. They are one program, for each costs a link.

mod audit;
mod commands;
mod config;
mod content;
mod described;
mod files;
mod fuzz;
mod history;
mod long;
mod objects;
mod outside;
mod ports;
mod shelves;
mod tiny_room;
mod transactions;
