//! The tests of this crate that run on every instruction set.

mod bench;
mod chains;
mod detours;
mod forwarding;
mod lanes;
mod random;

quiver_testkit::level_program!(chains, detours, forwarding, lanes, random);
