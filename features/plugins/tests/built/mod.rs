//! Builds plugins as their authors would: in their own folders, with their own lock files and profiles.

#![allow(dead_code, reason = "each test takes what it needs")]

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A path in the repository.
pub fn repository(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path)
}

/// A right that one process has at a time, until the value is dropped: to build what others build, too.
pub fn alone(name: &str) -> File {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}.lock"));
    let file = File::create(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    file.lock().unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    file
}

fn run(mut command: Command) {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
}

/// Builds the plugin in a folder with cargo; `target` is the folder for what is built, apart from every other.
pub fn by_cargo(mut cargo: Command, folder: &Path, target: &str, arguments: &[&str], library: &str) -> PathBuf {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).join(target);
    // What the surrounding cargo set is for its own build.
    for name in ["RUSTFLAGS", "CARGO_ENCODED_RUSTFLAGS", "CARGO_TARGET_DIR", "RUSTC", "RUSTUP_TOOLCHAIN", "CARGO"] {
        cargo.env_remove(name);
    }
    cargo.args(["build", "--locked", "--offline", "--quiet"]).args(arguments);
    cargo.current_dir(folder).arg("--target-dir").arg(&target);
    run(cargo);
    let profile = if arguments.contains(&"--release") { "release" } else { "debug" };
    target.join(profile).join(library)
}

/// The cargo that runs the test.
pub fn cargo() -> Command {
    Command::new(env!("CARGO"))
}

/// The example in Rust.
pub fn dscp_mark() -> PathBuf {
    by_cargo(cargo(), &repository("examples/plugins/dscp-mark"), "dscp-mark", &["--release"], "libdscp_mark.so")
}

/// The example in C.
pub fn ttl_guard(compiler: &str) -> PathBuf {
    let out = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("ttl-guard-{compiler}"));
    std::fs::create_dir_all(&out).unwrap();
    let mut make = Command::new("make");
    make.arg("-C").arg(repository("examples/plugins/ttl-guard")).arg(format!("OUT={}", out.display()));
    make.arg(format!("CC={compiler}"));
    let _alone = alone(&format!("ttl-guard-{compiler}"));
    run(make);
    out.join("ttl_guard.so")
}

/// The plugin for tests.
pub fn trial() -> PathBuf {
    by_cargo(cargo(), &repository("features/plugins/tests/trial"), "trial", &[], "libtrial.so")
}

/// The same, which panics while it registers.
pub fn hasty() -> PathBuf {
    let folder = repository("features/plugins/tests/trial");
    by_cargo(cargo(), &folder, "trial-hasty", &["--features", "hasty"], "libtrial.so")
}

/// A plugin of a few lines of C behind the header.
pub fn in_c(folder: &Path, name: &str, source: &str) -> PathBuf {
    let (file, library) = (folder.join(name).with_extension("c"), folder.join(name).with_extension("so"));
    std::fs::write(&file, format!("#include <quiver_plugin.h>\n{source}")).unwrap();
    run(cc(&file, &library));
    library
}

/// The plugin that does what the bytes of a file say.
pub fn odd(folder: &Path, program: &Path) -> PathBuf {
    let library = folder.join("odd.so");
    let mut cc = cc(&repository("features/plugins/tests/odd/odd.c"), &library);
    cc.arg(format!("-DPROGRAM=\"{}\"", program.display()));
    run(cc);
    library
}

fn cc(source: &Path, library: &Path) -> Command {
    let mut cc = Command::new("cc");
    cc.args(["-std=gnu11", "-Wall", "-Werror", "-fPIC", "-shared", "-I"]).arg(repository("engine/plugin/abi/include"));
    cc.arg("-o").arg(library).arg(source);
    cc
}
