//! What the engine does, seen from the command line: nodes, drops, workers, fusion, trace, captures.
#![forbid(unsafe_code)]

mod capture;
mod fusion;
mod graph;
mod nodes;
mod punt;
mod trace;
mod workers;

use quiver_control::Control;
use quiver_engine::{DataplaneError, NodeId};
use quiver_interface::{InterfaceId, Interfaces};
use std::collections::HashMap;

/// What the room keeps: the values of counters when they were last cleared, and the running capture.
#[derive(Default)]
pub struct Runtime {
    /// (node, worker) to (calls, packets, clocks).
    cleared: HashMap<(NodeId, usize), [u64; 3]>,
    /// (node, arc) to packets.
    errors_cleared: HashMap<(NodeId, usize), u64>,
    capture: Option<capture::Running>,
}

/// Registers the room.
pub fn register(control: &Control) -> Result<(), DataplaneError> {
    control.insert_room(Runtime::default());
    nodes::register(control);
    workers::register(control);
    fusion::register(control);
    graph::register(control);
    trace::register(control);
    capture::register(control);
    punt::register(control);
    Ok(())
}

/// The name of an interface, for people.
fn interface_name(control: &Control, id: u16) -> String {
    control.room::<Interfaces>().name(InterfaceId(id))
}
