//! `cargo doc` that shares its work with `cargo clippy`.
//!
//! Before a crate is documented, cargo checks the crates that it depends on. Clippy has just done so, but cargo takes the
//! results only if compiler, features and clippy's arguments are the same. Otherwise it checks nearly the whole workspace again.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::{cargo, check};

/// The pages are for people who work on Quiver, so they show private items and may link to them.
const LINTS: &str = "--deny warnings --allow rustdoc::private-intra-doc-links";
/// Any example: with one, cargo chooses features as for `--all-targets`, which is tokio's `test-util`.
const EXAMPLE: &str = "exact_rates";

/// Documents all packages, after `cargo clippy --workspace --all-targets` with these arguments for clippy.
pub fn command(root: &Path, clippy: &[&str]) -> std::io::Result<Command> {
    let mut command = cargo(root);
    command.args(["doc", "--workspace", "--no-deps", "--document-private-items", "--quiet", "--lib"]);
    command.args(["--example", EXAMPLE]).env("RUSTDOCFLAGS", LINTS);
    for program in programs(root)? {
        command.args(["--bin", &program]);
    }
    if let Some(driver) = driver(root) {
        // As `cargo clippy` sets them.
        let arguments: String = clippy.iter().map(|argument| format!("{argument}__CLIPPY_HACKERY__")).collect();
        command.env("RUSTC_WORKSPACE_WRAPPER", driver).env("CLIPPY_ARGS", arguments);
    }
    Ok(command)
}

/// The programs that `cargo doc` documents if no targets are named: those whose packages have no library, whose page would have
/// the same name.
fn programs(root: &Path) -> std::io::Result<Vec<String>> {
    let mut files = vec![];
    check::collect(root, &mut files)?;
    let mut programs = vec![];
    for source in files.iter().filter(|file| file.ends_with("src/main.rs") && !file.with_file_name("lib.rs").exists()) {
        let manifest = source.ancestors().nth(2).unwrap_or(root).join("Cargo.toml");
        let text = std::fs::read_to_string(manifest)?;
        let name = text.lines().find_map(|line| line.strip_prefix("name = \"")?.strip_suffix('"'));
        programs.extend(name.map(str::to_owned));
    }
    Ok(programs)
}

/// The compiler that `cargo clippy` runs in place of rustc. Without it everything is checked again.
fn driver(root: &Path) -> Option<PathBuf> {
    let mut rustc = Command::new(std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into()));
    let sysroot = rustc.current_dir(root).args(["--print", "sysroot"]).output().ok()?;
    let driver = Path::new(std::str::from_utf8(&sysroot.stdout).ok()?.trim()).join("bin/clippy-driver");
    driver.canonicalize().ok()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    #[test]
    fn programs_beside_a_library_are_left_out() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
        let programs = super::programs(root).unwrap();
        assert!(programs.contains(&"xtask".into()) && programs.contains(&"quiver".into()), "{programs:?}");
        assert!(!programs.contains(&"quiverd".into()), "{programs:?}");
    }
}
