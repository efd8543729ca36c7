//! The integration tests of this crate that run under the usual harness. They are one program, for each costs a link.

#[path = "../ends/mod.rs"]
mod ends;

mod arcs;
mod circles;
mod crossing;
mod fib;
mod naive;
mod offload;
mod path_mtus;
mod rows;
