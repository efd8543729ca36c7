//! Nodes, arcs and dispatch. The graph is the fast path: packets that stay together go from stage to stage at once.

mod arc;
mod blueprint;
mod chain;
mod claims;
mod dispatch;
mod extension;
mod feature;
mod layout;
mod wiring;

pub use arc::{ArcSpec, To};
pub use blueprint::{Blueprint, FeatureArcSpec, GraphError, NodeHandle, NodeSpec, Seed};
pub(crate) use chain::Chain;
pub use claims::{Claim, Number};
pub(crate) use dispatch::DispatchNext;
pub use dispatch::{DISPATCH, Graph, NodeCounters};
pub use feature::{FeatureSpec, Phase};
pub use wiring::{NodeId, Reason, Side, Wiring};

use crate::buffer::{Packet, Pool};
use crate::capture::Point;
use crate::channel::Outbox;
use crate::counters::{Counter, Row};
use crate::dataplane::Recollection;
use crate::frame::{Frame, TAKEN};
use crate::handoff::Outbound;
use crate::isa::Level;
use crate::tx::Ports;
use crate::words::Words;
use quiver_table::Guard;
use std::any::Any;
use std::sync::Arc;

/// What a node may touch besides its frame.
pub struct Context<'t> {
    /// The instruction set that stages run on.
    pub level: Level,
    /// Proof that this worker is inside a turn: snapshots can be read.
    pub guard: Guard<'t>,
    /// Nanoseconds of the engine's clock at the start of this turn.
    pub now: u64,
    /// The number of this worker.
    pub worker: usize,
    /// This worker's buffers.
    pub pool: &'t mut Pool,
    /// The interfaces' ways out; only the output node uses them.
    pub output: &'t mut Ports,
    pub(crate) emitted: &'t mut Vec<(u16, Packet)>,
    /// The first bytes of the frame's packets, for stages.
    pub(crate) words: &'t mut Words,
    /// The node at work.
    pub(crate) node: NodeId,
    pub(crate) outbound: &'t mut Outbound,
    /// What workers were asked for, in a rehearsal.
    pub(crate) recollection: Option<&'t mut Recollection>,
}
impl Context<'_> {
    /// Sends a packet that is not a row of the frame by an arc of the current node: a reply, a copy.
    pub fn emit(&mut self, arc: impl Into<u16>, packet: Packet) {
        self.emitted.push((arc.into(), packet));
    }
}

/// A node's work. State of its own is fine: every worker has its own instance.
pub trait Node: Send + Any {
    /// Sets `frame.next` for each packet, or takes the packet. Rows start with arc 0.
    fn process(&mut self, cx: &mut Context, frame: &mut Frame);
    /// Whether it works on many packets in little time, so that the clock is not read for it alone.
    fn is_stage(&self) -> bool {
        false
    }
}

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

/// Stands in rehearsals for a node that cannot be rehearsed: it keeps what comes.
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
