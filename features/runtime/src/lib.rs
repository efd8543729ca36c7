//! State of the engine on the command line: nodes, chains, drops, workers, trace, captures.
#![forbid(unsafe_code)]

mod api;
mod calls;
mod capture;
mod capture_command;
mod capture_format;
mod chain;
mod clock;
mod dispatch;
mod drops;
pub mod files;
mod graph;
mod graph_svg;
pub mod health;
pub mod log;
pub mod memory;
mod node;
mod punt;
mod tables;
mod trace;
mod turns;
mod version;
mod workers;

use files::{CaptureFiles, MemoryFiles};
use quiver_control::{Control, Time};
use quiver_engine::{DataplaneError, NodeId};
use quiver_interface::{InterfaceId, Interfaces};
use std::collections::HashMap;
use std::rc::Rc;

/// State of the room: the values of counters when they were last cleared, and captures.
pub struct Runtime {
    /// (node, worker) to (calls, packets, clocks).
    cleared: HashMap<(NodeId, usize), [u64; 3]>,
    /// The workers' counters at that time, and the time.
    workers: Vec<calls::Cleared>,
    cleared_at: Time,
    /// (node, arc) to packets.
    errors_cleared: HashMap<(NodeId, usize), u64>,
    /// The same for interface remarks.
    remarks_cleared: HashMap<(String, &'static str), u64>,
    captures: Vec<capture::Begun>,
    log: log::Log,
    /// Where captures are written.
    files: Rc<dyn CaptureFiles>,
    /// Functions that read the host's memory.
    memory: Option<memory::ReadMemory>,
}

/// Registers the room.
pub fn register(control: &Control) -> Result<(), DataplaneError> {
    control.insert_room(Runtime {
        cleared: HashMap::new(),
        workers: vec![],
        cleared_at: control.now(),
        errors_cleared: HashMap::new(),
        remarks_cleared: HashMap::new(),
        captures: vec![],
        log: log::Log::default(),
        files: Rc::new(MemoryFiles::default()),
        memory: None,
    });
    calls::register(control);
    chain::register(control);
    drops::register(control);
    version::register(control);
    memory::register(control);
    workers::register(control);
    health::register(control);
    graph::register(control);
    graph_svg::register(control);
    node::register(control);
    trace::register(control);
    capture_command::register(control);
    punt::register(control);
    log::register(control);
    clock::register(control);
    tables::register(control);
    turns::register(control);
    api::register(control);
    Ok(())
}

/// Lets captures be written there from now on; without a host that says so, they end with the daemon.
pub fn capture_to(control: &Control, files: Rc<dyn CaptureFiles>) {
    control.room_mut::<Runtime>().files = files;
}

/// Has `show memory` look at memory so from now on.
pub fn read_memory(control: &Control, read: memory::ReadMemory) {
    control.room_mut::<Runtime>().memory = Some(read);
}

/// Has `show log` show these lines from now on, of which `set` says what is among them.
pub fn show_lines(control: &Control, lines: log::Lines, set: log::SetLevels) {
    control.room_mut::<Runtime>().log = log::Log::new(lines, set);
}

/// The name of an interface, for people.
fn interface_name(control: &Control, id: u32) -> String {
    control.room::<Interfaces>().name(InterfaceId(id))
}
