//! Why a case has no result.

/// Why a case has no result.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The generator.
    #[error(transparent)]
    Generator(#[from] quiver_generator::Error),
    /// The device under test.
    #[error(transparent)]
    Device(#[from] quiver_device::Error),
    /// A device on a host of a testbed.
    #[error("{host}: {error}")]
    There {
        /// The host.
        host: String,
        /// The device's error.
        error: Box<quiver_device::Error>,
    },
    /// The search ends without an answer, or was set up wrongly.
    #[error(transparent)]
    Search(#[from] quiver_search::Error),
    /// Namespaces and interfaces between them.
    #[error(transparent)]
    Place(#[from] quiver_netns::Error),
    /// The user ended the run by a signal.
    #[error("interrupted: bounds and trials up to here are kept")]
    Interrupted,
    /// A folder of the run.
    #[error("a folder for sockets: {0}; set TMPDIR to a place for them")]
    Folder(#[from] std::io::Error),
    /// The machine cannot run the case, and why not.
    #[error("{0}")]
    Lacking(String),
    /// A number that a document cannot hold.
    #[error("a figure of the result: {0}")]
    Figure(#[from] quiver_result::NotAnAmount),
    /// The clock is far off.
    #[error("the machine's clock: {0}")]
    Clock(#[from] quiver_result::TimeError),
    /// There is nothing to compare loads with.
    #[error("{0}")]
    Nothing(&'static str),
}
