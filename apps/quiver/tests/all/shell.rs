//! The interactive shell on a terminal of the test's own.

use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::process::{Child, Command};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use nix::pty::{Winsize, openpty};

/// A daemon that completes `sh` to `show`, explains, answers, and counts for ever. It takes any number of clients.
fn daemon(socket: &Path) {
    let listener = UnixListener::bind(socket).unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let stream = stream.unwrap();
            for line in BufReader::new(stream.try_clone().unwrap()).lines() {
                let line = line.unwrap();
                let answer: &[u8] = match line.as_str() {
                    line if line.contains("complete") => {
                        b"{\"completions\":{\"start\":0,\"words\":[{\"word\":\"show\",\"help\":\"\",\"insert\":true}]}}\n"
                    }
                    line if line.contains('?') => b"{\"done\":{\"text\":\"version  what follows\"}}\n",
                    line if line.contains("count") => b"{\"part\":{\"text\":\"counting\"}}\n",
                    _ => b"{\"done\":{\"text\":\"answered\"}}\n",
                };
                // The shell may have gone.
                let _ = (&stream).write_all(answer);
            }
        }
    });
}

pub(crate) struct Terminal {
    pub(crate) shell: Child,
    keys: File,
    /// Output of the shell, as it comes.
    written: Receiver<Vec<u8>>,
    seen: String,
}

impl Terminal {
    fn start(directory: &Path) -> Terminal {
        daemon(&directory.join("s"));
        Terminal::open(directory, &[])
    }

    /// A shell on a terminal of 12 lines, for the daemon that serves the directory's `s`.
    pub(crate) fn open(directory: &Path, environment: &[(&str, &str)]) -> Terminal {
        let size = Winsize { ws_row: 12, ws_col: 80, ws_xpixel: 0, ws_ypixel: 0 };
        let pty = openpty(Some(&size), None).unwrap();
        let slave = || pty.slave.try_clone().unwrap();
        let shell = Command::new(env!("CARGO_BIN_EXE_quiver"))
            .arg("--socket")
            .arg(directory.join("s"))
            .current_dir(directory)
            .env("XDG_STATE_HOME", directory)
            .env("TERM", "xterm")
            .env("QUIVER_PAGER", "")
            .envs(environment.iter().copied())
            .stdin(slave())
            .stdout(slave())
            .stderr(slave())
            .spawn()
            .unwrap();
        let keys = File::from(pty.master);
        let mut screen = keys.try_clone().unwrap();
        let (sender, written) = channel();
        std::thread::spawn(move || {
            let mut bytes = [0; 4096];
            while let Ok(count @ 1..) = screen.read(&mut bytes) {
                if sender.send(bytes[..count].to_vec()).is_err() {
                    break;
                }
            }
        });
        Terminal { shell, keys, written, seen: String::new() }
    }

    /// Waits until the shell has written `text`, and forgets what it wrote up to there.
    pub(crate) fn expect(&mut self, text: &str) {
        while !self.seen.contains(text) {
            match self.written.recv_timeout(Duration::from_secs(20)) {
                Ok(bytes) => self.seen.push_str(&String::from_utf8_lossy(&bytes)),
                Err(_) => panic!("'{text}' did not come, but {:?}", self.seen),
            }
        }
        let end = self.seen.find(text).unwrap() + text.len();
        self.seen.drain(..end);
    }

    pub(crate) fn press(&mut self, keys: &str) {
        self.keys.write_all(keys.as_bytes()).unwrap();
    }
}

impl Terminal {
    /// Sends Ctrl-C's signal: without a controlling terminal the key makes none.
    pub(crate) fn interrupt(&self) {
        let shell = nix::unistd::Pid::from_raw(self.shell.id().cast_signed());
        nix::sys::signal::kill(shell, nix::sys::signal::Signal::SIGINT).unwrap();
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        let _ = self.shell.kill();
    }
}

#[test]
fn the_shell_completes_explains_runs_gives_up_and_remembers() {
    let directory = tempfile::tempdir().unwrap();
    let mut terminal = Terminal::start(directory.path());
    terminal.expect("quiver> ");
    terminal.press("sh\t");
    terminal.expect("show ");
    terminal.press("?");
    terminal.expect("version  what follows");
    // The line that was begun is there again.
    terminal.expect("quiver> show ");
    terminal.press("version\r");
    terminal.expect("answered");
    terminal.expect("quiver> ");
    terminal.press("count\r");
    terminal.expect("counting");
    terminal.interrupt();
    terminal.expect("quiver> ");
    terminal.press("again\r");
    terminal.expect("answered");
    terminal.expect("quiver> ");
    terminal.press("\u{4}");
    assert!(terminal.shell.wait().unwrap().success());
    let history = std::fs::read_to_string(directory.path().join("quiver/history")).unwrap();
    assert!(history.ends_with("show version\ncount\nagain\n"), "{history}");
}
