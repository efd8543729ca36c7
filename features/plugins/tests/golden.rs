//! Golden scenarios of this room: a daemon that was started with the example in Rust.

mod built;

use quiver_testkit::daemon::Rooms;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::OnceLock;

const ROOMS: Rooms = Rooms {
    register: |control| {
        (quiver_scenarios::ROOMS.register)(control)?;
        quiver_plugins::load(control, [plugin()]);
        Ok(())
    },
    ..quiver_scenarios::ROOMS
};

/// The example, built once.
fn plugin() -> &'static PathBuf {
    static PLUGIN: OnceLock<PathBuf> = OnceLock::new();
    PLUGIN.get_or_init(built::dscp_mark)
}

fn main() -> ExitCode {
    quiver_testkit::golden::main(env!("CARGO_MANIFEST_DIR"), ROOMS)
}
