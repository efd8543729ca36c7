//! The integration tests of this crate that run under the usual harness. They are one program, for each costs a link.

mod hostile;
mod inspector;
mod packets;
mod sessions;
