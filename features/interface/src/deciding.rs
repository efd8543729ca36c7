//! What decides at a node: rooms say so of their nodes, and whoever explains the way of a packet asks here.

use crate::interfaces::{InterfaceId, Interfaces};
use quiver_control::Control;
use quiver_engine::trace::Record;
use quiver_engine::{Dataplane, NodeId};
use std::collections::HashMap;

/// The object of the configuration, or what was learned, by which a node chose the arc of a packet; None where the packet
/// itself decides.
pub type Decider = fn(&Control, &Record) -> Option<String>;

/// Who answers for which node.
#[derive(Default)]
pub(crate) struct Deciders(HashMap<NodeId, Decider>);

/// Lets a function answer for a node, which is registered.
///
/// # Panics
/// If there is no node of this name: a programming error, named.
pub fn decides(control: &Control, node: &'static str, decider: Decider) {
    let found = control.room::<Dataplane>().graph().find(node);
    let id = found.unwrap_or_else(|error| panic!("nobody can decide at `{node}`: {error}"));
    control.room_mut::<Deciders>().0.insert(id, decider);
}

/// What decided what a node did.
pub fn decided_by(control: &Control, record: &Record) -> Option<String> {
    let decider = control.room::<Deciders>().0.get(&record.node).copied()?;
    decider(control, record)
}

/// The interface that received the packet.
pub fn receiver(control: &Control, record: &Record) -> Option<String> {
    Some(named(control, record.rx))
}

/// The interface that is to send it.
pub fn sender(control: &Control, record: &Record) -> Option<String> {
    Some(named(control, record.tx))
}

fn named(control: &Control, interface: u16) -> String {
    format!("interface {}", control.room::<Interfaces>().name(InterfaceId(interface)))
}
