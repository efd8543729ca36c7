//! Messages from workers to control: failed nodes and raised events.

use quiver_engine::channel::Outbox;
use quiver_plugin_abi::EVENT_BYTES;

/// A node that failed.
#[derive(Clone, Debug)]
pub(crate) struct Failure {
    pub plugin: usize,
    pub node: usize,
    pub worker: usize,
    pub what: String,
}

/// An event that a node raised.
pub(crate) struct Raised {
    pub plugin: usize,
    pub event: usize,
    pub fields: [u8; EVENT_BYTES],
    pub length: usize,
}

/// Messages from workers to control. A flood of events leaves room for failures.
#[derive(Clone)]
pub(crate) struct Channels {
    pub failures: Outbox<Failure>,
    pub raised: Outbox<Raised>,
}
