//! The integration tests of this crate that run under the usual harness. They are one program, for each costs a link.

mod ends;
mod fuzz;
mod groups;
mod interrupts;
mod odd;
mod pair;
