//! The chain of a receive queue: the nodes by which its last packets went together, from the node that stands for the queue to the
//! one that took them. The next ones follow it for as long as each node lets all of them go the same way.

use super::wiring::{NodeId, Side};
use crate::frame::Frame;

/// A node of a chain, and how all packets left it together.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Step {
    pub at: NodeId,
    pub arc: u16,
    /// The interface for which the arc leads on to the next node, if features of it decide.
    pub decides: Option<(Side, u16)>,
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
pub(super) fn decides(by: Option<(Side, u16)>, frame: &Frame) -> bool {
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
    /// The wiring that it is of.
    pub(super) version: u32,
    /// Whether all of its nodes but the first are stages, and the last one took all packets: then it can be followed.
    pub(super) is_whole: bool,
    /// Frames and packets that followed it, and the ticks that this took, which are not yet counted by its nodes.
    pub(super) calls: u64,
    pub(super) packets: u64,
    pub(super) clocks: u64,
}
impl Chain {
    /// Nodes that are remembered.
    pub(super) const MOST: usize = 24;
    /// None.
    pub fn new() -> Chain {
        let steps = [Step::default(); Chain::MOST];
        Chain { steps, len: 0, version: 0, is_whole: false, calls: 0, packets: 0, clocks: 0 }
    }
    /// The nodes behind the one that stands for the queue.
    pub fn nodes(&self) -> impl Iterator<Item = NodeId> + '_ {
        self.steps().iter().skip(1).map(|step| step.at)
    }
    #[inline(always)]
    pub(super) fn steps(&self) -> &[Step] {
        &self.steps[..self.len.min(Chain::MOST)]
    }
    /// Begins anew, in a wiring.
    #[inline(always)]
    pub(super) fn begin(&mut self, version: u32) {
        (self.len, self.version, self.is_whole) = (0, version, false);
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
    pub(super) fn leave_by(&mut self, arc: u16, decides: Option<(Side, u16)>) {
        if let Some(step) = self.steps[..self.len].last_mut() {
            (step.arc, step.decides) = (arc, decides);
        }
    }
    /// Takes over the first steps of another chain.
    #[inline(always)]
    pub(super) fn begin_as(&mut self, other: &Chain, len: usize) {
        (self.steps, self.len) = (other.steps, len.min(Chain::MOST));
        (self.version, self.is_whole) = (other.version, false);
    }
    /// Takes over what another one has learned; what is not yet counted stays.
    pub(super) fn become_as(&mut self, other: &Chain) {
        (self.steps, self.len, self.version, self.is_whole) = (other.steps, other.len, other.version, other.is_whole);
    }
}
