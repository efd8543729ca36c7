//! Packets that control sends, copies or follows.

use super::Dataplane;
use crate::buffer::Packet;
use crate::capture::{Capture, CaptureId, Filter};
use crate::graph::NodeId;
use crate::place::QueueId;
use crate::trace::Record;
use crate::worker::Worker;

/// A receive queue, and the nodes that its last packets passed together, each with the one in front of it.
pub type QueueChain = (QueueId, Vec<(NodeId, NodeId)>);

impl Dataplane {
    /// Chooses the next packets that come to a node, on every worker: those that the filter takes, if there is one.
    pub fn trace(&self, node: NodeId, count: u32, filter: Option<Filter>) {
        self.post_all(|_| {
            let filter = filter.clone();
            move |w: &mut Worker| w.trace_arm(node, count, filter)
        });
    }
    /// Forgets all records and choices.
    pub fn trace_clear(&self) {
        self.post_all(|_| Worker::trace_clear);
    }
    /// The records of all workers, in the order of each worker.
    pub fn trace_records(&self) -> impl Future<Output = Vec<Record>> + 'static {
        let answers: Vec<_> = (0..self.workers.len()).map(|w| self.ask(w, |w| w.trace_records())).collect();
        async move {
            let mut records = vec![];
            for answer in answers {
                records.extend(answer.await.unwrap_or_default());
            }
            records
        }
    }
    /// The chains of each receive queue: the nodes by which its last packets went together, each behind the one in front of it. Where
    /// packets parted, several come behind one.
    pub fn chains(&self) -> impl Future<Output = Vec<Vec<QueueChain>>> + 'static {
        let answers: Vec<_> = (0..self.workers.len()).map(|w| self.ask(w, |w| w.chains())).collect();
        async move {
            let mut chains = vec![];
            for answer in answers {
                chains.push(answer.await.unwrap_or_default());
            }
            chains
        }
    }
    /// Times the stages of chains one by one, which costs a reading of the clock for each, or all together.
    pub fn time_chains(&self, on: bool) {
        self.post_all(|_| move |w: &mut Worker| w.set_timed(on));
    }
    /// Free buffers on the workers' own lists.
    pub fn cached_buffers(&self) -> impl Future<Output = usize> + 'static {
        let answers: Vec<_> = (0..self.workers.len()).map(|w| self.ask(w, |w| w.pool().cached())).collect();
        async move {
            let mut cached = 0;
            for answer in answers {
                cached += answer.await.unwrap_or_default();
            }
            cached
        }
    }
    /// Starts to copy packets, beside whatever else is copied.
    pub fn capture(&mut self, capture: Capture) -> CaptureId {
        let id = CaptureId(self.next_capture);
        self.next_capture += 1;
        self.post_all(|_| {
            let capture = capture.clone();
            move |w: &mut Worker| w.capture(id, Some(capture))
        });
        id
    }
    /// Ends that.
    pub fn end_capture(&self, id: CaptureId) {
        self.post_all(|_| move |w: &mut Worker| w.capture(id, None));
    }
    /// Sends a packet into the graph of a worker, before a node.
    pub fn inject(&self, worker: usize, at: NodeId, packet: Injected) {
        self.post(worker, move |w| {
            if let Some(made) = packet.make(w) {
                w.inject(at, made);
            }
        });
    }
    /// Sends a packet along an arc of a node: features on that arc see it.
    pub fn emit(&self, worker: usize, at: NodeId, arc: impl Into<u16>, packet: Injected) {
        let arc = arc.into();
        self.post(worker, move |w| {
            if let Some(made) = packet.make(w) {
                w.emit(at, arc, made);
            }
        });
    }
}

/// A packet of control's making.
#[derive(Clone, Default, Debug)]
pub struct Injected {
    /// Its bytes, from the header on that the node reads.
    pub bytes: Vec<u8>,
    /// The interface taken to have received it.
    pub rx: u32,
    /// The interface that is to send it.
    pub tx: u32,
    /// Result of a lookup, as an earlier node would have set it.
    pub hop: u32,
}

impl Injected {
    /// The packet in buffers of a worker. None if they are used up: the pool has counted it.
    fn make(&self, worker: &mut Worker) -> Option<Packet> {
        let mut made = worker.pool().packet(&self.bytes)?;
        (made.rx, made.tx, made.hop) = (self.rx, self.tx, self.hop);
        made.set_local();
        Some(made)
    }
}
