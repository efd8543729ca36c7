//! Commands on a host: on this machine or by ssh, in the same way.
//!
//! Each command is run by a small program of the shell, `guard.sh`, that ends the command and all that it started when its
//! own standard input ends. So nothing stays behind on any host, whether this program stops it, dies, or loses the
//! connection.

use std::fmt;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::{self, Child, ExitStatus, Stdio};
use std::sync::Arc;
use std::time::Duration;

use quiver_stop::{Stop, Wait};

use crate::{Reach, Running};

const GUARD: &str = include_str!("guard.sh");
/// How long a command has for an orderly end.
pub(crate) const GRACE: Duration = Duration::from_secs(3);

/// A program with arguments, to be run on some host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Command(Vec<String>);

/// Runs commands on a host.
#[derive(Clone, Debug)]
pub struct Shell {
    host: String,
    reach: Reach,
    /// The socket of a connection that stays open, by which commands go that need none of their own.
    connection: Option<Arc<PathBuf>>,
    /// Whose flag cuts waits short, but for those until a command that is to end has ended.
    stop: Stop,
}

/// How a command gets to a host behind ssh.
#[derive(Clone, Copy)]
enum Way<'way> {
    /// By the connection that is open, if one is.
    Open,
    /// By one that stays open for others, as this socket.
    Opening(&'way Path),
    /// By one of its own that carries what comes to these sockets here to those there.
    Forwarding(&'way [(PathBuf, String)]),
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
        Shell { host: host.to_owned(), reach: reach.clone(), connection: None, stop: Stop::default() }
    }

    /// What errors call the host.
    pub fn host(&self) -> &str {
        &self.host
    }

    /// Whether it is another machine, or as good as one.
    pub fn is_away(&self) -> bool {
        self.reach != Reach::Here
    }

    /// The same, whose waits are cut short by this flag.
    #[must_use]
    pub fn heeding(&self, stop: &Stop) -> Shell {
        Shell { stop: stop.clone(), ..self.clone() }
    }

    /// A wait of so long at most.
    pub(crate) fn wait(&self, limit: Duration) -> Wait {
        self.stop.wait(limit)
    }

    /// The same by an open connection.
    pub(crate) fn by(&self, connection: &Path) -> Shell {
        Shell { connection: Some(Arc::new(connection.to_owned())), ..self.clone() }
    }

    /// Runs a command to its end.
    ///
    /// # Errors
    /// It cannot be started, fails, or takes longer than the limit.
    pub fn run(&self, command: &Command, limit: Duration) -> Result<Finished, ShellError> {
        self.start(command)?.finish(limit)
    }

    /// Starts a command in the background.
    ///
    /// # Errors
    /// It cannot be started. That ssh does not get there, or that there is no such program, shows later.
    pub fn start(&self, command: &Command) -> Result<Running, ShellError> {
        self.start_by(command, Way::Open)
    }

    /// The same, while what comes to sockets in the file system here is carried to those there, which the command listens at.
    /// Only for a host that is away: elsewhere they are the same.
    ///
    /// # Errors
    /// As of [`Shell::start`].
    pub fn start_forwarding(&self, command: &Command, sockets: &[(PathBuf, String)]) -> Result<Running, ShellError> {
        self.start_by(command, Way::Forwarding(sockets))
    }

    /// The same by a connection that others can go by as long as the command runs.
    pub(crate) fn start_opening(&self, command: &Command, connection: &Path) -> Result<Running, ShellError> {
        self.start_by(command, Way::Opening(connection))
    }

    fn start_by(&self, command: &Command, way: Way<'_>) -> Result<Running, ShellError> {
        let guarded = ["sh", "-c", GUARD, "guard"].into_iter().map(String::from);
        let guarded = guarded.chain([GRACE.as_secs().to_string()]).chain(command.0.iter().cloned());
        let mut child = self.process(&Command(guarded.collect()), way);
        let child = child.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
        Ok(Running::of(self, command, child.map_err(|error| self.unstarted(command, error))?))
    }

    /// Writes a file on the host, over an older one.
    ///
    /// # Errors
    /// It cannot be written, or the host not be reached.
    pub fn write(&self, path: &str, contents: &[u8]) -> Result<(), ShellError> {
        let command = Command::new("sh").args(["-c", "cat >\"$1\"", "write", path]);
        let failed = |error| self.unstarted(&command, error);
        let mut process = self.process(&command, Way::Open);
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

    /// A shell on the host that takes commands from its standard input, and ends with that. Its errors go where its output does.
    pub(crate) fn listening(&self) -> Result<Child, ShellError> {
        let command = Command::new("sh").args(["-c", "exec sh 2>&1"]);
        let mut process = self.process(&command, Way::Open);
        let child = process.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn();
        child.map_err(|error| self.unstarted(&command, error))
    }

    pub(crate) fn unstarted(&self, command: &Command, error: io::Error) -> ShellError {
        ShellError::Start { host: self.host.clone(), command: command.clone(), error }
    }

    /// What ssh itself ends with is not the command's end.
    pub(crate) fn failed(&self, command: &Command, status: ExitStatus, said: String) -> ShellError {
        let host = self.host.clone();
        match &self.reach {
            Reach::Ssh { target, .. } if status.code() == Some(255) => {
                ShellError::Unreachable { host, target: target.clone(), said }
            }
            _ => ShellError::Failed { host, command: command.clone(), status, said },
        }
    }

    /// The process on this machine that runs a command on the host.
    fn process(&self, command: &Command, way: Way<'_>) -> process::Command {
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
        match (way, &self.connection) {
            // Where it has gone meanwhile, ssh makes another one.
            (Way::Open, Some(connection)) => {
                process.args(["-o", "ControlMaster=no", "-o"]).arg(format!("ControlPath={}", connection.display()));
            }
            (Way::Open, None) => {}
            (Way::Opening(connection), _) => {
                process.args(["-o", "ControlMaster=yes", "-o"]).arg(format!("ControlPath={}", connection.display()));
                process.args(["-o", "ControlPersist=no"]);
            }
            (Way::Forwarding(sockets), _) => {
                // Who asks before the other socket is there is not what is to be told.
                for option in ["ControlPath=none", "ExitOnForwardFailure=yes", "LogLevel=ERROR"] {
                    process.args(["-o", option]);
                }
                for (here, there) in sockets {
                    process.arg("-L").arg(format!("{}:{there}", here.display()));
                }
            }
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
