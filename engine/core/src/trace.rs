//! Packet trace: records of each node and chosen packets. The engine records; rooms only put records into words. And
//! captures before each node.

use crate::buffer::{Flags, HEADROOM, Packet, PacketMetadata};
use crate::capture::{Arrival, Capture, CaptureId, Filter};
use crate::frame::Frame;
use crate::graph::{Context, NodeId};

/// Bytes of a packet kept in a record.
pub const BYTES: usize = 128;
/// Records that a worker keeps at most; older ones stay.
const RECORDS_MAX: usize = 65_536;

/// Record of one node and one packet.
#[derive(Clone, Debug)]
pub struct Record {
    /// The packet: records with equal numbers belong together.
    pub packet: u32,
    /// Nanoseconds of the engine's clock.
    pub time: u64,
    /// The node.
    pub node: NodeId,
    /// The worker that the node was on.
    pub worker: usize,
    /// The arc that the packet took, as a row or emitted; None if the node kept the packet.
    pub arc: Option<u16>,
    /// The interface that received it.
    pub rx: u32,
    /// The interface that is to send it, behind the node.
    pub tx: u32,
    /// Result of a lookup, behind the node.
    pub hop: u32,
    /// Result of an earlier lookup, before the node.
    pub chosen: u32,
    /// Bytes from the current header on, before the node.
    pub length: u32,
    /// The packet's flags.
    pub flags: Flags,
    /// Metadata of the packet, before the node.
    pub metadata: PacketMetadata,
    /// The first bytes from the current header on, before the node.
    pub bytes: Vec<u8>,
}

/// Puts a record into words, a line for each fact.
pub type Describe = std::rc::Rc<dyn Fn(&Record) -> String>;

/// Packets still to be chosen at a node.
struct Armed {
    node: NodeId,
    left: u32,
    /// Filter of these packets; none chooses all.
    filter: Option<Filter>,
}

/// A worker's tracer.
#[derive(Default)]
pub(crate) struct Tracer {
    /// Packets still to be chosen, by node.
    armed: Vec<Armed>,
    /// Captures of all that comes to any node.
    captures: Vec<(CaptureId, Capture)>,
    /// Whether there are any of both, so that an idle tracer asks but once.
    is_armed: bool,
    packets: u32,
    /// Records that are still without their arc are the last ones.
    records: Vec<Record>,
    /// The rows and buffers of these.
    open: Vec<(usize, u32)>,
}

impl Tracer {
    /// Chooses the next `count` packets that come to a node, of those that the filter takes.
    pub fn arm(&mut self, node: NodeId, count: u32, filter: Option<Filter>) {
        match self.armed.iter_mut().find(|armed| armed.node == node) {
            Some(armed) => (armed.left, armed.filter) = (armed.left.saturating_add(count), filter),
            None => self.armed.push(Armed { node, left: count, filter }),
        }
        self.settle();
    }
    /// Starts a capture of all that comes to nodes, or ends it.
    pub fn capture(&mut self, id: CaptureId, capture: Option<Capture>) {
        self.captures.retain(|(running, _)| *running != id);
        self.captures.extend(capture.map(|capture| (id, capture)));
        self.settle();
    }
    fn settle(&mut self) {
        self.is_armed = !self.armed.is_empty() || !self.captures.is_empty();
    }
    pub fn clear(&mut self) {
        (self.armed, self.records) = (vec![], vec![]);
        self.settle();
    }
    pub fn records(&self) -> &[Record] {
        &self.records
    }
    /// Whether some of a frame's packets may be traced or captured.
    #[inline(always)]
    pub fn is_watching(&self, frame: &Frame) -> bool {
        self.is_armed || frame.any.has(Flags::TRACED)
    }
    /// Called before a node works on a frame. True if `after` is to be called.
    #[inline(always)]
    pub fn before(&mut self, at: NodeId, frame: &mut Frame, cx: &mut Context) -> bool {
        self.is_watching(frame) && self.look(at, frame, cx)
    }
    #[cold]
    fn look(&mut self, at: NodeId, frame: &mut Frame, cx: &mut Context) -> bool {
        if let Some(armed) = self.armed.iter_mut().find(|armed| armed.node == at) {
            for i in 0..frame.len() {
                if armed.left == 0 {
                    break;
                }
                let is_meant = armed.filter.as_ref().is_none_or(|filter| filter(frame.bytes(cx.pool, i)));
                if frame.flags(i).has(Flags::TRACED) || !is_meant {
                    continue;
                }
                armed.left -= 1;
                frame.set_flag(i, Flags::TRACED);
                cx.pool.header_mut(frame.buffer[i]).trace = self.packets << 8 | cx.worker as u32 & 0xff;
                self.packets += 1;
            }
            self.armed.retain(|armed| armed.left > 0);
            self.settle();
        }
        for (_, capture) in &mut self.captures {
            for i in 0..frame.len() {
                let seen = Arrival {
                    node: at,
                    buffer: frame.buffer[i],
                    offset: i32::from(frame.offset[i]) - HEADROOM as i32,
                    tx: frame.tx[i],
                    hop: frame.hop[i],
                    flags: frame.flags(i),
                };
                let received = frame.received(cx.pool, i).next();
                capture.see(seen, frame.rx[i], cx.now, received, frame.segments(cx.pool, i));
            }
        }
        self.open.clear();
        for i in 0..frame.len() {
            if frame.flags(i).has(Flags::TRACED) && self.records.len() < RECORDS_MAX {
                let bytes = frame.bytes(cx.pool, i);
                self.open.push((i, frame.buffer[i]));
                self.records.push(Record {
                    packet: cx.pool.header(frame.buffer[i]).trace,
                    time: cx.now,
                    node: at,
                    worker: cx.worker,
                    arc: None,
                    rx: frame.rx[i],
                    tx: 0,
                    hop: 0,
                    chosen: frame.hop[i],
                    length: frame.length[i],
                    flags: frame.flags(i),
                    metadata: cx.pool.metadata_of(frame.raw(i)).copied().unwrap_or_default(),
                    bytes: bytes[..bytes.len().min(BYTES)].to_vec(),
                });
            }
        }
        !self.open.is_empty()
    }
    /// Called behind the node with the packets that it emitted; a packet that it took from its row may be among them.
    pub fn after(&mut self, frame: &Frame, emitted: &[(u16, Packet)]) {
        let first = self.records.len() - self.open.len();
        for (record, (i, buffer)) in self.records[first..].iter_mut().zip(self.open.drain(..)) {
            let arc = Some(frame.next[i]).filter(|arc| *arc != crate::vector::TAKEN && !frame.is_empty());
            let is_it = |packet: &Packet| packet.raw.buffer == buffer && packet.flags().has(Flags::TRACED);
            let emitted = || emitted.iter().find(|(_, packet)| is_it(packet)).map(|(arc, _)| *arc);
            record.arc = arc.or_else(emitted);
            (record.tx, record.hop) = (frame.tx[i], frame.hop[i]);
        }
    }
}
