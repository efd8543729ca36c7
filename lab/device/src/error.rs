//! Errors of a device.

use std::io;
use std::path::PathBuf;

use crate::Job;

/// A device's failure. The text ends with the device's last output.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A program, a namespace: it did not start, or ended.
    #[error(transparent)]
    Program(#[from] quiver_netns::Error),
    /// A host of a testbed: it is not reached, or a command fails there.
    #[error(transparent)]
    Shell(Box<quiver_testbed::ShellError>),
    /// A host of a testbed on which no device can be measured.
    #[error("{host}: {what}; {remedy}")]
    Site {
        /// The host.
        host: String,
        /// The fault.
        what: String,
        /// The remedy.
        remedy: String,
    },
    /// The device's program is not there.
    #[error("there is no program {program}: {remedy}")]
    Missing {
        /// The program.
        program: String,
        /// Where it comes from.
        remedy: String,
    },
    /// The device's program has not all of its parts.
    #[error("{device} has no plugin {plugin}: {remedy}")]
    NoPlugin {
        /// The device.
        device: &'static str,
        /// Name of the missing plugin.
        plugin: &'static str,
        /// Where that comes from.
        remedy: String,
    },
    /// A file of the run.
    #[error("{}: {error}", path.display())]
    File {
        /// The path.
        path: PathBuf,
        /// The system's error.
        error: io::Error,
    },
    /// The device has ended by itself.
    #[error("{device} has ended ({status}); the last that it said: {said}")]
    Ended {
        /// The device.
        device: &'static str,
        /// Its exit status.
        status: std::process::ExitStatus,
        /// The end of its output.
        said: String,
    },
    /// The device runs and cannot be talked to.
    #[error("{device} does not answer `{command}`: {error}; the last that it said: {said}")]
    Silent {
        /// The device.
        device: &'static str,
        /// The command.
        command: String,
        /// The system's error.
        error: io::Error,
        /// The end of its output.
        said: String,
    },
    /// The device refuses a command.
    #[error("{device} refuses `{command}`: {answer}")]
    Refused {
        /// The device.
        device: &'static str,
        /// The command.
        command: String,
        /// Its answer.
        answer: String,
    },
    /// An answer that its driver does not understand.
    #[error("{device} answers `{command}` without {lacking}: {answer}")]
    Foreign {
        /// The device.
        device: &'static str,
        /// The command.
        command: String,
        /// The missing part of the answer.
        lacking: String,
        /// Its answer.
        answer: String,
    },
    /// The device does not get there in time.
    #[error("{device}: {awaited} was waited for {seconds} s in vain; it says: {said}")]
    NotReady {
        /// The device.
        device: &'static str,
        /// The awaited event.
        awaited: String,
        /// The limit, in seconds.
        seconds: u64,
        /// Its answer, or the end of its output.
        said: String,
    },
    /// A job that the device cannot do.
    #[error("{case}: {what} is not possible: {remedy}")]
    Impossible {
        /// The case's name.
        case: String,
        /// The unsupported request.
        what: String,
        /// The remedy.
        remedy: String,
    },
}

impl From<quiver_testbed::ShellError> for Error {
    fn from(error: quiver_testbed::ShellError) -> Error {
        Error::Shell(Box::new(error))
    }
}

impl Error {
    /// The device cannot do `what`, which `job` asks for.
    pub(crate) fn impossible(job: &Job<'_>, what: impl Into<String>, remedy: impl Into<String>) -> Error {
        Error::Impossible { case: job.case.name(), what: what.into(), remedy: remedy.into() }
    }

    /// Adds the path to a system's error.
    pub(crate) fn file(path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Error {
        let path = path.into();
        move |error| Error::File { path, error }
    }
}
