//! Errors outside packets: missing rights, missing programs, failing commands.

use std::io;

/// Why a namespace, a link or a program could not be made. Every text says what to do where something can be done.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Neither root's rights nor an unprivileged user namespace can be had.
    #[error("this machine gives no right to make network namespaces: {remedy}")]
    Forbidden {
        /// Remedy that gives the right.
        remedy: String,
    },
    /// Programs of other packages are not installed.
    #[error(
        "programs are missing, or others of the same name are in their place: let root run `apt-get install {packages}`"
    )]
    Missing {
        /// The Debian packages that hold them, as `apt-get` takes them.
        packages: String,
    },
    /// A program could not be started.
    #[error("`{command}` could not be started: {source}")]
    Start {
        /// The whole command line.
        command: String,
        /// Error of the system.
        source: io::Error,
    },
    /// A program ended with a failure.
    #[error("`{command}` failed ({status}): {output}")]
    Failed {
        /// The whole command line.
        command: String,
        /// Its exit status.
        status: std::process::ExitStatus,
        /// Its output.
        output: String,
    },
    /// A program did not get ready.
    #[error("`{command}` did not say \"{awaited}\" within {seconds} s: {output}")]
    NotReady {
        /// The whole command line.
        command: String,
        /// The text that it should have said.
        awaited: String,
        /// Time limit.
        seconds: u64,
        /// Its output.
        output: String,
    },
    /// A system call failed.
    #[error("{action}: {source}")]
    System {
        /// Attempted action.
        action: String,
        /// Error of the system.
        source: io::Error,
    },
}

impl Error {
    /// Wraps what the system said about `action`.
    pub fn system(action: impl Into<String>, source: impl Into<io::Error>) -> Self {
        Self::System { action: action.into(), source: source.into() }
    }
}
