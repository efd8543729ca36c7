//! What can go wrong in the demo.

/// Why the demo could not be run, entered or ended.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Namespaces, links or programs.
    #[error(transparent)]
    World(#[from] quiver_netns::Error),
    /// The site could not be built, or a program did not work across it.
    #[error(transparent)]
    Site(#[from] quiver_site::Error),
    /// A path stands but carried nothing.
    #[error("{path}: iperf3 ended, but its server received nothing")]
    NothingReceived {
        /// The path.
        path: String,
    },
    /// No demo of this user was left up.
    #[error("no demo of yours is up: start one with `quiver demo --keep`")]
    NotUp,
    /// None of those that were left up is the one that was asked for.
    #[error("no demo of yours has the id {id}: there is {known}")]
    UnknownId {
        /// What was asked for.
        id: i32,
        /// Those that there are.
        known: String,
    },
    /// More than one was left up.
    #[error("several demos of yours are up: say which by --id {known}")]
    Several {
        /// Their ids.
        known: String,
    },
    /// The demo that is up has no namespace of this name.
    #[error("the demo has no namespace `{name}`: it has {known}")]
    UnknownNamespace {
        /// What was asked for.
        name: String,
        /// What there is.
        known: String,
    },
    /// A program's report has not the expected form.
    #[error("the report of {program} is not understood: {report}")]
    Unreadable {
        /// Whose report.
        program: &'static str,
        /// What it says.
        report: String,
    },
}
