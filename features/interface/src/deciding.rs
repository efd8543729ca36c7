//! Deciders: rooms register for their nodes the object that decides about a packet, and `why` and `drops` ask here. For each
//! drop reason a room names the deciding object, or the reason why there is none.

use crate::interfaces::{InterfaceId, Interfaces};
use quiver_control::Control;
use quiver_engine::trace::Record;
use quiver_engine::{Dataplane, NodeId};
use std::collections::HashMap;
use std::fmt;
use std::rc::Rc;

/// The object of the configuration, or what was learned, by which a node chose the arc of a packet; None where the packet
/// itself decides.
pub type Decider = Rc<dyn Fn(&Control, &Record) -> Option<String>>;

/// Why no object decides that a packet is dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Undecided {
    /// It is the packet: malformed, or nothing that anybody could be told to take.
    Packet,
    /// Something was full: buffers, a queue, a limit of this moment.
    Load,
    /// The decision was made at the node before, which sent the packet here.
    NodeBefore,
}

impl fmt::Display for Undecided {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Undecided::Packet => "the packet itself",
            Undecided::Load => "too much at once",
            Undecided::NodeBefore => "the node before",
        })
    }
}

/// Deciders by node, and the arcs that have none.
#[derive(Default)]
pub(crate) struct Deciders {
    objects: HashMap<NodeId, Decider>,
    undecided: HashMap<(NodeId, u16), Undecided>,
}

/// The node of a name, which is registered.
fn node_of(control: &Control, node: &str) -> NodeId {
    let found = control.room::<Dataplane>().graph().find(node);
    found.unwrap_or_else(|error| panic!("nobody can decide at `{node}`: {error}"))
}

/// Lets a function answer for a node, which is registered.
///
/// # Panics
/// If there is no node of this name: a programming error, named.
pub fn decides(control: &Control, node: &'static str, decider: impl Fn(&Control, &Record) -> Option<String> + 'static) {
    let id = node_of(control, node);
    control.room_mut::<Deciders>().objects.insert(id, Rc::new(decider));
}

/// Says of some arcs of a node, by their names, why no object decides that a packet takes them. Whatever else answers for the
/// node is not asked about them.
///
/// # Panics
/// If there is no node of this name, or no such arc: a programming error, named.
pub fn undecided(control: &Control, node: &'static str, why: Undecided, arcs: &[&str]) {
    let id = node_of(control, node);
    let dataplane = control.room::<Dataplane>();
    let declared = dataplane.graph().arcs(id);
    let mut deciders = control.room_mut::<Deciders>();
    for name in arcs {
        let arc = declared.iter().position(|arc| arc.name == *name);
        let arc = arc.unwrap_or_else(|| panic!("`{node}` has no arc `{name}` that nobody could decide"));
        deciders.undecided.insert((id, arc as u16), why);
    }
}

/// The object that decided at a node.
pub fn decided_by(control: &Control, record: &Record) -> Option<String> {
    let decider = {
        let deciders = control.room::<Deciders>();
        let is_undecided = record.arc.is_some_and(|arc| deciders.undecided.contains_key(&(record.node, arc)));
        deciders.objects.get(&record.node).filter(|_| !is_undecided)?.clone()
    };
    decider(control, record)
}

/// The reason why no object decides that packets take an arc; None where one does, or where no reason is registered.
pub fn why_undecided(control: &Control, node: NodeId, arc: u16) -> Option<Undecided> {
    control.room::<Deciders>().undecided.get(&(node, arc)).copied()
}

/// Whether a node has a decider.
pub fn has_decider(control: &Control, node: NodeId) -> bool {
    control.room::<Deciders>().objects.contains_key(&node)
}

/// The interface that received the packet.
pub fn receiver(control: &Control, record: &Record) -> Option<String> {
    Some(named(control, record.rx))
}

/// The interface that is to send it.
pub fn sender(control: &Control, record: &Record) -> Option<String> {
    Some(named(control, record.tx))
}

fn named(control: &Control, interface: u32) -> String {
    format!("interface {}", control.room::<Interfaces>().name(InterfaceId(interface)))
}
