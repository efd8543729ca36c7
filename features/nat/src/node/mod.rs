//! Nodes: packets find or begin their session, and their addresses are rewritten.
//!
//! - [`input`]: of received packets; [`known`]: those of known sessions. [`output`]: of packets that leave by an interface which translates then.
//! - [`service`]: the service that rewrites, behind the states of sessions.
//! - [`begin`]: new sessions. `rows`: packets as they are rewritten. [`session`]: what a session says. [`tables`]: what the nodes read.

pub mod begin;
pub mod input;
pub mod known;
pub mod output;
mod rows;
pub mod service;
pub mod session;
pub mod tables;
