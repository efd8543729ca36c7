//! Golden scenarios that need the whole daemon.

fn main() -> std::process::ExitCode {
    quiver_scenarios::golden(env!("CARGO_MANIFEST_DIR"))
}
