//! The tests of this room that run on every instruction set, golden scenarios among them.

mod agreement;
mod limits;

quiver_testkit::level_program!(golden: quiver_scenarios::ROOMS, agreement, limits);
