//! The daemon as VPP's users start it: by a startup.conf, by sections on the command line, and into the background.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

const WAIT: Duration = Duration::from_secs(60);

fn wait(what: &str, mut holds: impl FnMut() -> bool) {
    let end = Instant::now() + WAIT;
    while !holds() {
        assert!(Instant::now() < end, "{what}: not within {WAIT:?}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

fn quiverd(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_quiverd"));
    command.args(arguments).env_remove("QUIVER_SOCKET").stdin(Stdio::null());
    command
}

/// What the daemon at this socket answers a command.
fn ask(socket: &Path, line: &str) -> String {
    let stream = UnixStream::connect(socket).expect("it serves");
    writeln!(&stream, "{{\"command\":{{\"line\":{line:?}}}}}").expect("it reads");
    let mut answer = String::new();
    BufReader::new(stream).read_line(&mut answer).expect("it answers");
    answer
}

/// A daemon that is killed if the test fails.
struct Daemon(Child);

impl Daemon {
    fn stop(mut self) {
        kill(Pid::from_raw(self.0.id().cast_signed()), Signal::SIGTERM).expect("it runs");
        let ended = self.0.wait().expect("it is a child");
        assert!(ended.success(), "{ended}");
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        // It may have ended.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn sections_on_the_command_line_start_it_in_their_folder() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let runtime = format!("runtime-dir {}", folder.path().display());
    let mut command = quiverd(&[
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
    let daemon = Daemon(command.arg0("vpp").stderr(Stdio::null()).spawn().unwrap());
    wait("it serves", || UnixStream::connect(at("quiver.sock")).is_ok() && at("vpp.pid").exists());
    let answer = ask(&at("quiver.sock"), "show version");
    assert!(answer.starts_with("{\"done\""), "{answer}");
    assert_eq!(fs::read_to_string(at("vpp.pid")).unwrap(), format!("{}\n", daemon.0.id()));
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
    let Output { status, stderr, .. } = quiverd(&["-c", &at("startup.conf").display().to_string()]).output().unwrap();
    assert!(status.success() && stderr.is_empty(), "{}", String::from_utf8_lossy(&stderr));
    // The command has ended, so it serves: nothing is waited for.
    let shown = ask(&at("quiver.sock"), "show interface loop0");
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
        "was taken as: quiverd --daemon --no-state",
    ] {
        assert!(log.contains(told), "{told}: {log}");
    }
}

#[test]
fn what_fails_before_it_serves_fails_the_command_though_it_goes_to_the_background() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("log").display().to_string();
    let runtime = folder.path().display().to_string();
    let arguments = ["--daemon", "--log-file", &log, "--runtime-dir", &runtime, "--buffers", "1000", "--exec", "none"];
    let output = quiverd(&arguments).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(told.contains("quiverd: none: No such file"), "{told}");
    assert!(!folder.path().join("quiver.sock").exists());
    let output = quiverd(&["cpu", "{ workers many }"]).output().unwrap();
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(told.contains("the sections on the command line: line 1, column 15: cpu: workers: 'many'"), "{told}");
}
