//! `cargo xtask test`: all checks and tests in stages, the quickest first; the first step that fails ends the run. At its end a
//! table says how many CPU seconds each step took, and the slowest crates and tests, beside the figures in `bench/build.csv`.

mod documentation;
mod ledger;
mod runner;

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

use clap::ValueEnum;
use ledger::Ledger;

use crate::{cargo, check, finish, guard, memory, times};

/// A part of `cargo xtask test` that can run alone.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Stage {
    /// Formatting, clippy, the house's rules, documentation
    Lints,
    /// Unit and integration tests, documentation's examples
    Tests,
    /// Machine code, instruction counts, loom, the simulation
    Guards,
}

/// Clippy's arguments for lints.
const CLIPPY: [&str; 2] = ["--deny", "warnings"];

/// The instruction sets, as the engine's `--cfg` names them, and the step that compiles the engine for each alone.
const LEVELS: [(&str, &str); 3] =
    [("baseline", "engine, baseline alone"), ("avx2", "engine, AVX2 alone"), ("avx512", "engine, AVX-512 alone")];

/// The simulation is a guard: it takes as long as a stage of its own.
const SIMULATION: &str = "package(quiver-simulation) and kind(test)";

/// Runs the stages that are asked for, or all of them, and reports what they cost.
pub fn run(root: &Path, stages: &[Stage]) -> ExitCode {
    let is_asked = |stage| stages.is_empty() || stages.contains(&stage);
    let mut run = match Run::new(root) {
        Ok(run) => run,
        Err(error) => return refuse(&error),
    };
    let is_passed = (!is_asked(Stage::Lints) || run.lints())
        && (!is_asked(Stage::Tests) || run.tests())
        && (!is_asked(Stage::Guards) || run.guards());
    let is_whole = is_passed && (stages.is_empty() || stages.len() == Stage::value_variants().len());
    match run.ledger.close(is_whole) {
        Ok(is_within) if is_within && is_passed => ExitCode::SUCCESS,
        Ok(_) => ExitCode::FAILURE,
        Err(error) => refuse(&error),
    }
}

/// Runs the tests with slow real peers, which have a limit of their own.
pub fn peers(root: &Path) -> ExitCode {
    let mut run = match Run::new(root) {
        Ok(run) => run,
        Err(error) => return refuse(&error),
    };
    let is_passed = run.runner("tests with slow peers", &["--profile", "peers", "--no-tests", "pass"]);
    match run.ledger.close(false) {
        Ok(_) if is_passed => ExitCode::SUCCESS,
        Ok(_) => ExitCode::FAILURE,
        Err(error) => refuse(&error),
    }
}

fn refuse(error: &str) -> ExitCode {
    eprintln!("cargo xtask test: {error}");
    ExitCode::FAILURE
}

struct Run<'r> {
    root: &'r Path,
    /// This program, where no build replaces it.
    wrapper: PathBuf,
    ledger: Ledger,
}

impl Run<'_> {
    fn new(root: &Path) -> Result<Run<'_>, String> {
        let folder = root.join("target/xtask");
        let told = |error: std::io::Error| format!("{}: {error}", folder.display());
        std::fs::create_dir_all(&folder).map_err(told)?;
        let wrapper = folder.join("times");
        // A running program cannot be written to; a copy beside it can take its place.
        let copy = folder.join("times.new");
        std::env::current_exe().and_then(|this| std::fs::copy(this, &copy)).map_err(told)?;
        std::fs::rename(&copy, &wrapper).map_err(told)?;
        let ledger = Ledger::open(&root.join("bench/build.csv"), folder.join("times.tsv"))?;
        Ok(Run { root, wrapper, ledger })
    }

    /// A command whose compilers note their CPU seconds.
    fn timed(&self, mut command: Command) -> Command {
        command.env("RUSTC_WRAPPER", &self.wrapper).env(times::FILE, self.ledger.times());
        command
    }

    fn cargo(&mut self, step: &'static str, arguments: &[&str]) -> bool {
        let mut command = cargo(self.root);
        command.args(arguments);
        self.command(step, command)
    }

    fn command(&mut self, step: &'static str, command: Command) -> bool {
        let command = self.timed(command);
        self.ledger.step(step, || finish("test", command) == ExitCode::SUCCESS)
    }

    /// Whether the engine compiles without warnings for one instruction set alone, as `make run` builds it.
    fn one_level(&mut self, (level, step): (&str, &'static str)) -> bool {
        // The flags go to the engine alone, so what it depends on is checked once, in a folder of its own.
        let mut check = cargo(self.root);
        check.args(["rustc", "--quiet", "--package", "quiver-engine", "--lib", "--profile", "check"]);
        check.args(["--target-dir", "target/one-level", "--", "--deny", "warnings"]);
        for (other, _) in LEVELS.iter().filter(|(other, _)| *other != level) {
            check.arg("--cfg").arg(format!("quiver_without_{other}"));
        }
        self.command(step, check)
    }

    fn lints(&mut self) -> bool {
        let root = self.root;
        self.cargo("formatting", &["fmt", "--all", "--check"])
            && self.ledger.step("rules of the house", || check::run(root) == ExitCode::SUCCESS)
            && self.cargo("clippy", &[&["clippy", "--workspace", "--all-targets", "--"][..], &CLIPPY].concat())
            && LEVELS.into_iter().all(|level| self.one_level(level))
            && match documentation::command(root, &CLIPPY) {
                Ok(documentation) => self.command("documentation", documentation),
                Err(error) => {
                    eprintln!("cargo xtask test: programs cannot be listed: {error}");
                    false
                }
            }
    }

    fn tests(&mut self) -> bool {
        self.runner("building tests", &["--no-run"])
            && self.runner("tests", &["--filterset", &format!("not ({SIMULATION})")])
            && self.cargo("examples in documentation", &["test", "--workspace", "--doc", "--quiet"])
    }

    fn guards(&mut self) -> bool {
        let root = self.root;
        let build = self.timed(guard::build(root));
        self.ledger.step("building for guards", || finish("test", build) == ExitCode::SUCCESS)
            && self.ledger.step("machine code", || guard::disassemble(root) == ExitCode::SUCCESS)
            && self.slow_guards()
    }

    /// Guards of which each uses one core for most of its time.
    fn slow_guards(&mut self) -> bool {
        let root = self.root;
        let Some(simulation) = self.nextest(&["--filterset", SIMULATION]) else { return false };
        self.ledger.step("instruction counts, loom, simulation", || {
            std::thread::scope(|scope| {
                let counts = scope.spawn(|| guard::instructions(root) == ExitCode::SUCCESS);
                let simulation = scope.spawn(|| finish("test", simulation) == ExitCode::SUCCESS);
                let is_loom_passed = memory::run(root, memory::Watcher::Loom, &[]) == ExitCode::SUCCESS;
                // All of them end before the run does; a panic is a failure.
                let [counts, simulation] = [counts.join(), simulation.join()].map(|passed| passed.unwrap_or(false));
                is_loom_passed && counts && simulation
            })
        })
    }

    /// Tests of the workspace by nextest.
    fn runner(&mut self, step: &'static str, arguments: &[&str]) -> bool {
        let Some(command) = self.nextest(arguments) else { return false };
        self.ledger.step(step, || finish("test", command) == ExitCode::SUCCESS)
    }

    /// A run of nextest: each test in a process of its own, several at once.
    fn nextest(&self, arguments: &[&str]) -> Option<Command> {
        let program = match runner::program(self.root) {
            Ok(program) => program,
            Err(error) => {
                eprintln!("cargo xtask test: {error}");
                return None;
            }
        };
        let mut command = Command::new(program);
        command.current_dir(self.root).args(["nextest", "run", "--workspace"]).args(arguments).stdin(Stdio::null());
        command.env("CARGO_TARGET_X86_64_UNKNOWN_LINUX_GNU_RUNNER", &self.wrapper);
        Some(self.timed(command))
    }
}
