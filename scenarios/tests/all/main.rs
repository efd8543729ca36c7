//! The integration tests of this crate that run under the usual harness. They are one program, for each costs a link.

mod captures;
mod casts;
mod commands;
mod fuzz;
mod many;
mod mixed;
mod reasons;
mod recreated;
mod refused;
mod shown;
mod turns;
mod workers;
