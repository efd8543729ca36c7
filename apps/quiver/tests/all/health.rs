//! `quiver health`, as a probe calls it.

use std::fs;
use std::process::{Command, Output};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;

use crate::daemon::{Daemon, program};

fn health(daemon: &Daemon, arguments: &[&str]) -> (Option<i32>, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_quiver"));
    command.arg("--socket").arg(daemon.socket()).arg("health").args(arguments);
    let Output { status, stdout, stderr } = command.output().expect("the program runs");
    assert!(stderr.is_empty(), "{}", String::from_utf8_lossy(&stderr));
    (status.code(), String::from_utf8(stdout).expect("text"))
}

#[test]
fn a_daemon_that_works_is_healthy_and_one_that_does_not_answer_is_not() {
    let folder = tempfile::tempdir().expect("a folder");
    let daemon = Daemon::start(folder.path());
    assert_eq!(health(&daemon, &[]), (Some(0), "healthy: the worker makes progress\n".to_owned()));
    let (code, text) = health(&daemon, &["--json"]);
    let said: Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!((code, &said["healthy"], &said["workers"]), (Some(0), &Value::from(true), &Value::from(1)));

    // All its threads stand still, the worker's and control's.
    let process = Pid::from_raw(daemon.id().cast_signed());
    kill(process, Signal::SIGSTOP).expect("it runs");
    let (code, text) = health(&daemon, &["--timeout", "1", "--json"]);
    kill(process, Signal::SIGCONT).expect("it runs");
    let said: Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!((code, &said["healthy"]), (Some(1), &Value::from(false)));
    assert!(said["reason"].as_str().is_some_and(|reason| reason.contains("does not answer within 1 s")), "{said}");
    assert_eq!(health(&daemon, &[]).0, Some(0));

    let gone = Command::new(env!("CARGO_BIN_EXE_quiver")).args(["--socket", "/nowhere/s", "health"]).output();
    let gone = gone.expect("the program runs");
    assert_eq!(gone.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&gone.stdout).starts_with("not healthy: no quiverd serves /nowhere/s"));
}

#[test]
fn a_daemon_whose_saved_configuration_does_not_run_is_not_healthy_until_another_one_does() {
    let folder = tempfile::tempdir().expect("a folder");
    let state = folder.path().join("state");
    fs::create_dir(&state).expect("a folder of the test's own");
    let version =
        "# quiver-version: {\"number\":1,\"time\":\"2026-11-22T00:31:20Z\",\"author\":\"alice\",\"what\":\"save\"}\n";
    fs::write(state.join("00000001.yaml"), format!("{version}warps: [{{name: warp9}}]\n")).expect("the same");
    let daemon = Daemon::start(folder.path());
    let (code, text) = health(&daemon, &[]);
    assert_eq!(code, Some(1));
    assert!(text.starts_with("not healthy: the saved configuration does not run") && text.contains("warps"), "{text}");
    daemon.write("good.yaml", "loopbacks: [{name: loop0}]\n");
    daemon.accepted("apply good.yaml");
    assert_eq!(health(&daemon, &[]).0, Some(0));
}

/// A user who may use the viewers' socket alone is answered by that.
#[test]
fn viewers_are_answered_beside_the_socket_that_they_may_not_use() {
    if !nix::unistd::geteuid().is_root() {
        println!("ignored: only root becomes another user");
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    fs::set_permissions(folder.path(), std::os::unix::fs::PermissionsExt::from_mode(0o755)).expect("it is ours");
    let viewers = nix::unistd::Group::from_name("nogroup").expect("groups").expect("Debian has it");
    let daemon = Daemon::start_with(folder.path(), &["--viewers", "nogroup"]);
    let copy = program(folder.path());
    let mut command = Command::new("setpriv");
    command.args(["--reuid", "65534", "--clear-groups", "--regid", &viewers.gid.to_string(), "--"]).arg(copy);
    let output = command.arg("--socket").arg(daemon.socket()).arg("health").output().expect("util-linux is there");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success() && text.starts_with("healthy"),
        "{text}{}",
        String::from_utf8_lossy(&output.stderr)
    );
}
