//! Errors of the demo.

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
    /// No demo that is up has the requested id.
    #[error("no demo of yours has the id {id}: there is {known}")]
    UnknownId {
        /// Requested id.
        id: i32,
        /// Ids of demos that are up.
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
        /// Requested name.
        name: String,
        /// Existing namespaces.
        known: String,
    },
    /// A program's report has not the expected form.
    #[error("the report of {program} is not understood: {report}")]
    Unreadable {
        /// Program that wrote it.
        program: &'static str,
        /// Its text.
        report: String,
    },
}
