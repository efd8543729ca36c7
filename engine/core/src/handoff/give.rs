//! Gives packets to other workers, called by nodes.

use crate::buffer::Flags;
use crate::frame::Frame;
use crate::graph::Context;
use crate::vector::TAKEN;

impl Context<'_> {
    /// Hands the packet of a row over to another worker, where it leaves the current node by `arc`. It takes the packet's
    /// bytes, offload and receiving interface along, but nothing that a lookup chose. False, and the row stays, if that
    /// worker does not keep up. A rehearsal goes on there.
    pub fn hand_off(&mut self, frame: &mut Frame, i: usize, worker: usize, arc: impl Into<u16>) -> bool {
        if i >= frame.len() || frame.buffer[i] == self.pool.null {
            return false;
        }
        let arc = arc.into();
        if !self.outbound.take(self.node, arc, frame, i, worker) {
            return self.rehearse_hand_off(frame, i, worker, arc);
        }
        frame.buffer[i] = self.pool.null;
        frame.flags[i] &= Flags::TRACED.0;
        frame.next[i] = TAKEN;
        frame.taken += 1;
        true
    }
    /// A rehearsal has no rings: it is at the other worker from now on. False outside of rehearsals.
    #[cold]
    fn rehearse_hand_off(&mut self, frame: &mut Frame, i: usize, worker: usize, arc: u16) -> bool {
        let connected = self.recollection.as_ref().map_or(0, |recollection| recollection.connected);
        if worker >= connected {
            return false;
        }
        let Some(packet) = frame.take(self.pool, i) else { return false };
        self.worker = worker;
        self.emit(arc, packet.with_columns(frame.rx[i], 0, 0));
        true
    }
}
