//! The shell and single lines against a real daemon: filters, JSON, `--watch`, the pager, and readers that do not read.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use serde_json::{Value, json};

use crate::daemon::{Daemon, wait};
use crate::shell::Terminal;

fn quiver(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_quiver"));
    command.current_dir(folder).args(["--socket", "s"]).args(arguments).stdin(Stdio::null());
    command
}

fn run(folder: &Path, arguments: &[&str]) -> Output {
    quiver(folder, arguments).output().expect("the program runs")
}

fn said(folder: &Path, arguments: &[&str]) -> String {
    let output = run(folder, arguments);
    assert!(output.status.success(), "{arguments:?}: {output:?}");
    String::from_utf8(output.stdout).expect("text")
}

/// The object that says why a line was refused.
fn error(folder: &Path, arguments: &[&str]) -> Value {
    let output = run(folder, arguments);
    assert!(!output.status.success() && output.stdout.is_empty(), "{arguments:?}: {output:?}");
    serde_json::from_slice(&output.stderr).unwrap_or_else(|error| panic!("{arguments:?}: {error}: {output:?}"))
}

#[test]
fn single_lines_are_filtered_and_errors_are_objects_for_programs() {
    let folder = tempfile::tempdir().expect("a folder");
    let (daemon, folder) = (Daemon::start(folder.path()), folder.path());
    daemon.accepted("create loopback interface");
    let all = daemon.accepted("show interface");
    let loop0: String = all.lines().filter(|line| line.contains("loop0")).map(|line| format!("{line}\n")).collect();
    assert_eq!(loop0.lines().count(), 1, "{all}");
    assert_eq!(said(folder, &["show interface | include loop0"]), loop0);
    assert_eq!(
        said(folder, &["show", "interface", "|", "exclude", "loop0", "|", "include", "local0", "|", "count"]),
        "1\n"
    );
    for arguments in [&["--json", "show interface | exclude local0"][..], &["show interface | ex local0 | json"]] {
        let rows: Value = serde_json::from_str(&said(folder, arguments)).expect("JSON");
        let names: Vec<&Value> = rows.as_array().expect("rows").iter().map(|row| &row["name"]).collect();
        assert_eq!(names, ["loop0"]);
    }

    let refused = error(folder, &["show", "nothing", "--json"]);
    assert_eq!(refused["place"], json!({"start": 5, "end": 12}), "{refused}");
    assert!(refused["remedy"].as_str().is_some_and(|remedy| remedy.starts_with("write one of: ")), "{refused}");
    assert_eq!(error(folder, &["--json", "show interface | grep x"])["place"], json!({"start": 17, "end": 21}));
    let missing = error(folder, &["--json", "plan", "missing.yaml"]);
    assert!(
        missing["error"].as_str().is_some_and(|error| error.starts_with("missing.yaml: No such file")),
        "{missing}"
    );
    std::fs::write(folder.join("bad.yaml"), "loopbacks:\n- {name: loop0, color: red}\n").expect("our folder");
    assert!(error(folder, &["--json", "apply", "bad.yaml"])["problems"].is_array());
    std::fs::write(folder.join("script"), "show version\nset nothing\n").expect("our folder");
    let output = run(folder, &["--json", "exec", "script"]);
    let refused: Value = serde_json::from_slice(&output.stderr).expect("an object");
    assert_eq!(refused["at"], "script:2");
    let misused = error(folder, &["--json", "apply", "--bogus"]);
    assert!(misused["remedy"].as_str().is_some_and(|remedy| remedy.contains("--help")), "{misused}");
    daemon.stop();
    let gone = error(folder, &["show version", "--json"]);
    assert!(gone["error"].as_str().is_some_and(|error| error.contains("no quiverd serves s")), "{gone}");
}

#[test]
fn a_show_command_is_watched_until_its_reader_leaves() {
    let folder = tempfile::tempdir().expect("a folder");
    let (daemon, folder) = (Daemon::start(folder.path()), folder.path());
    let mut command = quiver(folder, &["show interface | include loop | count", "--watch"]);
    let mut watching = command.stdout(Stdio::piped()).spawn().expect("the program runs");
    let mut lines = BufReader::new(watching.stdout.take().expect("a pipe")).lines();
    let mut next = || lines.next().expect("it goes on").expect("text");
    assert_eq!(next(), "0");
    daemon.accepted("create loopback interface");
    wait("the watched count changes", || next() == "1");
    // Without a reader it ends, and quietly.
    drop(lines);
    assert!(watching.wait().expect("it ends").success());
    let refused = error(folder, &["--json", "create loopback interface --watch"]);
    assert_eq!(refused["place"], json!({"start": 0, "end": 6}), "{refused}");
    daemon.stop();
}

#[test]
fn the_shell_filters_explains_watches_and_has_commands_of_its_own() {
    let folder = tempfile::tempdir().expect("a folder");
    let (daemon, folder) = (Daemon::start(folder.path()), folder.path());
    daemon.accepted("create loopback interface");
    let mut terminal = Terminal::open(folder, &[]);
    terminal.expect("quiver> ");
    let mut line = |line: &str, expected: &[&str]| {
        terminal.press(&format!("{line}\r"));
        expected.iter().for_each(|expected| terminal.expect(expected));
        terminal.expect("quiver> ");
    };
    line("show interface | include loop0 | count", &["\r\n1\r\n"]);
    line("show interface | exclude local0 | json", &["\"name\": \"loop0\""]);
    line("show nothing --json", &["\"place\":{\"start\":5,\"end\":12}"]);
    line("show interface | grep x", &["`grep` is no filter", "expected: include, exclude, count, json"]);
    line("help show interface address", &["show interface address", "\r\n  ", "Meaning"]);
    line("help", &["Commands of the shell", "| include", "--watch"]);
    line("help plan", &["the steps, in order"]);
    line("create loopback interface", &["loop1"]);
    line("diff", &["+ loopbacks loop1"]);
    line("save saved.yaml", &["\r\n"]);
    wait("the configuration is saved", || folder.join("saved.yaml").exists());
    line("plan missing.yaml", &["No such file"]);
    line("history --json", &["\"author\""]);
    line("doctor", &["answers at"]);
    line("diff --bogus", &["unexpected argument"]);

    // Tab knows the shell's commands and the filters.
    terminal.press("hist\t");
    terminal.expect("history ");
    terminal.press("\u{15}show interface | inc\t");
    terminal.expect("include ");
    terminal.press("\u{15}show interface --watch\r");
    for _ in 0..2 {
        terminal.expect("\u{1b}[2J");
        terminal.expect("show interface --watch (every 1 s, Ctrl-C ends)");
        terminal.expect("loop1");
    }
    terminal.interrupt();
    terminal.expect("quiver> ");
    terminal.press("\u{4}");
    assert!(terminal.shell.wait().expect("it ends").success());
    daemon.stop();
}

#[test]
fn long_answers_go_through_the_pager_on_a_terminal_only() {
    let folder = tempfile::tempdir().expect("a folder");
    let (daemon, folder) = (Daemon::start(folder.path()), folder.path());
    let mut terminal = Terminal::open(folder, &[("QUIVER_PAGER", "sed s/^/paged:/")]);
    terminal.expect("quiver> ");
    terminal.press("show commands\r");
    terminal.expect("paged:Command");
    terminal.expect("paged:why");
    terminal.expect("quiver> ");
    // What fits is not paged.
    terminal.press("echo short\r");
    terminal.expect("\r\nshort\r\n");
    terminal.expect("quiver> ");
    // Nor is what a program reads.
    let output = quiver(folder, &["show commands"]).env("QUIVER_PAGER", "sed s/^/paged:/").output().expect("it runs");
    assert!(!String::from_utf8_lossy(&output.stdout).contains("paged:"));
    drop(terminal);
    // A pager that does not exist loses nothing.
    let mut terminal = Terminal::open(folder, &[("QUIVER_PAGER", "no-such-pager")]);
    terminal.expect("quiver> ");
    terminal.press("show commands\r");
    terminal.expect("\r\nwhy ");
    drop(terminal);
    daemon.stop();
}

/// Memory that the daemon has in use.
fn resident_kib(daemon: &Daemon) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", daemon.child.id())).expect("it runs");
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("a size");
    line.trim().trim_end_matches(" kB").parse().expect("a number")
}

/// A reader that stops in the middle costs quiverd the answer that it stopped in: the next request is not worked on before.
#[test]
fn a_reader_that_stops_costs_one_answer_and_no_time_of_others() {
    let folder = tempfile::tempdir().expect("a folder");
    let (daemon, folder) = (Daemon::start(folder.path()), folder.path());
    let mut stuck = vec![];
    let before = resident_kib(&daemon);
    for _ in 0..4 {
        let mut reader = UnixStream::connect(folder.join("s")).expect("it serves");
        reader.set_write_timeout(Some(Duration::from_secs(20))).expect("a socket");
        // More requests than the socket holds answers of, at once: quiverd takes no more while an answer waits.
        reader.write_all(&b"{\"command\":{\"line\":\"show schema\"}}\n".repeat(300)).expect("requests are few bytes");
        let mut first = String::new();
        BufReader::new(reader.try_clone().expect("a socket")).read_line(&mut first).expect("an answer");
        stuck.push(reader);
    }
    let length = daemon.accepted("show schema").len();
    assert!(length > 50_000, "the answer has {length} bytes only");
    // Others are served meanwhile.
    for _ in 0..20 {
        daemon.accepted("show version");
    }
    let grown = resident_kib(&daemon).saturating_sub(before);
    let all = 4 * 300 * length as u64 / 1024;
    assert!(grown < all / 10, "{grown} KiB more of {all} KiB that were asked for");
    drop(stuck);
    daemon.stop();
}
