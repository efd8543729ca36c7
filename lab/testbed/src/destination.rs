//! The destination of commands: a host, and the way there.

use std::io;
use std::process::ExitStatus;
use std::time::Duration;

use quiver_stop::{Stop, Wait};

use crate::command::{Command, ShellError};
use crate::reach::Reach;

/// A host, and how commands get there.
#[derive(Clone, Debug)]
pub(crate) struct Destination {
    /// The host's name in errors.
    pub host: String,
    pub reach: Reach,
    /// The flag that cuts waits short, except the wait for the end of a stopped command.
    pub stop: Stop,
}

impl Destination {
    /// A wait of so long at most.
    pub fn wait(&self, limit: Duration) -> Wait {
        self.stop.wait(limit)
    }

    pub fn unstarted(&self, command: &Command, error: io::Error) -> ShellError {
        ShellError::Start { host: self.host.clone(), command: command.clone(), error }
    }

    /// The error of a command's exit status. ssh's own status 255 means a lost connection.
    pub fn failed(&self, command: &Command, status: ExitStatus, said: String) -> ShellError {
        let host = self.host.clone();
        match &self.reach {
            Reach::Ssh { target, .. } if status.code() == Some(255) => {
                ShellError::Unreachable { host, target: target.clone(), said }
            }
            _ => ShellError::Failed { host, command: command.clone(), status, said },
        }
    }
}
