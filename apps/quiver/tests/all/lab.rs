//! `quiver lab` runs another program, which is a script here.

use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use tempfile::TempDir;

/// Tells its own place, its process and its arguments; `end` ends it with a status, `die` by a signal.
const SCRIPT: &str = r#"#!/bin/sh
[ "$1" = end ] && exit "$2"
[ "$1" = die ] && kill -TERM $$
echo "$(dirname "$0") $$"
for argument; do echo "$argument"; done
"#;

/// Scripts are written by another process. While this process has such a file open for writing, a program started by
/// another test can inherit it, and the kernel starts no program that is open for writing.
fn write(script: &str) {
    assert!(Command::new("sh").args(["-ec", script]).status().unwrap().success(), "{script}");
}

/// A folder with a copy of `quiver`.
fn installed() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    write(&format!("cp {} {}/quiver", env!("CARGO_BIN_EXE_quiver"), folder.path().display()));
    folder
}

/// Puts the script into a folder.
fn add_lab(folder: &Path) {
    let path = folder.join("quiver-lab");
    write(&format!("cat >{0} <<'END'\n{SCRIPT}END\nchmod +x {0}", path.display()));
}

/// `quiver` of a folder, with a `PATH` in which only this other folder is new.
fn quiver(folder: &Path, arguments: &[&str], path: &Path) -> Command {
    let mut command = Command::new(folder.join("quiver"));
    command.args(arguments).env("PATH", format!("{}:/usr/bin:/bin", path.display())).stdin(Stdio::null());
    command
}

fn texts(output: &Output) -> (String, String) {
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    (text(&output.stdout), text(&output.stderr))
}

#[test]
fn the_program_beside_it_comes_before_one_in_path() {
    let (beside, elsewhere) = (installed(), tempfile::tempdir().unwrap());
    add_lab(elsewhere.path());
    let runs = || texts(&quiver(beside.path(), &["lab", "list"], elsewhere.path()).output().unwrap()).0;
    assert!(runs().starts_with(&format!("{} ", elsewhere.path().display())), "{}", runs());
    add_lab(beside.path());
    assert!(runs().starts_with(&format!("{} ", beside.path().display())), "{}", runs());
}

#[test]
fn arguments_pass_unchanged() {
    let folder = installed();
    add_lab(folder.path());
    for (given, passed) in [
        (&["lab"][..], &[][..]),
        (&["lab", "--help"], &["--help"]),
        (&["lab", "--version"], &["--version"]),
        (&["lab", "run", "-h"], &["run", "-h"]),
        (&["--json", "lab", "list"], &["--json", "list"]),
        (&["lab", "--json", "list", "--json"], &["--json", "list", "--json"]),
        (
            &["--socket", "s", "lab", "run", "--socket", "a b", "--", "*", ""],
            &["run", "--socket", "a b", "--", "*", ""],
        ),
        (&["lab", "help"], &["help"]),
    ] {
        let (out, error) = texts(&quiver(folder.path(), given, folder.path()).output().unwrap());
        assert!(error.is_empty(), "{given:?}: {error}");
        assert_eq!(out.lines().skip(1).collect::<Vec<_>>(), passed, "{given:?}");
    }
}

#[test]
fn it_is_the_same_process_with_the_same_end() {
    let folder = installed();
    add_lab(folder.path());
    let start = |arguments: &[&str]| {
        let mut command = quiver(folder.path(), arguments, folder.path());
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    };
    let child = start(&["lab"]);
    let id = child.id();
    let (out, _) = texts(&child.wait_with_output().unwrap());
    assert!(out.ends_with(&format!(" {id}\n")), "{out}: {id}");
    let status = |arguments| start(arguments).wait().unwrap();
    assert_eq!(status(&["lab", "end", "7"]).code(), Some(7));
    assert_eq!(status(&["lab", "end", "0"]).code(), Some(0));
    assert_eq!(status(&["lab", "die"]).signal(), Some(15));
}

#[test]
fn where_the_lab_is_missing_it_says_how_to_get_it() {
    let (folder, empty) = (installed(), tempfile::tempdir().unwrap());
    let output = quiver(folder.path(), &["lab", "list"], empty.path()).output().unwrap();
    let (out, error) = texts(&output);
    assert_eq!((output.status.code(), &*out, error.lines().count()), (Some(1), "", 1), "{error}");
    for part in [
        "quiver: quiver-lab is not installed: ",
        "`cargo build --release --package quiver-lab`",
        "put it beside quiver or into PATH",
    ] {
        assert!(error.contains(part), "{part}: {error}");
    }
    // One that is there and is no program.
    write(&format!("echo >{}/quiver-lab", folder.path().display()));
    let output = quiver(folder.path(), &["lab", "list"], empty.path()).output().unwrap();
    let (_, error) = texts(&output);
    let begin = format!("quiver: {}/quiver-lab: cannot be started: ", folder.path().display());
    assert!(output.status.code() == Some(1) && error.starts_with(&begin), "{error}");
}

#[test]
fn help_lists_it() {
    let empty = tempfile::tempdir().unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_quiver")).arg("--help").env("PATH", empty.path()).output().unwrap();
    let (out, _) = texts(&output);
    let line = out.lines().find(|line| line.trim_start().starts_with("lab ")).unwrap_or_else(|| panic!("{out}"));
    assert!(line.contains("quiver-lab, a program of its own"), "{line}");
}
