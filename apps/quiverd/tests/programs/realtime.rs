//! `--realtime`: who may have it gets it, and who may not is told, and served all the same.

use std::fs::{self, File};
use std::path::Path;
use std::process::{Command, Stdio};

use crate::quiverd::Daemon;
use libtest_mimic::{Failed, Trial};

/// `SCHED_OTHER` and `SCHED_RR` of sched.h.
const ORDINARY: &str = "0";
const ROUND_ROBIN: &str = "2";

pub fn trials() -> Vec<Trial> {
    let is_allowed = Command::new("chrt").args(["--rr", "1", "true"]).stderr(Stdio::null()).status();
    let is_allowed = is_allowed.is_ok_and(|status| status.success());
    let granted = Trial::test("realtime::workers get the policy, and nobody else", policy_is_set);
    let refused = Trial::test("realtime::a refusal is told once", refusal_is_told);
    vec![granted.with_ignored_flag(!is_allowed), refused]
}

/// Starts quiverd by a command that takes a program and its arguments, with its log in a file of the folder.
fn start(mut command: Command, folder: &Path) -> Result<Daemon, Failed> {
    let socket = folder.join("s");
    command.arg(env!("CARGO_BIN_EXE_quiverd")).arg("--socket").arg(&socket);
    command.args(["--realtime", "--workers", "2", "--buffers", "512", "--buffers-limit", "512"]);
    command
        .env("RUST_LOG", "info")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(File::create(folder.join("log"))?);
    let daemon = Daemon::start(&mut command, socket);
    // Workers are there by the time that a command is answered.
    daemon.run("show version")?;
    Ok(daemon)
}

/// The policies of the workers' threads, and those of all others.
fn policies(daemon: &Daemon) -> Result<(Vec<String>, Vec<String>), Failed> {
    let (mut workers, mut others) = (vec![], vec![]);
    for task in fs::read_dir(format!("/proc/{}/task", daemon.id()))? {
        let stat = fs::read_to_string(task?.path().join("stat"))?;
        // proc(5): the name is in brackets; the policy is field 41, the 39th behind them.
        let (name, fields) = stat.split_once(") ").ok_or("a stat without a name")?;
        let policy = fields.split(' ').nth(38).ok_or("a stat without a policy")?.to_owned();
        if name.contains("(quiver-") { workers.push(policy) } else { others.push(policy) }
    }
    Ok((workers, others))
}

fn policy_is_set() -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    let mut env = Command::new("env");
    env.arg("--");
    let daemon = start(env, folder.path())?;
    let (workers, others) = policies(&daemon)?;
    let log = fs::read_to_string(folder.path().join("log"))?;
    if workers != [ROUND_ROBIN; 2] || others.iter().any(|policy| policy != ORDINARY) || log.contains("realtime") {
        return Err(format!("workers: {workers:?}; others: {others:?}; {log}").into());
    }
    Ok(())
}

fn refusal_is_told() -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    // In a user namespace of its own not even root has rights over the machine's scheduler.
    let mut unshare = Command::new("unshare");
    unshare.args(["--user", "--"]);
    let daemon = start(unshare, folder.path())?;
    let (workers, _) = policies(&daemon)?;
    let log = fs::read_to_string(folder.path().join("log"))?;
    let told: Vec<_> = log.lines().filter(|line| line.contains("--realtime is refused")).collect();
    if workers != [ORDINARY; 2] || told.len() != 1 || !told[0].contains("ERROR") || !told[0].contains("CAP_SYS_NICE") {
        return Err(format!("workers: {workers:?}; {log}").into());
    }
    Ok(())
}
