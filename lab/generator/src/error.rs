//! Why a generator does not start, or a trial has no result.

use std::io;
use std::path::PathBuf;
use std::process::ExitStatus;

/// What went wrong, with the daemon that it went wrong with.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// There is no such program, or it may not be run.
    #[error("{program}: cannot be started: {error}")]
    Start {
        /// Its path.
        program: PathBuf,
        /// What the system says.
        error: io::Error,
    },
    /// A file of the run.
    #[error("{path}: {error}")]
    File {
        /// Which.
        path: PathBuf,
        /// What the system says.
        error: io::Error,
    },
    /// The process is gone.
    #[error("{name} has ended ({status}); the last that it said: {said}")]
    Ended {
        /// What it is in this run: `the generator`.
        name: String,
        /// How.
        status: ExitStatus,
        /// The end of its log.
        said: String,
    },
    /// The process runs, and its socket is gone or silent.
    #[error("{name} does not answer at {socket}: {error}")]
    Silent {
        /// What it is in this run.
        name: String,
        /// Its socket.
        socket: PathBuf,
        /// What the system says.
        error: io::Error,
    },
    /// A command was refused.
    #[error("{name} refuses `{command}`: {what}")]
    Refused {
        /// What it is in this run.
        name: String,
        /// As it was typed.
        command: String,
        /// Its answer.
        what: String,
    },
    /// An answer that is not what this version says.
    #[error("{name} answers `{command}` without {field}: is it a quiverd of this version?")]
    Foreign {
        /// What it is in this run.
        name: String,
        /// As it was typed.
        command: String,
        /// What is missing.
        field: &'static str,
    },
    /// It took too long.
    #[error("{name}: {awaited} was waited for {seconds} s in vain")]
    NotReady {
        /// What it is in this run.
        name: String,
        /// What was waited for.
        awaited: String,
        /// For how long.
        seconds: u64,
    },
}
