//! A quiverd of its own: the program as users start it, spoken to at its command socket.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use quiver_control::protocol::Response;
use quiver_daemon::ask;
use quiver_netns::Namespace;
use quiver_stop::{Stop, Wait};
use serde_json::Value;

use crate::Error;
use crate::cores;

/// How long it may take to start, and to answer a command.
const ANSWER_WITHIN: Duration = Duration::from_secs(20);
/// How often a starting daemon is asked.
const LOOK_EVERY: Duration = Duration::from_millis(5);
/// Bytes of the log's end that errors tell.
const LOG_END: usize = 600;

/// How a daemon is started.
pub struct Start<'run> {
    /// The daemon's name in errors: `the generator`.
    pub name: &'run str,
    /// The program.
    pub program: &'run Path,
    /// Where socket and log lie.
    pub folder: &'run Path,
    /// The core of each worker.
    pub workers: &'run [usize],
    /// Where its other threads run: as they like if there are none.
    pub control: &'run [usize],
    /// The network namespace that it lives in, if not this process's.
    pub namespace: Option<&'run Namespace>,
    /// The flag that ends every wait for the daemon.
    pub stop: &'run Stop,
}

/// A running quiverd; killed when this value is dropped.
pub struct Daemon {
    name: String,
    child: Child,
    socket: PathBuf,
    log: PathBuf,
    stop: Stop,
}

impl Daemon {
    /// Starts one, and waits until it answers.
    ///
    /// # Errors
    /// It cannot be started, ends, or does not answer.
    pub fn start(start: &Start<'_>) -> Result<Daemon, Error> {
        let of = |path: &Path| {
            let path = path.to_owned();
            move |error| Error::File { path, error }
        };
        let (socket, log) = (start.folder.join("cli"), start.folder.join("log"));
        let file = File::create(&log).map_err(of(&log))?;
        let copy = file.try_clone().map_err(of(&log))?;
        let mut command = match start.namespace {
            Some(namespace) => namespace.command(start.program),
            None => Command::new(start.program),
        };
        command.arg("--socket").arg(&socket).arg("--log-level").arg("warn");
        let list = |cores: &[usize]| cores.iter().map(usize::to_string).collect::<Vec<_>>().join(",");
        command.arg("--workers").arg(start.workers.len().to_string());
        command.arg("--cores").arg(list(start.workers));
        command.stdin(Stdio::null()).stdout(file).stderr(copy);
        // Threads begin where the one that starts them runs; workers then go to their own cores.
        let spawned = cores::within(start.control, || command.spawn());
        let child = spawned.map_err(|error| Error::Start { program: start.program.to_owned(), error })?;
        let mut daemon = Daemon { name: start.name.to_owned(), child, socket, log, stop: start.stop.clone() };
        let mut wait = daemon.wait(ANSWER_WITHIN);
        loop {
            match daemon.ask("show version") {
                Ok(_) => return Ok(daemon),
                Err(Error::Silent { .. }) if !wait.is_over() => wait.sleep(LOOK_EVERY),
                Err(error) => return Err(error),
            }
        }
    }

    /// Its process.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// A wait for something of it, of so long at most.
    pub(crate) fn wait(&self, limit: Duration) -> Wait {
        self.stop.wait(limit)
    }

    /// Gives a command, as users type it, and returns its answer as JSON.
    ///
    /// # Errors
    /// The command is refused, or there is no answer: then [`Error::Ended`] if the process is gone.
    pub fn ask(&mut self, line: &str) -> Result<Value, Error> {
        match ask(&self.socket, line, self.wait(ANSWER_WITHIN)) {
            Ok(Response::Done(answer)) => Ok(answer.json),
            Ok(Response::Error(refusal)) => {
                Err(Error::Refused { name: self.name.clone(), command: line.into(), what: refusal.what })
            }
            Ok(_) => Err(self.foreign(line, "an end")),
            Err(error) => match self.child.try_wait() {
                Ok(Some(status)) => Err(Error::Ended { name: self.name.clone(), status, said: self.said() }),
                _ => Err(Error::Silent { name: self.name.clone(), socket: self.socket.clone(), error }),
            },
        }
    }

    /// Gives commands one after the other, without their answers.
    ///
    /// # Errors
    /// As of [`Daemon::ask`], for the first that fails.
    pub fn run(&mut self, lines: &[String]) -> Result<(), Error> {
        lines.iter().try_for_each(|line| self.ask(line).map(drop))
    }

    /// An answer lacks something.
    pub(crate) fn foreign(&self, line: &str, field: &'static str) -> Error {
        Error::Foreign { name: self.name.clone(), command: line.into(), field }
    }

    /// Something did not come in time.
    pub(crate) fn not_ready(&self, awaited: impl Into<String>, within: Duration) -> Error {
        Error::NotReady { name: self.name.clone(), awaited: awaited.into(), seconds: within.as_secs() }
    }

    /// The end of its log.
    fn said(&self) -> String {
        let text = fs::read(&self.log).unwrap_or_default();
        let end = &text[text.len().saturating_sub(LOG_END)..];
        match String::from_utf8_lossy(end).trim() {
            "" => "nothing".into(),
            said => said.into(),
        }
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        // Either fails only if it has ended, which is what is wanted.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// One of Quiver's programs: beside this one, or above it where this one is a test.
///
/// # Errors
/// [`Error::Start`] with the place where it should be.
pub fn built(program: &str) -> Result<PathBuf, Error> {
    quiver_daemon::built(program).map_err(|error| Error::Start { program: program.into(), error })
}
