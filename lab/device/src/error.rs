//! Why a device does not do what it should.

use std::io;
use std::path::PathBuf;

use crate::Job;

/// What went wrong with which device. What devices said last is in the text.
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
        /// Which.
        host: String,
        /// What is wrong there.
        what: String,
        /// What would be right.
        remedy: String,
    },
    /// The device's program is not there.
    #[error("there is no program {program}: {remedy}")]
    Missing {
        /// Which.
        program: String,
        /// Where it comes from.
        remedy: String,
    },
    /// The device's program has not all of its parts.
    #[error("{device} has no plugin {plugin}: {remedy}")]
    NoPlugin {
        /// Which.
        device: &'static str,
        /// What it lacks.
        plugin: &'static str,
        /// Where that comes from.
        remedy: String,
    },
    /// A file of the run.
    #[error("{}: {error}", path.display())]
    File {
        /// Which.
        path: PathBuf,
        /// What the system says.
        error: io::Error,
    },
    /// The device has ended by itself.
    #[error("{device} has ended ({status}); the last that it said: {said}")]
    Ended {
        /// Which.
        device: &'static str,
        /// How.
        status: std::process::ExitStatus,
        /// The end of its output.
        said: String,
    },
    /// The device runs and cannot be talked to.
    #[error("{device} does not answer `{command}`: {error}; the last that it said: {said}")]
    Silent {
        /// Which.
        device: &'static str,
        /// What it was asked.
        command: String,
        /// What the system says.
        error: io::Error,
        /// The end of its output.
        said: String,
    },
    /// The device refuses a command.
    #[error("{device} refuses `{command}`: {answer}")]
    Refused {
        /// Which.
        device: &'static str,
        /// As it was given.
        command: String,
        /// Its answer.
        answer: String,
    },
    /// An answer that its driver does not understand.
    #[error("{device} answers `{command}` without {lacking}: {answer}")]
    Foreign {
        /// Which.
        device: &'static str,
        /// What it was asked.
        command: String,
        /// What is not there.
        lacking: String,
        /// Its answer.
        answer: String,
    },
    /// The device does not get there in time.
    #[error("{device}: {awaited} was waited for {seconds} s in vain; it says: {said}")]
    NotReady {
        /// Which.
        device: &'static str,
        /// What was waited for.
        awaited: String,
        /// How long.
        seconds: u64,
        /// Its answer, or the end of its output.
        said: String,
    },
    /// A job that the device cannot do.
    #[error("{case}: {what} is not possible: {remedy}")]
    Impossible {
        /// The case's name.
        case: String,
        /// What is asked for.
        what: String,
        /// What would be right.
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

    /// Wraps what the system says about a file.
    pub(crate) fn file(path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Error {
        let path = path.into();
        move |error| Error::File { path, error }
    }
}
