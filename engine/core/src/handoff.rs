//! Hand-off: packets that one worker received go on with another one, in bundles, through a ring for each pair of workers.
//!
//! A node gives a row away by [`Context::hand_off`]; on the other worker the packet leaves the same node by the arc that
//! was named, so that whatever comes behind the node is done there. What a bundle says of interfaces outlives the turn:
//! it keeps the generation of each, and a packet whose interface's number has another user by then is dropped.
//!
//! The reader gives a ring's slots back when its turn is over and everything has been sent. So the writer can tell when
//! what it handed over is through, and a flow whose packets are to take another way waits for that.
//!
//! A turn ends by publishing its bundles, full or not, so that packets do not wait. But when the reader is behind, a bundle
//! that is not full stays open for the next turns' packets, since they would wait as long in bundles of their own: however
//! short the writer's turns are, a ring holds packets by the thousand.

use crate::buffer::{Buffers, Flags, Raw};
use crate::frame::{BLOCK, Frame, INTERFACES_MAX, TAKEN, VECTOR};
use crate::graph::{Context, DispatchNext, Graph, NodeId};
use crate::intake::Harvest;
use crate::mailbox::Mailbox;
use quiver_table::simulation::seam;
use quiver_table::spsc::{self, Reader, Writer};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, OnceLock};

/// Packets in a bundle.
const BUNDLE: usize = 64;
// A frame has room for a bundle.
const _: () = assert!(BUNDLE <= BLOCK);
/// Bundles in a ring.
const RING: usize = 64;
/// Bundles that the reader has yet to see through when it counts as being behind.
const BEHIND: u64 = RING as u64 / 2;

/// Interfaces whose generations lie together.
const PAGE: usize = 4096;
/// The number of such pages.
const PAGES: usize = INTERFACES_MAX as usize / PAGE;

/// How often each interface's number was given away or taken back. What outlives a turn and speaks of an interface, such as a
/// message to control, takes the generation along, and means nobody when that is another by then.
#[derive(Clone)]
pub struct Generations(Arc<[OnceLock<Box<[AtomicU32; PAGE]>>; PAGES]>);

impl Generations {
    pub(crate) fn new() -> Generations {
        Generations(Arc::new([const { OnceLock::new() }; PAGES]))
    }
    /// The number has another user from now on, or none.
    pub(crate) fn change(&self, interface: u32) {
        if let Some(page) = self.0.get(interface as usize / PAGE) {
            let page = page.get_or_init(|| Box::new([const { AtomicU32::new(0) }; PAGE]));
            page[interface as usize % PAGE].fetch_add(1, Ordering::Relaxed);
        }
    }
    /// The generation of an interface's number; 0 if no interface has had it.
    #[inline(always)]
    pub fn of(&self, interface: u32) -> u32 {
        // Letters and rings order this: a packet is received after its interface was attached, and the number has another
        // user only after every worker has let go of the one before.
        let page = self.0.get(interface as usize / PAGE).and_then(OnceLock::get);
        page.map_or(0, |page| page[interface as usize % PAGE].load(Ordering::Relaxed))
    }
}

/// Packets that go the same way. The bundle owns them.
pub(crate) struct Bundle {
    home: Buffers,
    len: usize,
    node: NodeId,
    arc: u16,
    buffer: [u32; BUNDLE],
    offset: [u16; BUNDLE],
    length: [u32; BUNDLE],
    flags: [u16; BUNDLE],
    rx: [u32; BUNDLE],
    generation: [u32; BUNDLE],
}

impl Bundle {
    fn new(home: &Buffers) -> Bundle {
        let (short, long) = ([0; BUNDLE], [0; BUNDLE]);
        let (home, node, arc, len) = (home.clone(), NodeId(0), 0, 0);
        let (buffer, offset, length, flags, rx, generation) = (long, short, long, short, long, long);
        Bundle { home, len, node, arc, buffer, offset, length, flags, rx, generation }
    }
    fn push(&mut self, raw: Raw, rx: u32, generation: u32) {
        let i = self.len % BUNDLE;
        (self.buffer[i], self.offset[i], self.length[i], self.flags[i]) =
            (raw.buffer, raw.offset, raw.length, raw.flags.0);
        (self.rx[i], self.generation[i]) = (rx, generation);
        self.len = i + 1;
    }
    fn raw(&self, i: usize) -> Raw {
        Raw { buffer: self.buffer[i], offset: self.offset[i], length: self.length[i], flags: Flags(self.flags[i]) }
    }
    /// Bytes of all packets.
    fn bytes(&self) -> u64 {
        self.length[..self.len].iter().copied().map(u64::from).sum()
    }
    /// Moves the packets into a frame, which has room; those whose interface is gone into another one.
    fn unpack(&mut self, frame: &mut Frame, gone: &mut Frame, generations: &Generations) {
        for i in 0..std::mem::take(&mut self.len) {
            match generations.of(self.rx[i]) == self.generation[i] {
                true => frame.push_raw(self.raw(i), self.rx[i]),
                // The number is another one's, who did not receive this.
                false => gone.push_raw(self.raw(i), 0),
            }
        }
    }
}
impl Drop for Bundle {
    fn drop(&mut self) {
        (0..self.len).for_each(|i| self.home.give_back(self.raw(i)));
    }
}

/// The rings to one other worker and from it.
pub(crate) struct Pair {
    pub to: Writer<Bundle>,
    pub from: Reader<Bundle>,
    pub mailbox: Arc<Mailbox>,
}

/// The rings between `workers` workers: for each of them, those to every other one by its number.
pub(crate) fn rings(mailboxes: &[Arc<Mailbox>], home: &Buffers) -> Vec<Vec<Option<Pair>>> {
    let n = mailboxes.len();
    let mut writers: Vec<Vec<_>> = (0..n).map(|_| (0..n).map(|_| None).collect()).collect();
    let mut readers: Vec<Vec<_>> = (0..n).map(|_| (0..n).map(|_| None).collect()).collect();
    for from in 0..n {
        for to in (0..n).filter(|to| *to != from) {
            let (writer, reader) = spsc::ring(RING, || Bundle::new(home));
            (writers[from][to], readers[to][from]) = (Some(writer), Some(reader));
        }
    }
    let pair = |((to, from), mailbox): ((Option<_>, Option<_>), &Arc<Mailbox>)| {
        Some(Pair { to: to?, from: from?, mailbox: mailbox.clone() })
    };
    let rows = writers.into_iter().zip(readers);
    rows.map(|(to, from)| to.into_iter().zip(from).zip(mailboxes).map(pair).collect()).collect()
}

struct Way {
    ring: Writer<Bundle>,
    mailbox: Arc<Mailbox>,
    /// Packets in the bundle that is not published yet.
    open: usize,
    /// Whether the other worker has yet to be told of published ones.
    is_silent: bool,
}

/// Where the rings to all other workers stand: see [`Outbound::is_drained`].
pub(crate) struct Marks(Vec<u64>);

/// A worker's rings to the others.
#[derive(Default)]
pub(crate) struct Outbound {
    ways: Vec<Option<Way>>,
    generations: Option<Generations>,
}

impl Outbound {
    /// Takes the packet of a row along. False if it stays, because there is no such worker or its ring is full.
    fn take(&mut self, node: NodeId, arc: u16, frame: &Frame, i: usize, worker: usize) -> bool {
        let (Some(Some(way)), Some(generations)) = (self.ways.get_mut(worker), &self.generations) else { return false };
        let (raw, rx) = (frame.raw(i), frame.rx[i]);
        let generation = generations.of(rx);
        loop {
            let filled = way.ring.fill(|bundle| {
                if bundle.len > 0 && (bundle.node, bundle.arc) != (node, arc) {
                    return None;
                }
                (bundle.node, bundle.arc) = (node, arc);
                bundle.push(raw, rx, generation);
                Some(bundle.len)
            });
            match filled {
                None => return false,
                Some(Some(len)) => {
                    way.open = len;
                    if len == BUNDLE {
                        way.publish();
                    }
                    return true;
                }
                // What is in the bundle goes elsewhere: the next one is ours.
                Some(None) => way.publish(),
            }
        }
    }
    /// Ends a turn: lets the other workers have what was handed over, as far as they are not behind, and wakes those that
    /// sleep.
    pub fn publish(&mut self) {
        for way in self.ways.iter_mut().flatten() {
            if way.open > 0 && !way.ring.is_behind(BEHIND) {
                way.publish();
            }
            if std::mem::take(&mut way.is_silent) {
                seam("a bundle published, its reader not woken");
                way.mailbox.wake();
            }
        }
    }
    /// Whether some bundle is still open, for a worker that is behind.
    pub fn is_open(&self) -> bool {
        self.ways.iter().flatten().any(|way| way.open > 0)
    }
    /// Where the rings stand now; what lies in open bundles counts as handed over.
    pub fn marks(&self) -> Marks {
        let mark = |way: &Way| way.ring.mark() + u64::from(way.open > 0);
        Marks(self.ways.iter().map(|way| way.as_ref().map_or(0, mark)).collect())
    }
    /// Whether everything that was handed over before has been sent, or whatever became of it.
    pub fn is_drained(&self, marks: &Marks) -> bool {
        let mut ways = self.ways.iter().zip(&marks.0);
        ways.all(|(way, mark)| way.as_ref().is_none_or(|way| way.ring.is_drained(*mark)))
    }
}
impl Way {
    fn publish(&mut self) {
        self.ring.publish();
        (self.open, self.is_silent) = (0, true);
    }
}

/// A worker's rings from the others.
#[derive(Default)]
pub(crate) struct Inbound {
    rings: Vec<Reader<Bundle>>,
    generations: Option<Generations>,
}

impl Inbound {
    /// Whether other workers may hand packets over at all.
    pub fn is_connected(&self) -> bool {
        !self.rings.is_empty()
    }
    /// Whether nothing was handed over.
    pub fn is_empty(&mut self) -> bool {
        self.rings.iter_mut().all(Reader::is_empty)
    }
    /// Takes a vector at most from each ring, in bundles however short, and sends it on; says what came.
    pub fn receive(&mut self, graph: &mut Graph, cx: &mut Context, clock: &mut u64) -> Harvest {
        let Some(generations) = &self.generations else { return Harvest::default() };
        let mut harvest = Harvest::default();
        let dropping = (graph.dispatcher(), DispatchNext::InterfaceGone.into());
        for ring in &mut self.rings {
            let (mut frame, mut gone, mut way) = (graph.frame(), graph.frame(), (NodeId(0), 0));
            let before = harvest.packets;
            while harvest.packets <= before + VECTOR - BUNDLE {
                let taken = ring.take(|bundle| {
                    if harvest.packets > before && cx.pool.plants_lost_handoff() {
                        bundle.len = 0;
                    }
                    let next = (bundle.node, bundle.arc);
                    if next != way || bundle.len > frame.room().min(gone.room()) {
                        let lost = std::mem::replace(&mut gone, graph.frame());
                        send_on(graph, cx, dropping, lost, clock);
                        let whole = std::mem::replace(&mut frame, graph.frame());
                        send_on(graph, cx, way, whole, clock);
                        way = next;
                    }
                    harvest.packets += bundle.len;
                    harvest.bytes += bundle.bytes();
                    bundle.unpack(&mut frame, &mut gone, generations);
                });
                if taken.is_none() {
                    break;
                }
            }
            send_on(graph, cx, way, frame, clock);
            send_on(graph, cx, dropping, gone, clock);
        }
        harvest
    }
    /// Says that everything that was taken is through.
    pub fn release(&mut self) {
        self.rings.iter_mut().for_each(Reader::release);
    }
}

fn send_on(graph: &mut Graph, cx: &mut Context, (node, arc): (NodeId, u16), mut frame: Box<Frame>, clock: &mut u64) {
    match frame.is_empty() {
        true => graph.give_back(frame),
        false => {
            frame.next.fill(arc);
            graph.resume(cx, (node, frame), clock);
        }
    }
}

/// Gives a worker its rings.
pub(crate) fn connect(
    outbound: &mut Outbound,
    inbound: &mut Inbound,
    pairs: Vec<Option<Pair>>,
    generations: &Generations,
) {
    (outbound.generations, inbound.generations) = (Some(generations.clone()), Some(generations.clone()));
    for pair in pairs {
        let way = pair.map(|Pair { to, from, mailbox }| {
            inbound.rings.push(from);
            Way { ring: to, mailbox, open: 0, is_silent: false }
        });
        outbound.ways.push(way);
    }
}

impl Context<'_> {
    /// Hands the packet of a row over to another worker, where it leaves the current node by `arc`. It takes the packet's
    /// bytes, offload and receiving interface along, but nothing that a lookup chose. False, and the row stays, if that
    /// worker does not keep up. A rehearsal goes on there.
    pub fn hand_off(&mut self, frame: &mut Frame, i: usize, worker: usize, arc: impl Into<u16>) -> bool {
        if i >= frame.len() || frame.buffer[i] == self.pool.null {
            return false;
        }
        let arc = arc.into();
        if !self.outbound.take(self.node, arc, frame, i, worker) {
            return self.rehearse_hand_off(frame, i, worker, arc);
        }
        frame.buffer[i] = self.pool.null;
        frame.flags[i] &= Flags::TRACED.0;
        frame.next[i] = TAKEN;
        frame.taken += 1;
        true
    }
    /// A rehearsal has no rings: it is at the other worker from now on. False outside of rehearsals.
    #[cold]
    fn rehearse_hand_off(&mut self, frame: &mut Frame, i: usize, worker: usize, arc: u16) -> bool {
        let connected = self.recollection.as_ref().map_or(0, |recollection| recollection.connected);
        if worker >= connected {
            return false;
        }
        let Some(packet) = frame.take(self.pool, i) else { return false };
        self.worker = worker;
        self.emit(arc, packet.with_columns(frame.rx[i], 0, 0));
        true
    }
}
