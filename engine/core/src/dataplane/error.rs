//! Errors of the data plane.

use crate::buffer::{MetadataError, PoolError};
use crate::graph::GraphError;

/// Why the data plane refuses.
#[derive(Debug, thiserror::Error)]
pub enum DataplaneError {
    /// The graph.
    #[error(transparent)]
    Graph(#[from] GraphError),
    /// The buffers.
    #[error(transparent)]
    Pool(#[from] PoolError),
    /// The system.
    #[error("the system refused an event channel: {0}")]
    System(#[from] std::io::Error),
    /// The statistics segment.
    #[error("the system refused a memory file of {size} bytes for the statistics: {error}; choose another size")]
    Statistics {
        /// The size that was asked for.
        size: usize,
        /// The system's error.
        error: std::io::Error,
    },
    /// Interfaces with other numbers of transmit queues than workers.
    #[error("interface {interface}: {given} transmit queues for {workers} workers; give one for each worker")]
    Queues {
        /// The interface.
        interface: u32,
        /// Queues given.
        given: usize,
        /// Workers.
        workers: usize,
    },
    /// Metadata of packets.
    #[error(transparent)]
    Metadata(#[from] MetadataError),
}
