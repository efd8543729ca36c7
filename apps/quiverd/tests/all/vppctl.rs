//! VPP's command line on a socket, to clients that do what `vppctl` does: it answers the questions of telnet, sends its
//! command, and leaves by `quit` when a NUL has ended the answer; with a terminal it passes on keys.

use std::io::{ErrorKind, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use crate::quiverd;

const WAIT: Duration = Duration::from_secs(60);
const IAC: u8 = 255;

/// A daemon that was started as VPP is.
struct Daemon {
    _process: quiverd::Daemon,
    socket: PathBuf,
    _folder: tempfile::TempDir,
}

impl Daemon {
    fn start() -> Daemon {
        let folder = tempfile::tempdir().expect("a folder");
        let (socket, path) = (folder.path().join("cli.sock"), folder.path().display());
        let sections = format!(
            "unix {{ nodaemon runtime-dir {path} cli-listen {path}/cli.sock }} buffers {{ buffers-per-numa 1000 }}"
        );
        let mut command = quiverd::command();
        let own = folder.path().join("s");
        command.arg("--socket").arg(&own).arg(sections).stderr(Stdio::null());
        let process = quiverd::Daemon::start(&mut command, own);
        Daemon { _process: process, socket, _folder: folder }
    }
}

/// A client, and what it has seen.
struct Client {
    stream: UnixStream,
    seen: Vec<u8>,
}

impl Client {
    /// Connects, is asked for its terminal, and tells it.
    fn connect(socket: &Path, terminal: &str) -> Client {
        let stream = UnixStream::connect(socket).expect("it serves");
        stream.set_read_timeout(Some(WAIT)).expect("a time-out");
        let mut client = Client { stream, seen: vec![] };
        client.until(|seen| seen.ends_with(&[IAC, 250, 31, 1, IAC, 240]), "the questions of telnet");
        client.seen.clear();
        client.send(&[&[IAC, 250, 24, 0][..], terminal.as_bytes(), &[IAC, 240]].concat());
        if terminal != "vppctl" {
            client.send(&[IAC, 250, 31, 0, 80, 0, 10, IAC, 240]);
        }
        client
    }

    fn send(&mut self, bytes: &[u8]) {
        self.stream.write_all(bytes).expect("it reads");
    }

    /// Reads until something was seen; what was seen.
    fn until(&mut self, holds: impl Fn(&[u8]) -> bool, what: &str) -> String {
        let mut buffer = [0; 100];
        while !holds(&self.seen) {
            let length = match self.stream.read(&mut buffer) {
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                read => {
                    read.unwrap_or_else(|error| panic!("{what}: {error}; {:?}", String::from_utf8_lossy(&self.seen)))
                }
            };
            assert!(length > 0, "{what}: it hung up after {:?}", String::from_utf8_lossy(&self.seen));
            self.seen.extend(&buffer[..length]);
        }
        String::from_utf8_lossy(&std::mem::take(&mut self.seen)).into_owned()
    }

    /// Reads until a text was seen.
    fn expect(&mut self, text: &str) -> String {
        self.until(|seen| String::from_utf8_lossy(seen).contains(text), text)
    }

    /// Reads to the end.
    fn rest(mut self) -> String {
        self.stream.read_to_end(&mut self.seen).expect("it hangs up");
        String::from_utf8(self.seen).expect("text")
    }
}

/// `vppctl COMMAND`.
fn vppctl(daemon: &Daemon, command: &str) -> String {
    run(&daemon.socket, command)
}

/// The same at the socket of any daemon.
pub fn run(socket: &Path, command: &str) -> String {
    let mut client = Client::connect(socket, "vppctl");
    client.send(format!("{command}\n\0").as_bytes());
    let mut said = client.until(|seen| seen.contains(&0), "the answer");
    client.send(b"quit\n");
    said += &client.rest();
    said.replace('\0', "")
}

#[test]
fn commands_are_answered_one_by_one_and_through_a_pipe() {
    let daemon = Daemon::start();
    assert!(vppctl(&daemon, "show version").contains("uiver"));
    assert_eq!(vppctl(&daemon, "create loopback interface"), "loop0\r\n");
    assert_eq!(vppctl(&daemon, "set interface state loop0 up"), "");
    let refused = vppctl(&daemon, "set interface state loop9 up");
    assert!(refused.contains("there is no interface 'loop9'"), "{refused}");

    // `printf ... | vppctl`: all of it comes in pieces of 100 bytes, the last line without an end.
    let mut client = Client::connect(&daemon.socket, "vppctl");
    let script = "echo begin # a comment\npacket-generator new {\n  name x interface none limit 1\n}\necho end";
    for piece in script.as_bytes().chunks(100) {
        client.send(piece);
    }
    let said = client.until(|seen| String::from_utf8_lossy(seen).contains("end\r\n\0"), "the last answer");
    client.send(b"quit\n");
    let said = (said + &client.rest()).replace('\0', "");
    assert!(said.starts_with("begin\r\n") && said.ends_with("\r\nend\r\n"), "{said:?}");
    assert!(said.contains("none"), "the stream's interface is missing, and that is all: {said:?}");
}

#[test]
fn a_terminal_is_talked_with() {
    let daemon = Daemon::start();
    let mut client = Client::connect(&daemon.socket, "xterm");
    assert!(client.expect("vpp# ").contains("Quiver"));
    client.send(b"sho\tver\t\r");
    let said = client.expect("\r\nvpp# ");
    assert!(said.starts_with("show version \r\n"), "{said:?}");
    // Again, by the history, and interrupted while it waits.
    client.send(b"wait 3600\r");
    client.expect("wait 3600\r\n");
    client.send(b"\x03");
    client.expect("^C\r\nvpp# ");
    client.send(b"\x1b[A\x15echo again\r");
    assert!(client.expect("again\r\nvpp# ").contains("wait 3600"));
    client.send(b"show commands\r");
    client.expect("-- more -- (1-9/");
    client.send(b" ");
    client.expect("-- more -- (10-18/");
    client.send(b"q");
    client.expect("vpp# ");
    client.send(b"quit\r");
    client.rest();
}

#[test]
fn whoever_says_nothing_of_telnet_has_a_prompt_in_the_end() {
    let daemon = Daemon::start();
    let mut client = Client { stream: UnixStream::connect(&daemon.socket).expect("it serves"), seen: vec![] };
    client.stream.set_read_timeout(Some(WAIT)).expect("a time-out");
    client.send(b"echo here\n");
    client.stream.shutdown(std::net::Shutdown::Write).expect("it is connected");
    let mut seen = vec![];
    client.stream.read_to_end(&mut seen).expect("it hangs up");
    let seen = String::from_utf8_lossy(&seen);
    assert!(seen.contains("vpp# echo here\r\nhere\r\nvpp# "), "{seen:?}");
}
