//! Installs the plotting library of the pages from npm, at the version and with the digest that package-lock.json pins.
//!
//! It lies in cargo's folder for build results, and the crate includes its files from there: nothing that was fetched is
//! committed, and a finished `quiver-lab` needs neither Node nor a network.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

/// Files of the library that the crate includes.
const FILES: [&str; 3] = ["dist/uPlot.iife.min.js", "dist/uPlot.min.css", "LICENSE"];

fn main() {
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it"));
    for file in ["build.rs", "package.json", "package-lock.json"] {
        println!("cargo::rerun-if-changed={file}");
    }
    if let Err(error) = install(&out.join("npm"), &out) {
        // As cargo shows it: the remedy last.
        panic!(
            "{error}\nThe dashboard of quiver-lab is built with npm: apt-get install npm (quiverd and quiver need none)"
        );
    }
}

fn install(folder: &Path, out: &Path) -> Result<(), String> {
    fs::create_dir_all(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    for file in ["package.json", "package-lock.json"] {
        fs::copy(file, folder.join(file)).map_err(|error| format!("{file}: {error}"))?;
    }
    let mut npm = Command::new("npm");
    npm.args(["ci", "--ignore-scripts", "--no-audit", "--no-fund", "--prefer-offline"]).current_dir(folder);
    let output = npm.output().map_err(|error| format!("npm: {error}"))?;
    if !output.status.success() {
        return Err(format!("npm ci: {}", String::from_utf8_lossy(&output.stderr)));
    }
    for file in FILES {
        let from = folder.join("node_modules/uplot").join(file);
        let name = Path::new(file).file_name().unwrap_or_default();
        fs::copy(&from, out.join(name)).map_err(|error| format!("{}: {error}", from.display()))?;
    }
    Ok(())
}
