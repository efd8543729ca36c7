//! `worker-handoff`: gives each packet to the worker that its flow belongs to. Those of this worker go on at once, the
//! others on theirs, from here. A worker whose ring is full does not keep up; its packets are dropped as `handoff-full`.

use std::sync::Arc;

use quiver_engine::{Context, Frame, Node, arcs};

/// The node's name.
pub(crate) const NAME: &str = "worker-handoff";

arcs! {
    /// Where packets go from `worker-handoff`.
    pub enum Next {
        Pass => next_feature,
        Full => drop "handoff-full",
    }
}

/// The workers that share what an interface receives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spread {
    /// Their numbers.
    pub workers: Vec<usize>,
    /// Whether both directions of a flow go to one of them.
    pub is_symmetrical: bool,
}

impl Spread {
    /// The worker of a frame's flow.
    fn worker(&self, frame: &[u8]) -> Option<usize> {
        let hash = u64::from(quiver_wire::flow::hash(frame, self.is_symmetrical));
        // As many hashes for each: the upper bits of a product.
        self.workers.get(((hash * self.workers.len() as u64) >> 32) as usize).copied()
    }
}

/// The node, and what it knows of each interface.
#[derive(Default)]
pub struct WorkerHandoff {
    spreads: Vec<Option<Arc<Spread>>>,
}

impl WorkerHandoff {
    /// Spreads what an interface receives from now on; None keeps it here. Returns what was there.
    pub(crate) fn set(&mut self, interface: u32, spread: Option<Arc<Spread>>) -> Option<Arc<Spread>> {
        let at = interface as usize;
        self.spreads.resize(self.spreads.len().max(at + 1), None);
        std::mem::replace(&mut self.spreads[at], spread)
    }
    /// A rehearsal's node was told of no interface: it asks the worker's.
    fn recall(&mut self, cx: &mut Context, frame: &Frame) {
        for i in 0..frame.len() {
            let rx = frame.rx[i];
            let told = cx.recall(move |this: &mut WorkerHandoff, _| this.spreads.get(rx as usize).cloned().flatten());
            // A plugin can send packets with numbers that no interface has: the table does not grow for them.
            match told.flatten() {
                Some(spread) => drop(self.set(rx, Some(spread))),
                None => self.spreads.get_mut(rx as usize).into_iter().for_each(|own| *own = None),
            }
        }
    }
}

impl Node for WorkerHandoff {
    fn process(&mut self, cx: &mut Context, frame: &mut Frame) {
        if cx.is_rehearsal() {
            self.recall(cx, frame);
        }
        for i in 0..frame.len() {
            let Some(Some(spread)) = self.spreads.get(frame.rx[i] as usize) else { continue };
            if let Some(worker) = spread.worker(frame.bytes(cx.pool, i))
                && worker != cx.worker
                && !cx.hand_off(frame, i, worker, Next::Pass)
            {
                frame.next[i] = Next::Full.into();
            }
        }
    }
}
