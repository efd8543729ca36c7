//! The programs that the demo runs, and how to come by them on Debian.

use std::process::Command;

use quiver_netns::{Error, Purpose, missing_packages, run};

use crate::show;

/// Makes sure that every needed program is there: root installs missing packages, other users get the one line to run.
pub fn provide() -> Result<(), Error> {
    let missing = missing_packages(&[Purpose::Run]);
    if missing.is_empty() {
        return Ok(());
    }
    if !nix::unistd::geteuid().is_root() || quiver_netns::find("apt-get").is_none() {
        return Err(Error::Missing { packages: missing.join(" ") });
    }
    show::say(format_args!("installing {}", missing.join(" ")));
    if install(&missing).is_err() {
        // The package lists of a fresh machine are empty or old.
        run(apt_get().arg("update"))?;
        install(&missing)?;
    }
    Ok(())
}

fn install(packages: &[&str]) -> Result<(), Error> {
    run(apt_get().args(["install", "--yes", "--no-install-recommends"]).args(packages)).map(drop)
}

fn apt_get() -> Command {
    let mut command = Command::new("apt-get");
    command.env("DEBIAN_FRONTEND", "noninteractive").arg("--quiet");
    command
}
