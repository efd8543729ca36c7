//! Rehearsal of a packet: an instance of the graph on the control thread works on it, without effect on the data plane.
//!
//! Its nodes are made as a worker's are, by the same makers, and read the same tables. What they count, counts nowhere;
//! what they tell control is not told; what they send is not sent. State of a worker's own (packets that wait for a
//! neighbor, fragments, limits of rates) is as on a worker that has just begun, but for what nodes ask workers for: see
//! [`Recollection`]. A rehearsal is at one worker at a time: first at the one that polls the interface's first receive queue, and
//! from a hand-off on at the one to which the packet is handed, with all copies of it.

use super::Dataplane;
use crate::graph::{Context, GraphError, Recollection};
use crate::handoff::Outbound;
use crate::isa::ticks;
use crate::place::RECEIVED;
use crate::trace::Record;
use crate::tx::{Batch, Ports, TxContext, TxQueue};
use crate::words::HeaderWords;

/// Why nothing can be said of a packet.
#[derive(Debug, thiserror::Error)]
pub enum RehearsalError {
    /// The interface receives nothing by itself.
    #[error("it has no receive queue")]
    NoQueue,
    /// The graph.
    #[error(transparent)]
    Graph(#[from] GraphError),
    /// The buffers.
    #[error("no buffer is left for the packet; `show buffers` says who has them")]
    NoBuffer,
}

/// A way out that leads nowhere.
struct Nowhere;
impl TxQueue for Nowhere {
    fn transmit(&mut self, _: &mut TxContext, batch: &mut Batch) -> usize {
        batch.len()
    }
}

impl Dataplane {
    /// Runs a frame through the graph as if an interface had received it at `now`, in nanoseconds of the engine's
    /// clock. Returns a record for each node, in their order, for copies of the packet as well. Nothing is sent or
    /// counted. Questions of nodes to workers are in the recollection afterwards; until they are answered, the records
    /// are not final.
    pub fn rehearse(
        &mut self,
        interface: u32,
        frame: &[u8],
        now: u64,
        recollection: &mut Recollection,
    ) -> Result<Vec<Record>, RehearsalError> {
        self.flush();
        recollection.rewind(if self.connected { self.workers.len() } else { 0 });
        let queue = self.queues.of(interface).next().ok_or(RehearsalError::NoQueue)?;
        let (input, worker) = (queue.input, queue.worker);
        let mut pool = self.buffers.pool().ok_or(RehearsalError::NoBuffer)?;
        let nobody = self.workers.len();
        let mut graph = self.blueprint.rehearsal(nobody, pool.home())?;
        let counts = graph.counters_of(self.output);
        let mut ports = Ports::new(self.output, counts, self.counted.tx_errors.row(nobody));
        for port in &self.ports {
            ports.attach(*port, Box::new(Nowhere), self.counted.tx.row(nobody));
        }
        for (part, port) in self.parts.all() {
            ports.attach_via(part, Some((port, self.counted.tx.row(nobody))));
        }
        for up in &self.up {
            ports.set_up(*up, true);
        }
        graph.tracer.arm(input, 1, None);
        let reader = self.domain.register();
        let (mut emitted, mut outbound, mut words) = (vec![], Outbound::default(), HeaderWords::new());
        let mut cx = Context {
            level: self.settings.level,
            guard: reader.guard(),
            now,
            worker,
            pool: &mut pool,
            output: &mut ports,
            emitted: &mut emitted,
            words: &mut words,
            node: graph.dispatcher(),
            outbound: &mut outbound,
            recollection: Some(recollection),
        };
        let mut vector = graph.frame();
        if !vector.push_bytes(cx.pool, frame, interface) {
            return Err(RehearsalError::NoBuffer);
        }
        if graph.tracer.before(input, &mut vector, &mut cx) {
            vector.next[0] = RECEIVED;
            graph.tracer.after(&vector, &[]);
        }
        let mut clock = ticks();
        graph.forward(&mut cx, input, vector, &mut clock);
        graph.dispatch(&mut cx, &mut clock);
        cx.output.flush(&mut TxContext::new(cx.pool, now));
        let records = graph.tracer.records().to_vec();
        graph.free(&mut pool);
        ports.free(&mut pool);
        // Nodes that keep packets give them back now, before their pool goes.
        drop(graph);
        Ok(records)
    }
}
