//! The state of the room: interfaces, streams and captures.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;

use quiver_control::Control;
use quiver_engine::QueueId;
use quiver_engine::channel::{Doorbell, Outbox, channel};
use quiver_engine::graph::NodeId;
use quiver_interface::InterfaceId;
use quiver_wire::MacAddress;

use crate::capture::{Captures, Sent};
use crate::interface::PgMode;
use crate::offload::Offloads;
use crate::running::Running;

/// Copies of sent packets that wait for control at most.
const COPIES_MAX: usize = 16_384;
/// The state of the room.
pub struct PacketGenerators {
    pub(crate) input: NodeId,
    pub(crate) ports: BTreeMap<String, Port>,
    pub(crate) to_control: Outbox<Sent>,
    pub(crate) captures: Captures,
    pub(crate) streams: Running,
    pub(crate) bell: Doorbell,
}

/// Control's state of an interface.
pub(crate) struct Port {
    pub id: InterfaceId,
    pub mode: PgMode,
    /// Its address when it was made.
    pub mac: MacAddress,
    /// Its offloads.
    pub offloads: Offloads,
    pub queue: QueueId,
    /// Whether copies of what it sends go to control.
    pub capturing: Arc<AtomicBool>,
}

impl PacketGenerators {
    pub(crate) fn new(input: NodeId, bell: &Doorbell) -> PacketGenerators {
        let (to_control, from_workers) = channel(COPIES_MAX, bell);
        let (captures, streams) = (Captures::new(from_workers), Running::default());
        PacketGenerators { input, ports: BTreeMap::new(), to_control, captures, streams, bell: bell.clone() }
    }
}

/// Takes copies off the workers' queue. True if there are more by now.
pub(crate) fn collect(control: &Control) -> bool {
    let mut room = control.room_mut::<PacketGenerators>();
    let has_more = room.captures.drain();
    if !room.captures.all() {
        // Whoever has enough copies is not to pay for more.
        for name in room.captures.full() {
            room.ports.get(&name).into_iter().for_each(|port| port.capturing.store(false, Relaxed));
        }
    }
    has_more
}
