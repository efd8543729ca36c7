//! The integration tests of this crate that run under the usual harness. They are one program, for each costs a link.

#[path = "../site/mod.rs"]
mod site;

mod hostile;
mod interrupts;
mod order;
mod pairs;
mod reconnect;
mod vectors;
