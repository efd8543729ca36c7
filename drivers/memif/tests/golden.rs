//! Golden scenarios: a daemon whose interfaces are joined with each other.

mod site;

use std::process::ExitCode;

fn main() -> ExitCode {
    // A network namespace of its own: other runs of the same scenario use the same abstract names.
    match quiver_netns::enter() {
        Ok(_world) => quiver_testkit::golden::main(env!("CARGO_MANIFEST_DIR"), quiver_scenarios::ROOMS),
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}
