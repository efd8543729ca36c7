//! The tests of this room that run on every instruction set: golden scenarios of a daemon whose interfaces are joined with each
//! other, and random traffic.

mod agreement;
#[path = "../site/mod.rs"]
mod site;

use std::process::ExitCode;

use quiver_testkit::{golden, trials};

fn main() -> ExitCode {
    // A network namespace of its own: other runs of the same scenario use the same abstract names.
    match quiver_netns::enter() {
        Ok(_world) => trials::run([
            golden::trials(env!("CARGO_MANIFEST_DIR"), quiver_scenarios::ROOMS),
            agreement::LEVEL_TESTS.trials(),
        ]),
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}
