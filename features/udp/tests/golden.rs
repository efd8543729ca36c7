//! Golden scenarios of this room.

fn main() -> std::process::ExitCode {
    quiver_scenarios::golden(env!("CARGO_MANIFEST_DIR"))
}
