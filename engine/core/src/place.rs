//! A receive queue's place on a worker. `L` are the letters that wait for the queue.

use crate::capture::Point;
use crate::column;
use crate::dataplane::RxRows;
use crate::graph::{Chain, Context, Graph, NodeId};
use crate::handoff::Marks;
use crate::rx::{Harvest, RxContext, RxMode, RxQueue};
use crate::vector::{BLOCK, VECTOR};

/// The arc by which received packets leave the node that stands for their queue: its first.
pub(crate) const RECEIVED: u16 = 0;

/// A receive queue; numbers are given by the data plane, and none is given twice.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct QueueId(pub u32);
/// The condition for which a queue is not polled.
pub(crate) struct Held<L> {
    /// Until the rings to other workers are drained up to here.
    pub until: Marks,
    /// Sent when it is met.
    pub then: Option<L>,
}

/// A queue's place on a worker.
pub(crate) struct Place<L> {
    pub id: QueueId,
    pub interface: u32,
    pub input: NodeId,
    pub counters: RxRows,
    pub up: bool,
    pub mode: RxMode,
    /// The queue; None while it is on its way here.
    pub queue: Option<Box<dyn RxQueue>>,
    /// The nodes by which its last packets went together.
    pub chain: Chain,
    /// Whether packets may wait in it, as far as its descriptor has said. Looked at in interrupt mode only.
    raised: bool,
    /// Letters about a queue that is not here yet.
    pub waiting: Vec<L>,
    /// Until when the queue is not polled, so that packets do not overtake those that were handed over before.
    pub held: Option<Held<L>>,
}

impl<L> Place<L> {
    /// The place of a queue that is on its way, as control knows it.
    pub fn new(id: QueueId, interface: u32, input: NodeId, counters: RxRows, up: bool, mode: RxMode) -> Place<L> {
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
    /// Notes an event of the queue's descriptor.
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
    /// Receives a vector at most and sends it on; returns its packets and bytes.
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

/// Event of a queue's descriptor.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Interrupt {
    /// Nothing.
    None,
    /// Packets wait.
    Raised,
    /// An error, until the queue has asked which.
    Failed,
}
