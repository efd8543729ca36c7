//! Why a generator does not start, or a trial has no result.

use std::io;
use std::path::PathBuf;
use std::process::ExitStatus;

/// A failure of the generator.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// There is no such program, or it may not be run.
    #[error("{program}: cannot be started: {error}")]
    Start {
        /// Its path.
        program: PathBuf,
        /// The system's error.
        error: io::Error,
    },
    /// A file of the run.
    #[error("{path}: {error}")]
    File {
        /// The path.
        path: PathBuf,
        /// The system's error.
        error: io::Error,
    },
    /// The process is gone.
    #[error("{name} has ended ({status}); the last that it said: {said}")]
    Ended {
        /// The daemon's name in this run: `the generator`.
        name: String,
        /// Its exit status.
        status: ExitStatus,
        /// The end of its log.
        said: String,
    },
    /// The process runs, and its socket is gone or silent.
    #[error("{name} does not answer at {socket}: {error}")]
    Silent {
        /// The daemon's name in this run.
        name: String,
        /// Its socket.
        socket: PathBuf,
        /// The system's error.
        error: io::Error,
    },
    /// A command was refused.
    #[error("{name} refuses `{command}`: {what}")]
    Refused {
        /// The daemon's name in this run.
        name: String,
        /// The command.
        command: String,
        /// Its answer.
        what: String,
    },
    /// An answer in a form that this version does not know.
    #[error("{name} answers `{command}` without {field}: is it a quiverd of this version?")]
    Foreign {
        /// The daemon's name in this run.
        name: String,
        /// The command.
        command: String,
        /// The missing field.
        field: &'static str,
    },
    /// It took too long.
    #[error("{name}: {awaited} was waited for {seconds} s in vain")]
    NotReady {
        /// The daemon's name in this run.
        name: String,
        /// The awaited event.
        awaited: String,
        /// For how long.
        seconds: u64,
    },
}
