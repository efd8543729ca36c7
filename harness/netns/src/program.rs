//! Running other programs so that a failure says which one failed and what it said.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use std::{env, io, thread};

use crate::Error;

/// Interval of checks in a wait.
const LOOK_EVERY: Duration = Duration::from_millis(5);
/// Numbers the log files.
static STARTED: AtomicUsize = AtomicUsize::new(0);

/// The path of `program`, looked for in `PATH` and in the directories where Debian keeps the administrator's programs.
pub fn find(program: &str) -> Option<PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    let administrators = ["/usr/sbin", "/sbin"].map(PathBuf::from);
    env::split_paths(&path).chain(administrators).map(|directory| directory.join(program)).find(|file| file.is_file())
}

/// Runs a command to its end and returns what it wrote to standard output; an unsuccessful end is an error.
pub fn run(command: &mut Command) -> Result<String, Error> {
    let line = line(command);
    let output = command.stdin(Stdio::null()).output();
    let output = output.map_err(|source| Error::Start { command: line.clone(), source })?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    if output.status.success() {
        return Ok(text);
    }
    // Some programs (iperf3 --json) complain on standard output.
    let complaint = format!("{}{}", String::from_utf8_lossy(&output.stderr), text);
    Err(Error::Failed { command: line, status: output.status, output: complaint.trim().to_owned() })
}

/// A program in the background, with its output in a file. It is killed when this value is dropped.
#[derive(Debug)]
pub struct Program {
    child: Child,
    command: String,
    log: PathBuf,
}

impl Program {
    /// Starts a program; only inside a world, for its output goes to the world's private `/run`.
    pub fn start(command: &mut Command) -> Result<Self, Error> {
        let name = command.get_program().to_string_lossy().replace('/', "-");
        let log = PathBuf::from(format!("/run/{}-{name}.log", STARTED.fetch_add(1, Ordering::Relaxed)));
        Self::start_with_log(command.stdin(Stdio::null()), log)
    }

    /// Starts a program whose output goes to this file, and whose input is what the command says.
    pub fn start_with_log(command: &mut Command, log: PathBuf) -> Result<Self, Error> {
        let line = line(command);
        let file = File::create(&log).map_err(|e| Error::system(format!("make {}", log.display()), e))?;
        let copy = file.try_clone().map_err(|e| Error::system(format!("share {}", log.display()), e))?;
        let child = command.stdout(file).stderr(copy).spawn();
        let child = child.map_err(|source| Error::Start { command: line.clone(), source })?;
        Ok(Self { child, command: line, log })
    }

    /// Waits until the program has said `text`; its end or the time limit is an error that tells what it said.
    pub fn wait_for_output(&mut self, text: &str, limit: Duration) -> Result<(), Error> {
        self.wait_until(text, limit, |program| program.output().contains(text))
    }

    /// Waits until `is_ready`, described by `awaited`; the program's end or the time limit is an error.
    pub fn wait_until(
        &mut self,
        awaited: &str,
        limit: Duration,
        is_ready: impl Fn(&Self) -> bool,
    ) -> Result<(), Error> {
        let start = Instant::now();
        while !is_ready(self) {
            if let Some(status) = self.ended()? {
                return Err(Error::Failed { command: self.command.clone(), status, output: self.output() });
            }
            if start.elapsed() > limit {
                return Err(Error::NotReady {
                    command: self.command.clone(),
                    awaited: awaited.to_owned(),
                    seconds: limit.as_secs(),
                    output: self.output(),
                });
            }
            thread::sleep(LOOK_EVERY);
        }
        Ok(())
    }

    /// Waits for the end and returns the output; an unsuccessful end is an error.
    pub fn finish(mut self) -> Result<String, Error> {
        let status = self.child.wait().map_err(|e| Error::system(format!("wait for `{}`", self.command), e))?;
        match status.success() {
            true => Ok(self.output()),
            false => Err(Error::Failed { command: self.command.clone(), status, output: self.output() }),
        }
    }

    /// The exit status, if the program has ended.
    pub fn ended(&mut self) -> Result<Option<std::process::ExitStatus>, Error> {
        self.child.try_wait().map_err(|e| Error::system(format!("look after `{}`", self.command), e))
    }

    /// Output of the program so far.
    pub fn output(&self) -> String {
        fs::read(&self.log).map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).unwrap_or_default()
    }

    /// Its process id, as the world counts.
    pub fn id(&self) -> u32 {
        self.child.id()
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        // Either may fail only because the program has ended, which is what is wanted.
        let _: io::Result<()> = self.child.kill();
        let _: io::Result<_> = self.child.wait();
    }
}

fn line(command: &Command) -> String {
    let words: Vec<_> =
        std::iter::once(command.get_program()).chain(command.get_args()).map(OsStr::to_string_lossy).collect();
    words.join(" ")
}
