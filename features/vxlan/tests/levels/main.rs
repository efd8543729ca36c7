//! The tests of this room that run on every instruction set, golden scenarios among them.

mod headers;

quiver_testkit::level_program!(golden: quiver_scenarios::ROOMS, headers);
