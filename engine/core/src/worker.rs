//! A worker is a value with [`turn`](Worker::turn); a thread is one way of calling it, a simulation another.

use crate::buffer::{Packet, Pool};
use crate::capture::{Capture, CaptureId, Filter, Point};
use crate::counters::{Counter, Row};
use crate::graph::{Context, Graph, NodeId};
use crate::handoff::{Generations, Inbound, Outbound, Pair};
use crate::isa::{Level, ticks};
use crate::letters::Letters;
use crate::place::{Interrupt, Place, QueueId};
use crate::rx::{Harvest, RxMode, RxQueue};
use crate::source::Source;
use crate::thread::{FineClock, Running};
use crate::trace::Record;
use crate::tx::{Ports, TxContext, TxQueue};
use crate::vector::VECTOR;
use crate::words::HeaderWords;
use quiver_table::Reader;
use quiver_table::simulation::seam;
use std::any::Any;
use std::os::fd::BorrowedFd;
use std::sync::{Arc, OnceLock};

/// Letters read in one turn at most.
///
/// PERF: a storm of letters that attach interfaces took 5.8 ms of a turn at 256 in a debug build.
const LETTERS_MAX: usize = 16;

/// Turns after which the nodes of chains count, however busy the worker is.
const SETTLE_EVERY: u64 = 64;

/// Nanoseconds between two looks at a worker that was behind in taking what was handed to it.
const BEHIND_WAIT: u64 = 100_000;

/// Work for a worker. It runs on the worker's thread, so it must be short and give large values back to be dropped
/// elsewhere.
pub type Letter = Box<dyn FnOnce(&mut Worker) + Send>;

/// Counters of a worker.
#[derive(Default, Debug)]
pub struct WorkerCounters {
    /// Turns made.
    pub turns: Counter,
    /// Turns that received packets.
    pub busy_turns: Counter,
    /// Packets that these received, by queues and from other workers.
    pub packets: Counter,
    /// Packets that other workers handed over.
    pub handed_over: Counter,
    /// Ticks of the time stamp counter in turns that received packets.
    pub busy_ticks: Counter,
    /// Those of them during which the system had taken the thread off its core; only gaps worth a look at its CPU clock.
    pub preempted_ticks: Counter,
    /// Times that the worker slept until something came.
    pub sleeps: Counter,
    /// Times that it took a nap so that packets gather.
    pub naps: Counter,
    /// The longest gap between two polls in nanoseconds of the worker's own CPU time.
    pub gap_max: Counter,
    /// Its thread, from when that has begun; none in simulations.
    pub running: OnceLock<Running>,
}

/// The queues of an interface that was taken away.
pub(crate) type Detached = (Vec<Place<Letter>>, Option<Box<dyn TxQueue>>);

/// One worker: an instance of the graph, buffers, queues, ports.
pub struct Worker {
    /// Its number.
    pub id: usize,
    /// Packets received from a queue in one turn at most.
    pub vector: usize,
    level: Level,
    reader: Reader,
    pool: Pool,
    pub(crate) graph: Graph,
    ports: Ports,
    pub(crate) places: Vec<Place<Letter>>,
    /// Further work of nodes.
    sources: Vec<(NodeId, Arc<dyn Source>)>,
    emitted: Vec<(u16, Packet)>,
    words: Box<HeaderWords>,
    outbound: Outbound,
    inbound: Inbound,
    mailbox: Arc<Letters<Letter>>,
    counters: Arc<WorkerCounters>,
    now: u64,
    pub(crate) fine_clock: FineClock,
    /// Packets of the last turn.
    pub(crate) harvest: Harvest,
    /// Ticks of the last turn, if that received packets.
    pub(crate) busy: u64,
}

impl Worker {
    #[allow(clippy::too_many_arguments)]
    pub(crate) fn new(
        id: usize,
        level: Level,
        reader: Reader,
        pool: Pool,
        graph: Graph,
        ports: Ports,
        mailbox: Arc<Letters<Letter>>,
        counters: Arc<WorkerCounters>,
    ) -> Worker {
        Worker {
            id,
            vector: VECTOR,
            level,
            reader,
            pool,
            graph,
            ports,
            places: vec![],
            sources: vec![],
            emitted: vec![],
            words: HeaderWords::new(),
            outbound: Outbound::default(),
            inbound: Inbound::default(),
            mailbox,
            counters,
            now: 0,
            fine_clock: FineClock::default(),
            harvest: Harvest::default(),
            busy: 0,
        }
    }
    /// Reads the mail, receives at most one vector from each queue, and sees every packet through. Returns how many
    /// packets, letters and sources of work there were; 0 is an idle turn. `now` is in nanoseconds of the engine's clock.
    pub fn turn(&mut self, now: u64) -> usize {
        self.now = now;
        let mail = self.read_mail();
        self.let_go();
        let start = ticks();
        // One reading ends what came before and begins what comes next: at small vectors they are what a turn costs.
        let mut clock = start;
        let Worker {
            id,
            vector,
            level,
            reader,
            pool,
            graph,
            ports,
            places,
            sources,
            emitted,
            words,
            counters,
            outbound,
            inbound,
            busy,
            ..
        } = self;
        *busy = 0;
        let guard = reader.guard();
        let node = graph.dispatcher();
        let (level, worker, recollection) = (*level, *id, None);
        let mut cx =
            Context { level, guard, now, worker, pool, output: ports, emitted, words, node, outbound, recollection };
        let mut harvest = Harvest::default();
        let mut woken = 0;
        for (node, source) in sources.iter() {
            if source.is_ready() {
                graph.wake(*node);
                woken += 1;
            }
        }
        if woken > 0 {
            graph.dispatch(&mut cx, &mut clock);
        }
        if inbound.is_connected() {
            harvest = inbound.receive(graph, &mut cx, &mut clock);
            counters.handed_over.add(harvest.packets as u64);
        }
        for place in places.iter_mut().filter(|place| place.is_due(now)) {
            seam("about to receive");
            let received = place.receive(graph, &mut cx, *vector, &mut clock);
            harvest.packets += received.packets;
            harvest.bytes += received.bytes;
        }
        let packets = harvest.packets;
        if packets > 0 || mail > 0 || woken > 0 {
            graph.dispatch(&mut cx, &mut clock);
            cx.output.flush(&mut TxContext::new(cx.pool, now));
        }
        if packets == 0 || counters.turns.get().is_multiple_of(SETTLE_EVERY) {
            graph.settle_all();
        }
        // In idle turns, too: a bundle may have stayed open for a worker that was behind.
        cx.outbound.publish();
        inbound.release();
        counters.turns.add(1);
        if packets > 0 {
            counters.busy_turns.add(1);
            counters.packets.add(packets as u64);
            *busy = ticks().wrapping_sub(start);
            counters.busy_ticks.add(*busy);
        }
        seam("a turn done, its end not announced");
        reader.quiescent();
        self.harvest = harvest;
        packets + mail + woken
    }
    /// Runs the letters that control posted; returns their number.
    fn read_mail(&mut self) -> usize {
        let mut letters = 0;
        // A storm of letters must not keep packets waiting: the rest is read in the next turns.
        while letters < LETTERS_MAX
            && let Some(letter) = self.mailbox.take()
        {
            letter(self);
            letters += 1;
            seam("a letter read");
        }
        letters
    }
    /// Whether control posted something.
    pub fn has_mail(&self) -> bool {
        !self.mailbox.is_empty()
    }
    pub(crate) fn mailbox(&self) -> &Arc<Letters<Letter>> {
        &self.mailbox
    }
    /// Clock for times within a turn.
    pub fn fine_clock(&self) -> FineClock {
        self.fine_clock
    }
    /// Counters of the worker.
    pub fn counters(&self) -> &WorkerCounters {
        &self.counters
    }
    /// Tells the epochs that this worker reads nothing until its next turn.
    pub fn offline(&mut self) {
        self.reader.offline();
    }
    /// Back from sleep; to be called before the next turn.
    pub fn online(&mut self) {
        self.reader.online();
    }
    /// Descriptors that become readable when packets wait. None if some queue can only be polled.
    pub fn fds(&self) -> Option<Vec<BorrowedFd<'_>>> {
        let queues = self.places.iter().filter_map(Place::watched).map(RxQueue::fd);
        queues.chain(self.sources.iter().map(|(_, source)| Some(source.fd()))).collect()
    }
    /// Tells the queues of [`Worker::fds`], in their order, the events of their descriptors.
    pub(crate) fn heard(&mut self, said: &[Interrupt]) {
        let watched = self.places.iter_mut().filter(|place| place.watched().is_some());
        watched.zip(said).for_each(|(place, said)| place.heard(*said));
    }
    /// The most eager mode of the open queues; that of other workers' rings is adaptive.
    pub(crate) fn mode(&self) -> RxMode {
        let queues = self.places.iter().filter(|place| place.open().is_some()).map(|place| place.mode).min();
        match self.inbound.is_connected() || !self.sources.is_empty() {
            true => queues.unwrap_or_default().min(RxMode::Adaptive),
            // Without queues there is nothing to poll.
            false => queues.unwrap_or(RxMode::Interrupt),
        }
    }
    /// Whether there is something to do that no descriptor tells.
    pub(crate) fn has_packets(&mut self) -> bool {
        self.was_handed_packets()
            || self.places.iter().any(Place::is_held)
            || self.sources.iter().any(|(_, source)| source.is_ready())
    }
    /// Whether packets from other workers wait.
    pub(crate) fn was_handed_packets(&mut self) -> bool {
        !self.inbound.is_empty()
    }
    /// Gives the worker its rings to and from the others.
    pub(crate) fn connect(&mut self, pairs: Vec<Option<Pair>>, generations: &Generations) {
        crate::handoff::connect(&mut self.outbound, &mut self.inbound, pairs, generations);
    }
    pub(crate) fn outbound(&self) -> &Outbound {
        &self.outbound
    }
    /// Whether some queue is polled only after its descriptor has spoken.
    pub(crate) fn waits_for_interrupts(&self) -> bool {
        self.places.iter().any(|place| place.mode == RxMode::Interrupt && place.watched().is_some())
    }
    /// The next time at which a queue must be polled, or packets for a worker that is behind are looked at again, in
    /// nanoseconds of the engine's clock; None if there is none.
    pub fn wake_at(&self) -> Option<u64> {
        let moments = self.places.iter().filter_map(Place::open).filter_map(RxQueue::wake_at);
        let behind = self.outbound.is_open().then_some(self.now.saturating_add(BEHIND_WAIT));
        moments.chain(behind).min().filter(|moment| *moment != u64::MAX)
    }
    /// The engine's clock at the start of this turn.
    pub fn now(&self) -> u64 {
        self.now
    }
    /// The instance of the graph.
    pub fn graph(&mut self) -> &mut Graph {
        &mut self.graph
    }
    /// This worker's buffers.
    pub fn pool(&mut self) -> &mut Pool {
        &mut self.pool
    }
    /// Puts a packet before a node; it is seen through in this turn. Dropped if there is no such node.
    pub fn inject(&mut self, at: NodeId, packet: Packet) {
        self.graph.inject(at, packet);
    }
    /// Sends a packet along an arc of a node, as if the node had worked on it now: for packets that waited in the node's
    /// state. Seen through in this turn.
    pub fn emit(&mut self, at: NodeId, arc: impl Into<u16>, packet: Packet) {
        self.graph.emit(at, arc.into(), packet);
    }
    /// Lets a node run in this turn, with an empty frame: for packets that wait in the node's state.
    pub fn wake_node(&mut self, at: NodeId) {
        self.graph.wake(at);
    }
    /// Runs a node whenever a source is ready, from the next turn on.
    pub fn watch(&mut self, node: NodeId, source: Arc<dyn Source>) {
        self.sources.push((node, source));
    }
    /// Ends that.
    pub fn unwatch(&mut self, source: &Arc<dyn Source>) {
        self.sources.retain(|(_, watched)| !Arc::ptr_eq(watched, source));
    }
    pub(crate) fn attach_tx(&mut self, interface: u32, queue: Box<dyn TxQueue>, counters: Arc<Row>) {
        self.ports.attach(interface, queue, counters);
    }
    pub(crate) fn attach_via(&mut self, interface: u32, port: Option<(u32, Arc<Row>)>) {
        self.ports.attach_via(interface, port);
    }
    /// Takes an interface away; its queues are returned, to be dropped elsewhere.
    pub(crate) fn detach(&mut self, interface: u32) -> Detached {
        self.ports.attach_via(interface, None);
        let mut gone: Vec<_> = self.places.extract_if(.., |place| place.interface == interface).collect();
        gone.iter_mut().for_each(|place| self.graph.settle(&mut place.chain));
        (gone, self.ports.detach(interface))
    }
    pub(crate) fn set_up(&mut self, interface: u32, up: bool) {
        for place in self.places.iter_mut().filter(|place| place.interface == interface) {
            place.set_up(up);
            self.graph.settle(&mut place.chain);
        }
        self.ports.set_up(interface, up);
    }
    /// A driver's receive queue, if it is of this type and here, to be changed by its own room.
    pub fn queue_mut<Q: RxQueue>(&mut self, queue: QueueId) -> Option<&mut Q> {
        Some(self.queue_and_pool(queue)?.0)
    }
    /// The same, with the buffers to fill it from.
    pub fn queue_and_pool<Q: RxQueue>(&mut self, queue: QueueId) -> Option<(&mut Q, &mut Pool)> {
        let Worker { places, pool, .. } = self;
        let queue: &mut dyn Any = places.iter_mut().filter(|place| place.id == queue).find_map(Place::queue_mut)?;
        Some((queue.downcast_mut()?, pool))
    }
    /// A driver's transmit queue, if it is of this type, with the buffers that its packets are in.
    pub fn tx_queue_and_pool<Q: TxQueue>(&mut self, interface: u32) -> Option<(&mut Q, &mut Pool)> {
        Some((self.ports.queue_mut(interface)?, &mut self.pool))
    }
    /// The nodes that the last packets of each receive queue passed together, each with the one in front of it.
    pub(crate) fn chains(&self) -> Vec<(QueueId, Vec<(NodeId, NodeId)>)> {
        self.places.iter().map(|place| (place.id, self.graph.chain_arcs(&place.chain))).collect()
    }
    /// Makes each stage read the clock, or one stage for all that follow one another.
    pub(crate) fn set_timed(&mut self, on: bool) {
        self.graph.is_timed = on;
    }
    pub(crate) fn trace_arm(&mut self, node: NodeId, count: u32, filter: Option<Filter>) {
        self.graph.tracer.arm(node, count, filter);
    }
    pub(crate) fn trace_clear(&mut self) {
        self.graph.tracer.clear();
    }
    pub(crate) fn trace_records(&self) -> Vec<Record> {
        self.graph.tracer.records().to_vec()
    }
    pub(crate) fn capture(&mut self, id: CaptureId, capture: Option<Capture>) {
        let is_of_nodes = |capture: &Capture| capture.points & Capture::bit(Point::Node) != 0;
        let (of_nodes, others) = match capture {
            Some(capture) if is_of_nodes(&capture) => (Some(capture), None),
            capture => (None, capture),
        };
        self.graph.tracer.capture(id, of_nodes);
        self.ports.captures.set(id, others);
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        self.graph.settle_all();
        self.places.iter_mut().for_each(|place| self.graph.settle(&mut place.chain));
        self.graph.free(&mut self.pool);
        self.ports.free(&mut self.pool);
    }
}
