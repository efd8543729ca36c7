//! The tests of tunnels of all kinds.

mod agreement;
mod offload;
mod recursion;
mod turns;
