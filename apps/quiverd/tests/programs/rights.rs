//! quiverd without root's rights: with the capabilities that it was given it works, and without one it says which.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::quiverd::Daemon;
use libtest_mimic::{Failed, Trial};

/// A user and a group that need not exist.
const NOBODY: &str = "65534";

pub fn trials() -> Vec<Trial> {
    let mut other = Command::new("unshare");
    other.args(["--net", "setpriv", "--reuid", NOBODY, "true"]).stderr(Stdio::null());
    let cannot_try = !other.status().is_ok_and(|status| status.success());
    if cannot_try {
        eprintln!(
            "no process with fewer rights can be tried here: run it as root, with unshare and setpriv (util-linux)"
        );
    }
    vec![
        Trial::test("rights::another user with capabilities is served", capabilities_suffice)
            .with_ignored_flag(cannot_try),
        Trial::test("rights::what is missing is named with the remedy", missing_ones_are_named)
            .with_ignored_flag(cannot_try),
    ]
}

/// Starts quiverd in a network namespace of its own, as `setpriv` says.
fn start(folder: &Path, setpriv: &[&str]) -> Result<Daemon, Failed> {
    fs::set_permissions(folder, Permissions::from_mode(0o777))?;
    // Others do not reach the program where it was built.
    let program = folder.join("quiverd");
    fs::copy(env!("CARGO_BIN_EXE_quiverd"), &program)?;
    let socket = folder.join("s");
    let mut command = Command::new("unshare");
    command.args(["--net", "setpriv"]).args(setpriv).arg("--").arg(program).arg("--socket").arg(&socket);
    command.args(["--buffers", "512", "--buffers-limit", "512"]).env_remove("QUIVER_SOCKET");
    Ok(Daemon::start(command.stdin(Stdio::null()).stderr(Stdio::null()), socket))
}

/// Checks that a command is refused, with these words.
fn refuses(daemon: &Daemon, line: &str, words: &[&str]) -> Result<(), Failed> {
    let told = daemon.run(line).err().ok_or_else(|| format!("`{line}` was not refused"))?;
    match words.iter().find(|word| !told.contains(**word)) {
        None => Ok(()),
        Some(word) => Err(format!("`{line}`: {word} is not in: {told}").into()),
    }
}

fn capabilities_suffice() -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    let sets = ["+net_admin,+net_raw"; 2];
    let daemon = start(
        folder.path(),
        &["--reuid", NOBODY, "--regid", NOBODY, "--clear-groups", "--inh-caps", sets[0], "--ambient-caps", sets[1]],
    )?;
    daemon.run("create host-interface name lo")?;
    let is_open = fs::metadata("/dev/net/tun").is_ok_and(|about| about.permissions().mode() & 0o006 == 0o006);
    match is_open {
        true => _ = daemon.run("create tap id 0")?,
        false => {
            refuses(&daemon, "create tap id 0", &["open /dev/net/tun: Permission denied", "chmod 666", "DeviceAllow="])?
        }
    }
    let elsewhere = "create tap id 1 host-ns /proc/self/ns/net";
    refuses(
        &daemon,
        elsewhere,
        &["host-namespace: enter", "quiverd lacks CAP_SYS_ADMIN", "AmbientCapabilities=CAP_SYS_ADMIN"],
    )?;
    daemon.stop();
    Ok(())
}

/// As root without some of root's rights, so that the files of devices may be opened.
fn missing_ones_are_named() -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    let daemon = start(folder.path(), &["--bounding-set", "-net_admin,-net_raw,-sys_admin", "--inh-caps", "-all"])?;
    refuses(
        &daemon,
        "create tap id 0",
        &["make the TAP device tap0: Operation not permitted", "quiverd lacks CAP_NET_ADMIN"],
    )?;
    refuses(
        &daemon,
        "create host-interface name lo",
        &["open a packet socket", "quiverd lacks CAP_NET_RAW", "setcap "],
    )?;
    let elsewhere = "create tap id 1 host-ns /proc/self/ns/net";
    refuses(
        &daemon,
        elsewhere,
        &[
            "enter namespace",
            "quiverd lacks CAP_SYS_ADMIN: run it as root",
            "cap_sys_admin+ep",
            "leave the namespace out",
        ],
    )?;
    daemon.stop();
    Ok(())
}
