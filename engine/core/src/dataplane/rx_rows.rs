//! The counters of a receive queue on one worker.

use crate::counters::{Counter, Row};
use crate::graph::NodeCounters;
use std::sync::Arc;

/// The rows of a worker in which a receive queue counts.
#[derive(Clone)]
pub(crate) struct RxRows {
    pub rx: Arc<Row>,
    pub queue: Arc<Row>,
    /// Packets that are lost for a reason that has a counter of its own, by its arc.
    pub(super) apart: [(Option<u16>, Arc<Row<Counter>>); 2],
    pub(super) errors: Arc<Row<Counter>>,
}

impl RxRows {
    /// Counts packets of an interface that came by the queue, and by the node that stands for it.
    pub fn received(&self, interface: u32, node: &NodeCounters, packets: u64, bytes: u64) {
        self.rx.add(interface, packets, bytes);
        self.queue.add(interface, packets, bytes);
        node.calls.add(1);
        node.packets.add(packets);
    }
    /// Counts packets that were lost for a reason, which is an arc of the node that stands for the queue.
    pub fn lost(&self, interface: u32, reason: u16, packets: u64) {
        let apart = self.apart.iter().find(|(arc, _)| *arc == Some(reason));
        apart.map_or(&self.errors, |(_, row)| row).add(interface, packets);
    }
}
