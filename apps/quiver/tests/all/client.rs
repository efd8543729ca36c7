//! The program against a daemon that says what the test wants.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::process::{Command, Output, Stdio};

/// Serves one client: to each request line the lines that `answer` gives. Returns what was asked.
fn daemon(socket: &Path, answer: fn(&str) -> &'static str) -> std::thread::JoinHandle<Vec<String>> {
    let listener = UnixListener::bind(socket).unwrap();
    std::thread::spawn(move || {
        let (stream, _) = listener.accept().unwrap();
        let mut asked = Vec::new();
        for line in BufReader::new(stream.try_clone().unwrap()).lines() {
            let line = line.unwrap();
            (&stream).write_all(answer(&line).as_bytes()).unwrap();
            asked.push(line);
        }
        asked
    })
}

fn quiver(socket: &Path, arguments: &[&str], input: &str) -> Output {
    let mut child = Command::new(env!("CARGO_BIN_EXE_quiver"))
        .arg("--socket")
        .arg(socket)
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // A program that reads nothing may be gone already.
    let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
    child.wait_with_output().unwrap()
}

fn texts(output: &Output) -> (String, String) {
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    (text(&output.stdout), text(&output.stderr))
}

#[test]
fn a_daemon_that_does_not_run_is_one_sentence() {
    let directory = tempfile::tempdir().unwrap();
    let socket = directory.path().join("none");
    let output = quiver(&socket, &["show", "interface"], "");
    let (out, error) = texts(&output);
    assert!(!output.status.success() && out.is_empty());
    assert!(error.contains("no quiverd serves") && error.contains("start one by running `quiverd`"), "{error}");
    assert_eq!(error.lines().count(), 1);
}

#[test]
fn words_are_one_command_and_parts_are_lines() {
    let directory = tempfile::tempdir().unwrap();
    let socket = directory.path().join("s");
    let served = daemon(
        &socket,
        |_| "{\"part\":{\"json\":1}}\n{\"part\":{\"json\":2}}\n{\"done\":{\"json\":{\"received\":2}}}\n",
    );
    let output = quiver(&socket, &["ping", "10.0.0.1", "tag", "a b", "--json"], "");
    assert!(output.status.success());
    assert_eq!(texts(&output), ("1\n2\n{\n  \"received\": 2\n}\n".to_owned(), String::new()));
    assert_eq!(served.join().unwrap(), [r#"{"command":{"line":"ping 10.0.0.1 tag \"a b\"","json":true}}"#]);
}

#[test]
fn a_refusal_points_at_the_word_and_fails() {
    let directory = tempfile::tempdir().unwrap();
    let socket = directory.path().join("s");
    daemon(
        &socket,
        |_| "{\"error\":{\"what\":\"'intf' cannot stand here\",\"place\":{\"start\":5,\"end\":9},\"expected\":[\"interface\"]}}\n",
    );
    let output = quiver(&socket, &["show", "intf"], "");
    assert_eq!(output.status.code(), Some(1));
    let expected = "  show intf\n       ^^^^\n'intf' cannot stand here\nexpected: interface\n";
    assert_eq!(texts(&output), (String::new(), expected.to_owned()));
}

#[test]
fn a_script_stops_at_the_first_refusal() {
    let answer = |line: &str| {
        if line.contains("bad") { "{\"error\":{\"what\":\"no\"}}\n" } else { "{\"done\":{\"text\":\"yes\"}}\n" }
    };
    let script = "# comment\n\n  good 1 # why\nbad\ngood 2\n";
    for (arguments, input, asked) in [
        (&["exec", "-"][..], script, 2),
        (&["exec", "--keep-going", "-"], script, 3),
        // Without a terminal, standard input is a script.
        (&[], script, 2),
    ] {
        let directory = tempfile::tempdir().unwrap();
        let socket = directory.path().join("s");
        let served = daemon(&socket, answer);
        let output = quiver(&socket, arguments, input);
        let (out, error) = texts(&output);
        assert_eq!(output.status.code(), Some(1));
        assert_eq!(out, "yes\n".repeat(asked - 1));
        assert_eq!(error, "no\nquiver: -:4: refused: bad\n");
        assert_eq!(served.join().unwrap().len(), asked);
    }
}

#[test]
fn a_command_that_finds_something_wrong_is_done_and_fails() {
    let answer = |line: &str| match line.contains("ping") {
        true => "{\"done\":{\"text\":\"100% packet loss\",\"failed\":true}}\n",
        false => "{\"done\":{\"text\":\"yes\"}}\n",
    };
    let directory = tempfile::tempdir().unwrap();
    let socket = directory.path().join("s");
    daemon(&socket, answer);
    let output = quiver(&socket, &["ping", "10.0.0.1"], "");
    assert_eq!((output.status.code(), texts(&output)), (Some(1), ("100% packet loss\n".to_owned(), String::new())));
    // It was not refused, so a script goes on.
    std::fs::remove_file(&socket).unwrap();
    daemon(&socket, answer);
    let output = quiver(&socket, &["exec", "-"], "ping 10.0.0.1\nshow version\n");
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(texts(&output), ("100% packet loss\nyes\n".to_owned(), String::new()));
}

#[test]
fn differences_are_told_by_the_exit_status_where_that_is_asked_for() {
    let directory = tempfile::tempdir().unwrap();
    let socket = directory.path().join("s");
    let none: fn(&str) -> &'static str = |_| "{\"done\":{\"text\":\"\",\"json\":[]}}\n";
    let some: fn(&str) -> &'static str = |_| "{\"done\":{\"text\":\"+ taps tap0\",\"json\":[{}]}}\n";
    let refused: fn(&str) -> &'static str = |_| "{\"error\":{\"what\":\"no\"}}\n";
    for (answer, status, asked) in [(none, 0, 0), (some, 0, 1), (refused, 1, 2)] {
        for (what, file) in [(&["diff", "-"][..], "{}"), (&["diff"], ""), (&["diff", "--json", "--version", "3"], "")] {
            for (option, expected) in [(None, status), (Some("--exit-code"), asked)] {
                let _ = std::fs::remove_file(&socket);
                daemon(&socket, answer);
                let arguments: Vec<&str> = what.iter().copied().chain(option).collect();
                let output = quiver(&socket, &arguments, file);
                assert_eq!(output.status.code(), Some(expected), "{arguments:?}: {output:?}");
            }
        }
    }
    // What cannot be asked is no difference.
    let gone = directory.path().join("gone");
    let missing = gone.to_str().unwrap();
    for (arguments, told) in
        [(&["diff", "--exit-code"][..], "no quiverd serves"), (&["diff", "--exit-code", missing], "No such file")]
    {
        let output = quiver(&gone, arguments, "");
        assert_eq!(output.status.code(), Some(2));
        assert!(texts(&output).1.contains(told), "{output:?}");
    }
}

#[test]
fn who_lost_its_place_while_idle_connects_again_and_says_it_again() {
    let directory = tempfile::tempdir().unwrap();
    let socket = directory.path().join("s");
    let listener = UnixListener::bind(&socket).unwrap();
    let served = std::thread::spawn(move || {
        let evicted = "{\"error\":{\"what\":\"connect again\",\"reason\":\"evicted\"}}\n";
        listener.accept().unwrap().0.write_all(evicted.as_bytes()).unwrap();
        let (mut stream, _) = listener.accept().unwrap();
        let mut line = String::new();
        BufReader::new(stream.try_clone().unwrap()).read_line(&mut line).unwrap();
        stream.write_all(b"{\"done\":{\"text\":\"yes\"}}\n").unwrap();
        line
    });
    let output = quiver(&socket, &["show", "x"], "");
    assert_eq!(texts(&output), ("yes\n".to_owned(), String::new()));
    assert_eq!(served.join().unwrap(), "{\"command\":{\"line\":\"show x\",\"json\":false}}\n");
}

#[test]
fn a_reader_that_went_away_ends_it_quietly() {
    let directory = tempfile::tempdir().unwrap();
    let socket = directory.path().join("s");
    for arguments in [&["show", "x"][..], &["save"], &["doctor"], &["doctor", "--json"], &["--help"]] {
        let _ = std::fs::remove_file(&socket);
        daemon(&socket, |_| "{\"done\":{\"text\":\"yes\"}}\n");
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let mut command = Command::new(env!("CARGO_BIN_EXE_quiver"));
        command.arg("--socket").arg(&socket).args(arguments).stdin(Stdio::null());
        let output = command.stdout(writer).stderr(Stdio::piped()).output().unwrap();
        assert_eq!(texts(&output).1, "", "{arguments:?}");
    }
    // Nor is it told twice that nobody hears a complaint.
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let mut command = Command::new(env!("CARGO_BIN_EXE_quiver"));
    command.arg("--socket").arg(directory.path().join("none")).args(["show", "x"]).stdin(Stdio::null());
    assert_eq!(command.stderr(writer).status().unwrap().code(), Some(1));
}

#[test]
fn a_daemon_that_hangs_up_is_told() {
    let directory = tempfile::tempdir().unwrap();
    let socket = directory.path().join("s");
    let listener = UnixListener::bind(&socket).unwrap();
    std::thread::spawn(move || drop(listener.accept()));
    let output = quiver(&socket, &["show", "x"], "");
    assert_eq!(texts(&output).1, "quiver: quiverd hung up before it had answered: its log says why\n");
}
