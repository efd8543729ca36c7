//! The daemon itself, killed at any moment: it starts again with a configuration that was whole and confirmed.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

struct Daemon {
    child: Child,
    socket: std::path::PathBuf,
}

impl Daemon {
    fn start(folder: &Path) -> Daemon {
        let socket = folder.join("s");
        let child = Command::new(env!("CARGO_BIN_EXE_quiverd"))
            .args(["--buffers", "1000"])
            .arg("--socket")
            .arg(&socket)
            .arg("--state")
            .arg(folder.join("state"))
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let daemon = Daemon { child, socket };
        let end = Instant::now() + Duration::from_secs(30);
        while UnixStream::connect(&daemon.socket).is_err() {
            assert!(Instant::now() < end, "the daemon does not serve");
            std::thread::sleep(Duration::from_millis(5));
        }
        daemon
    }

    fn send(&self, request: &Value) -> UnixStream {
        let mut stream = UnixStream::connect(&self.socket).unwrap();
        stream.write_all(format!("{request}\n").as_bytes()).unwrap();
        stream
    }

    /// A request without its end, which the daemon therefore never answers.
    fn send_in_part(&self, request: &Value) -> UnixStream {
        let mut stream = UnixStream::connect(&self.socket).unwrap();
        stream.write_all(request.to_string().as_bytes()).unwrap();
        stream
    }

    fn ask(&self, request: &Value) -> Value {
        let mut line = String::new();
        BufReader::new(self.send(request)).read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap()
    }

    fn show(&self, line: &str) -> Value {
        self.ask(&json!({"command": {"line": line, "json": true}}))["done"]["json"].take()
    }

    /// As `kill -9` does it.
    fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A bridge with loopbacks and many routes by them.
fn configuration(routes: u32, last: u8) -> String {
    let mut text = "loopbacks: [{name: loop0}]\ninterfaces: [{name: loop0, state: up}]\n".to_owned();
    text.push_str("interface-addresses: [{interface: loop0, address: 10.0.0.1/24}]\nroutes:\n");
    for route in 0..routes {
        let prefix = std::net::Ipv4Addr::from(0x1400_0000 + (route << 8));
        text.push_str(&format!("- {{prefix: {prefix}/24, paths: [{{via: 10.0.0.{last}, interface: loop0}}]}}\n"));
    }
    text
}

fn apply(text: &str, confirm_within: Option<u32>) -> Value {
    let terms = confirm_within.map_or(json!({}), |seconds| json!({"confirm-within": seconds}));
    json!({"apply": {"name": "f.yaml", "text": text, "json": true, "terms": terms}})
}

#[test]
fn a_daemon_that_dies_before_a_change_is_confirmed_starts_with_what_was_before() {
    let folder = tempfile::tempdir().unwrap();
    let daemon = Daemon::start(folder.path());
    let done = daemon.ask(&apply(&configuration(3, 2), None));
    assert_eq!(done["done"]["json"]["version"], 2, "{done}");
    daemon.ask(&json!({"command": {"line": "ip route add 30.0.0.0/8 via 10.0.0.9"}}));
    let before = daemon.show("show configuration");
    let done = daemon.ask(&apply(&configuration(3, 7), Some(60)));
    assert_eq!(done["done"]["json"]["confirm-within"], 60, "{done}");
    assert_ne!(daemon.show("show configuration"), before);
    let refused = daemon.ask(&apply(&configuration(1, 7), None));
    assert_eq!(refused["error"]["reason"], "unconfirmed", "{refused}");
    daemon.kill();
    let daemon = Daemon::start(folder.path());
    assert_eq!(daemon.show("show configuration"), before);
    let history = daemon.show("show history");
    assert_eq!(history[0]["what"], "rollback to version 3: quiverd ended before 4 was confirmed", "{history}");
    assert_eq!(history[1]["state"], "never confirmed");
    assert_eq!(history[2]["what"], "commands");
    // The author is who the kernel says.
    let user = nix::unistd::User::from_uid(nix::unistd::geteuid()).unwrap().unwrap().name;
    assert_eq!((&history[1]["author"], &history[2]["author"]), (&json!(user), &json!(user)));
}

#[test]
fn a_daemon_killed_at_any_moment_of_a_change_starts_with_one_of_the_two() {
    let folder = tempfile::tempdir().unwrap();
    let daemon = Daemon::start(folder.path());
    let files = [configuration(2000, 2), configuration(2000, 7)];
    let texts = files.each_ref().map(|file| {
        let done = daemon.ask(&apply(file, None));
        assert!(done["error"].is_null(), "{done}");
        daemon.show("show configuration")
    });
    let started = Instant::now();
    daemon.ask(&apply(&files[0], None));
    let whole = started.elapsed();
    daemon.kill();
    let mut expected = None;
    for round in 0..13u32 {
        let daemon = Daemon::start(folder.path());
        let running = daemon.show("show configuration");
        let which = texts.iter().position(|text| *text == running);
        let which = which.unwrap_or_else(|| panic!("round {round}: neither of the two, but {running}"));
        assert!(expected.is_none_or(|expected| expected == which), "round {round}: it has {which}");
        let history = daemon.show("show history");
        assert!(history.as_array().unwrap().iter().filter(|version| version["state"] == "saved").count() == 1);
        // The other one, and death somewhere on the way; in two rounds surely before the change, and surely after it.
        let request = apply(&files[1 - which], None);
        let stream = match round {
            0 => daemon.send_in_part(&request),
            _ => daemon.send(&request),
        };
        expected = match round {
            0 => Some(which),
            1 => {
                let mut answer = String::new();
                BufReader::new(&stream).read_line(&mut answer).unwrap();
                Some(1 - which)
            }
            _ => {
                std::thread::sleep(whole * (round - 2) / 10);
                None
            }
        };
        daemon.kill();
    }
}
