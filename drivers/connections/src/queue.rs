//! The two queues of a generator's interface: packets that its connections send are received from it by the graph, and packets that
//! the graph transmits are received by its connections.

use std::sync::Arc;

use quiver_engine::{Batch, Flags, Frame, RxContext, RxQueue, TxContext, TxQueue};

use crate::run::Run;

/// Sends the packets of a run.
#[derive(Default)]
pub struct Source {
    run: Option<Arc<Run>>,
}

impl Source {
    /// Goes on with another run, or with none. Returns the one before, to be freed elsewhere.
    pub(crate) fn replace(&mut self, run: Option<Arc<Run>>) -> Option<Arc<Run>> {
        std::mem::replace(&mut self.run, run)
    }
}

impl RxQueue for Source {
    fn receive(&mut self, cx: &mut RxContext, frame: &mut Frame) -> usize {
        if let Some(run) = &self.run {
            run.send(cx, frame);
        }
        frame.len()
    }
    fn is_empty(&self) -> bool {
        self.run.is_none()
    }
    fn wake_at(&self) -> Option<u64> {
        Some(self.run.as_ref().map_or(u64::MAX, |run| run.wake_at()))
    }
}

/// Takes packets in for a run.
#[derive(Default)]
pub struct Sink {
    run: Option<Arc<Run>>,
    /// The bytes of a packet of several buffers.
    whole: Vec<u8>,
}

impl Sink {
    /// As [`Source::replace`].
    pub(crate) fn replace(&mut self, run: Option<Arc<Run>>) -> Option<Arc<Run>> {
        std::mem::replace(&mut self.run, run)
    }
}

impl TxQueue for Sink {
    fn transmit(&mut self, cx: &mut TxContext, batch: &mut Batch) -> usize {
        let Some(run) = &self.run else { return batch.len() };
        let now = run.moment(cx.now);
        for at in 0..batch.len() {
            if batch.flags(at).has(Flags::CHAINED) {
                self.whole.clear();
                batch.segments(cx.pool, at).for_each(|part| self.whole.extend_from_slice(part));
                run.receive(&self.whole, now, cx.now);
            } else {
                run.receive(batch.bytes(cx.pool, at), now, cx.now);
            }
        }
        batch.len()
    }
}
