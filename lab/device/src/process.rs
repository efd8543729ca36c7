//! A device's process: its output in a file, its CPU time, its end.

use std::io::{self, PipeWriter, Write, pipe};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::time::{clock_getcpuclockid, clock_gettime};
use nix::unistd::Pid;
use quiver_client::{Client, ClientError};
use quiver_netns::{Program, find};
use quiver_stop::{Stop, Wait};
use quiver_testbed::{Running, Stay};

use crate::packet_sockets::PacketSockets;
use crate::waiting::waited;
use crate::{Error, Job, Site, Socket};

/// How often a waiting loop looks.
const LOOK_EVERY: Duration = Duration::from_millis(5);
/// How long a device that does not answer may take to have ended.
const DYING: Duration = Duration::from_secs(1);
/// Limit for a host to start a program, or to answer a question about it.
const STARTED_WITHIN: Duration = Duration::from_secs(30);
/// How long a device may take to end: with millions of routes it has as many things to give back.
const ENDED_WITHIN: Duration = Duration::from_secs(60);
/// Bytes of the end of its output that errors tell.
const SAID: usize = 800;

/// Name of the resident-memory series.
pub const RESIDENT: &str = "resident memory";

/// A running process; ended when this value is dropped.
pub struct Process {
    device: &'static str,
    program: Where,
    input: Option<Input>,
    stop: Stop,
}

/// Where the process runs, with its handle.
enum Where {
    Here(Program),
    /// On a host of a testbed, by its shell.
    There {
        running: Running,
        stay: Arc<Stay>,
        id: u32,
    },
}

/// How it is told something.
enum Input {
    Pipe(PipeWriter),
    /// On its host, by the shell that is there.
    Fifo(String),
}

/// Says which process it is, and becomes the program.
const ANNOUNCED: &str = r#"echo "process $$."; exec "$@""#;
/// The same for a program that reads from a named pipe. The script holds both ends of the pipe, so neither side blocks
/// on opening it.
const LISTENING: &str = r#"mkfifo "$1" && fifo=$1 && shift && echo "process $$." && exec "$@" <>"$fifo" 2>&1"#;

/// Whether something that is waited for has come.
pub enum Progress {
    /// Yes.
    Done,
    /// Not yet, with the device's current state.
    NotYet(String),
}

impl Process {
    /// Starts a command that listens at these sockets, with its output in the job's folder.
    pub fn start(
        device: &'static str,
        job: &Job<'_>,
        command: &mut Command,
        sockets: &[&Socket],
    ) -> Result<Process, Error> {
        let program = match job.site {
            Some(site) => there(device, site, &["sh", "-c", ANNOUNCED, "sh"], command, sockets)?,
            None => here(device, job, command)?,
        };
        Ok(Process { device, program, input: None, stop: job.stop.clone() })
    }

    /// Starts a command that is told something from time to time, as [`Process::tell`] does.
    pub fn start_listening(device: &'static str, job: &Job<'_>, command: &mut Command) -> Result<Process, Error> {
        let (program, input) = match job.site {
            Some(site) => {
                let fifo = site.file("input").to_string_lossy().into_owned();
                (there(device, site, &["sh", "-c", LISTENING, "sh", &fifo], command, &[])?, Input::Fifo(fifo))
            }
            None => {
                let (reader, input) = pipe().map_err(Error::file("its input"))?;
                (here(device, job, command.stdin(reader))?, Input::Pipe(input))
            }
        };
        Ok(Process { device, program, input: Some(input), stop: job.stop.clone() })
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
    ///
    /// On another host it is that of the threads that are still there, which are all that do any work.
    pub fn cpu(&mut self) -> Result<Duration, Error> {
        let what = "its CPU time";
        match &self.program {
            Where::Here(program) => {
                let clock = clock_getcpuclockid(Pid::from_raw(program.id() as i32));
                let time = clock.and_then(clock_gettime);
                time.map(Duration::from).map_err(|errno| self.silent(what, errno.into()))
            }
            Where::There { .. } => {
                let said = self.file("task/*/schedstat", what)?;
                let each = said.lines().filter_map(|line| line.split(' ').next()?.parse::<u64>().ok());
                Ok(Duration::from_nanos(each.sum()))
            }
        }
    }

    /// Writes a line to its input.
    pub fn tell(&mut self, line: &str) -> Result<(), Error> {
        let told = match (&mut self.input, &self.program) {
            (Some(Input::Pipe(pipe)), _) => writeln!(pipe, "{line}").and_then(|()| pipe.flush()),
            (Some(Input::Fifo(path)), Where::There { stay, .. }) => {
                let told = stay.ask(&format!("echo '{line}' 1<>'{path}'"), STARTED_WITHIN);
                told.map(drop).map_err(io::Error::other)
            }
            _ => Err(io::ErrorKind::NotConnected.into()),
        };
        told.map_err(|error| self.silent(line, error))
    }

    /// Time for which its threads that `is_worker` accepts waited for a core; or the reason why it is unknown.
    pub fn waited(&self, is_worker: impl Fn(&str) -> bool) -> Result<Duration, String> {
        waited(self.here()?, is_worker)
    }

    /// Its packet sockets, with losses counted from now on; or the reason why there are none.
    pub fn packet_sockets(&self) -> Result<PacketSockets, String> {
        PacketSockets::of(self.here()?)
    }

    /// Its number, if it runs on this machine.
    fn here(&self) -> Result<u32, String> {
        match &self.program {
            Where::Here(program) => Ok(program.id()),
            Where::There { stay, id, .. } if !stay.shell().is_away() => Ok(*id),
            Where::There { .. } => Err("it runs on another host".to_owned()),
        }
    }

    /// Bytes of its memory that are resident (proc(5), `VmRSS`).
    pub fn memory(&mut self) -> Result<f64, Error> {
        let what = "its memory";
        match &self.program {
            Where::Here(program) => quiver_daemon::resident(program.id()).map_err(|error| self.silent(what, error)),
            Where::There { .. } => {
                let said = self.file("status", what)?;
                let absent = io::Error::new(io::ErrorKind::NotFound, "the kernel does not say so");
                quiver_daemon::resident_of(&said).ok_or(absent).map_err(|error| self.silent(what, error))
            }
        }
    }

    /// Reads a file of the process below `/proc` on its host.
    fn file(&mut self, name: &str, what: &str) -> Result<String, Error> {
        let Where::There { stay, id, .. } = &self.program else { return Ok(String::new()) };
        let read = stay.ask(&format!("cat /proc/{id}/{name}"), STARTED_WITHIN);
        read.map_err(|error| self.silent(what, io::Error::other(error)))
    }

    /// The end of its output.
    pub fn said(&self) -> String {
        end_of(&self.output())
    }

    fn last_said(&self) -> String {
        match &self.program {
            Where::Here(program) => end_of(&program.output()),
            Where::There { running, .. } => end_of(&running.last_output()),
        }
    }

    /// All that it has said.
    pub fn output(&self) -> String {
        match &self.program {
            Where::Here(program) => program.output(),
            Where::There { running, .. } => running.output(),
        }
    }

    /// How many bytes it has said so far.
    pub fn written(&self) -> usize {
        match &self.program {
            Where::Here(program) => program.output().len(),
            Where::There { running, .. } => running.written(),
        }
    }

    /// The output behind the first `written` bytes.
    pub fn output_since(&self, written: usize) -> String {
        match &self.program {
            Where::Here(program) => program.output().get(written..).unwrap_or_default().to_owned(),
            Where::There { running, .. } => running.output_since(written),
        }
    }

    fn ended(&mut self) -> Result<Option<ExitStatus>, Error> {
        Ok(match &mut self.program {
            Where::Here(program) => program.ended()?,
            Where::There { running, .. } => running.ended()?,
        })
    }

    /// The error of a device that does not answer: its exit, or the system's error.
    pub fn silent(&mut self, command: &str, error: io::Error) -> Error {
        // Who dies closes its sockets some time before it is known to be dead.
        let mut wait = self.wait(DYING);
        let mut checked = self.check();
        while checked.is_ok() && !wait.is_over() {
            wait.sleep(LOOK_EVERY);
            checked = self.check();
        }
        match checked {
            Err(ended) => ended,
            Ok(()) => Error::Silent { device: self.device, command: command.to_owned(), error, said: self.said() },
        }
    }

    /// The error of a binary API request: a refusal, or the result of [`Process::silent`].
    pub fn refused(&mut self, command: &str, error: ClientError) -> Error {
        match error {
            ClientError::Socket(error) => self.silent(command, error),
            ClientError::Refused { .. } => {
                Error::Refused { device: self.device, command: command.to_owned(), answer: error.to_string() }
            }
            other => self.silent(command, io::Error::other(other)),
        }
    }

    /// A client of its binary API, for which answers may take as long as they do until the run is to end.
    pub fn client(&self, api: &Path) -> Result<Client, ClientError> {
        let mut wait = self.wait(Duration::MAX);
        Client::connect_while(api, "quiver-lab", move || !wait.is_over())
    }

    /// An error if it has ended.
    pub fn check(&mut self) -> Result<(), Error> {
        match self.ended()? {
            Some(status) => Err(Error::Ended { device: self.device, status, said: self.last_said() }),
            None => Ok(()),
        }
    }

    /// A wait for something of it, of so long at most.
    pub fn wait(&self, limit: Duration) -> Wait {
        self.stop.wait(limit)
    }

    /// Why it is not waited for any longer.
    pub fn not_ready(&self, awaited: &str, wait: &Wait, said: String) -> Error {
        Error::NotReady { device: self.device, awaited: awaited.to_owned(), seconds: wait.limit().as_secs(), said }
    }

    /// Waits until `look` says that it is done. Errors of `look` end it.
    pub fn wait_until(
        &mut self,
        awaited: &str,
        within: Duration,
        mut look: impl FnMut(&mut Process) -> Result<Progress, Error>,
    ) -> Result<(), Error> {
        let mut wait = self.wait(within);
        loop {
            self.check()?;
            let Progress::NotYet(said) = look(self)? else { return Ok(()) };
            if wait.is_over() {
                return Err(self.not_ready(awaited, &wait, said));
            }
            wait.sleep(LOOK_EVERY);
        }
    }

    /// Ends the process by SIGTERM and waits for its end.
    pub fn stop(mut self) -> Result<(), Error> {
        self.check()?;
        let program = match &self.program {
            Where::Here(program) => program,
            Where::There { .. } => {
                let Where::There { running, .. } = self.program else { return Ok(()) };
                return Ok(running.stop()?);
            }
        };
        let id = Pid::from_raw(program.id() as i32);
        kill(id, Signal::SIGTERM).map_err(|errno| self.silent("SIGTERM", errno.into()))?;
        let mut wait = self.wait(ENDED_WITHIN);
        while self.ended()?.is_none() {
            if wait.is_over() {
                return Err(self.not_ready("its end", &wait, self.said()));
            }
            wait.sleep(LOOK_EVERY);
        }
        Ok(())
    }
}

fn here(device: &str, job: &Job<'_>, command: &mut Command) -> Result<Where, Error> {
    Ok(Where::Here(Program::start_with_log(command, job.folder.join(format!("{device}.log")))?))
}

/// On a host, by `announced`, which says which process it is.
fn there(
    device: &'static str,
    site: &Site,
    announced: &[&str],
    command: &Command,
    sockets: &[&Socket],
) -> Result<Where, Error> {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    let words = announced.iter().map(|word| (*word).into()).chain(words.map(|word| word.to_string_lossy()));
    let mut words = words.map(std::borrow::Cow::into_owned);
    let command = quiver_testbed::Command::new(words.next().unwrap_or_default()).args(words);
    let shell = site.shell();
    let mut running = if site.is_away() {
        let text = |path: &Path| path.to_string_lossy().into_owned();
        let sockets: Vec<_> = sockets.iter().map(|socket| (socket.here.clone(), text(&socket.there))).collect();
        shell.start_forwarding(&command, &sockets)?
    } else {
        shell.start(&command)?
    };
    running.wait_for(".\n", STARTED_WITHIN)?;
    let output = running.output();
    let id = output.split(['.', ' ']).nth(1).and_then(|word| word.parse().ok());
    let foreign = || Error::Foreign { device, command: ANNOUNCED.into(), lacking: "a process".into(), answer: output };
    Ok(Where::There { id: id.ok_or_else(foreign)?, running, stay: site.stay().clone() })
}

/// The end of an output.
fn end_of(output: &str) -> String {
    let text = output.trim();
    let begin = (text.len().saturating_sub(SAID)..=text.len()).find(|at| text.is_char_boundary(*at));
    match &text[begin.unwrap_or(0)..] {
        "" => "nothing".to_owned(),
        end => end.to_owned(),
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
