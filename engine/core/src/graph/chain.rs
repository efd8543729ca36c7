//! Chains: the nodes by which the last packets of a receive queue went together, from the node that stands for the queue to the one
//! that took them or from which they parted; and the same from each node on at which packets came together again. The next ones
//! follow a chain for as long as each node lets all of them go the same way.

use super::wiring::{NodeId, Side};
use crate::frame::Frame;
use crate::stage::Quarters;

/// A node of a chain, and how all packets left it together.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Step {
    pub at: NodeId,
    pub arc: u16,
    /// The interface for which the arc leads on to the next node, if features of it decide.
    pub decides: Option<(Side, u32)>,
}
impl Step {
    /// Whether all packets of a frame leave the node this way.
    #[inline(always)]
    pub fn is_of(&self, frame: &Frame) -> bool {
        frame.way_out() == Some(self.arc) && decides(self.decides, frame)
    }
}

/// Whether the interface that decides is that of all packets of a frame.
#[inline(always)]
pub(super) fn decides(by: Option<(Side, u32)>, frame: &Frame) -> bool {
    match by {
        None => true,
        Some((Side::Rx, interface)) => frame.one_rx && frame.rx[0] == interface,
        Some((Side::Tx, interface)) => frame.one_tx && frame.tx[0] == interface,
    }
}

/// The chain.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Chain {
    steps: [Step; Chain::MOST],
    len: usize,
    /// The index of the first step to run: 1 if step 0 stands for a queue.
    pub(super) first: usize,
    /// The wiring that it is of.
    pub(super) version: u32,
    /// Whether its last node took all packets. If not, they parted there, or went on to a node that is no stage.
    pub(super) is_whole: bool,
    /// The quarters of windows that its stages read.
    pub(super) reads: Quarters,
    /// Frames one after the other that did not follow it to its end.
    pub(super) missed: u32,
    /// Frames and packets that followed it, and the ticks that this took, which are not yet counted by its nodes.
    pub(super) calls: u64,
    pub(super) packets: u64,
    pub(super) clocks: u64,
    /// Whether its node is among `Graph::unsettled`.
    pub(super) is_unsettled: bool,
}
impl Chain {
    /// Nodes that are remembered.
    pub(super) const MOST: usize = 24;
    /// A chain is replaced when so many frames one after the other did not follow it to its end.
    const MISSES_MAX: u32 = 4;
    /// None.
    pub fn new() -> Chain {
        Chain {
            steps: [Step::default(); Chain::MOST],
            len: 0,
            first: 0,
            version: 0,
            is_whole: false,
            reads: Quarters::NONE,
            missed: 0,
            calls: 0,
            packets: 0,
            clocks: 0,
            is_unsettled: false,
        }
    }
    /// The nodes that work on what follows it.
    pub fn nodes(&self) -> impl Iterator<Item = NodeId> + '_ {
        self.steps().iter().skip(self.first).map(|step| step.at)
    }
    /// Whether frames can follow it.
    #[inline(always)]
    pub(super) fn is_of(&self, version: u32) -> bool {
        self.version == version && self.len > self.first
    }
    #[inline(always)]
    pub(super) fn steps(&self) -> &[Step] {
        &self.steps[..self.len.min(Chain::MOST)]
    }
    /// Begins anew, in a wiring: with the node that stands for a queue, if there is one.
    #[inline(always)]
    pub(super) fn begin(&mut self, version: u32, queue: Option<NodeId>) {
        (self.len, self.first, self.version, self.is_whole) = (0, usize::from(queue.is_some()), version, false);
        if let Some(at) = queue {
            self.push(at);
        }
    }
    /// Whether there is no room for another node.
    #[inline(always)]
    pub(super) fn is_full(&self) -> bool {
        self.len >= Chain::MOST
    }
    #[inline(always)]
    pub(super) fn len(&self) -> usize {
        self.len
    }
    #[inline(always)]
    pub(super) fn push(&mut self, at: NodeId) {
        if let Some(step) = self.steps.get_mut(self.len) {
            *step = Step { at, arc: 0, decides: None };
            self.len += 1;
        }
    }
    /// Notes how packets left the last node.
    #[inline(always)]
    pub(super) fn leave_by(&mut self, arc: u16, decides: Option<(Side, u32)>) {
        if let Some(step) = self.steps[..self.len].last_mut() {
            (step.arc, step.decides) = (arc, decides);
        }
    }
    /// Takes over the first steps of another chain.
    #[inline(always)]
    pub(super) fn begin_as(&mut self, other: &Chain, len: usize) {
        (self.steps, self.len, self.first) = (other.steps, len.min(Chain::MOST), other.first);
        (self.version, self.is_whole) = (other.version, false);
    }
    /// Takes over what another one has learned, of whose nodes the first `stages` can be followed. A chain that takes all packets stays
    /// until several frames one after the other have not followed it.
    pub(super) fn learn(&mut self, other: &Chain, stages: usize, reads: Quarters) {
        let is_whole = other.is_whole && stages == other.len;
        self.missed += 1;
        let is_better = !self.is_whole && (is_whole || stages >= self.len);
        if is_better || self.version != other.version || self.missed >= Chain::MISSES_MAX {
            (self.steps, self.len, self.first, self.version) = (other.steps, stages, other.first, other.version);
            (self.is_whole, self.reads, self.missed) = (is_whole, reads, 0);
        }
    }
}
