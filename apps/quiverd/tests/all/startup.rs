//! The daemon as VPP's users start it: by a startup.conf, by sections on the command line, and into the background.

use std::fs;
use std::os::unix::process::CommandExt;
use std::process::{Output, Stdio};

use crate::quiverd::{self, Daemon, ask, wait};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::json;

#[test]
fn sections_on_the_command_line_start_it_in_their_folder() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let runtime = format!("runtime-dir {}", folder.path().display());
    let mut command = quiverd::command();
    command.args([
        "unix",
        "{",
        "nodaemon",
        "",
        &runtime,
        "pidfile",
        "vpp.pid",
        "}",
        "buffers {",
        "buffers-per-numa",
        "1000",
        "}",
        "plugins { plugin dpdk_plugin.so { disable } }",
        "api-fuzz {",
        "off",
        "}",
    ]);
    let daemon = Daemon::start(command.arg0("vpp").stderr(Stdio::null()), at("quiver.sock"));
    wait("its number is told", || at("vpp.pid").exists());
    daemon.run("show version").unwrap();
    assert_eq!(fs::read_to_string(at("vpp.pid")).unwrap(), format!("{}\n", daemon.id()));
    daemon.stop();
    assert!(!at("quiver.sock").exists() && !at("vpp.pid").exists(), "something is left behind");
}

#[test]
fn a_startup_conf_leads_to_the_background_and_its_script_goes_on_after_a_refusal() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let path = folder.path().display();
    fs::write(at("script"), "create loopback interface\nfrobnicate\nset interface state loop0 up\n").unwrap();
    let conf = format!(
        "unix {{\n  log {path}/log # all of it\n  pidfile {path}/pid\n  runtime-dir {path}\n  exec {path}/script\n}}\n\
         buffers {{ buffers-per-numa 1000 }}\nwarp {{ factor 9 }}\n"
    );
    fs::write(at("startup.conf"), conf).unwrap();
    let Output { status, stderr, .. } = quiverd::command().arg("-c").arg(at("startup.conf")).output().unwrap();
    assert!(status.success() && stderr.is_empty(), "{}", String::from_utf8_lossy(&stderr));
    // The command has ended, so it serves: nothing is waited for.
    let shown = ask(&at("quiver.sock"), &json!({"command": {"line": "show interface loop0"}})).to_string();
    let pid = fs::read_to_string(at("pid")).unwrap().trim().parse().unwrap();
    let status = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    kill(Pid::from_raw(pid), Signal::SIGTERM).unwrap();
    assert!(shown.contains("loop0") && shown.contains("up"), "{shown}");
    // Its session is its own: the field behind parent and group.
    let session = status.rsplit(')').next().and_then(|rest| rest.split_whitespace().nth(3)).map(str::to_owned);
    assert_eq!(session, Some(pid.to_string()));
    wait("it ends", || !at("quiver.sock").exists());
    let log = fs::read_to_string(at("log")).unwrap();
    for told in [
        "startup.conf: line 8, column 1: section warp is not known",
        "script:2: `frobnicate`",
        "was taken as: quiverd --daemon --no-state --no-route drop",
    ] {
        assert!(log.contains(told), "{told}: {log}");
    }
}

/// Without root there is no /run/quiver, and two daemons of root's must not meet there.
#[test]
fn everything_without_a_path_of_its_own_is_in_the_runtime_folder() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let mut command = quiverd::command();
    command.arg("--runtime-dir").arg(folder.path()).args(["--no-state", "--buffers", "1000"]);
    let daemon = Daemon::start(command.stderr(Stdio::null()), at("quiver.sock"));
    for name in ["api.sock", "stats.sock"] {
        assert!(at(name).exists(), "{name}");
    }
    daemon.run("create interface memif id 0 master").unwrap();
    assert!(at("memif.sock").exists());
    let told = daemon.run("api trace save x").unwrap().to_string();
    assert!(told.contains(&at("captures/x").display().to_string()), "{told}");
    assert!(at("captures/x").exists());
    daemon.stop();
}

#[test]
fn what_fails_before_it_serves_fails_the_command_though_it_goes_to_the_background() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("log").display().to_string();
    let runtime = folder.path().display().to_string();
    let arguments = ["--daemon", "--log-file", &log, "--runtime-dir", &runtime, "--buffers", "1000", "--exec", "none"];
    let output = quiverd::command().args(arguments).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(told.contains("quiverd: none: No such file"), "{told}");
    assert!(!folder.path().join("quiver.sock").exists());
    let output = quiverd::command().args(["cpu", "{ workers many }"]).output().unwrap();
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(told.contains("the sections on the command line: line 1, column 15: cpu: workers: 'many'"), "{told}");
}
