//! `cargo xtask disassemble` and `cargo xtask instructions`: guards that look at machine code instead of at a clock.
//!
//! They share a build in profile `demo`, which compiles what packets run through as a release does, and the rest in less time.
//! It has a folder of its own: it holds all instruction sets, and its symbols name the types of generic functions.

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use crate::{cargo, finish};

/// All that is built: always together, for what one package asks of a crate is in the other's, too.
const PACKAGES: [&str; 3] = ["quiverd", "quiver-disassemble", "quiver-bench"];

/// Builds, and looks into the machine code of the daemon's hot loops.
pub fn disassemble(root: &Path) -> ExitCode {
    let Some((folder, compiler)) = built(root, "disassemble") else { return ExitCode::FAILURE };
    let mut check = Command::new(folder.join("quiver-disassemble"));
    check.current_dir(root).arg("check").arg(folder.join("quiverd")).arg("bench/loops.csv").arg(compiler);
    finish("disassemble", check)
}

/// Builds, and counts the instructions of packets.
pub fn instructions(root: &Path) -> ExitCode {
    let Some((folder, compiler)) = built(root, "instructions") else { return ExitCode::FAILURE };
    let mut count = Command::new(folder.join("quiver-bench"));
    count.current_dir(root).args(["instructions", "--kept", "bench/instructions.csv", "--compiler", &compiler]);
    finish("instructions", count)
}

/// The profile, and the folder that it has of its own in a target folder.
const PROFILE: &str = "demo";

/// Where the guards' programs are built.
fn folder(root: &Path) -> PathBuf {
    root.join("target/disassemble")
}

/// The build of all that the guards look into.
pub fn build(root: &Path) -> Command {
    let mut flags = std::env::var("RUSTFLAGS").unwrap_or_default();
    flags.push_str(" -Csymbol-mangling-version=v0");
    let mut build = cargo(root);
    build.args(["build", "--quiet", "--profile", PROFILE]).args(PACKAGES.map(|package| format!("--package={package}")));
    build.arg("--target-dir").arg(folder(root)).env("RUSTFLAGS", flags.trim());
    build
}

/// Where the built programs are, and the compiler that built them.
fn built(root: &Path, task: &str) -> Option<(PathBuf, String)> {
    let build = build(root);
    let start = std::time::Instant::now();
    if finish(task, build) != ExitCode::SUCCESS {
        return None;
    }
    println!("built in {} s, with what was built before", start.elapsed().as_secs());
    let mut rustc = Command::new(std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into()));
    let version = match rustc.current_dir(root).arg("--version").output() {
        Ok(output) => String::from_utf8_lossy(&output.stdout).trim().to_owned(),
        Err(error) => {
            eprintln!("cargo xtask {task}: rustc cannot be started: {error}");
            return None;
        }
    };
    let compiler = version.strip_prefix("rustc ").unwrap_or(&version).to_owned();
    Some((folder(root).join(PROFILE), compiler))
}
