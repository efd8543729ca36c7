//! Hand-off: packets that one worker received go on with another one, in bundles, through a ring for each pair of workers.
//!
//! A node gives a row away by [`Context::hand_off`](crate::Context::hand_off); on the other worker the packet leaves
//! the same node by the named arc, so that all later nodes run there. A bundle outlives the turn, so it carries the
//! generation of each interface that it names; a packet whose interface's number has another user by then is dropped.
//!
//! The reader gives a ring's slots back when its turn is over and everything has been sent. So the writer can tell when
//! its packets are through, and a flow that is to take another way waits for that.
//!
//! Here are the bundles and a worker's rings to the others; `inbound`: those from the others; `give`: what nodes call;
//! `generations`: those of interfaces.
//!
//! A turn ends by publishing its bundles, full or not, so that packets do not wait. But when the reader is behind, a bundle
//! that is not full stays open for the next turns' packets, since they would wait as long in bundles of their own: however
//! short the writer's turns are, a ring holds packets by the thousand.

mod generations;
mod give;
mod inbound;

pub use generations::Generations;
pub(crate) use inbound::{Inbound, connect};

use crate::buffer::{Buffers, Flags, Raw};
use crate::frame::Frame;
use crate::graph::NodeId;
use crate::sleeper::Sleeper;
use crate::sync::Arc;
use crate::vector::BLOCK;
use quiver_table::simulation::seam;
use quiver_table::spsc::{self, Reader, Writer};

/// Packets in a bundle.
const BUNDLE: usize = 64;
// A frame has room for a bundle.
const _: () = assert!(BUNDLE <= BLOCK);
/// Bundles in a ring.
const RING: usize = 64;
/// Bundles that the reader has yet to see through when it counts as being behind.
const BEHIND: u64 = RING as u64 / 2;

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
    pub sleeper: Arc<Sleeper>,
}

/// The rings between `workers` workers: for each of them, those to every other one by its number.
pub(crate) fn rings(sleepers: &[Arc<Sleeper>], home: &Buffers) -> Vec<Vec<Option<Pair>>> {
    let n = sleepers.len();
    let mut writers: Vec<Vec<_>> = (0..n).map(|_| (0..n).map(|_| None).collect()).collect();
    let mut readers: Vec<Vec<_>> = (0..n).map(|_| (0..n).map(|_| None).collect()).collect();
    for from in 0..n {
        for to in (0..n).filter(|to| *to != from) {
            let (writer, reader) = spsc::ring(RING, || Bundle::new(home));
            (writers[from][to], readers[to][from]) = (Some(writer), Some(reader));
        }
    }
    let pair = |((to, from), sleeper): ((Option<_>, Option<_>), &Arc<Sleeper>)| {
        Some(Pair { to: to?, from: from?, sleeper: sleeper.clone() })
    };
    let rows = writers.into_iter().zip(readers);
    rows.map(|(to, from)| to.into_iter().zip(from).zip(sleepers).map(pair).collect()).collect()
}

struct Way {
    ring: Writer<Bundle>,
    sleeper: Arc<Sleeper>,
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
    /// Ends a turn: makes handed-over packets visible to the other workers, as far as these are not behind, and wakes
    /// those that sleep.
    pub fn publish(&mut self) {
        for way in self.ways.iter_mut().flatten() {
            if way.open > 0 && !way.ring.is_behind(BEHIND) {
                way.publish();
            }
            if std::mem::take(&mut way.is_silent) {
                seam("a bundle published, its reader not woken");
                way.sleeper.wake();
            }
        }
    }
    /// Whether some bundle is still open, for a worker that is behind.
    pub fn is_open(&self) -> bool {
        self.ways.iter().flatten().any(|way| way.open > 0)
    }
    /// The rings' positions now; packets in open bundles count as handed over.
    pub fn marks(&self) -> Marks {
        let mark = |way: &Way| way.ring.mark() + u64::from(way.open > 0);
        Marks(self.ways.iter().map(|way| way.as_ref().map_or(0, mark)).collect())
    }
    /// Whether everything that was handed over before has been sent or dropped.
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
