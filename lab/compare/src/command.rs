//! Builds and measurements as commands of the user's.

use std::path::Path;
use std::process::{Command, Stdio};

use quiver_stop::{Stop, StopTarget, output_of};

/// The program that starts a command (setpriv of util-linux). The command dies with this program, and is a session of
/// its own, so all of its processes can be ended. A command that asks on the terminal gets an error; in the background
/// it would hang.
const STARTER: &str = "setpriv";
const BY: [&str; 6] = ["--pdeathsig", "KILL", "--", "setsid", "sh", "-c"];

/// A line for `sh -c`.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(transparent)]
pub struct Script(pub String);

/// A command that did not do what it should.
#[derive(Debug, thiserror::Error)]
pub enum CommandError {
    /// It was not started.
    #[error("`{script}` cannot be started: {error}")]
    Start {
        /// The command.
        script: String,
        /// The error.
        error: std::io::Error,
    },
    /// It failed.
    #[error("`{script}` ended with {status}: {said}")]
    Failed {
        /// The command.
        script: String,
        /// Its exit status.
        status: std::process::ExitStatus,
        /// The end of what it said.
        said: String,
    },
    /// The user has ended it.
    #[error("`{script}` was interrupted")]
    Interrupted {
        /// The command.
        script: String,
    },
    /// It does not say a number.
    #[error("`{script}` says '{said}' last: the last line must be a number above zero, such as packets per second")]
    NoNumber {
        /// The command.
        script: String,
        /// The last line of its output.
        said: String,
    },
}

impl Script {
    /// Runs it in a folder, with one variable more, and returns what it writes to standard output. It is a session of its
    /// own, with whatever it starts, all of which ends when it is to stop.
    ///
    /// # Errors
    /// It cannot be started, fails, or is interrupted.
    pub fn run(&self, folder: &Path, variable: (&str, &Path), stop: &Stop) -> Result<String, CommandError> {
        let script = self.0.clone();
        if stop.is_set() {
            return Err(CommandError::Interrupted { script });
        }
        let mut command = Command::new(STARTER);
        command.args(BY).arg(&self.0).current_dir(folder).env(variable.0, variable.1).stdin(Stdio::null());
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let output = command.spawn().and_then(|child| output_of(child, StopTarget::Group, stop));
        let output = output.map_err(|error| CommandError::Start { script: script.clone(), error })?;
        if stop.is_set() {
            return Err(CommandError::Interrupted { script });
        }
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        if output.status.success() {
            return Ok(text);
        }
        let errors = String::from_utf8_lossy(&output.stderr);
        let said: Vec<&str> = errors.lines().chain(text.lines()).filter(|line| !line.trim().is_empty()).collect();
        let said = said[said.len().saturating_sub(5)..].join("\n");
        Err(CommandError::Failed { script, status: output.status, said })
    }

    /// Runs it, and reads the number in its last line.
    ///
    /// # Errors
    /// As of [`Script::run`]; or it says no number above zero.
    pub fn measure(&self, folder: &Path, variable: (&str, &Path), stop: &Stop) -> Result<f64, CommandError> {
        let text = self.run(folder, variable, stop)?;
        let said = text.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or_default().trim();
        let number = said.parse().ok().filter(|number: &f64| number.is_finite() && *number > 0.0);
        let said = said.chars().take(64).collect();
        number.ok_or_else(|| CommandError::NoNumber { script: self.0.clone(), said })
    }
}
