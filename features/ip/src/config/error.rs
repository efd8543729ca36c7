//! Errors of the room.

use quiver_control::ObjectError;
use quiver_engine::DataplaneError;

use crate::fib::FibError;
use crate::fib::kind::KindError;

/// Why the room cannot be registered.
#[derive(Debug, thiserror::Error)]
pub enum IpError {
    /// The data plane refuses a node.
    #[error(transparent)]
    Dataplane(#[from] DataplaneError),
    /// The default table cannot be made.
    #[error("IP table 0: {0}")]
    Fib(#[from] FibError),
    /// The table of neighbours without routes cannot be made.
    #[error("neighbours on links: {0}")]
    Near(#[from] quiver_table::ExactError),
    /// A kind of next hop is refused.
    #[error(transparent)]
    Kind(#[from] KindError),
}

/// An error of the FIB as that of the object that was being applied.
pub(super) fn refused(error: FibError) -> ObjectError {
    ObjectError::whole(error.to_string())
}
