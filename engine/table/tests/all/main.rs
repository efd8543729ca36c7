//! The integration tests of this crate that run under the usual harness. They are one program, for each costs a link.

#[cfg(not(loom))]
mod directory;
mod hash;
mod lpm;
mod lpm6;
#[cfg(not(loom))]
mod tries;
