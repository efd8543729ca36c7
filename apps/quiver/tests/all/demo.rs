//! However the demo ends, the machine is as it was.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Read};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};
use std::{env, fs, process, thread};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

/// Every process that a test starts, at whatever remove, has this variable with the test's name and process id.
const MARK: &str = "QUIVER_DEMO_TEST";

fn demo(mark: &str, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_quiver"));
    command.arg("demo").args(arguments).env(MARK, mark).stdin(Stdio::null());
    command
}

fn mark(test: &str) -> String {
    format!("{test}-{}", process::id())
}

/// The interfaces, namespaces and mounts of the machine, and the processes of a test.
fn traces(mark: &str) -> BTreeSet<String> {
    let mut traces = BTreeSet::new();
    for arguments in [["-brief", "link"], ["netns", "list"]] {
        let output = Command::new("ip").args(arguments).output().expect("ip is installed");
        let text = String::from_utf8(output.stdout).unwrap();
        traces.extend(text.lines().map(|line| format!("ip: {line}")));
    }
    traces.extend(fs::read_to_string("/proc/self/mounts").unwrap().lines().map(|line| format!("mount: {line}")));
    let sockets = fs::read_to_string("/proc/net/unix").unwrap();
    // A demo's daemon would listen below `/run`; those of other tests, which run at the same time, listen elsewhere.
    let of_a_demo = |line: &&str| line.contains("quiver") && line.contains(" /run/");
    traces.extend(sockets.lines().filter(of_a_demo).map(str::to_owned));
    let marked = format!("{MARK}={mark}");
    for entry in fs::read_dir("/proc").unwrap().flatten() {
        let environment = fs::read(entry.path().join("environ")).unwrap_or_default();
        if environment.split(|&byte| byte == 0).any(|variable| variable == marked.as_bytes()) {
            let command = fs::read_to_string(entry.path().join("cmdline")).unwrap_or_default();
            traces.insert(format!("process: {}", command.replace('\0', " ")));
        }
    }
    traces
}

/// Fails if within a moment the machine still has what it had not `before`; the kernel takes one to end a world.
fn assert_nothing_left(mark: &str, before: &BTreeSet<String>) {
    let limit = Instant::now() + Duration::from_secs(5);
    // What others had before may be gone by now.
    let left = || traces(mark).difference(before).cloned().collect::<Vec<_>>();
    while !left().is_empty() && Instant::now() < limit {
        thread::sleep(Duration::from_millis(10));
    }
    assert_eq!(left(), Vec::<String>::new());
}

fn assert_success(output: &Output) {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn success_gives_figures_and_leaves_nothing() {
    let mark = mark("success");
    let before = traces(&mark);
    let output = demo(&mark, &["--json", "--seconds", "1"]).output().unwrap();
    assert_success(&output);
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let paths = report["paths"].as_array().unwrap();
    assert_eq!(paths.len(), 4);
    for path in paths {
        for figure in ["gigabits_per_second", "ping_min_us", "ping_avg_us", "cpu_seconds_per_gigabyte"] {
            assert!(path[figure].as_f64().unwrap() > 0.0, "{figure} in {path}");
        }
        assert_eq!(path["ping_lost"], 0, "{path}");
    }
    assert_nothing_left(&mark, &before);
}

#[test]
fn failure_names_the_culprit_and_leaves_nothing() {
    let mark = mark("failure");
    let before = traces(&mark);
    let programs = tempfile::tempdir().unwrap();
    let broken = programs.path().join("iperf3");
    fs::write(&broken, "#!/bin/sh\necho out of order\nexit 3\n").unwrap();
    fs::set_permissions(&broken, fs::Permissions::from_mode(0o755)).unwrap();
    let path = format!("{}:{}", programs.path().display(), env::var("PATH").unwrap());
    let output = demo(&mark, &["--seconds", "1", "--path", "veth"]).env("PATH", path).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let complaint = String::from_utf8(output.stderr).unwrap();
    assert!(complaint.contains("iperf3 --server") && complaint.contains("out of order"), "{complaint}");
    assert_nothing_left(&mark, &before);
}

#[test]
fn signals_end_it_and_leave_nothing() {
    for (signal, code) in [(Signal::SIGINT, Some(130)), (Signal::SIGTERM, Some(143)), (Signal::SIGKILL, None)] {
        let mark = mark(signal.as_str());
        let before = traces(&mark);
        let mut child =
            demo(&mark, &["--seconds", "30", "--path", "quiver-bridge"]).stderr(Stdio::piped()).spawn().unwrap();
        // Half-way: the transfer is running.
        let mut progress = BufReader::new(child.stderr.take().unwrap());
        let mut line = String::new();
        while !line.contains("iperf3 for") {
            line.clear();
            assert!(progress.read_line(&mut line).unwrap() > 0, "the demo ended before its transfer");
        }
        assert!(traces(&mark).len() > before.len());
        kill(Pid::from_raw(child.id().cast_signed()), signal).unwrap();
        assert_eq!(child.wait().unwrap().code(), code);
        progress.read_to_string(&mut line).unwrap();
        assert_nothing_left(&mark, &before);
    }
}

#[test]
fn a_kept_demo_can_be_played_with_and_ended() {
    let mark = mark("kept");
    let before = traces(&mark);
    let output = demo(&mark, &["--keep", "--seconds", "1", "--path", "quiver-router"]).output().unwrap();
    assert_success(&output);
    let text = String::from_utf8(output.stdout).unwrap();
    let told = |before: &str| {
        let (_, rest) = text.split_once(before).unwrap_or_else(|| panic!("no `{before}` in {text}"));
        rest.split_whitespace().next().unwrap_or_default()
    };
    // Another demo of another user of this machine may be up.
    let (socket, id) = (told(" --socket "), told("demo --id "));
    let mut show = Command::new(env!("CARGO_BIN_EXE_quiver"));
    let output = show.args(["--socket", socket, "show", "interface"]).output().unwrap();
    assert_success(&output);
    assert!(String::from_utf8(output.stdout).unwrap().contains("up"));
    for instruction in ["--in client -- ping 10.0.2.2", "--stop"] {
        assert!(text.contains(&format!("demo --id {id} {instruction}")), "{text}");
    }
    let output = demo(&mark, &["--id", id, "--in", "client", "--", "ping", "-c", "1", "10.0.2.2"]).output().unwrap();
    assert_success(&output);
    for (arguments, refusal) in [
        (&["--id", id, "--in", "nowhere", "--", "true"][..], "no namespace `nowhere`"),
        (&["--id", "1", "--stop"], "no demo of yours has the id 1: there is "),
        (&["--id", "1", "--in", "client", "--", "true"], "no demo of yours has the id 1: there is "),
    ] {
        let output = demo(&mark, arguments).output().unwrap();
        assert_eq!(output.status.code(), Some(1));
        assert!(String::from_utf8(output.stderr).unwrap().contains(refusal), "{refusal}");
    }
    assert_success(&demo(&mark, &["--id", id, "--stop"]).output().unwrap());
    assert_nothing_left(&mark, &before);
}

#[test]
fn two_kept_demos_are_told_apart() {
    let mark = mark("two");
    let before = traces(&mark);
    let keep = || {
        let output = demo(&mark, &["--keep", "--seconds", "1", "--path", "veth"]).output().unwrap();
        assert_success(&output);
        let text = String::from_utf8(output.stdout).unwrap();
        let (_, rest) = text.split_once("demo --id ").expect("the instructions name it");
        rest.split_once(' ').expect("more follows").0.to_owned()
    };
    let (one, other) = (keep(), keep());
    let output = demo(&mark, &["--in", "client", "--", "true"]).output().unwrap();
    let refusal = String::from_utf8(output.stderr).unwrap();
    assert!(refusal.contains("say which by --id") && refusal.contains(&one) && refusal.contains(&other), "{refusal}");
    assert_success(&demo(&mark, &["--id", &one, "--stop"]).output().unwrap());
    let inside =
        |id: &str| demo(&mark, &["--id", id, "--in", "client", "--", "true"]).output().unwrap().status.success();
    assert_eq!((inside(&one), inside(&other)), (false, true));
    assert_success(&demo(&mark, &["--id", &other, "--stop"]).output().unwrap());
    assert_nothing_left(&mark, &before);
}

/// Ends the reading side once a program has written something.
fn read_a_line(mut from: impl Read) {
    let mut byte = [0];
    while from.read(&mut byte).unwrap() > 0 && byte != *b"\n" {}
}

#[test]
fn readers_that_go_away_end_it_quietly() {
    let mark = mark("closed");
    let before = traces(&mark);
    // The reader of the progress goes away: the demo goes on.
    let mut child = demo(&mark, &["--seconds", "1", "--path", "veth"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    read_a_line(child.stderr.take().unwrap());
    let output = child.wait_with_output().unwrap();
    assert_success(&output);
    assert!(String::from_utf8(output.stdout).unwrap().contains("direct veth pair"));
    // The reader of the table goes away.
    let mut child = demo(&mark, &["--seconds", "1", "--path", "veth"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_success(&output);
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("iperf3 for 1 s") && !said.contains("panicked"), "{said}");
    assert_nothing_left(&mark, &before);
}

#[test]
fn without_root_it_runs_or_says_what_to_do() {
    let mark = mark("without-root");
    let before = traces(&mark);
    // Others may not read the folder of the build; programs find each other by being in one folder.
    let folder = tempfile::tempdir().unwrap();
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let quiver = folder.path().join("quiver");
    let built = PathBuf::from(env!("CARGO_BIN_EXE_quiver"));
    let quiverd = built.with_file_name("quiverd");
    // Not by this process: a program that another test starts meanwhile would hold the copy open, and the kernel starts no
    // program that is open for writing.
    let copied = Command::new("cp").arg(&built).arg(quiverd).arg(folder.path()).status().unwrap();
    assert!(copied.success(), "`cargo build -p quiverd` was run");
    let mut command = if nix::unistd::geteuid().is_root() {
        let mut command = Command::new("setpriv");
        command.args(["--reuid", "65534", "--regid", "65534", "--clear-groups", "--"]).arg(&quiver);
        command
    } else {
        Command::new(&quiver)
    };
    let output = command.args(["demo", "--seconds", "1", "--path", "quiver-bridge"]).env(MARK, &mark).output().unwrap();
    let complaint = String::from_utf8(output.stderr).unwrap();
    let is_forbidden = complaint.contains("gives no right") && complaint.contains("run it as root");
    assert!(output.status.success() || is_forbidden, "{complaint}");
    assert_nothing_left(&mark, &before);
}

#[test]
fn where_namespaces_are_forbidden_it_says_what_to_do() {
    let mark = mark("forbidden");
    let before = traces(&mark);
    let quiver = env!("CARGO_BIN_EXE_quiver");
    let is_user_namespace_allowed =
        Command::new("unshare").args(["--user", "--map-root-user", "true"]).status().unwrap().success();
    let mut command = if is_user_namespace_allowed {
        // One more user namespace is one too many here, and no user namespace's root has rights outside it.
        let forbid = "echo 1 >/proc/sys/user/max_user_namespaces && exec unshare --user --map-user=1000 \"$0\" demo";
        let mut command = Command::new("unshare");
        command.args(["--user", "--map-root-user", "sh", "-c", forbid, quiver]);
        command
    } else {
        // The machine forbids the one way; without capabilities the other is closed too.
        let mut command = Command::new("setpriv");
        command.args(["--bounding-set=-all", "--inh-caps=-all", quiver, "demo"]);
        command
    };
    let output = command.env(MARK, &mark).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let complaint = String::from_utf8(output.stderr).unwrap();
    assert_eq!(complaint.lines().count(), 1, "{complaint}");
    assert!(complaint.contains("gives no right") && complaint.contains("run it "), "{complaint}");
    assert_nothing_left(&mark, &before);
}
