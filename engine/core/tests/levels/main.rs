//! The tests of this crate that run on every instruction set.

mod forwarding;
mod lanes;

quiver_testkit::level_program!(forwarding, lanes);
