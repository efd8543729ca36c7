//! Frames that follow a chain: the way that packets before them took together.

use super::Graph;
use crate::column;
use crate::frame::Frame;
use crate::graph::Context;
use crate::graph::chain::{Chain, Step};
use crate::graph::wiring::NodeId;
use crate::isa::lap;
use crate::stage::Quarters;
use quiver_table::simulation::seam;

/// Frames that may follow a chain before its nodes count them.
///
/// PERF: at small vectors the counters of all nodes are a tenth of what a turn costs.
const UNSETTLED_MAX: u64 = 16;

impl Graph {
    /// Runs a node on a frame, then the nodes to which all its packets go on together, by the chains that begin with
    /// them.
    pub(super) fn run_from(&mut self, cx: &mut Context, from: (NodeId, Box<Frame>), clock: &mut u64) {
        let mut next = Some(from);
        while let Some((at, frame)) = next {
            // Timed stages, traced packets and empty frames teach nothing.
            next = match self.is_unwatched(&frame) && !frame.is_empty() {
                true if self.entries[at.index()].is_stage => self.run_chain(cx, at, frame, clock),
                true => self.run_alone(cx, at, frame, clock),
                false => {
                    self.begin_walk(cx, None);
                    self.walk(cx, Some((at, frame)), clock);
                    None
                }
            };
        }
    }
    /// Begins a walk whose nodes are remembered: behind the node that stands for a queue, if there is one.
    pub(super) fn begin_walk(&mut self, cx: &mut Context, queue: Option<NodeId>) {
        cx.words.begin(Quarters::NONE);
        self.chain.begin(self.version, queue);
    }
    /// Runs a node that is no stage on a frame. Returns the frame and its next node, if all of its packets go on at
    /// once.
    fn run_alone(
        &mut self,
        cx: &mut Context,
        at: NodeId,
        mut frame: Box<Frame>,
        clock: &mut u64,
    ) -> Option<(NodeId, Box<Frame>)> {
        self.begin_walk(cx, None);
        let n = self.run(cx, at, &mut frame);
        self.entries[at.index()].counters.clocks.add(lap(clock));
        let next = self.depart(cx, at, frame, n);
        self.only_ahead(at, at, next)
    }
    /// A frame that goes ahead in the order of nodes, from the last node of a chain and from its first one, for there may be a way back
    /// within the chain. Another one waits, so that dispatch counts how often frames go back.
    fn only_ahead(
        &mut self,
        first: NodeId,
        last: NodeId,
        next: Option<(NodeId, Box<Frame>)>,
    ) -> Option<(NodeId, Box<Frame>)> {
        let (to, frame) = next?;
        let rank = |node: NodeId| self.wiring.shape.rank[node.index()];
        if rank(to) > rank(last) && rank(to) > rank(first) {
            return Some((to, frame));
        }
        self.enqueue_from(last, to, frame);
        None
    }
    /// Sends a frame through the chain that begins with a stage, or learns that chain. Returns the frame and its node
    /// behind the chain.
    fn run_chain(
        &mut self,
        cx: &mut Context,
        at: NodeId,
        mut frame: Box<Frame>,
        clock: &mut u64,
    ) -> Option<(NodeId, Box<Frame>)> {
        let mut chain = self.entries[at.index()].chain.take().unwrap_or_else(|| Box::new(Chain::new()));
        let next = if chain.is_of(self.version) {
            // Nodes that are no stages do not say so.
            frame.one_rx = frame.one_rx || column::uniform(&frame.rx, frame.len());
            frame.one_tx = frame.one_tx || column::uniform(&frame.tx, frame.len());
            let next = self.follow(cx, frame, &mut chain, clock);
            if chain.calls > 0 && !chain.is_unsettled {
                chain.is_unsettled = true;
                self.unsettled.push(at);
            }
            next
        } else {
            self.settle(&mut chain);
            self.begin_walk(cx, None);
            self.walk(cx, Some((at, frame)), clock);
            self.learn(cx, &mut chain);
            None
        };
        self.entries[at.index()].chain = Some(chain);
        next
    }
    /// Runs the nodes of a chain on a frame as long as all of its packets go together. Returns the frame and its node
    /// behind the chain's end. Counts and clocks of the nodes stay with the chain until [`Graph::settle`].
    pub(super) fn follow(
        &mut self,
        cx: &mut Context,
        mut frame: Box<Frame>,
        chain: &mut Chain,
        clock: &mut u64,
    ) -> Option<(NodeId, Box<Frame>)> {
        cx.words.begin(chain.reads);
        let (n, steps, mut done) = (frame.len(), chain.steps(), chain.first);
        let (queue, stages) = steps.split_at(done.min(steps.len()));
        let mut are_together = true;
        if queue.iter().all(|step| step.is_of(&frame)) {
            for step in stages {
                let entry = &mut self.entries[step.at.index()];
                if done > 0 && !entry.pending.is_empty() {
                    break;
                }
                cx.node = step.at;
                seam("about to run a node");
                entry.node.process(cx, &mut frame);
                done += 1;
                are_together = frame.taken == 0 && cx.emitted.is_empty();
                if !are_together || !step.is_of(&frame) {
                    break;
                }
            }
        }
        let has_ended = done == steps.len() && are_together && frame.is_empty() == chain.is_whole;
        let last = steps[done.saturating_sub(1)].at;
        // Where packets part mostly, these may go on together.
        if !has_ended || !chain.is_whole && !chain.is_full() && self.goes_on(last, &frame) {
            self.leave(cx, frame, (chain, done, n), clock);
            return None;
        }
        (chain.missed, chain.calls, chain.packets) = (0, chain.calls + 1, chain.packets + n as u64);
        let mut next = None;
        if chain.is_whole {
            self.give_back(frame);
        } else {
            self.chain.begin(self.version, None);
            next = self.depart(cx, last, frame, n);
            next = self.only_ahead(chain.steps()[0].at, last, next);
        }
        chain.clocks += lap(clock);
        if chain.calls >= UNSETTLED_MAX {
            self.settle(chain);
        }
        next
    }
    /// Whether all packets of a frame that a node has worked on are known to go on to one stage.
    #[inline(always)]
    fn goes_on(&self, at: NodeId, frame: &Frame) -> bool {
        self.known_way(at, frame).is_some_and(|way| self.entries[way.to.index()].is_stage)
    }
    /// Goes on with a frame whose packets do not all go as those before did: the first steps of the chain, `done` of them, have worked on
    /// it.
    #[cold]
    #[inline(never)]
    fn leave(
        &mut self,
        cx: &mut Context,
        frame: Box<Frame>,
        (chain, done, n): (&mut Chain, usize, usize),
        clock: &mut u64,
    ) {
        // What is counted so far is of the nodes that the chain has now.
        self.settle(chain);
        self.chain.begin_as(chain, done);
        self.count_steps(&chain.steps()[..done], chain.first, (1, n as u64));
        let last = chain.steps()[done.saturating_sub(1)].at;
        let next = self.depart(cx, last, frame, n);
        self.walk(cx, next, clock);
        self.learn(cx, chain);
    }
    /// Stores `self.chain` as a chain: the nodes by which a frame has gone together, as far as they can be followed.
    pub(super) fn learn(&self, cx: &Context, chain: &mut Chain) {
        let learned = &self.chain;
        let stages =
            learned.steps().iter().skip(learned.first).take_while(|step| self.entries[step.at.index()].is_stage);
        let stages = learned.first + stages.count();
        chain.learn(learned, stages, cx.words.read());
    }
    /// Adds the counts of all chains that begin with nodes to the nodes' counters.
    #[inline(always)]
    pub(crate) fn settle_all(&mut self) {
        if !self.unsettled.is_empty() {
            self.settle_unsettled();
        }
    }
    #[cold]
    #[inline(never)]
    fn settle_unsettled(&mut self) {
        while let Some(at) = self.unsettled.pop() {
            if let Some(mut chain) = self.entries[at.index()].chain.take() {
                self.settle(&mut chain);
                chain.is_unsettled = false;
                self.entries[at.index()].chain = Some(chain);
            }
        }
    }
    /// The arcs by which the last packets went that followed a chain, and the chains of nodes behind its end: each node with the one in
    /// front of it.
    pub(crate) fn chain_arcs(&self, chain: &Chain) -> Vec<(NodeId, NodeId)> {
        let (mut arcs, mut visited) = (vec![], vec![]);
        let Some(first) = chain.steps().first().filter(|_| chain.is_of(self.version)) else { return arcs };
        let mut open = vec![(Some(first.at).filter(|_| chain.first > 0), chain)];
        while let Some((mut previous, chain)) = open.pop() {
            let head = (previous, chain.nodes().next());
            if visited.contains(&head) {
                continue;
            }
            visited.push(head);
            for node in chain.nodes() {
                arcs.extend(previous.map(|previous| (previous, node)).filter(|arc| !arcs.contains(arc)));
                previous = Some(node);
            }
            if let Some(last) = previous.filter(|_| !chain.is_whole) {
                let behind = self.entries.iter().filter(|entry| entry.previous == Some(last));
                let chains = behind.filter_map(|entry| entry.chain.as_deref());
                open.extend(chains.filter(|chain| chain.is_of(self.version)).map(|chain| (Some(last), chain)));
            }
        }
        arcs
    }
    /// Adds the counts of a chain to its nodes' counters: when its queue is empty or goes, or frames go another way.
    #[inline(always)]
    pub(crate) fn settle(&self, chain: &mut Chain) {
        if chain.calls > 0 {
            self.count(chain);
        }
    }
    #[inline(never)]
    fn count(&self, chain: &mut Chain) {
        let steps = chain.steps();
        self.divide(steps, chain.clocks);
        self.count_steps(steps, chain.first, (chain.calls, chain.packets));
        (chain.calls, chain.packets, chain.clocks) = (0, 0, 0);
    }
    /// Counts calls and packets of nodes, and the arcs between them. What a queue received is counted where it was received.
    #[inline(always)]
    fn count_steps(&self, steps: &[Step], first: usize, (calls, packets): (u64, u64)) {
        for (k, step) in steps.iter().enumerate() {
            let counters = &self.entries[step.at.index()].counters;
            if k >= first {
                counters.calls.add(calls);
                counters.packets.add(packets);
            }
            if k + 1 < steps.len() {
                counters.arc(step.arc, packets);
            }
        }
    }
}
