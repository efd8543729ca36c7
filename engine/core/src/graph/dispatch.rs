//! A worker's instance of the graph: dispatch, and the counting of every arc.

use super::wiring::{NodeId, Reason, Side, Target, Wiring};
use super::{Context, Node};
use crate::arcs;
use crate::buffer::{Packet, Pool};
use crate::column;
use crate::counters::Counter;
use crate::frame::{Frame, TAKEN, VECTOR};
use crate::isa::lap;
use crate::trace::Tracer;
use quiver_stats::Block;
use quiver_table::simulation::seam;
use std::any::Any;
use std::sync::Arc;

/// The name of the node in whose name dispatch itself drops packets.
pub const DISPATCH: &str = "dispatch";

arcs! {
    /// Why dispatch drops packets.
    pub(crate) enum DispatchNext {
        TooManyPasses => drop "too-many-passes",
        InterfaceGone => drop "interface-gone",
    }
}

/// Times that dispatch goes back to an earlier place of the nodes' order within one turn. What still moves then circles: a
/// packet that is sent back, into a bridge domain or with an error to its sender, goes back a few times at most, and all
/// packets of a turn go together.
const PASSES_MAX: u32 = 64;

/// What a node did, on one worker. A drop's reason is the arc it took, so no other reason counters exist.
#[derive(Debug)]
pub struct NodeCounters {
    /// Frames worked on.
    pub calls: Counter,
    /// Packets in them.
    pub packets: Counter,
    /// Ticks of the time stamp counter spent.
    pub clocks: Counter,
    /// Packets by arc.
    pub arcs: Block<Counter>,
}
impl NodeCounters {
    pub(crate) fn new(arcs: Block<Counter>) -> NodeCounters {
        NodeCounters { calls: Counter::default(), packets: Counter::default(), clocks: Counter::default(), arcs }
    }
    /// Counts packets on an arc.
    #[inline(always)]
    pub fn arc(&self, arc: u16, packets: u64) {
        if let Some(counter) = self.arcs.get(usize::from(arc)) {
            counter.add(packets);
        }
    }
}

struct Entry {
    node: Box<dyn Node>,
    counters: Arc<NodeCounters>,
    pending: Vec<Box<Frame>>,
}

/// The instance.
pub struct Graph {
    entries: Vec<Entry>,
    wiring: Arc<Wiring>,
    /// Nodes with pending frames, a bit for each place in the wiring's order.
    ready: Vec<u64>,
    spare: Vec<Box<Frame>>,
    /// The node in whose name dispatch drops.
    dispatcher: NodeId,
    /// The pool whose packets the frames hold.
    home: usize,
    pub(crate) tracer: Tracer,
}

impl Graph {
    pub(super) fn new(
        nodes: Vec<(Box<dyn Node>, Arc<NodeCounters>)>,
        wiring: Arc<Wiring>,
        home: usize,
        dispatcher: NodeId,
    ) -> Graph {
        let entry = |(node, counters)| Entry { node, counters, pending: vec![] };
        let entries: Vec<_> = nodes.into_iter().map(entry).collect();
        let ready = vec![0; entries.len().div_ceil(64)];
        Graph { entries, wiring, ready, spare: vec![], dispatcher, home, tracer: Tracer::default() }
    }
    /// Where every arc leads on this worker.
    pub fn wiring(&self) -> &Arc<Wiring> {
        &self.wiring
    }
    /// Adds a node that was registered after this instance was made; its id is the next free one.
    pub(crate) fn add(&mut self, (node, counters): (Box<dyn Node>, Arc<NodeCounters>)) {
        self.entries.push(Entry { node, counters, pending: vec![] });
    }
    /// Swaps the wiring between two turns; returns the old one.
    pub(crate) fn swap_wiring(&mut self, wiring: Arc<Wiring>) -> Arc<Wiring> {
        let old = std::mem::replace(&mut self.wiring, wiring);
        self.ready = vec![0; self.entries.len().div_ceil(64)];
        // Packets that an earlier letter injected wait already, at places that have changed.
        for at in (0..self.entries.len()).filter(|at| !self.entries[*at].pending.is_empty()) {
            mark(&mut self.ready, self.wiring.shape.rank[at]);
        }
        old
    }
    /// The instance of a node, if it is of this type.
    pub fn node_mut<N: Node>(&mut self, id: NodeId) -> Option<&mut N> {
        let node: &mut dyn Any = &mut *self.entries.get_mut(id.index())?.node;
        node.downcast_mut()
    }
    /// Replaces the instance of a node; its counters go on.
    pub fn replace(&mut self, id: NodeId, node: Box<dyn Node>) -> Option<Box<dyn Node>> {
        Some(std::mem::replace(&mut self.entries.get_mut(id.index())?.node, node))
    }
    pub(crate) fn dispatcher(&self) -> NodeId {
        self.dispatcher
    }
    pub(crate) fn counters_of(&self, id: NodeId) -> Arc<NodeCounters> {
        self.entries[id.index()].counters.clone()
    }
    pub(crate) fn counters(&self, id: NodeId) -> &NodeCounters {
        &self.entries[id.index()].counters
    }
    /// An empty frame.
    pub(crate) fn frame(&mut self) -> Box<Frame> {
        self.spare.pop().unwrap_or_else(|| Box::new(Frame::new(self.home)))
    }
    pub(crate) fn give_back(&mut self, mut frame: Box<Frame>) {
        frame.clear();
        self.spare.push(frame);
    }
    fn enqueue(&mut self, at: NodeId, frame: Box<Frame>) {
        mark(&mut self.ready, self.wiring.shape.rank[at.index()]);
        self.entries[at.index()].pending.push(frame);
    }
    /// Puts one packet before a node: control's way into the graph.
    pub(crate) fn inject(&mut self, at: NodeId, packet: Packet) {
        if at.index() < self.entries.len() {
            self.put(self.wiring.in_place_of(at), packet);
        }
    }
    fn put(&mut self, at: NodeId, packet: Packet) {
        // There is room; a packet of another pool goes back to it.
        drop(self.room_at(at).push(packet));
    }
    /// Lets a node run in the next dispatch, if need be with an empty frame.
    pub(crate) fn wake(&mut self, at: NodeId) {
        if at.index() < self.entries.len() {
            self.room_at(at);
        }
    }
    /// The last pending frame of a node with room in it.
    fn room_at(&mut self, at: NodeId) -> &mut Frame {
        if self.entries[at.index()].pending.last().is_none_or(|f| f.len == VECTOR) {
            let fresh = self.frame();
            self.enqueue(at, fresh);
        }
        let pending = &mut self.entries[at.index()].pending;
        let last = pending.len() - 1;
        &mut pending[last]
    }
    /// Runs every pending frame to its end.
    pub(crate) fn dispatch(&mut self, cx: &mut Context, clock: &mut u64) {
        let (mut last, mut passes) = (0, 0);
        while let Some(word) = self.ready.iter().position(|word| *word != 0) {
            let rank = word * 64 + self.ready[word].trailing_zeros() as usize;
            if rank <= last {
                passes += 1;
                if passes > PASSES_MAX {
                    self.drop_pending(cx);
                    (last, passes) = (0, 0);
                    continue;
                }
            }
            last = rank;
            self.ready[word] &= self.ready[word] - 1;
            let at = self.wiring.shape.order[rank];
            let mut frames = std::mem::take(&mut self.entries[at.index()].pending);
            for frame in frames.drain(..) {
                seam("about to run a node");
                self.run(cx, at, frame, clock);
            }
            // The node may have sent packets to itself meanwhile.
            let pending = &mut self.entries[at.index()].pending;
            if pending.is_empty() {
                *pending = frames;
            }
        }
    }
    #[inline]
    fn run(&mut self, cx: &mut Context, at: NodeId, mut frame: Box<Frame>, clock: &mut u64) {
        let n = frame.len();
        column::fill(&mut frame.next, 0, n);
        cx.node = at;
        let entry = &mut self.entries[at.index()];
        let traced = self.tracer.before(at, &mut frame, cx);
        entry.node.process(cx, &mut frame);
        if traced {
            self.tracer.after(&frame, cx.emitted);
        }
        entry.counters.calls.add(1);
        entry.counters.packets.add(n as u64);
        self.forward(cx, at, frame);
        if !cx.emitted.is_empty() {
            // In their order: copies of a flood must not overtake each other.
            let mut emitted = std::mem::take(cx.emitted);
            emitted.drain(..).for_each(|(arc, packet)| self.emit(at, arc, packet));
            *cx.emitted = emitted;
        }
        self.entries[at.index()].counters.clocks.add(lap(clock));
    }
    /// Sends a packet along an arc of a node, and counts it there.
    pub(crate) fn emit(&mut self, at: NodeId, arc: u16, mut packet: Packet) {
        let Some(target) = self.wiring.shape.targets[at.index()].get(usize::from(arc)).copied() else {
            debug_assert!(false, "a node emits by its own arcs");
            return;
        };
        self.entries[at.index()].counters.arc(arc, 1);
        let to = match target {
            Target::Node(to) => to,
            Target::End(to) => {
                packet.hop = Reason::new(at, arc).0;
                to
            }
            Target::Features { arc, position } => {
                let table = &self.wiring.features[usize::from(arc)];
                table.next(position, if table.side == Side::Rx { packet.rx } else { packet.tx })
            }
        };
        self.put(to, packet);
    }
    /// Moves the packets of a frame along their arcs.
    #[inline]
    pub(crate) fn forward(&mut self, cx: &mut Context, at: NodeId, mut frame: Box<Frame>) {
        let n = frame.len();
        let first = frame.next[0];
        if n > 0
            && frame.taken == 0
            && column::uniform(&frame.next, n)
            && let Some(target) = self.wiring.shape.targets[at.index()].get(usize::from(first)).copied()
        {
            let to = match target {
                Target::Node(to) => Some(to),
                Target::End(to) => {
                    column::fill(&mut frame.hop, Reason::new(at, first).0, n);
                    Some(to)
                }
                Target::Features { arc, position } => {
                    let table = &self.wiring.features[usize::from(arc)];
                    let interfaces = if table.side == Side::Rx { &frame.rx } else { &frame.tx };
                    column::uniform(interfaces, n).then(|| table.next(position, interfaces[0]))
                }
            };
            if let Some(to) = to {
                self.entries[at.index()].counters.arc(first, n as u64);
                return self.enqueue(to, frame);
            }
        }
        if n > frame.taken {
            self.scatter(cx, at, &mut frame);
        }
        frame.clear();
        self.spare.push(frame);
    }
    fn scatter(&mut self, cx: &mut Context, at: NodeId, frame: &mut Frame) {
        let wiring = self.wiring.clone();
        let targets = &wiring.shape.targets[at.index()];
        for i in 0..frame.len() {
            let arc = frame.next[i];
            if frame.buffer[i] == cx.pool.null {
                continue;
            }
            let to = match targets.get(usize::from(arc)).copied() {
                Some(Target::Node(to)) => to,
                Some(Target::End(to)) => {
                    frame.hop[i] = Reason::new(at, arc).0;
                    to
                }
                Some(Target::Features { arc, position }) => {
                    let table = &wiring.features[usize::from(arc)];
                    table.next(position, if table.side == Side::Rx { frame.rx[i] } else { frame.tx[i] })
                }
                None => {
                    debug_assert!(arc == TAKEN, "a node sends by its own arcs");
                    cx.pool.free_raw(frame.raw(i));
                    continue;
                }
            };
            self.entries[at.index()].counters.arc(arc, 1);
            self.room_at(to).push_from(frame, i);
        }
    }
    /// Drops whatever is on its way to a node that would send it on.
    #[cold]
    fn drop_pending(&mut self, cx: &mut Context) {
        for at in 0..self.entries.len() {
            if self.wiring.shape.targets[at].is_empty() {
                continue;
            }
            for mut frame in std::mem::take(&mut self.entries[at].pending) {
                frame.next.fill(DispatchNext::TooManyPasses.into());
                self.forward(cx, self.dispatcher, frame);
            }
            let rank = self.wiring.shape.rank[at];
            self.ready[usize::from(rank / 64)] &= !(1 << (rank % 64));
        }
    }
    /// Frees what is pending: for a worker that ends.
    pub(crate) fn free(&mut self, pool: &mut Pool) {
        for entry in &mut self.entries {
            entry.pending.drain(..).for_each(|mut frame| frame.free(pool));
        }
    }
}

/// Notes that the node at a place in the order has something to do.
#[inline(always)]
fn mark(ready: &mut [u64], rank: u16) {
    ready[usize::from(rank / 64)] |= 1 << (rank % 64);
}
