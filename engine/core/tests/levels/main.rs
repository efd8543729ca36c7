//! The tests of this crate that run on every instruction set.

mod bench;
mod chains;
mod detours;
mod forwarding;
mod handed;
mod lanes;
mod random;
mod watched;

quiver_testkit::level_program!(chains, detours, forwarding, handed, lanes, random, watched);
