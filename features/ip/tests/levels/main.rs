//! The tests of this room that run on every instruction set, golden scenarios among them.

mod agreement;
mod agreement6;
mod beyond;
mod dscp;
#[path = "../ends/mod.rs"]
mod ends;
mod hosts;
mod slot;

quiver_testkit::level_program!(golden: quiver_scenarios::ROOMS, agreement, agreement6, beyond, dscp, hosts, slot);
