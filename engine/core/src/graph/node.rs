//! The trait of nodes, and their context.

use super::recollection::Recollection;
use super::wiring::NodeId;
use crate::buffer::{Packet, Pool};
use crate::frame::Frame;
use crate::handoff::Outbound;
use crate::isa::Level;
use crate::tx::Ports;
use crate::words::HeaderWords;
use quiver_table::Guard;
use std::any::Any;

/// Everything that a node may access besides its frame.
pub struct Context<'t> {
    /// The instruction set that stages run on.
    pub level: Level,
    /// Proof that this worker is inside a turn: snapshots can be read.
    pub guard: Guard<'t>,
    /// Nanoseconds of the engine's clock at the start of this turn.
    pub now: u64,
    /// The number of this worker.
    pub worker: usize,
    /// This worker's buffers.
    pub pool: &'t mut Pool,
    /// The interfaces' ways out; only the output node uses them.
    pub output: &'t mut Ports,
    pub(crate) emitted: &'t mut Vec<(u16, Packet)>,
    /// The first bytes of the frame's packets, for stages.
    pub(crate) words: &'t mut HeaderWords,
    /// The node at work.
    pub(crate) node: NodeId,
    pub(crate) outbound: &'t mut Outbound,
    /// Questions to workers, in a rehearsal.
    pub(crate) recollection: Option<&'t mut Recollection>,
}

impl Context<'_> {
    /// Sends a packet that is not a row of the frame by an arc of the current node: a reply, a copy.
    pub fn emit(&mut self, arc: impl Into<u16>, packet: Packet) {
        self.emitted.push((arc.into(), packet));
    }
}

/// A node's work. State of its own is fine: every worker has its own instance.
pub trait Node: Send + Any {
    /// Sets `frame.next` for each packet, or takes the packet. Rows start with arc 0.
    fn process(&mut self, cx: &mut Context, frame: &mut Frame);
    /// Whether it works on many packets in little time, so that the clock is not read for it alone.
    fn is_stage(&self) -> bool {
        false
    }
}
