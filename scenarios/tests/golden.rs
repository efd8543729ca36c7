//! Golden scenarios that need the whole daemon.

use std::process::ExitCode;

use quiver_testkit::daemon::Rooms;

const ROOMS: Rooms = Rooms {
    register: |control| quiverd::features::register(control).map_err(|error| error.to_string()),
    answer: quiver_interface::Events::answer,
    send: quiver_pg::send,
    sent: quiver_pg::sent,
};

fn main() -> ExitCode {
    quiver_testkit::golden::main(env!("CARGO_MANIFEST_DIR"), ROOMS)
}
