//! `cargo xtask memory`: the tests under what watches memory. Each says `skipped` and why where the toolchain lacks it.
//!
//! - `loom`: every interleaving of readers and writers of epochs, of letters and a sleeping worker, of messages and the bell,
//!   of both ends of a memif ring.
//! - `address`: AddressSanitizer, over all tests but the simulation's, whose coroutines bring stacks of their own, and
//!   those of the client library in C, which programs of another compiler link. It needs nothing but the stable
//!   toolchain, which ships the runtime and hides the option. Leaks are not looked for:
//!   what is registered stays for good, and packets are counted by the tests themselves.
//! - `thread`: ThreadSanitizer, over the tests with threads. The standard library has to be watched, too, so it is built
//!   anew, which takes a nightly toolchain with its sources.
//! - `miri`: the interpreter, over tables and buffers.

use std::path::Path;
use std::process::{Command, ExitCode, Stdio};

use clap::ValueEnum;

use crate::{cargo, finish};

/// Checker of memory.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Watcher {
    /// Every interleaving of the lock-free parts
    Loom,
    /// AddressSanitizer
    Address,
    /// ThreadSanitizer
    Thread,
    /// Miri
    Miri,
}

const TARGET: &str = "x86_64-unknown-linux-gnu";

impl Watcher {
    fn name(self) -> &'static str {
        match self {
            Watcher::Loom => "loom",
            Watcher::Address => "address",
            Watcher::Thread => "thread",
            Watcher::Miri => "miri",
        }
    }
    /// Compiler flags that this checker adds to the caller's.
    fn flags(self) -> &'static str {
        match self {
            Watcher::Loom => "--cfg loom",
            Watcher::Address => "-Zsanitizer=address",
            // System calls made without the C library are not seen, and what they order neither.
            Watcher::Thread => "-Zsanitizer=thread --cfg=rustix_use_libc",
            Watcher::Miri => "",
        }
    }
    /// Tests to run if the caller names none: the arguments of one command each.
    fn tests(self) -> &'static [&'static str] {
        match self {
            Watcher::Loom => {
                &["--package quiver-table --package quiver-engine --package quiver-memif-protocol --lib --test loom"]
            }
            Watcher::Address => {
                &["--workspace --exclude quiver-simulation --exclude quiver-memif-c --tests --no-fail-fast"]
            }
            Watcher::Thread => &["--package quiver-table --package quiver-engine --tests"],
            // The others take it hours.
            Watcher::Miri => &[
                "--package quiver-table --package quiver-engine --lib",
                "--package quiver-table --test all -- hash::",
                "--package quiver-engine --test all -- buffers::",
            ],
        }
    }
    /// Why it cannot be had here.
    fn missing(self) -> Option<&'static str> {
        match self {
            Watcher::Loom | Watcher::Address => None,
            Watcher::Thread if has_nightly("rustc") && has_sources() => None,
            Watcher::Thread => {
                Some("needs a nightly toolchain: `rustup toolchain install nightly --component rust-src`")
            }
            Watcher::Miri if has_nightly("miri") => None,
            Watcher::Miri => {
                Some("needs a nightly toolchain: `rustup toolchain install nightly --component miri,rust-src`")
            }
        }
    }
}

/// Runs the tests; `arguments` replace which ones, as for `cargo test`.
pub fn run(root: &Path, watcher: Watcher, arguments: &[String]) -> ExitCode {
    let name = watcher.name();
    if let Some(reason) = watcher.missing() {
        println!("memory {name} ... skipped: {reason}");
        return ExitCode::SUCCESS;
    }
    let runs: Vec<Vec<&str>> = match arguments {
        [] => watcher.tests().iter().map(|tests| tests.split(' ').collect()).collect(),
        arguments => vec![arguments.iter().map(String::as_str).collect()],
    };
    for tests in runs {
        if finish(&format!("memory {name}"), command(root, watcher, &tests)) != ExitCode::SUCCESS {
            return ExitCode::FAILURE;
        }
    }
    ExitCode::SUCCESS
}

/// The command that runs these tests.
fn command(root: &Path, watcher: Watcher, tests: &[&str]) -> Command {
    let mut flags = std::env::var("RUSTFLAGS").unwrap_or_default();
    flags.push_str(&format!(" {}", watcher.flags()));
    let mut command = match watcher {
        Watcher::Loom | Watcher::Address => cargo(root),
        Watcher::Thread | Watcher::Miri => {
            let mut rustup = Command::new("rustup");
            rustup.current_dir(root).args(["run", "nightly", "cargo"]);
            // What cargo tells its children of the toolchain that runs now is not for another one.
            for variable in ["CARGO", "RUSTC", "RUSTUP_TOOLCHAIN"] {
                rustup.env_remove(variable);
            }
            rustup
        }
    };
    command.env("RUSTFLAGS", flags.trim());
    match watcher {
        Watcher::Loom => command.arg("test"),
        Watcher::Address => command.env("RUSTC_BOOTSTRAP", "1").args(["test", "--target", TARGET]),
        Watcher::Thread => command.args(["test", "-Zbuild-std", "--target", TARGET]),
        Watcher::Miri => command.args(["miri", "test"]),
    };
    command.env("ASAN_OPTIONS", "detect_leaks=0").env("MIRIFLAGS", "-Zmiri-disable-isolation");
    command.arg("--target-dir").arg(root.join("target").join(watcher.name())).args(tests);
    command
}

fn has_nightly(program: &str) -> bool {
    let mut command = Command::new("rustup");
    command.args(["run", "nightly", program, "--version"]).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

fn has_sources() -> bool {
    let output = Command::new("rustup").args(["run", "nightly", "rustc", "--print", "sysroot"]).output();
    output.is_ok_and(|output| {
        let sysroot = String::from_utf8_lossy(&output.stdout).trim().to_owned();
        Path::new(&sysroot).join("lib/rustlib/src/rust/library/std").is_dir()
    })
}
