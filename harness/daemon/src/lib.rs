//! Functions for the lab's crates to run a quiverd: its [program](built) and [kind](is_debug_build), its
//! [answers](ask), its [memory](resident).
#![forbid(unsafe_code)]

use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use quiver_control::protocol::{Answer, Request, Response};
use quiver_stop::Wait;

/// Gives a command, as users type it, at a command socket, and returns the end of the answer, in JSON.
///
/// # Errors
/// No daemon serves there, it closes the connection, it has not answered when the wait is over, or its answer is
/// malformed.
pub fn ask(socket: &Path, line: &str, mut wait: Wait) -> io::Result<Response> {
    let mut stream = UnixStream::connect(socket)?;
    let request = Request::Command { line: line.into(), json: true };
    writeln!(stream, "{}", serde_json::to_string(&request)?)?;
    let mut lines = BufReader::new(stream);
    // What the parts so far have said of a list that goes on.
    let mut begun = Answer::default();
    loop {
        let mut answer = Vec::new();
        // What has come of a line stays in it when the rest is waited for.
        while !answer.ends_with(b"\n") {
            lines.get_ref().set_read_timeout(Some(wait.turn()))?;
            match lines.read_until(b'\n', &mut answer) {
                Ok(0) => return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "it hung up")),
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock && !wait.is_over() => {}
                Err(error) => return Err(error),
            }
        }
        match serde_json::from_slice(&answer)? {
            Response::Part(part) if part.more => begun.append(part),
            Response::Part(_) => begun = Answer::default(),
            Response::Done(end) => {
                begun.append(end);
                return Ok(Response::Done(begun));
            }
            end => return Ok(end),
        }
    }
}

/// Path of a program of Quiver: beside this program, or one folder above it if this is a test.
///
/// # Errors
/// [`io::ErrorKind::NotFound`] if it is not there.
pub fn built(program: &str) -> io::Result<PathBuf> {
    let this = std::env::current_exe()?;
    let found = this.ancestors().skip(1).take(2).map(|folder| folder.join(program)).find(|path| path.is_file());
    found.ok_or_else(|| io::Error::new(io::ErrorKind::NotFound, "it is not built: `cargo build --workspace`"))
}

/// Whether a quiverd is a debug build, whose figures mean nothing: it is about ten times as slow as a release build.
///
/// # Errors
/// It cannot be started.
pub fn is_debug_build(quiverd: &Path) -> io::Result<bool> {
    let said = Command::new(quiverd).arg("--version").stdin(Stdio::null()).output()?;
    Ok(String::from_utf8_lossy(&said.stdout).trim_end().ends_with("(debug build)"))
}

/// The version that a quiverd answers `show version` with, and whether it is a debug build. Not all have told that.
pub fn version_of(answer: &serde_json::Value) -> String {
    let version = answer["version"].as_str().map_or_else(|| answer.to_string(), str::to_owned);
    if answer["build"] == "debug" { version + " (debug build)" } else { version }
}

/// Bytes of a process's memory that are resident (proc(5), `VmRSS`).
///
/// # Errors
/// There is no such process, or the kernel does not say so.
pub fn resident(process: u32) -> io::Result<f64> {
    let status = std::fs::read_to_string(format!("/proc/{process}/status"))?;
    let absent = || io::Error::new(io::ErrorKind::NotFound, "the kernel does not say so");
    resident_of(&status).ok_or_else(absent)
}

/// The same of what the file `status` of a process says, on whatever machine.
pub fn resident_of(status: &str) -> Option<f64> {
    let kib = status.lines().find_map(|line| line.strip_prefix("VmRSS:")?.trim().strip_suffix(" kB")?.parse().ok());
    kib.map(|kib: f64| kib * 1024.0)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;
    use std::os::unix::net::UnixListener;
    use std::sync::atomic::Ordering;
    use std::time::{Duration, Instant};

    use quiver_stop::Stop;

    use super::*;

    const LIMIT: Duration = Duration::from_secs(60);

    /// Asks at a socket where a peer answers one command with this text.
    fn answered(answer: &'static str) -> io::Result<Response> {
        let path = std::env::temp_dir().join(format!("quiver-ask-{}-{}", std::process::id(), answer.len()));
        let listener = UnixListener::bind(&path)?;
        let server = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept()?;
            let mut line = String::new();
            BufReader::new(&stream).read_line(&mut line)?;
            stream.write_all(answer.as_bytes()).map(|()| line)
        });
        let said = ask(&path, "show version", Stop::default().wait(LIMIT));
        std::fs::remove_file(&path)?;
        let line = server.join().expect("no panic")?;
        assert!(line.contains("show version") && line.ends_with('\n'), "{line}");
        said
    }

    #[test]
    fn whoever_hangs_up_or_speaks_something_else_is_named() {
        assert_eq!(answered("").expect_err("nothing").kind(), io::ErrorKind::UnexpectedEof);
        assert_eq!(answered("hello\n").expect_err("no JSON").kind(), io::ErrorKind::InvalidData);
        let nobody = ask(Path::new("/nonexistent/cli"), "show version", Stop::default().wait(LIMIT));
        assert_eq!(nobody.expect_err("nobody").kind(), io::ErrorKind::NotFound);
    }

    /// The peer takes commands and answers with nothing, or with half a line.
    #[test]
    fn who_hangs_is_not_waited_for_when_the_run_is_to_end() {
        for said in ["", "{"] {
            let path = std::env::temp_dir().join(format!("quiver-hangs-{}-{}", std::process::id(), said.len()));
            let listener = UnixListener::bind(&path).expect("a socket");
            let stop = Stop::default();
            let asked = std::thread::scope(|scope| {
                let asked = scope.spawn(|| ask(&path, "show version", stop.wait(LIMIT)));
                let (mut stream, _) = listener.accept().expect("somebody asks");
                stream.write_all(said.as_bytes()).expect("it listens");
                stop.flag().store(true, Ordering::Relaxed);
                let set = Instant::now();
                let asked = asked.join().expect("no panic");
                assert!(set.elapsed() < LIMIT / 2, "{:?}", set.elapsed());
                asked
            });
            std::fs::remove_file(&path).expect("it is there");
            assert_eq!(asked.expect_err("no answer").kind(), io::ErrorKind::WouldBlock);
        }
    }

    #[test]
    fn memory_is_that_of_the_process() {
        assert!(resident(std::process::id()).expect("this process") > 1e5);
        assert_eq!(resident(u32::MAX).expect_err("nobody").kind(), io::ErrorKind::NotFound);
    }

    #[test]
    fn debug_builds_say_so() {
        let folder = tempfile::tempdir().expect("a folder");
        let program = folder.path().join("quiverd");
        for (said, is_debug) in [("quiverd 0.1.0 (debug build)", true), ("quiverd 0.1.0", false)] {
            let script = format!("#!/bin/sh\n[ \"$1\" = --version ] && echo '{said}'\n");
            std::fs::write(&program, script).expect("a file");
            std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).expect("it is ours");
            assert_eq!(is_debug_build(&program).expect("it starts"), is_debug);
        }
        assert!(is_debug_build(&folder.path().join("no-such-program")).is_err());
        for (answer, version) in [
            (serde_json::json!({"version": "0.1.0", "build": "debug"}), "0.1.0 (debug build)"),
            (serde_json::json!({"version": "0.1.0", "build": "release"}), "0.1.0"),
            (serde_json::json!({"version": "0.1.0"}), "0.1.0"),
        ] {
            assert_eq!(version_of(&answer), version);
        }
    }

    #[test]
    fn programs_that_are_not_there_are_named() {
        assert!(built("no-such-program").expect_err("not there").to_string().contains("it is not built"));
    }
}

/// The page of this room, whose example is a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Page;
