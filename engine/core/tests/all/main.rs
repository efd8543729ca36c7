//! The integration tests of this crate that run under the usual harness. They are one program, for each costs a link.

mod buffers;
mod graph;
mod handoff;
mod life;
mod offload;
mod placement;
