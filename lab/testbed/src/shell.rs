//! Commands on a host: on this machine or by ssh, in the same way.
//!
//! Each command is run by a small program of the shell, `guard.sh`, that ends the command and all that it started when its
//! own standard input ends. So nothing stays behind on any host, whether this program stops it, dies, or loses the
//! connection.

use std::fmt;
use std::io::{self, Read, Write};
use std::path::Path;
use std::process::{self, Child, ChildStdin, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use crate::Reach;

const GUARD: &str = include_str!("guard.sh");
/// How long a command has for an orderly end.
const GRACE: Duration = Duration::from_secs(3);
/// How long it may take beyond that until its end is known here.
const SPARE: Duration = Duration::from_secs(10);
/// What is kept of a command's output: its end.
const OUTPUT_MAX: usize = 1 << 20;
/// How often a waiting loop looks.
const LOOK_EVERY: Duration = Duration::from_millis(5);

/// A program with arguments, to be run on some host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Command(Vec<String>);

/// Runs commands on a host.
#[derive(Clone, Debug)]
pub struct Shell {
    host: String,
    reach: Reach,
}

/// A command in the background; dropped, it is stopped with all that it started.
#[derive(Debug)]
pub struct Running {
    shell: Shell,
    command: Command,
    child: Child,
    /// Open as long as the command shall run.
    lifeline: Option<ChildStdin>,
    output: Heard,
    errors: Heard,
}

/// A command that ended well.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finished {
    /// What it wrote to standard output.
    pub output: String,
    /// What it wrote to standard error.
    pub errors: String,
}

/// A command that could not be run, or failed.
#[derive(Debug, thiserror::Error)]
pub enum ShellError {
    /// Nothing was started.
    #[error("{host}: `{command}` cannot be started: {error}")]
    Start {
        /// Where.
        host: String,
        /// What.
        command: Command,
        /// Why.
        error: io::Error,
    },
    /// ssh did not get there, or lost the connection.
    #[error("{host} cannot be reached by ssh: {said}; try `ssh {target} true`")]
    Unreachable {
        /// Where.
        host: String,
        /// As ssh calls it.
        target: String,
        /// What ssh says.
        said: String,
    },
    /// It ended with an error.
    #[error("{host}: `{command}` ended with {status}: {said}")]
    Failed {
        /// Where.
        host: String,
        /// What.
        command: Command,
        /// How.
        status: ExitStatus,
        /// What it said.
        said: String,
    },
    /// It took too long, and was stopped.
    #[error("{host}: `{command}` was not {awaited} within {} s: {said}", limit.as_secs_f64())]
    Slow {
        /// Where.
        host: String,
        /// What.
        command: Command,
        /// What was waited for.
        awaited: String,
        /// How long.
        limit: Duration,
        /// What it said.
        said: String,
    },
}

impl Command {
    /// A program by its path or name.
    pub fn new(program: impl AsRef<Path>) -> Command {
        Command(vec![program.as_ref().to_string_lossy().into_owned()])
    }

    /// With one more argument.
    #[must_use]
    pub fn arg(mut self, argument: impl Into<String>) -> Command {
        self.0.push(argument.into());
        self
    }

    /// With more arguments.
    #[must_use]
    pub fn args<T: Into<String>>(mut self, arguments: impl IntoIterator<Item = T>) -> Command {
        self.0.extend(arguments.into_iter().map(Into::into));
        self
    }
}

/// As a shell would read it.
impl fmt::Display for Command {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, word) in self.0.iter().enumerate() {
            let space = if number == 0 { "" } else { " " };
            let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "-_./:=,@%+".contains(letter);
            match !word.is_empty() && word.chars().all(is_plain) {
                true => write!(out, "{space}{word}")?,
                false => write!(out, "{space}'{}'", word.replace('\'', r"'\''"))?,
            }
        }
        Ok(())
    }
}

impl Shell {
    /// For a host that errors call so. Nothing is tried yet.
    pub fn new(host: &str, reach: &Reach) -> Shell {
        Shell { host: host.to_owned(), reach: reach.clone() }
    }

    /// Runs a command to its end.
    ///
    /// # Errors
    /// It cannot be started, fails, or takes longer than the limit.
    pub fn run(&self, command: &Command, limit: Duration) -> Result<Finished, ShellError> {
        let mut running = self.start(command)?;
        let status = loop {
            match running.ended()? {
                Some(status) => break status,
                None => running.wait("finished", limit, |_| false)?,
            }
        };
        match status.success() {
            true => Ok(Finished { output: running.output.whole(), errors: running.errors.whole() }),
            false => Err(running.failed(status)),
        }
    }

    /// Starts a command in the background.
    ///
    /// # Errors
    /// It cannot be started. That ssh does not get there, or that there is no such program, shows later.
    pub fn start(&self, command: &Command) -> Result<Running, ShellError> {
        let guarded = ["sh", "-c", GUARD, "guard"].into_iter().map(String::from);
        let guarded = guarded.chain([GRACE.as_secs().to_string()]).chain(command.0.iter().cloned());
        let mut child = self.process(&Command(guarded.collect()));
        let child = child.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
        let mut child = child.map_err(|error| self.unstarted(command, error))?;
        let output = child.stdout.take().map(Heard::of).unwrap_or_default();
        let errors = child.stderr.take().map(Heard::of).unwrap_or_default();
        let lifeline = child.stdin.take();
        Ok(Running { shell: self.clone(), command: command.clone(), child, lifeline, output, errors })
    }

    /// Writes a file on the host, over an older one.
    ///
    /// # Errors
    /// It cannot be written, or the host not be reached.
    pub fn write(&self, path: &str, contents: &[u8]) -> Result<(), ShellError> {
        let command = Command::new("sh").args(["-c", "cat >\"$1\"", "write", path]);
        let failed = |error| self.unstarted(&command, error);
        let mut process = self.process(&command);
        let child = process.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn();
        let mut child = child.map_err(failed)?;
        // Where it went away while it was written to, its status says more.
        let _: Option<io::Result<()>> = child.stdin.take().map(|mut stdin| stdin.write_all(contents));
        let output = child.wait_with_output().map_err(failed)?;
        let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
        match output.status.success() {
            true => Ok(()),
            false => Err(self.failed(&command, output.status, said)),
        }
    }

    fn unstarted(&self, command: &Command, error: io::Error) -> ShellError {
        ShellError::Start { host: self.host.clone(), command: command.clone(), error }
    }

    /// What ssh itself ends with is not the command's end.
    fn failed(&self, command: &Command, status: ExitStatus, said: String) -> ShellError {
        let host = self.host.clone();
        match &self.reach {
            Reach::Ssh { target, .. } if status.code() == Some(255) => {
                ShellError::Unreachable { host, target: target.clone(), said }
            }
            _ => ShellError::Failed { host, command: command.clone(), status, said },
        }
    }

    /// The process on this machine that runs a command on the host.
    fn process(&self, command: &Command) -> process::Command {
        let Reach::Ssh { target, port, config } = &self.reach else {
            let mut process = process::Command::new(&command.0[0]);
            process.args(&command.0[1..]);
            return process;
        };
        let mut process = process::Command::new("ssh");
        // Nobody is there to be asked, and who has gone away is noticed.
        for option in ["BatchMode=yes", "ConnectTimeout=10", "ServerAliveInterval=5", "ServerAliveCountMax=3"] {
            process.args(["-o", option]);
        }
        if let Some(config) = config {
            process.arg("-F").arg(config);
        }
        if let Some(port) = port {
            process.args(["-p", &port.to_string()]);
        }
        process.arg("--").arg(target).arg(command.to_string());
        process
    }
}

impl Running {
    /// What it has written so far, standard output first; of much, the end.
    pub fn output(&self) -> String {
        self.output.now() + &self.errors.now()
    }

    /// Its exit status, if it has ended.
    ///
    /// # Errors
    /// The system does not tell.
    pub fn ended(&mut self) -> Result<Option<ExitStatus>, ShellError> {
        self.child.try_wait().map_err(|error| self.shell.unstarted(&self.command, error))
    }

    /// Waits until it has written `text`.
    ///
    /// # Errors
    /// It ends, or takes longer than the limit.
    pub fn wait_for(&mut self, text: &str, limit: Duration) -> Result<(), ShellError> {
        self.wait(&format!("saying {text:?}"), limit, |running| running.output().contains(text))?;
        // It may have said so with its last breath.
        match self.ended()? {
            Some(status) if !(self.output.whole() + &self.errors.whole()).contains(text) => Err(self.failed(status)),
            _ => Ok(()),
        }
    }

    /// Ends it with all that it started: asks first, and does not ask for long.
    ///
    /// # Errors
    /// It is not known to have ended: the connection broke, say.
    pub fn stop(mut self) -> Result<(), ShellError> {
        self.end()
    }

    fn end(&mut self) -> Result<(), ShellError> {
        drop(self.lifeline.take());
        let ended = self.wait("stopped", GRACE + SPARE, |_| false);
        if ended.is_err() {
            // What it is behind ssh, its guard ends when the connection does.
            let _: io::Result<()> = self.child.kill();
            let _: io::Result<ExitStatus> = self.child.wait();
        }
        ended
    }

    fn has_ended(&mut self) -> bool {
        !matches!(self.ended(), Ok(None))
    }

    /// Until it is ready, or has ended.
    fn wait(&mut self, awaited: &str, limit: Duration, is_ready: impl Fn(&Running) -> bool) -> Result<(), ShellError> {
        let until = Instant::now() + limit;
        while !self.has_ended() && !is_ready(self) {
            if Instant::now() >= until {
                let (host, command, said) = (self.shell.host.clone(), self.command.clone(), self.output());
                return Err(ShellError::Slow { host, command, awaited: awaited.to_owned(), limit, said });
            }
            thread::sleep(LOOK_EVERY);
        }
        Ok(())
    }

    fn failed(&self, status: ExitStatus) -> ShellError {
        let said = self.errors.whole() + &self.output.whole();
        self.shell.failed(&self.command, status, said.trim().to_owned())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if !self.has_ended() {
            // There is nobody left to tell.
            let _: Result<(), ShellError> = self.end();
        }
    }
}

/// What a command writes to one of its outputs, as a thread hears it.
#[derive(Clone, Debug, Default)]
struct Heard(Arc<Mutex<Text>>);

#[derive(Debug, Default)]
struct Text {
    bytes: Vec<u8>,
    is_over: bool,
}

impl Heard {
    fn of(mut pipe: impl Read + Send + 'static) -> Heard {
        let heard = Heard::default();
        let text = heard.0.clone();
        thread::spawn(move || {
            let mut some = [0; 8192];
            loop {
                let length = pipe.read(&mut some).unwrap_or(0);
                let mut text = text.lock().unwrap_or_else(PoisonError::into_inner);
                text.bytes.extend(&some[..length]);
                let surplus = text.bytes.len().saturating_sub(OUTPUT_MAX);
                text.bytes.drain(..surplus);
                text.is_over = length == 0;
                if text.is_over {
                    return;
                }
            }
        });
        heard
    }

    fn now(&self) -> String {
        String::from_utf8_lossy(&self.0.lock().unwrap_or_else(PoisonError::into_inner).bytes).into_owned()
    }

    /// All of a command that has ended. What it started may have got away from its session and keep the pipe open, so this
    /// does not wait for long.
    fn whole(&self) -> String {
        let until = Instant::now() + Duration::from_secs(1);
        let is_over = || self.0.lock().unwrap_or_else(PoisonError::into_inner).is_over;
        while !is_over() && Instant::now() < until {
            thread::sleep(LOOK_EVERY);
        }
        self.now()
    }
}
