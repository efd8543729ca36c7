//! The state of the room.

use std::collections::BTreeMap;
use std::sync::Arc;

use quiver_engine::QueueId;
use quiver_engine::graph::NodeId;
use quiver_interface::InterfaceId;

use crate::run::Run;

/// All generators.
pub(crate) struct ConnectionGenerators {
    pub input: NodeId,
    pub ports: BTreeMap<String, Port>,
}

/// Control's state of an interface.
pub(crate) struct Port {
    pub id: InterfaceId,
    pub queue: QueueId,
    /// The run of its connections.
    pub run: Option<Arc<Run>>,
}
