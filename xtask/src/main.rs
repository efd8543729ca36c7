//! Tasks of Quiver's developers: `cargo xtask NAME`.

mod bugs;
mod check;
mod guard;
mod memory;
mod room;
mod test;
mod times;

use std::path::Path;
use std::process::{Command, ExitCode};

use clap::Parser;

#[derive(Parser)]
#[command(bin_name = "cargo xtask")]
enum Task {
    /// Check the rules that neither compiler nor clippy knows
    Check,
    /// Run all checks and tests in stages, and say what each step, crate and test cost; `KEEP_TIMES=1` keeps the
    /// new figures
    Test {
        /// Only these stages
        #[arg(long = "stage", value_name = "STAGE")]
        stages: Vec<test::Stage>,
    },
    /// Run the tests with slow real peers, which `make test-peers` runs with a limit of their own
    TestPeers,
    /// Build the daemon's release and look into its machine code: the hot loops must call nothing and be as wide as the
    /// instruction set that they are compiled for, and as long as those that were kept; `UPDATE=1` keeps the new ones
    Disassemble,
    /// Build the benchmarks' release and count the instructions of a packet under callgrind, beside those that were kept;
    /// `UPDATE=1` keeps the new ones and writes the tables of the README and of docs/performance.md anew
    Instructions,
    /// Run the whole daemon on a virtual clock, with seeded faults: many seeds, or one with all that happens
    #[command(disable_help_flag = true)]
    Simulate {
        /// `--seeds N`, `--seed S` and others; `simulate --help` lists them
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<String>,
    },
    /// Seed the bugs that `tests/bugs.txt` of crates list into a copy, and see that the tests named there find them
    Bugs {
        /// Only bugs with this text in their name or test
        #[arg(default_value = "")]
        only: String,
    },
    /// Make a room of features: a copy of `examples/room` under another name, which quiverd has
    Room {
        /// Its name: words of small letters, joined by hyphens
        name: String,
    },
    /// Run tests under a checker of memory: `loom`, `address`, `thread`, `miri`
    Memory {
        /// Checker
        watcher: memory::Watcher,
        /// Tests, as for `cargo test`; a default for each checker if there are none
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<String>,
    },
    /// Build what users install: Debian packages, an image of containers, a tarball; below `target/packages`
    #[command(disable_help_flag = true)]
    Packages {
        /// `packages --help` lists them
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<String>,
    },
    /// Measure in release: `bench --help` lists the subjects; the rows are also appended to bench/*.csv
    #[command(disable_help_flag = true)]
    Bench {
        /// Subject, and its options; `bench graph --help` lists them
        #[arg(trailing_var_arg = true, allow_hyphen_values = true, required = true)]
        arguments: Vec<String>,
    },
}

fn main() -> ExitCode {
    // xtask lives in a folder of the workspace's root.
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the manifest is in a folder of the workspace");
    if let Some(file) = std::env::var_os(times::FILE) {
        return times::wrap(Path::new(&file));
    }
    match Task::parse() {
        Task::Check => check::run(root),
        Task::Test { stages } => test::run(root, &stages),
        Task::TestPeers => test::peers(root),
        Task::Disassemble => guard::disassemble(root),
        Task::Instructions => guard::instructions(root),
        Task::Simulate { arguments } => simulate(root, &arguments),
        Task::Bugs { only } => bugs::run(root, &only),
        Task::Room { name } => room::run(root, &name),
        Task::Memory { watcher, arguments } => memory::run(root, watcher, &arguments),
        Task::Packages { arguments } => packages(root, &arguments),
        Task::Bench { arguments } => bench(root, &arguments),
    }
}

/// Builds the simulation as the tests do, and runs it.
fn simulate(root: &Path, arguments: &[String]) -> ExitCode {
    let mut command = cargo(root);
    command.args(["run", "--quiet", "--package", "quiver-simulation", "--"]).args(arguments);
    finish("simulate", command)
}

/// Runs the program that builds packages; only then this crate does not need what writes archives.
fn packages(root: &Path, arguments: &[String]) -> ExitCode {
    let mut command = cargo(root);
    command.args(["run", "--quiet", "--package", "quiver-packaging", "--"]).args(arguments);
    finish("packages", command)
}

/// Builds the benchmarks in release and runs them; only then this crate does not need all of Quiver to be built.
fn bench(root: &Path, arguments: &[String]) -> ExitCode {
    let given = |word: &str| arguments.iter().any(|argument| argument == word);
    let mut with_file = arguments.to_vec();
    for what in ["graph", "load", "control", "memif", "api", "generator", "connections", "tables", "stall", "workers"] {
        if given(what) && !given("--csv") {
            with_file.extend(["--csv".into(), format!("bench/{what}.csv")]);
        }
    }
    let mut command = cargo(root);
    command.args(["run", "--release", "--quiet", "--package", "quiver-bench", "--"]).args(&with_file);
    if ["load", "api", "generator", "connections"].into_iter().any(given) {
        // They measure the program itself.
        let mut daemon = cargo(root);
        daemon.args(["build", "--release", "--quiet", "--package", "quiverd"]);
        if finish("bench", daemon) != ExitCode::SUCCESS {
            return ExitCode::FAILURE;
        }
    }
    finish("bench", command)
}

/// The cargo that runs this, in the workspace's root.
fn cargo(root: &Path) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(root);
    command
}

/// Runs a command to its end, which becomes the task's.
fn finish(task: &str, mut command: Command) -> ExitCode {
    match command.status() {
        Ok(status) if status.success() => ExitCode::SUCCESS,
        Ok(_) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("cargo xtask {task}: {} cannot be started: {error}", command.get_program().display());
            ExitCode::FAILURE
        }
    }
}
