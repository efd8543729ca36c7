//! The tests of this crate that run on every instruction set.

mod bench;
mod chains;
mod detours;
mod forwarding;
mod lanes;

quiver_testkit::level_program!(chains, detours, forwarding, lanes);
