//! A worker is a value with [`turn`](Worker::turn); a thread is one way of calling it, a simulation another.

use crate::arcs;
use crate::buffer::{Packet, Pool};
use crate::capture::{Capture, Point};
use crate::counters::{Counter, Row};
use crate::frame::VECTOR;
use crate::graph::{Context, Graph, NodeId};
use crate::isa::{Level, lap, ticks};
use crate::mailbox::Mailbox;
use crate::product::Installed;
use crate::rx::{RxContext, RxQueue};
use crate::trace::Record;
use crate::tx::{Ports, TxContext, TxQueue};
use quiver_table::Reader;
use quiver_table::simulation::seam;
use std::any::Any;
use std::os::fd::BorrowedFd;
use std::sync::Arc;

arcs! {
    /// Arcs of the nodes that stand for receive queues.
    pub(crate) enum InputNext {
        Received => features "device-input",
        NoBuffer => drop "no-buffer",
        Truncated => drop "truncated",
    }
}

/// Letters read in one turn at most.
const LETTERS_MAX: usize = 256;

/// What a worker says of itself.
#[derive(Default, Debug)]
pub struct WorkerCounters {
    /// Turns made.
    pub turns: Counter,
    /// Turns that received packets.
    pub busy_turns: Counter,
    /// Ticks of the time stamp counter in turns that received packets.
    pub busy_ticks: Counter,
    /// Times that the worker slept.
    pub sleeps: Counter,
    /// The longest gap between two polls in nanoseconds of the worker's own CPU time.
    pub gap_max: Counter,
}

/// A receive queue's place on a worker; numbers are given by the data plane.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct QueueId(pub u32);

struct Queue {
    id: QueueId,
    interface: u16,
    input: NodeId,
    queue: Box<dyn RxQueue>,
    product: Option<Installed>,
    counters: Arc<Row>,
    up: bool,
}

impl Queue {
    /// Whether its fd is looked at while the worker sleeps.
    fn is_watched(&self) -> bool {
        self.up && self.queue.wake_at().is_none()
    }
}

/// The queues of an interface that was taken away.
pub(crate) type Detached = (Vec<Box<dyn RxQueue>>, Option<Box<dyn TxQueue>>);

/// One worker: an instance of the graph, buffers, queues, ports.
pub struct Worker {
    /// Its number.
    pub id: usize,
    /// Packets received from a queue in one turn at most.
    pub vector: usize,
    level: Level,
    reader: Reader,
    pool: Pool,
    graph: Graph,
    ports: Ports,
    queues: Vec<Queue>,
    emitted: Vec<(u16, Packet)>,
    mailbox: Arc<Mailbox>,
    counters: Arc<WorkerCounters>,
    now: u64,
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
        mailbox: Arc<Mailbox>,
        counters: Arc<WorkerCounters>,
    ) -> Worker {
        let (queues, emitted) = (vec![], vec![]);
        Worker { id, vector: VECTOR, level, reader, pool, graph, ports, queues, emitted, mailbox, counters, now: 0 }
    }
    /// Reads the mail, receives at most one vector from each queue, and sees every packet through. Returns how many
    /// packets and letters there were; 0 is an idle turn. `now` is in nanoseconds of the engine's clock.
    pub fn turn(&mut self, now: u64) -> usize {
        self.now = now;
        let mail = self.read_mail();
        let start = ticks();
        // One reading ends what came before and begins what comes next: at small vectors they are what a turn costs.
        let mut clock = start;
        let Worker { id, vector, level, reader, pool, graph, ports, queues, emitted, counters, .. } = self;
        let guard = reader.guard();
        let mut cx = Context { level: *level, guard, now, worker: *id, pool, output: ports, emitted };
        let mut packets = 0;
        for queue in queues.iter_mut().filter(|q| q.up) {
            seam("about to receive");
            packets += receive(queue, graph, &mut cx, *vector, &mut clock);
        }
        if packets > 0 || mail > 0 {
            graph.dispatch(&mut cx, &mut clock);
            cx.output.flush(&mut TxContext::new(cx.pool, now));
        }
        counters.turns.add(1);
        if packets > 0 {
            counters.busy_turns.add(1);
            counters.busy_ticks.add(ticks().wrapping_sub(start));
        }
        seam("a turn done, its end not announced");
        reader.quiescent();
        packets + mail
    }
    /// Runs what control posted; returns how many letters there were.
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
    pub(crate) fn mailbox(&self) -> &Arc<Mailbox> {
        &self.mailbox
    }
    /// What the worker says of itself.
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
    /// What becomes readable when packets wait. None if some queue can only be polled.
    pub fn fds(&self) -> Option<Vec<BorrowedFd<'_>>> {
        self.queues.iter().filter(|q| q.is_watched()).map(|q| q.queue.fd()).collect()
    }
    /// Tells those of the queues of [`Worker::fds`], by their order, whose fd reported an error.
    pub(crate) fn failed(&mut self, failed: &[bool]) {
        let watched = self.queues.iter_mut().filter(|q| q.is_watched());
        watched.zip(failed).filter(|(_, failed)| **failed).for_each(|(q, _)| q.queue.failed());
    }
    /// When the earliest queue wants to be polled, in nanoseconds of the engine's clock; None if no queue ever does.
    pub fn wake_at(&self) -> Option<u64> {
        let moments = self.queues.iter().filter(|q| q.up).filter_map(|q| q.queue.wake_at());
        moments.min().filter(|moment| *moment != u64::MAX)
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
    /// Lets a node run in this turn, with an empty frame: for what waits in the node's state.
    pub fn wake_node(&mut self, at: NodeId) {
        self.graph.wake(at);
    }
    pub(crate) fn attach_rx(
        &mut self,
        id: QueueId,
        interface: u16,
        input: NodeId,
        queue: Box<dyn RxQueue>,
        counters: Arc<Row>,
    ) {
        self.queues.push(Queue { id, interface, input, queue, product: None, counters, up: false });
    }
    pub(crate) fn attach_tx(&mut self, interface: u16, queue: Box<dyn TxQueue>, counters: Arc<Row>) {
        self.ports.attach(interface, queue, counters);
    }
    pub(crate) fn attach_via(&mut self, interface: u16, port: Option<(u16, Arc<Row>)>) {
        self.ports.attach_via(interface, port);
    }
    /// Takes an interface away; its queues go to whoever drops them.
    pub(crate) fn detach(&mut self, interface: u16) -> Detached {
        self.ports.attach_via(interface, None);
        let gone = self.queues.extract_if(.., |q| q.interface == interface).map(|q| q.queue).collect();
        (gone, self.ports.detach(interface))
    }
    pub(crate) fn set_up(&mut self, interface: u16, up: bool) {
        self.queues.iter_mut().filter(|q| q.interface == interface).for_each(|q| q.up = up);
        self.ports.set_up(interface, up);
    }
    /// Installs a product on a queue; returns what was there.
    pub(crate) fn install(&mut self, queue: QueueId, product: Option<Installed>) -> Option<Installed> {
        match self.queues.iter_mut().find(|q| q.id == queue) {
            Some(q) => std::mem::replace(&mut q.product, product),
            None => product,
        }
    }
    /// A driver's receive queue, if it is of this type, to be changed by its own room.
    pub fn queue_mut<Q: RxQueue>(&mut self, queue: QueueId) -> Option<&mut Q> {
        let found = self.queues.iter_mut().find(|q| q.id == queue)?;
        let queue: &mut dyn Any = &mut *found.queue;
        queue.downcast_mut()
    }
    /// The same, with the buffers to fill it from.
    pub fn queue_and_pool<Q: RxQueue>(&mut self, queue: QueueId) -> Option<(&mut Q, &mut Pool)> {
        let found = self.queues.iter_mut().find(|q| q.id == queue)?;
        let queue: &mut dyn Any = &mut *found.queue;
        Some((queue.downcast_mut()?, &mut self.pool))
    }
    /// A driver's transmit queue, if it is of this type, with the buffers that its packets are in.
    pub fn tx_queue_and_pool<Q: TxQueue>(&mut self, interface: u16) -> Option<(&mut Q, &mut Pool)> {
        Some((self.ports.queue_mut(interface)?, &mut self.pool))
    }
    pub(crate) fn trace_arm(&mut self, node: NodeId, count: u32) {
        self.graph.tracer.arm(node, count);
    }
    pub(crate) fn trace_clear(&mut self) {
        self.graph.tracer.clear();
    }
    pub(crate) fn trace_records(&self) -> Vec<Record> {
        self.graph.tracer.records().to_vec()
    }
    pub(crate) fn capture(&mut self, capture: Option<Capture>) {
        self.ports.capture = capture;
    }
}

fn receive(queue: &mut Queue, graph: &mut Graph, cx: &mut Context, most: usize, clock: &mut u64) -> usize {
    let mut frame = graph.frame();
    let mut rx = RxContext::new(cx.pool, cx.now, queue.interface, most.min(VECTOR));
    let n = queue.queue.receive(&mut rx, &mut frame).min(frame.len());
    let (no_buffer, truncated) = (rx.no_buffer, rx.truncated);
    let counters = graph.counters(queue.input);
    if no_buffer + truncated > 0 {
        counters.arc(InputNext::NoBuffer.into(), no_buffer);
        counters.arc(InputNext::Truncated.into(), truncated);
    }
    if n == 0 {
        graph.give_back(frame);
        return 0;
    }
    let mut bytes = 0;
    for length in &frame.length[..n] {
        bytes += u64::from(*length);
    }
    queue.counters.add(queue.interface.into(), n as u64, bytes);
    counters.calls.add(1);
    counters.packets.add(n as u64);
    if let Some(capture) = &mut cx.output.capture {
        for i in 0..n {
            capture.take(Point::Rx, queue.interface, cx.now, frame.segments(cx.pool, i), None);
        }
    }
    let nodes_only = graph.tracer.is_armed();
    if graph.tracer.before(queue.input, &mut frame, cx) {
        graph.tracer.after(queue.input, &frame, cx.now);
    }
    graph.counters(queue.input).clocks.add(lap(clock));
    if let (Some(product), false) = (&mut queue.product, nodes_only) {
        product.run(cx, &mut frame, clock);
        graph.counters(queue.input).arc(InputNext::Received.into(), (n - frame.len()) as u64);
    }
    if frame.is_empty() {
        graph.give_back(frame);
    } else {
        graph.forward(cx, queue.input, frame);
    }
    n
}

impl Drop for Worker {
    fn drop(&mut self) {
        self.graph.free(&mut self.pool);
        self.ports.free(&mut self.pool);
    }
}
