//! A device's process: its output in a file, its CPU time, its end.

use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::time::{clock_getcpuclockid, clock_gettime};
use nix::unistd::Pid;
use quiver_client::ClientError;
use quiver_netns::{Program, find};

use crate::{Error, Job};

/// How often a waiting loop looks.
const LOOK_EVERY: Duration = Duration::from_millis(5);
/// How long a device that does not answer may take to have ended.
const DYING: Duration = Duration::from_secs(1);
/// How long a device may take to end.
const ENDED_WITHIN: Duration = Duration::from_secs(10);
/// Bytes of the end of its output that errors tell.
const SAID: usize = 800;

/// What resident memory is called among the holdings.
pub const RESIDENT: &str = "resident memory";

/// A running process; killed when this value is dropped.
pub struct Process {
    device: &'static str,
    program: Program,
}

/// Whether something that is waited for has come.
pub enum Progress {
    /// Yes.
    Done,
    /// Not yet: what the device says instead.
    NotYet(String),
}

impl Process {
    /// Starts a command, with its output in the job's folder.
    pub fn start(device: &'static str, job: &Job<'_>, command: &mut Command) -> Result<Process, Error> {
        let program = Program::start_with_log(command, job.folder.join(format!("{device}.log")))?;
        Ok(Process { device, program })
    }

    /// A command that runs `program` on these cores, in the namespace of the job's ports if they have one.
    pub fn command(job: &Job<'_>, program: &Path, cores: &[usize]) -> Command {
        let mut command = match job.namespace() {
            Some(namespace) => namespace.command("taskset"),
            None => Command::new("taskset"),
        };
        command.args(["--cpu-list", &crate::cores::list(cores)]).arg(program).stdin(Stdio::null());
        command
    }

    /// The CPU time of all of its threads, of those that have ended, too.
    pub fn cpu(&mut self) -> Result<Duration, Error> {
        let clock = clock_getcpuclockid(Pid::from_raw(self.program.id() as i32));
        let time = clock.and_then(clock_gettime);
        time.map(Duration::from).map_err(|errno| self.silent("its CPU time", errno.into()))
    }

    /// Bytes of its memory that are resident (proc(5), `VmRSS`).
    pub fn memory(&mut self) -> Result<f64, Error> {
        quiver_daemon::resident(self.program.id()).map_err(|error| self.silent("its memory", error))
    }

    /// The end of what it has said.
    pub fn said(&self) -> String {
        let output = self.program.output();
        let text = output.trim();
        let begin = (text.len().saturating_sub(SAID)..=text.len()).find(|at| text.is_char_boundary(*at));
        match &text[begin.unwrap_or(0)..] {
            "" => "nothing".to_owned(),
            end => end.to_owned(),
        }
    }

    /// All that it has said.
    pub fn output(&self) -> String {
        self.program.output()
    }

    /// Why it does not answer: it has ended, or what the system says.
    pub fn silent(&mut self, command: &str, error: io::Error) -> Error {
        // Who dies closes its sockets some time before it is known to be dead.
        let start = Instant::now();
        let mut checked = self.check();
        while checked.is_ok() && start.elapsed() < DYING {
            std::thread::sleep(LOOK_EVERY);
            checked = self.check();
        }
        match checked {
            Err(ended) => ended,
            Ok(()) => Error::Silent { device: self.device, command: command.to_owned(), error, said: self.said() },
        }
    }

    /// Why a client of its binary API has no answer: it refused, or what [`Process::silent`] says.
    pub fn refused(&mut self, command: &str, error: ClientError) -> Error {
        match error {
            ClientError::Socket(error) => self.silent(command, error),
            ClientError::Refused { .. } => {
                Error::Refused { device: self.device, command: command.to_owned(), answer: error.to_string() }
            }
            other => self.silent(command, io::Error::other(other)),
        }
    }

    /// An error if it has ended.
    pub fn check(&mut self) -> Result<(), Error> {
        match self.program.ended()? {
            Some(status) => Err(Error::Ended { device: self.device, status, said: self.said() }),
            None => Ok(()),
        }
    }

    /// Waits until `look` says that it is done. Errors of `look` end it.
    pub fn wait_until(
        &mut self,
        awaited: &str,
        within: Duration,
        mut look: impl FnMut(&mut Process) -> Result<Progress, Error>,
    ) -> Result<(), Error> {
        let start = Instant::now();
        loop {
            self.check()?;
            let Progress::NotYet(said) = look(self)? else { return Ok(()) };
            if start.elapsed() > within {
                let (awaited, seconds) = (awaited.to_owned(), within.as_secs());
                return Err(Error::NotReady { device: self.device, awaited, seconds, said });
            }
            std::thread::sleep(LOOK_EVERY);
        }
    }

    /// Has it end by a signal, and waits for that.
    pub fn stop(mut self) -> Result<(), Error> {
        self.check()?;
        let id = Pid::from_raw(self.program.id() as i32);
        kill(id, Signal::SIGTERM).map_err(|errno| self.silent("SIGTERM", errno.into()))?;
        let start = Instant::now();
        while self.program.ended()?.is_none() {
            if start.elapsed() > ENDED_WITHIN {
                let (awaited, seconds) = ("its end".to_owned(), ENDED_WITHIN.as_secs());
                return Err(Error::NotReady { device: self.device, awaited, seconds, said: self.said() });
            }
            std::thread::sleep(LOOK_EVERY);
        }
        Ok(())
    }
}

/// The job's program, or that of this name in `PATH`.
pub fn program(job: &Job<'_>, name: &str, remedy: &str) -> Result<PathBuf, Error> {
    let given = job.program.clone().or_else(|| find(name));
    let missing = |program: String| Error::Missing { program, remedy: remedy.to_owned() };
    match given {
        Some(path) if path.is_file() => Ok(path),
        Some(path) => Err(missing(path.display().to_string())),
        None => Err(missing(name.to_owned())),
    }
}
