//! A quiverd of a test's own.

#![allow(dead_code, reason = "each test takes what it needs")]

use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use quiver_control::cli::Reply;
use serde_json::{Value, json};

/// Longest wait for anything.
const WAIT: Duration = Duration::from_secs(60);

/// The program.
pub fn command() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_quiverd"));
    command.env_remove("QUIVER_SOCKET").stdin(Stdio::null());
    command
}

/// Waits until something holds.
pub fn wait(what: &str, mut holds: impl FnMut() -> bool) {
    let end = Instant::now() + WAIT;
    while !holds() {
        assert!(Instant::now() < end, "{what}: not within {WAIT:?}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Waits until a log has some words, and returns the text behind them, to the end of the word or of the line.
pub fn said(log: &Path, words: &str) -> String {
    let mut said = String::new();
    wait(&format!("{words:?} in the log"), || {
        let log = std::fs::read_to_string(log).unwrap_or_default();
        let rest = log.split_once(words).and_then(|(_, rest)| rest.split_once(char::is_whitespace));
        rest.inspect(|(word, _)| said = (*word).to_owned()).is_some()
    });
    said
}

/// Asks the daemon at a socket. Parts of one answer are put together.
pub fn ask(socket: &Path, request: &Value) -> Value {
    let stream = UnixStream::connect(socket).expect("it serves");
    writeln!(&stream, "{request}").expect("it reads");
    let (mut stream, mut begun) = (BufReader::new(stream), Reply::default());
    loop {
        let mut answer = String::new();
        stream.read_line(&mut answer).expect("it answers");
        let mut answer: Value = serde_json::from_str(&answer).expect("it answers in JSON");
        let Some((kind, part)) = ["part", "done"].iter().find_map(|kind| Some((*kind, answer.get_mut(*kind)?.take())))
        else {
            return answer;
        };
        let text = part["text"].as_str().unwrap_or_default().to_owned();
        let failed = part["failed"].as_bool().unwrap_or_default();
        let more = part["more"].as_bool().unwrap_or_default();
        begun.append(Reply { text, json: part["json"].clone(), failed, more });
        if !begun.more {
            let Reply { text, json, failed, .. } = begun;
            return json!({kind: {"text": text, "json": json, "failed": failed}});
        }
    }
}

/// A daemon, killed when dropped.
pub struct Daemon {
    process: Child,
    socket: PathBuf,
}

impl Daemon {
    /// Runs a command that starts a daemon, and waits until that serves at the socket.
    pub fn start(command: &mut Command, socket: PathBuf) -> Daemon {
        let mut daemon = Daemon { process: command.spawn().expect("the program is there"), socket };
        wait("the daemon serves", || {
            let ended = daemon.process.try_wait().expect("it is a child");
            assert!(ended.is_none(), "the daemon has ended before it served: {ended:?}");
            UnixStream::connect(&daemon.socket).is_ok()
        });
        // It answers as soon as all its sockets are there; this is the first of them.
        daemon.ask(&json!({"command": {"line": "show version"}}));
        daemon
    }
    /// The same, with the socket in a folder, and what else `adapt` gives the command.
    pub fn start_in(folder: &Path, adapt: impl FnOnce(&mut Command)) -> Daemon {
        let (mut command, socket) = (command(), folder.join("s"));
        command.arg("--socket").arg(&socket);
        adapt(&mut command);
        Daemon::start(&mut command, socket)
    }
    /// The number of its process.
    pub fn id(&self) -> u32 {
        self.process.id()
    }
    /// Sends bytes and waits for no answer.
    pub fn send(&self, bytes: &str) -> UnixStream {
        let mut stream = UnixStream::connect(&self.socket).expect("it serves");
        stream.write_all(bytes.as_bytes()).expect("it reads");
        stream
    }
    /// Sends a request, and returns the answer.
    pub fn ask(&self, request: &Value) -> Value {
        ask(&self.socket, request)
    }
    /// Runs a command, and returns its JSON or the refusal.
    pub fn run(&self, line: &str) -> Result<Value, String> {
        let mut answer = self.ask(&json!({"command": {"line": line, "json": true}}));
        match answer["error"]["what"].as_str() {
            Some(what) => Err(what.to_owned()),
            None => Ok(answer["done"]["json"].take()),
        }
    }
    /// Ends it as `systemctl stop` does.
    pub fn stop(mut self) {
        kill(Pid::from_raw(self.id().cast_signed()), Signal::SIGTERM).expect("it runs");
        let ended = self.process.wait().expect("it is a child");
        assert!(ended.success(), "{ended}");
    }
}

impl Drop for Daemon {
    /// As `kill -9` does it.
    fn drop(&mut self) {
        // It may have ended.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
