//! Golden scenarios that need the whole daemon, and captures of other programs' tests.

mod replay;

use quiver_scenarios::ROOMS;
use quiver_testkit::{golden, trials};

fn main() -> std::process::ExitCode {
    trials::run([golden::trials(env!("CARGO_MANIFEST_DIR"), ROOMS), vec![replay::trial()]])
}
