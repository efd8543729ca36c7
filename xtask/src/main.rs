//! Tasks of Quiver's developers: `cargo xtask NAME`.

mod check;

use std::path::Path;
use std::process::ExitCode;

use clap::Parser;

#[derive(Parser)]
#[command(bin_name = "cargo xtask")]
enum Task {
    /// Check the rules that neither compiler nor clippy knows
    Check,
}

fn main() -> ExitCode {
    // xtask lives in a folder of the workspace's root.
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the manifest is in a folder of the workspace");
    match Task::parse() {
        Task::Check => check::run(root),
    }
}
