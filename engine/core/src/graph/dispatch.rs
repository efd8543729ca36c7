//! A worker's instance of the graph: dispatch, and the counting of every arc.
//!
//! - `following`: frames that go the way of those before.
//! - `parting`: packets of a frame that go to several places.

#[cfg(all(test, not(loom)))]
mod clocks;
mod following;
mod parting;

use super::chain::{Chain, Step, decides};
use super::counters::NodeCounters;
use super::node::{Context, Node};
use super::wiring::{NodeId, Reason, Side, Target, Wiring};
use crate::arcs;
use crate::buffer::{Packet, Pool};
use crate::column;
use crate::frame::Frame;
use crate::isa::lap;
use crate::trace::Tracer;
use crate::vector::{BLOCK, Rows};
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

struct Entry {
    node: Box<dyn Node>,
    is_stage: bool,
    counters: Arc<NodeCounters>,
    #[expect(clippy::vec_box, reason = "frames are large, and move from list to list as pointers")]
    pending: Vec<Box<Frame>>,
    /// Where the packets of the last frame went that stayed together.
    last: Option<Way>,
    /// The chain that begins with this node.
    chain: Option<Box<Chain>>,
    /// The last node that queued packets here.
    previous: Option<NodeId>,
}

/// Times that one received frame is split, so that nothing overtakes packets that go another way for a while.
const SPLITS_MAX: u32 = 8;

/// A frame that waits until the packets in front of it are through.
enum Waiting {
    /// Before a node that is to work on it.
    Before(NodeId, Box<Frame>),
    /// Behind the node that worked on it last.
    Behind(NodeId, Box<Frame>),
}

/// Where packets go that leave a node together by an arc.
#[derive(Clone, Copy)]
struct Way {
    arc: u16,
    /// The interface for which that holds, if features of it decide.
    decides: Option<(Side, u32)>,
    to: NodeId,
    /// Whether the frame may go on at once: to a node that is no end.
    goes_on: bool,
    /// Whether the reason is written beside the packets.
    is_end: bool,
}
impl Way {
    /// Whether it is that of a frame whose packets leave by this arc.
    #[inline(always)]
    fn is_of(&self, frame: &Frame, arc: u16) -> bool {
        self.arc == arc && decides(self.decides, frame)
    }
}
impl Entry {
    fn new((node, counters): (Box<dyn Node>, Arc<NodeCounters>)) -> Entry {
        Entry { is_stage: node.is_stage(), node, counters, pending: vec![], last: None, chain: None, previous: None }
    }
}

/// The instance.
pub struct Graph {
    entries: Vec<Entry>,
    wiring: Arc<Wiring>,
    /// Nodes with pending frames, a bit for each place in the wiring's order.
    ready: Vec<u64>,
    /// Whether some node may have pending frames, or packets may wait.
    is_busy: bool,
    #[expect(clippy::vec_box, reason = "frames are large, and move from list to list as pointers")]
    spare: Vec<Box<Frame>>,
    /// The node in whose name dispatch drops.
    dispatcher: NodeId,
    /// The pool whose packets the frames hold.
    home: usize,
    /// Packets that wait until those in front of them have passed a node outside the chain. The frame that was added last goes on first.
    waiting: Vec<Waiting>,
    /// Scratch of `scatter`: nodes, and the rows that go there.
    places: Vec<(NodeId, Rows)>,
    /// Times that the frame that was received last may still be split.
    splits: u32,
    /// The nodes that the frame on its way came by at once.
    chain: Chain,
    /// Nodes with whose chains something is not counted yet.
    unsettled: Vec<NodeId>,
    /// Changes whenever frames may go elsewhere than before.
    version: u32,
    /// Whether each stage reads the clock, instead of one for all that follow one another.
    pub(crate) is_timed: bool,
    pub(crate) tracer: Tracer,
}

impl Graph {
    pub(super) fn new(
        nodes: Vec<(Box<dyn Node>, Arc<NodeCounters>)>,
        wiring: Arc<Wiring>,
        home: usize,
        dispatcher: NodeId,
    ) -> Graph {
        let entries: Vec<_> = nodes.into_iter().map(Entry::new).collect();
        let ready = vec![0; entries.len().div_ceil(64)];
        Graph {
            entries,
            wiring,
            ready,
            is_busy: false,
            spare: vec![],
            dispatcher,
            home,
            waiting: vec![],
            places: vec![],
            splits: 0,
            chain: Chain::new(),
            unsettled: vec![],
            version: 1,
            is_timed: false,
            tracer: Tracer::default(),
        }
    }
    /// Where every arc leads on this worker.
    pub fn wiring(&self) -> &Arc<Wiring> {
        &self.wiring
    }
    /// Adds a node that was registered after this instance was made; its id is the next free one.
    pub(crate) fn add(&mut self, node: (Box<dyn Node>, Arc<NodeCounters>)) {
        self.entries.push(Entry::new(node));
    }
    /// Swaps the wiring between two turns; returns the old one.
    pub(crate) fn swap_wiring(&mut self, wiring: Arc<Wiring>) -> Arc<Wiring> {
        let old = std::mem::replace(&mut self.wiring, wiring);
        self.ready = vec![0; self.entries.len().div_ceil(64)];
        self.forget_chains();
        self.entries.iter_mut().for_each(|entry| entry.last = None);
        // Packets that an earlier letter injected wait already, at places that have changed.
        for at in 0..self.entries.len() {
            if !self.entries[at].pending.is_empty() {
                self.mark(self.wiring.shape.rank[at]);
            }
        }
        old
    }
    /// Makes receive queues learn their chains again. No graph has version 0, which is that of chains without nodes.
    fn forget_chains(&mut self) {
        self.version = self.version.wrapping_add(1).max(1);
    }
    /// The instance of a node, if it is of this type.
    pub fn node_mut<N: Node>(&mut self, id: NodeId) -> Option<&mut N> {
        self.any_node_mut(id)?.downcast_mut()
    }
    /// The instance of a node, whatever its type.
    pub(crate) fn any_node_mut(&mut self, id: NodeId) -> Option<&mut dyn Any> {
        Some(&mut *self.entries.get_mut(id.index())?.node)
    }
    /// Replaces the instance of a node; its counters go on.
    pub fn replace(&mut self, id: NodeId, node: Box<dyn Node>) -> Option<Box<dyn Node>> {
        self.forget_chains();
        let entry = self.entries.get_mut(id.index())?;
        entry.is_stage = node.is_stage();
        Some(std::mem::replace(&mut entry.node, node))
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
    /// Notes that the node at a place in the order has something to do.
    #[inline(always)]
    fn mark(&mut self, rank: u16) {
        self.ready[usize::from(rank / 64)] |= 1 << (rank % 64);
        self.is_busy = true;
    }
    fn enqueue(&mut self, at: NodeId, frame: Box<Frame>) {
        self.mark(self.wiring.shape.rank[at.index()]);
        self.entries[at.index()].pending.push(frame);
    }
    /// Queues a frame at a node. A frame that waits there already takes its packets, if there is room, so that all of
    /// them are split together where some take a detour, and none overtakes another.
    fn enqueue_from(&mut self, from: NodeId, at: NodeId, frame: Box<Frame>) {
        let entry = &mut self.entries[at.index()];
        entry.previous = Some(from);
        match entry.pending.last_mut().filter(|last| last.len() + frame.len() <= BLOCK) {
            Some(last) => {
                last.push_rows_of(&frame, Rows::first(frame.len()));
                self.give_back(frame);
            }
            None => self.enqueue(at, frame),
        }
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
        if self.entries[at.index()].pending.last().is_none_or(|f| f.len == BLOCK) {
            let fresh = self.frame();
            self.enqueue(at, fresh);
        }
        let pending = &mut self.entries[at.index()].pending;
        let last = pending.len() - 1;
        &mut pending[last]
    }
    /// Sends on a frame that was received, by the arc [`RECEIVED`](crate::place::RECEIVED) of the node that stands for its queue, and
    /// sees all of its packets through, so that those received next do not overtake them.
    #[inline]
    pub(crate) fn receive(
        &mut self,
        cx: &mut Context,
        (at, frame): (NodeId, Box<Frame>),
        chain: &mut Chain,
        clock: &mut u64,
    ) {
        self.splits = SPLITS_MAX;
        if chain.is_of(self.version) && !self.is_busy && self.is_unwatched(&frame) {
            if let Some(next) = self.follow(cx, frame, chain, clock) {
                self.run_from(cx, next, clock);
            }
        } else {
            self.settle(chain);
            self.begin_walk(cx, Some(at));
            let next = self.part(cx, at, frame);
            self.walk(cx, next, clock);
            self.learn(cx, chain);
        }
        self.dispatch(cx, clock);
    }
    /// Sends on a frame that a node has worked on elsewhere, and sees all of its packets through.
    pub(crate) fn resume(&mut self, cx: &mut Context, (at, frame): (NodeId, Box<Frame>), clock: &mut u64) {
        self.splits = SPLITS_MAX;
        self.forward(cx, at, frame, clock);
        self.dispatch(cx, clock);
    }
    /// Whether stages are not timed one by one, and none of a frame's packets may be traced or captured.
    #[inline(always)]
    fn is_unwatched(&self, frame: &Frame) -> bool {
        !self.is_timed && !self.tracer.is_watching(frame)
    }
    /// Runs every frame to its end.
    #[inline]
    pub(crate) fn dispatch(&mut self, cx: &mut Context, clock: &mut u64) {
        if self.is_busy {
            self.dispatch_all(cx, clock);
        }
    }
    fn dispatch_all(&mut self, cx: &mut Context, clock: &mut u64) {
        loop {
            if self.ready.iter().any(|word| *word != 0) {
                self.dispatch_pending(cx, clock);
            }
            match self.waiting.pop() {
                Some(Waiting::Before(at, frame)) => self.run_from(cx, (at, frame), clock),
                Some(Waiting::Behind(at, frame)) => self.forward(cx, at, frame, clock),
                None => break,
            }
        }
        self.is_busy = false;
    }
    /// Runs every pending frame to its end.
    fn dispatch_pending(&mut self, cx: &mut Context, clock: &mut u64) {
        let (mut last, mut passes) = (0, 0);
        while let Some(word) = self.ready.iter().position(|word| *word != 0) {
            let rank = word * 64 + self.ready[word].trailing_zeros() as usize;
            if rank <= last {
                passes += 1;
                if passes > PASSES_MAX {
                    self.drop_pending(cx, clock);
                    (last, passes) = (0, 0);
                    continue;
                }
            }
            last = rank;
            self.ready[word] &= self.ready[word] - 1;
            let at = self.wiring.shape.order[rank];
            let mut frames = std::mem::take(&mut self.entries[at.index()].pending);
            let mut open = frames.drain(..);
            while let Some(frame) = open.next() {
                seam("about to run a node");
                let waiting = self.waiting.len();
                self.run_from(cx, (at, frame), clock);
                // Where packets of a frame wait, those of the frames behind it must not overtake them.
                if self.waiting.len() > waiting {
                    self.waiting.splice(waiting..waiting, open.by_ref().rev().map(|frame| Waiting::Before(at, frame)));
                }
            }
            drop(open);
            // The node may have sent packets to itself meanwhile.
            let pending = &mut self.entries[at.index()].pending;
            if pending.is_empty() {
                *pending = frames;
            }
        }
    }
    /// Runs a node on a frame, then the nodes to which all its packets go on together. Packets that part, and packets
    /// whose next node has others waiting, wait for [`Graph::dispatch`]. The nodes of `self.chain` so far share the
    /// time since the clock was read with the following ones.
    fn walk(&mut self, cx: &mut Context, mut next: Option<(NodeId, Box<Frame>)>, clock: &mut u64) {
        let mut unshared = 0;
        while let Some((at, mut frame)) = next {
            let is_stage = self.entries[at.index()].is_stage;
            if !is_stage || self.chain.is_full() {
                unshared = self.share(unshared, clock);
            }
            self.chain.push(at);
            let n = self.run(cx, at, &mut frame);
            if !is_stage || self.is_timed {
                self.entries[at.index()].counters.clocks.add(lap(clock));
                unshared = self.chain.len();
            }
            next = self.depart(cx, at, frame, n);
        }
        self.share(unshared, clock);
    }
    /// Divides the time since the last look at the clock among the nodes of the chain from one on.
    #[inline(always)]
    fn share(&self, from: usize, clock: &mut u64) -> usize {
        let steps = self.chain.steps().get(from..).unwrap_or_default();
        if !steps.is_empty() {
            self.divide(steps, lap(clock));
        }
        self.chain.len()
    }
    /// Divides ticks equally among the nodes of a chain. The first node also gets the remainder.
    #[inline(always)]
    fn divide(&self, steps: &[Step], clocks: u64) {
        let n = steps.len().max(1) as u64;
        let mut rest = clocks % n;
        for step in steps {
            self.entries[step.at.index()].counters.clocks.add(clocks / n + std::mem::take(&mut rest));
        }
    }
    /// Runs a node on a frame and counts its packets, whose number it returns.
    #[inline]
    fn run(&mut self, cx: &mut Context, at: NodeId, frame: &mut Frame) -> usize {
        let n = frame.len();
        cx.node = at;
        let entry = &mut self.entries[at.index()];
        if !entry.is_stage {
            column::fill(&mut frame.next, 0, n);
            frame.left = !0;
        }
        let traced = self.tracer.before(at, frame, cx);
        entry.node.process(cx, frame);
        if !entry.is_stage {
            cx.words.forget();
            frame.set_mixed();
        }
        if traced {
            frame.fill_arcs();
            self.tracer.after(frame, cx.emitted);
        }
        entry.counters.calls.add(1);
        entry.counters.packets.add(n as u64);
        n
    }
    /// Where a frame goes on from a node, if all of its packets are known to leave it as those of the last frame did.
    #[inline(always)]
    fn known_way(&self, at: NodeId, frame: &Frame) -> Option<Way> {
        let arc = frame.way_out()?;
        self.entries[at.index()].last.filter(|way| way.goes_on && way.is_of(frame, arc))
    }
    /// Moves the packets of a frame, `n` of them before the node worked on it, along their arcs. If all go on together, says where, with
    /// the frame.
    #[inline]
    fn depart(&mut self, cx: &mut Context, at: NodeId, frame: Box<Frame>, n: usize) -> Option<(NodeId, Box<Frame>)> {
        // PERF: what is so for nearly all frames, in the terms that stages and nodes have noted.
        if frame.taken == 0
            && frame.len() == n
            && cx.emitted.is_empty()
            && let Some(way) = self.known_way(at, &frame)
        {
            self.entries[at.index()].counters.arc(way.arc, n as u64);
            self.chain.leave_by(way.arc, way.decides);
            // A frame that goes back in the order could circle for ever: behind so many nodes it waits, and dispatch counts how often
            // frames go back.
            if self.entries[way.to.index()].pending.is_empty() && !self.chain.is_full() {
                return Some((way.to, frame));
            }
            self.enqueue_from(at, way.to, frame);
            return None;
        }
        self.chain.is_whole = frame.is_empty() && cx.emitted.is_empty() && !self.chain.is_full();
        let next = self.part(cx, at, frame);
        if cx.emitted.is_empty() {
            return next;
        }
        if let Some((to, frame)) = next {
            self.enqueue_from(at, to, frame);
        }
        // In their order: copies of a flood must not overtake each other.
        let mut emitted = std::mem::take(cx.emitted);
        emitted.drain(..).for_each(|(arc, packet)| self.emit(at, arc, packet));
        *cx.emitted = emitted;
        None
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
    /// Moves the packets of a frame along their arcs, and on if they stay together.
    #[inline]
    pub(crate) fn forward(&mut self, cx: &mut Context, at: NodeId, frame: Box<Frame>, clock: &mut u64) {
        self.chain.begin(self.version, None);
        if let Some(next) = self.part(cx, at, frame) {
            self.run_from(cx, next, clock);
        }
    }
    /// Moves the packets of a frame along their arcs. If these lead to one place, where no others wait, says where, with the
    /// frame.
    #[inline]
    fn part(&mut self, cx: &mut Context, at: NodeId, mut frame: Box<Frame>) -> Option<(NodeId, Box<Frame>)> {
        let n = frame.len();
        if n > 0 && frame.taken == 0 && (frame.left == 0 || frame.one_next || column::uniform(&frame.next, n)) {
            let arc = if frame.left == 0 { 0 } else { frame.next[0] };
            let known = self.entries[at.index()].last.filter(|way| way.is_of(&frame, arc));
            if let Some(way) = known.or_else(|| self.find_way(at, &mut frame, arc)) {
                self.entries[at.index()].counters.arc(arc, n as u64);
                self.chain.leave_by(arc, way.decides);
                if way.is_end {
                    column::fill(&mut frame.hop, Reason::new(at, arc).0, n);
                }
                if way.goes_on && self.entries[way.to.index()].pending.is_empty() && !self.chain.is_full() {
                    return Some((way.to, frame));
                }
                self.enqueue_from(at, way.to, frame);
                return None;
            }
        }
        if n > frame.taken {
            frame.fill_arcs();
            if self.splits > 0 {
                self.split(cx, at, &mut frame);
            }
            self.scatter(cx, at, &mut frame);
        }
        frame.clear();
        self.spare.push(frame);
        None
    }
    /// Where all packets of a frame go that leave a node by this arc, if that is one place.
    #[cold]
    #[inline(never)]
    fn find_way(&mut self, at: NodeId, frame: &mut Frame, arc: u16) -> Option<Way> {
        let target = *self.wiring.shape.targets[at.index()].get(usize::from(arc))?;
        let (to, decides, is_end) = match target {
            Target::Node(to) => (to, None, false),
            Target::End(to) => (to, None, true),
            Target::Features { arc, position } => {
                let table = &self.wiring.features[usize::from(arc)];
                let (is_one, interfaces) = match table.side {
                    Side::Rx => (&mut frame.one_rx, &frame.rx),
                    Side::Tx => (&mut frame.one_tx, &frame.tx),
                };
                *is_one = *is_one || column::uniform(interfaces, frame.len.min(BLOCK));
                let interface = interfaces[0];
                if !*is_one {
                    return None;
                }
                (table.next(position, interface), Some((table.side, interface)), false)
            }
        };
        let way = Way { arc, decides, to, goes_on: !is_end, is_end };
        self.entries[at.index()].last = Some(way);
        Some(way)
    }
    /// Drops whatever is on its way to a node that would send it on.
    #[cold]
    fn drop_pending(&mut self, cx: &mut Context, clock: &mut u64) {
        for at in 0..self.entries.len() {
            // A node that was just added has no wiring yet, and nothing waits there.
            if self.wiring.shape.targets.get(at).is_none_or(Vec::is_empty) {
                continue;
            }
            for mut frame in std::mem::take(&mut self.entries[at].pending) {
                frame.next.fill(DispatchNext::TooManyPasses.into());
                (frame.left, frame.one_next) = (!0, true);
                self.forward(cx, self.dispatcher, frame, clock);
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
        for Waiting::Before(_, mut frame) | Waiting::Behind(_, mut frame) in self.waiting.drain(..) {
            frame.free(pool);
        }
    }
}
