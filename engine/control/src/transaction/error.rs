//! Why a change of the whole configuration was refused.

use std::io;

use super::Author;
use crate::cli::CommandError;
use crate::config::ConfigError;
use crate::object::ObjectError;

/// Why a change of the whole configuration was refused. The running configuration is unchanged.
#[derive(Debug, thiserror::Error)]
pub enum TransactionError {
    /// Another author is changing the configuration.
    #[error("{by} is changing the configuration ({what}); try again when that is done")]
    Held {
        /// Author of that change.
        by: Author,
        /// The change in progress, with its step.
        what: String,
    },
    /// The last applied configuration may still be taken back.
    #[error(
        "what {by} has done ({what}) is taken back in {seconds} s unless it is confirmed; before anything else is \
        changed, keep it with `quiver confirm` or take it back with `quiver rollback 1`"
    )]
    Unconfirmed {
        /// Author of that change.
        by: Author,
        /// Name of that change.
        what: String,
        /// Seconds left to confirm it.
        seconds: u64,
    },
    /// The configuration is wrong, or a step of the change failed and those before it were undone.
    #[error("{}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))]
    Refused(Vec<ConfigError>),
    /// The file has no objects, so that all that runs would go.
    #[error(
        "{file} has no objects: {objects} that run would be removed, and nothing was changed; allow it with \
        --allow-empty, or add a file's objects to what runs with --merge"
    )]
    Empty {
        /// The file.
        file: String,
        /// Number of running objects.
        objects: usize,
    },
    /// The history cannot be kept or read.
    #[error(
        "the history of the configuration cannot be kept, so nothing was changed: {0}; make room, or mend the disk"
    )]
    History(#[from] io::Error),
    /// There are not so many versions.
    #[error("there is no version {asked} back; `quiver history` lists those that there are, from 0 to {last}")]
    NoVersion {
        /// Requested version, counted back from the newest.
        asked: usize,
        /// Index of the oldest version.
        last: usize,
    },
    /// There is no history at all.
    #[error("there is no saved configuration yet: `quiver apply FILE` and `quiver save` make one")]
    NoHistory,
    /// Nothing waits to be confirmed.
    #[error("nothing waits to be confirmed; `quiver history` says what became of it")]
    NothingUnconfirmed,
    /// Nothing was planned.
    #[error("there is no candidate: `quiver plan FILE` makes one, and `quiver apply FILE` needs none")]
    NoCandidate,
    /// Another author planned the candidate.
    #[error("the candidate is {by}'s ({file}): plan your own with `quiver plan FILE`")]
    OthersCandidate {
        /// Author of the candidate.
        by: Author,
        /// File of the candidate.
        file: String,
    },
    /// The running configuration has changed since the plan.
    #[error("what runs has changed since {file} was planned: plan it again with `quiver plan {file}`")]
    StaleCandidate {
        /// File that was planned.
        file: String,
    },
    /// The time to confirm is too long or too short.
    #[error("{0} s is no time to confirm in: give 1 to 86400")]
    ConfirmTime(u32),
    /// The client left before anything was changed.
    #[error("the client that asked for it has left, so nothing was changed")]
    Abandoned,
    /// The change was never finished.
    #[error("this failed inside quiverd, whose log says why; `quiver diff` says what runs now")]
    Failed,
}

impl From<Vec<ConfigError>> for TransactionError {
    fn from(errors: Vec<ConfigError>) -> TransactionError {
        TransactionError::Refused(errors)
    }
}

impl From<TransactionError> for ObjectError {
    fn from(error: TransactionError) -> ObjectError {
        ObjectError::whole(error.to_string())
    }
}

impl From<TransactionError> for CommandError {
    fn from(error: TransactionError) -> CommandError {
        CommandError::new(error.to_string())
    }
}
