//! The integration tests of this crate that run under the usual harness. They are one program, for each costs a link.

#[path = "../site/mod.rs"]
mod site;

mod either_way;
mod hostile;
mod interrupts;
mod pairs;
mod reconnect;
mod relay;
