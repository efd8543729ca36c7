//! A command, and how it ends.

use std::fmt;
use std::io;
use std::path::Path;
use std::process::ExitStatus;
use std::time::Duration;

/// A program with arguments, to be run on some host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Command(pub(crate) Vec<String>);

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

/// Formats the command as a shell reads it.
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

/// A command that ended well.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finished {
    /// Standard output.
    pub output: String,
    /// Standard error.
    pub errors: String,
}

/// A command that could not be run, or failed.
#[derive(Debug, thiserror::Error)]
pub enum ShellError {
    /// Nothing was started.
    #[error("{host}: `{command}` cannot be started: {error}")]
    Start {
        /// The host.
        host: String,
        /// The command.
        command: Command,
        /// The error.
        error: io::Error,
    },
    /// ssh did not get there, or lost the connection.
    #[error("{host} cannot be reached by ssh: {said}; try `ssh {target} true`")]
    Unreachable {
        /// The host.
        host: String,
        /// ssh's name of the host.
        target: String,
        /// ssh's error output.
        said: String,
    },
    /// It ended with an error.
    #[error("{host}: `{command}` ended with {status}: {said}")]
    Failed {
        /// The host.
        host: String,
        /// The command.
        command: Command,
        /// Its exit status.
        status: ExitStatus,
        /// Its output.
        said: String,
    },
    /// It took too long, and was stopped.
    #[error("{host}: `{command}` was not {awaited} within {} s: {said}", limit.as_secs_f64())]
    Slow {
        /// The host.
        host: String,
        /// The command.
        command: Command,
        /// The awaited event.
        awaited: String,
        /// The limit.
        limit: Duration,
        /// Its output.
        said: String,
    },
}
