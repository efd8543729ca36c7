//! Tasks of Quiver's developers: `cargo xtask NAME`.

mod check;

use std::path::Path;
use std::process::{Command, ExitCode};

use clap::Parser;

#[derive(Parser)]
#[command(bin_name = "cargo xtask")]
enum Task {
    /// Check the rules that neither compiler nor clippy knows
    Check,
    /// Measure in release: `bench graph` for ticks per packet, which it also appends to bench/graph.csv
    #[command(disable_help_flag = true)]
    Bench {
        /// What to measure, and its options; `bench graph --help` lists them
        #[arg(trailing_var_arg = true, allow_hyphen_values = true, required = true)]
        arguments: Vec<String>,
    },
}

fn main() -> ExitCode {
    // xtask lives in a folder of the workspace's root.
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the manifest is in a folder of the workspace");
    match Task::parse() {
        Task::Check => check::run(root),
        Task::Bench { arguments } => bench(root, &arguments),
    }
}

/// Builds the benchmarks in release and runs them; only then this crate does not need all of Quiver to be built.
fn bench(root: &Path, arguments: &[String]) -> ExitCode {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.current_dir(root).args(["run", "--release", "--quiet", "--package", "quiver-bench", "--"]).args(arguments);
    if arguments.iter().any(|word| word == "graph") && !arguments.iter().any(|word| word == "--csv") {
        command.args(["--csv", "bench/graph.csv"]);
    }
    match command.status() {
        Ok(status) if status.success() => ExitCode::SUCCESS,
        Ok(_) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("cargo xtask bench: cargo cannot be started: {error}");
            ExitCode::FAILURE
        }
    }
}
