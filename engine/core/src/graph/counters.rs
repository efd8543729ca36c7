//! Counters of a node.

use crate::counters::Counter;
use quiver_stats::Block;

/// Counters of a node on one worker. A drop's reason is the arc it took, so no other reason counters exist.
#[derive(Debug)]
pub struct NodeCounters {
    /// Frames worked on.
    pub calls: Counter,
    /// Packets in them.
    pub packets: Counter,
    /// Ticks of the time stamp counter spent.
    pub clocks: Counter,
    /// Packets by arc.
    pub arcs: Block<Counter>,
}

impl NodeCounters {
    pub(crate) fn new(arcs: Block<Counter>) -> NodeCounters {
        NodeCounters { calls: Counter::default(), packets: Counter::default(), clocks: Counter::default(), arcs }
    }
    /// Counts packets on an arc.
    #[inline(always)]
    pub fn arc(&self, arc: u16, packets: u64) {
        if let Some(counter) = self.arcs.get(usize::from(arc)) {
            counter.add(packets);
        }
    }
}
