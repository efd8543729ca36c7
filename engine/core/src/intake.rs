//! The receive queues of a worker: which of them are polled in a turn, and how they come and go.
//!
//! A queue moves from worker to worker as a letter, and control does not wait for it. The new worker is told first: it
//! gets the queue's place, without the queue, and what concerns the queue meanwhile (up or down, its mode)
//! is noted there, or waits there. So the queue finds on arrival what control has said last, in the order in which control
//! said it, and nothing that control does depends on where the queue is just now.

use crate::capture::Point;
use crate::column;
use crate::dataplane::RxRows;
use crate::frame::{BLOCK, VECTOR};
use crate::graph::{Chain, Context, Graph, NodeId};
use crate::handoff::Marks;
use crate::mailbox::{Letter, Mailbox};
use crate::rx::{RxContext, RxMode, RxQueue};
use crate::worker::Worker;
use std::any::Any;
use std::sync::Arc;

/// The arc by which received packets leave the node that stands for their queue: its first.
pub(crate) const RECEIVED: u16 = 0;

/// A receive queue; numbers are given by the data plane, and none is given twice.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct QueueId(pub u32);

/// What a turn received.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Harvest {
    pub packets: usize,
    pub bytes: u64,
}

/// What a queue waits for that is not polled.
struct Held {
    /// Until the rings to other workers are drained up to here.
    until: Marks,
    /// What is done then.
    then: Option<Letter>,
}

/// A queue's place on a worker.
pub(crate) struct Place {
    pub id: QueueId,
    pub interface: u32,
    pub input: NodeId,
    pub counters: RxRows,
    pub up: bool,
    pub mode: RxMode,
    /// The queue; None while it is on its way here.
    queue: Option<Box<dyn RxQueue>>,
    /// The nodes by which its last packets went together.
    pub chain: Chain,
    /// Whether packets may wait in it, as far as its descriptor has said. Looked at in interrupt mode only.
    raised: bool,
    /// Letters about a queue that is not here yet.
    waiting: Vec<Letter>,
    /// Until when the queue is not polled, so that packets do not overtake those that were handed over before.
    held: Option<Held>,
}

impl Place {
    /// The place of a queue that is on its way, as control knows it.
    pub fn new(id: QueueId, interface: u32, input: NodeId, counters: RxRows, up: bool, mode: RxMode) -> Place {
        Place {
            id,
            interface,
            input,
            counters,
            up,
            mode,
            queue: None,
            chain: Chain::new(),
            raised: true,
            waiting: vec![],
            held: None,
        }
    }
    /// Whether the queue is to be polled in a turn at this time.
    pub fn is_due(&self, now: u64) -> bool {
        let Some(queue) = &self.queue else { return false };
        self.up
            && self.held.is_none()
            && (self.mode != RxMode::Interrupt || self.raised || queue.wake_at().is_some_and(|moment| moment <= now))
    }
    /// The queue, if packets can come by it.
    pub fn open(&self) -> Option<&dyn RxQueue> {
        self.queue.as_deref().filter(|_| self.up)
    }
    /// The queue, if it is open and its descriptor says when packets wait.
    pub fn watched(&self) -> Option<&dyn RxQueue> {
        self.open().filter(|queue| queue.wake_at().is_none())
    }
    pub fn queue_mut(&mut self) -> Option<&mut dyn RxQueue> {
        self.queue.as_deref_mut()
    }
    /// What the descriptor has said.
    pub fn heard(&mut self, said: Interrupt) {
        self.raised |= said != Interrupt::None;
        if let (Interrupt::Failed, Some(queue)) = (said, &mut self.queue) {
            queue.failed();
        }
    }
    /// Whether it is not polled for a while.
    pub fn is_held(&self) -> bool {
        self.held.is_some()
    }
    pub fn set_up(&mut self, up: bool) {
        // What came while nobody looked has been announced before.
        (self.up, self.raised) = (up, true);
    }
    pub fn set_mode(&mut self, mode: RxMode) {
        (self.mode, self.raised) = (mode, true);
    }
    /// Receives a vector at most and sends it on; says what came.
    pub fn receive(&mut self, graph: &mut Graph, cx: &mut Context, most: usize, clock: &mut u64) -> Harvest {
        let (most, mut harvest) = (most.min(VECTOR), Harvest::default());
        if self.queue.as_ref().is_none_or(|queue| queue.is_empty()) {
            self.raised = false;
            graph.settle(&mut self.chain);
            return harvest;
        }
        while harvest.packets < most {
            let wanted = BLOCK.min(most - harvest.packets);
            let came = self.receive_frame(graph, cx, wanted, clock);
            harvest = Harvest { packets: harvest.packets + came.packets, bytes: harvest.bytes + came.bytes };
            if came.packets < wanted {
                break;
            }
        }
        harvest
    }
    fn receive_frame(&mut self, graph: &mut Graph, cx: &mut Context, most: usize, clock: &mut u64) -> Harvest {
        let Some(queue) = &mut self.queue else { return Harvest::default() };
        let mut frame = graph.frame();
        let counters = graph.counters(self.input);
        let mut rx = RxContext {
            pool: cx.pool,
            now: cx.now,
            interface: self.interface,
            most,
            counters,
            rows: &self.counters,
            has_lost: false,
        };
        let n = queue.receive(&mut rx, &mut frame).min(frame.len());
        if n == 0 {
            // A queue that lost packets has not shown that it is empty.
            self.raised = rx.has_lost;
            graph.settle(&mut self.chain);
            graph.give_back(frame);
            return Harvest::default();
        }
        let bytes = column::sum(&frame.length, n);
        self.counters.received(self.interface, counters, n as u64, bytes);
        for capture in cx.output.captures.at(Point::Rx) {
            for i in 0..n {
                capture.take(Point::Rx, self.interface, cx.now, frame.segments(cx.pool, i), None);
            }
        }
        if graph.tracer.before(self.input, &mut frame, cx) {
            graph.tracer.after(&frame, &[]);
        }
        // All of them leave by the arc `RECEIVED`.
        (frame.left, frame.one_next) = (0, true);
        graph.receive(cx, (self.input, frame), &mut self.chain, clock);
        Harvest { packets: n, bytes }
    }
}

/// What a queue's descriptor said when it was looked at.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Interrupt {
    /// Nothing.
    None,
    /// Packets wait.
    Raised,
    /// An error, until the queue has asked which.
    Failed,
}

impl Worker {
    /// Makes room for a queue that is on its way.
    pub(crate) fn expect(&mut self, place: Place) {
        self.places.push(place);
    }
    /// Takes a queue that was expected, and reads what waited for it. Given back if its interface went meanwhile.
    pub(crate) fn arrive(&mut self, id: QueueId, queue: Box<dyn RxQueue>) -> Option<Box<dyn RxQueue>> {
        // The first place: a queue that is to go on from here and to come back once more has another one.
        let Some(place) = self.places.iter_mut().find(|place| place.id == id) else { return Some(queue) };
        place.queue = Some(queue);
        std::mem::take(&mut place.waiting).into_iter().for_each(|letter| letter(self));
        None
    }
    /// Receives nothing of an interface until all packets that were handed to other workers are through. Whoever changes
    /// which worker a flow goes to calls it before.
    pub fn hold(&mut self, interface: u32) {
        let Worker { places, .. } = self;
        let ids: Vec<_> =
            places.iter().filter(|p| p.interface == interface && p.held.is_none()).map(|p| p.id).collect();
        ids.into_iter().for_each(|id| self.hold_until_drained(id, None));
    }
    fn hold_until_drained(&mut self, id: QueueId, then: Option<Letter>) {
        let until = self.outbound().marks();
        if let Some(place) = self.places.iter_mut().find(|place| place.id == id && place.queue.is_some()) {
            place.held = Some(Held { until, then });
            self.graph.settle(&mut place.chain);
        }
    }
    /// Lets queues be polled again, or go on, that have waited for the rings to drain.
    pub(crate) fn let_go(&mut self) {
        for at in (0..self.places.len()).rev() {
            let Some(held) = self.places[at].held.take() else { continue };
            match (self.outbound().is_drained(&held.until), held.then) {
                (false, then) => self.places[at].held = Some(Held { then, ..held }),
                (true, Some(then)) => then(self),
                (true, None) => {}
            }
        }
    }
    /// Sends a queue to the worker of this mailbox, which expects it, as soon as nothing that it has received can be
    /// overtaken. What is left goes to whoever drops it.
    pub(crate) fn depart(
        &mut self,
        id: QueueId,
        to: Arc<Mailbox>,
        left: impl Fn(Box<dyn Any + Send>) + Send + Clone + 'static,
    ) {
        let now = self.outbound().marks();
        if !self.outbound().is_drained(&now) {
            return self.hold_until_drained(id, Some(Box::new(move |worker: &mut Worker| worker.send(id, &to, left))));
        }
        self.send(id, &to, left);
    }
    fn send(&mut self, id: QueueId, to: &Mailbox, left: impl Fn(Box<dyn Any + Send>) + Send + Clone + 'static) {
        let Some(at) = self.places.iter().position(|place| place.id == id && place.queue.is_some()) else { return };
        let mut place = self.places.remove(at);
        self.graph.settle(&mut place.chain);
        if let Some(queue) = place.queue.take() {
            let refused = left.clone();
            to.post(move |worker| {
                if let Some(queue) = worker.arrive(id, queue) {
                    refused(Box::new(queue));
                }
            });
        }
        left(Box::new(place));
    }
    /// Runs a letter about a queue as soon as the queue is here. It finds none if the queue has gone for ever.
    pub(crate) fn when_here(&mut self, id: QueueId, letter: impl FnOnce(&mut Worker) + Send + 'static) {
        match self.place(id) {
            Some(place) if place.queue.is_none() => place.waiting.push(Box::new(letter)),
            _ => letter(self),
        }
    }
    /// The place that control speaks of: the last one, if the queue is to come here more than once.
    pub(crate) fn place(&mut self, id: QueueId) -> Option<&mut Place> {
        self.places.iter_mut().rev().find(|place| place.id == id)
    }
}
