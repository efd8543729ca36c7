//! The engine's own nodes: drop, done and punt at the ends of arcs, and stand-ins for others.

use super::node::{Context, Node};
use super::wiring::Reason;
use crate::capture::Point;
use crate::channel::Outbox;
use crate::counters::{Counter, Row};
use crate::frame::Frame;
use crate::vector::TAKEN;
use std::sync::Arc;

/// Frees packets: the end of every drop arc. The arc that led here is the reason. Counts them by receiving interface.
pub(crate) struct Discard(pub Arc<Row<Counter>>);

impl Node for Discard {
    fn process(&mut self, cx: &mut Context, frame: &mut Frame) {
        for i in 0..frame.len() {
            self.0.add(frame.rx[i], 1);
        }
        for capture in cx.output.captures.at(Point::Drop) {
            for i in 0..frame.len() {
                let reason = Some(Reason(frame.hop[i]));
                match capture.frames {
                    true => capture.take(Point::Drop, frame.rx[i], cx.now, frame.received(cx.pool, i), reason),
                    false => capture.take(Point::Drop, frame.rx[i], cx.now, frame.segments(cx.pool, i), reason),
                }
            }
        }
        frame.free(cx.pool);
    }
}

/// Frees packets that a node has dealt with: the end of every done arc.
pub(crate) struct Done;

impl Node for Done {
    fn process(&mut self, cx: &mut Context, frame: &mut Frame) {
        frame.free(cx.pool);
    }
}

/// Hands packets to the control thread: the end of every punt arc.
pub(crate) struct Punt {
    pub to: Outbox<Punted>,
    /// Packets by the interface that received them.
    pub counters: Arc<Row<Counter>>,
}

impl Node for Punt {
    fn process(&mut self, cx: &mut Context, frame: &mut Frame) {
        for i in 0..frame.len() {
            let mut bytes = vec![];
            frame.gather(cx.pool, i, &mut bytes);
            self.counters.add(frame.rx[i], 1);
            // A full queue drops the packet and counts it.
            self.to.send(Punted { reason: Reason(frame.hop[i]), rx: frame.rx[i], bytes });
        }
        frame.free(cx.pool);
    }
}

/// A packet for the control thread.
#[derive(Clone, Debug)]
pub struct Punted {
    /// The arc that led here.
    pub reason: Reason,
    /// The interface that received it.
    pub rx: u32,
    /// The packet, from the header on that the deciding node read.
    pub bytes: Vec<u8>,
}

/// Stands in rehearsals for a node that cannot be rehearsed: it keeps all packets.
pub(crate) struct Foreign;

impl Node for Foreign {
    fn process(&mut self, _: &mut Context, frame: &mut Frame) {
        let n = frame.len();
        frame.next[..n].fill(TAKEN);
    }
}

/// Stands for a driver's receive queues in the graph; the worker fills its frames.
pub(crate) struct Input;

impl Node for Input {
    fn process(&mut self, _: &mut Context, _: &mut Frame) {}
}
