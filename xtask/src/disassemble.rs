//! `cargo xtask disassemble`: builds the daemon's release, and the program that looks into it.
//!
//! In the daemon that users get, symbols do not name the types of generic functions, so these builds have a folder of
//! their own. Other crates are not optimized in it, for that takes long: the hot functions are in ours, with what is
//! generic of others.

use std::path::Path;
use std::process::{Command, ExitCode};

use crate::{cargo, finish};

/// Builds and checks.
pub fn run(root: &Path) -> ExitCode {
    let folder = root.join("target/disassemble");
    let mut flags = std::env::var("RUSTFLAGS").unwrap_or_default();
    flags.push_str(" -Csymbol-mangling-version=v0");
    let mut build = cargo(root);
    build.args(["build", "--release", "--quiet", "--package", "quiverd", "--package", "quiver-disassemble"]);
    build.args(["--config", "profile.release.package.\"*\".opt-level=0"]);
    build.arg("--target-dir").arg(&folder).env("RUSTFLAGS", flags.trim());
    let start = std::time::Instant::now();
    if finish("disassemble", build) != ExitCode::SUCCESS {
        return ExitCode::FAILURE;
    }
    println!("built in {} s, with what was built before", start.elapsed().as_secs());
    let mut check = Command::new(folder.join("release/quiver-disassemble"));
    check.arg(folder.join("release/quiverd"));
    finish("disassemble", check)
}
