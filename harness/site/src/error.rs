//! Errors of a site.

use std::net::Ipv4Addr;

use crate::Join;

/// Why a site could not be built or a program did not do its work across it.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Namespaces, links or programs.
    #[error(transparent)]
    World(#[from] quiver_netns::Error),
    /// One of Quiver's own programs is not built.
    #[error("`{program}` is not beside {beside}: run `cargo build -p {program}`")]
    NotBuilt {
        /// The program.
        program: &'static str,
        /// Where it was looked for.
        beside: String,
    },
    /// Packets do not cross the site.
    #[error("{join}: no packet came back from {address}: {source}{daemon}")]
    Unreachable {
        /// Connection that should carry them.
        join: Join,
        /// The server's address.
        address: Ipv4Addr,
        /// Error of the last attempt.
        source: Box<Error>,
        /// Output of quiverd, if it should carry them.
        daemon: String,
    },
    /// A program's report has not the expected form.
    #[error("the report of {program} is not understood: {report}")]
    Unreadable {
        /// Program that wrote the report.
        program: &'static str,
        /// Its text.
        report: String,
    },
}

impl Error {
    /// `report` is not what `program` usually says.
    pub(crate) fn unreadable(program: &'static str, report: &str) -> Self {
        Self::Unreadable { program, report: report.trim().to_owned() }
    }
}
