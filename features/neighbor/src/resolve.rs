//! `ip4-resolve`, `ip6-resolve`: packets wait here for the MAC address of their neighbor, a few for each neighbor, and
//! never so many for one interface that no room is left for others.
//!
//! A packet waits under the neighbour's address and interface, not under an adjacency. When control says that the neighbour
//! is known, it names the adjacency by number and generation; if that is another's by then, the packet is looked up anew.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};

use quiver_engine::channel::Outbox;
use quiver_engine::graph::NodeId;
use quiver_engine::{Context, Frame, Generations, Node, Packet, Snapshot, Worker, arcs};
use quiver_interface::InterfaceId;
use quiver_ip::adjacency::{AdjacencyTable, HopId, State};
use quiver_ip::{Family, Fault};
use quiver_wire::{Header, IpFamily, IpHeader};

use crate::manners::Unresolved;

arcs! {
    /// Where packets go from here.
    pub enum Next of F: Family {
        Rewrite => node (F::NAMES.rewrite),
        Lookup => node (F::NAMES.lookup),
        Unreachable => node (F::NAMES.error),
        /// Packets of the other family, whose next hop is of this one, go back to where they came from.
        OtherRewrite => node (F::Other::NAMES.crossing),
        OtherLookup => node (F::Other::NAMES.lookup),
        OtherUnreachable => node (F::Other::NAMES.error),
        NoAdjacency => drop "no-adjacency",
        BadHeader => drop "bad-header",
        QueueFull => drop "queue-full",
        TooManyWait => drop "too-many-wait",
        Busy => drop "control-busy",
        Gone => drop "interface-gone",
        /// As many neighbours are known as may be.
        NoRoom => drop "neighbor-limit",
        /// None waits; control was asked for the neighbour.
        Unresolved => drop "unresolved",
    }
}

/// Packets that wait for one neighbour.
pub const QUEUE_MAX: usize = 16;
/// Packets that wait on one worker at most.
pub const WAITING_MAX: usize = 8192;
/// Nanoseconds after which control is told again that a neighbour is wanted.
const TELL_AGAIN: u64 = 1_000_000_000;
/// The same where none waits.
const ASK_AGAIN: u64 = 1_000_000;

/// A neighbour, as packets wait for it.
pub type NeighborKey<F> = (InterfaceId, <F as IpFamily>::Address);

/// Message from a worker to control: packets wait for a neighbor.
#[derive(Clone, Copy, Debug)]
pub struct Want<F: Family> {
    /// The neighbour.
    pub wanted: NeighborKey<F>,
    /// The interface's, when the packet came here.
    pub generation: u32,
}

/// Result of resolving a neighbor.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Outcome {
    /// Its address is known, and this adjacency has it.
    Known(HopId),
    /// It does not answer.
    Silent,
    /// Its interface is no more.
    Gone,
    /// The limit of neighbors is reached.
    NoRoom,
}

struct Queue {
    packets: Vec<Packet>,
    told: u64,
}

/// Number of queued packets, by egress interface.
struct Waiting {
    most: usize,
    all: usize,
    by_interface: HashMap<InterfaceId, usize>,
}

impl Waiting {
    /// Whether one more packet may wait. An interface may use fewer places than are left for all others. So a new
    /// interface always finds room, and of n that want all, each gets one part of n + 1.
    fn admits(&self, interface: InterfaceId) -> bool {
        self.by_interface.get(&interface).copied().unwrap_or(0) < self.most.saturating_sub(self.all)
    }
    fn come(&mut self, interface: InterfaceId) {
        *self.by_interface.entry(interface).or_default() += 1;
        self.all += 1;
    }
    fn go(&mut self, interface: InterfaceId, packets: usize) {
        if let Entry::Occupied(mut of_it) = self.by_interface.entry(interface) {
            *of_it.get_mut() -= packets;
            if *of_it.get() == 0 {
                of_it.remove();
            }
        }
        self.all -= packets;
    }
}

/// The node, and the packets that wait on this worker.
pub struct Resolve<F: Family> {
    adjacencies: Snapshot<AdjacencyTable<F>>,
    unresolved: Snapshot<Unresolved>,
    wants: Outbox<Want<F>>,
    generations: Generations,
    /// The neighbours that control was told of where none waits, and since when they are noted.
    told: HashSet<NeighborKey<F>>,
    told_since: u64,
    queues: HashMap<NeighborKey<F>, Queue>,
    waiting: Waiting,
    /// Neighbors without room, and since when: control is not told of them again for a while.
    refused: HashSet<NeighborKey<F>>,
    refused_since: Option<u64>,
    /// Packets to be sent on or dropped.
    released: Vec<(Outcome, Packet)>,
}

impl<F: Family> Resolve<F> {
    /// The node; `most` packets wait here at most.
    pub(crate) fn new(
        adjacencies: Snapshot<AdjacencyTable<F>>,
        unresolved: Snapshot<Unresolved>,
        wants: Outbox<Want<F>>,
        generations: Generations,
        most: usize,
    ) -> Resolve<F> {
        let waiting = Waiting { most, all: 0, by_interface: HashMap::new() };
        Resolve {
            adjacencies,
            unresolved,
            wants,
            generations,
            told: HashSet::new(),
            told_since: 0,
            queues: HashMap::new(),
            waiting,
            refused: HashSet::new(),
            refused_since: None,
            released: vec![],
        }
    }
    /// Ends the wait for a neighbour: its packets go on in this turn.
    pub fn release(worker: &mut Worker, node: NodeId, wanted: NeighborKey<F>, outcome: Outcome) {
        let Some(this) = worker.graph().node_mut::<Resolve<F>>(node) else { return };
        let Some(queue) = this.queues.remove(&wanted) else { return };
        if outcome == Outcome::NoRoom && this.refused.len() < this.waiting.most {
            this.refused.insert(wanted);
        }
        this.waiting.go(wanted.0, queue.packets.len());
        this.released.extend(queue.packets.into_iter().map(|packet| (outcome, packet)));
        worker.wake_node(node);
    }
    /// Ends the wait of packets that are to leave by an interface that is gone, or came in by it: the next interface
    /// with its number has nothing to do with them.
    pub fn forget(worker: &mut Worker, node: NodeId, gone: InterfaceId) {
        let Some(this) = worker.graph().node_mut::<Resolve<F>>(node) else { return };
        // In an order that does not depend on the table's secret: the same packets give the same events.
        let mut neighbors: Vec<NeighborKey<F>> = this.queues.keys().copied().collect();
        neighbors.sort_unstable();
        for wanted in neighbors {
            let Some(queue) = this.queues.get_mut(&wanted) else { continue };
            let before = queue.packets.len();
            let of_it = queue.packets.extract_if(.., |packet| wanted.0 == gone || packet.rx == gone.0);
            this.released.extend(of_it.map(|packet| (Outcome::Gone, packet)));
            this.waiting.go(wanted.0, before - queue.packets.len());
        }
        this.queues.retain(|_, queue| !queue.packets.is_empty());
        worker.wake_node(node);
    }
    /// Packets that wait here.
    pub fn waiting(&self) -> usize {
        self.waiting.all
    }
    fn wait(&mut self, cx: &mut Context, frame: &mut Frame, i: usize, wanted: NeighborKey<F>) -> Option<Next> {
        if self.refused.contains(&wanted) {
            return Some(Next::NoRoom);
        }
        let may_wait = self.waiting.admits(wanted.0);
        let queue = match self.queues.entry(wanted) {
            Entry::Occupied(queue) => queue.into_mut(),
            Entry::Vacant(_) if !may_wait => return Some(Next::TooManyWait),
            Entry::Vacant(place) => place.insert(Queue { packets: vec![], told: 0 }),
        };
        if queue.packets.is_empty() || cx.now.saturating_sub(queue.told) >= TELL_AGAIN {
            let generation = self.generations.of(wanted.0.0);
            if !self.wants.send(Want { wanted, generation }) {
                if queue.packets.is_empty() {
                    self.queues.remove(&wanted);
                }
                return Some(Next::Busy);
            }
            queue.told = cx.now;
        }
        if queue.packets.len() >= QUEUE_MAX {
            return Some(Next::QueueFull);
        }
        if !may_wait {
            return Some(Next::TooManyWait);
        }
        if let Some(packet) = frame.take(cx.pool, i) {
            queue.packets.push(packet);
            self.waiting.come(wanted.0);
        }
        None
    }
}

impl<F: Family> Resolve<F> {
    /// Tells control of a neighbour for which none waits, unless that was done just now.
    fn tell(&mut self, cx: &Context, wanted: NeighborKey<F>) -> Next {
        if cx.now.saturating_sub(self.told_since) >= ASK_AGAIN {
            self.told.clear();
            self.told_since = cx.now;
        }
        if self.told.contains(&wanted) {
            return Next::Unresolved;
        }
        let generation = self.generations.of(wanted.0.0);
        if self.told.len() >= self.waiting.most || !self.wants.send(Want { wanted, generation }) {
            return Next::Busy;
        }
        self.told.insert(wanted);
        Next::Unresolved
    }
}

/// The arc of a packet, which may be of the other family.
fn of_family<F: Family>(arc: Next, packet: &[u8]) -> Next {
    let is_other = packet.first().is_some_and(|first| first >> 4 == F::Other::VERSION);
    match arc {
        Next::Rewrite if is_other => Next::OtherRewrite,
        Next::Lookup if is_other => Next::OtherLookup,
        Next::Unreachable if is_other => Next::OtherUnreachable,
        arc => arc,
    }
}

impl<F: Family> Node for Resolve<F> {
    fn process(&mut self, cx: &mut Context, frame: &mut Frame) {
        let table = self.adjacencies.read(cx.guard);
        match self.refused_since {
            Some(since) if cx.now.saturating_sub(since) >= TELL_AGAIN => {
                self.refused.clear();
                self.refused_since = None;
            }
            None if !self.refused.is_empty() => self.refused_since = Some(cx.now),
            _ => {}
        }
        let none_waits = *self.unresolved.read(cx.guard) == Unresolved::Drop;
        for (outcome, mut packet) in self.released.drain(..) {
            let (arc, hop) = match outcome {
                Outcome::Known(id) if table.row(id.hop).generation() == id.generation => (Next::Rewrite, id.hop),
                Outcome::Known(_) => (Next::Lookup, 0),
                Outcome::Silent => (Next::Unreachable, Fault::HOST.0),
                Outcome::Gone => (Next::Gone, 0),
                // Its adjacency says behind which interface there is no room.
                Outcome::NoRoom => (Next::NoRoom, packet.hop),
            };
            packet.hop = hop;
            let arc = of_family::<F>(arc, cx.pool.bytes(&packet));
            cx.emit(arc, packet);
        }
        for i in 0..frame.len() {
            let hop = frame.hop[i];
            let row = table.row(hop);
            let next_hop = if row.is(State::Incomplete) {
                table.next_hop(hop)
            } else if row.is(State::Glean) {
                // Whoever the packet is for is on the link itself.
                F::Header::parse(frame.bytes(cx.pool, i)).map(|(header, _)| header.destination())
            } else if row.is_complete() {
                // It became known just now.
                frame.next[i] = of_family::<F>(Next::Rewrite, frame.bytes(cx.pool, i)).into();
                continue;
            } else {
                frame.next[i] = Next::NoAdjacency.into();
                continue;
            };
            let next = match next_hop {
                Some(next_hop) if none_waits => Some(self.tell(cx, (InterfaceId(row.tx()), next_hop))),
                Some(next_hop) => self.wait(cx, frame, i, (InterfaceId(row.tx()), next_hop)),
                None => Some(Next::BadHeader),
            };
            if let Some(next) = next {
                frame.next[i] = next.into();
            }
        }
    }
}
