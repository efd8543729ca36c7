//! Copies of packets at receive, transmit and drop, or before each node, for capture files and for `drops --follow`.

use std::sync::Arc;

use crate::buffer::Flags;
use crate::channel::Outbox;
use crate::graph::{NodeId, Reason};

/// Where a packet was seen.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Point {
    /// Received.
    Rx,
    /// About to be sent.
    Tx,
    /// Dropped.
    Drop,
    /// About to be worked on by a node. A capture of these has no other points.
    Node,
}

/// State of a packet on arrival at a node.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Arrival {
    /// The node.
    pub node: NodeId,
    /// The packet's first buffer.
    pub buffer: u32,
    /// Where its current header begins, counted from where received frames do.
    pub offset: i32,
    /// The interface that is to send it, once that is known.
    pub tx: u32,
    /// Result of a lookup.
    pub hop: u32,
    /// Its flags.
    pub flags: Flags,
}

/// A copy.
#[derive(Clone, Debug)]
pub struct Captured {
    /// The point at which it was taken.
    pub point: Point,
    /// The interface: the sending one at `Tx`, else the one that received the packet.
    pub interface: u32,
    /// Nanoseconds of the engine's clock.
    pub time: u64,
    /// Bytes of the whole packet.
    pub length: u32,
    /// Its first bytes.
    pub bytes: Vec<u8>,
    /// Why it was dropped.
    pub reason: Option<Reason>,
    /// State of the packet at [`Point::Node`].
    pub seen: Option<Arrival>,
}

/// Whether a capture wants a packet, by the content of its first buffer.
pub type Filter = Arc<dyn Fn(&[u8]) -> bool + Send + Sync>;

/// A running capture; numbers are given by the data plane, and none is given twice.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct CaptureId(pub(crate) u32);

/// The captures that run on a worker.
#[derive(Default)]
pub(crate) struct Captures(Vec<(CaptureId, Capture)>);

impl Captures {
    /// Starts one, or ends it.
    pub fn set(&mut self, id: CaptureId, capture: Option<Capture>) {
        self.0.retain(|(running, _)| *running != id);
        self.0.extend(capture.map(|capture| (id, capture)));
    }
    /// Captures of one point.
    #[inline(always)]
    pub fn at(&mut self, point: Point) -> impl Iterator<Item = &mut Capture> {
        let bit = Capture::bit(point);
        self.0.iter_mut().map(|(_, capture)| capture).filter(move |capture| capture.points & bit != 0)
    }
}

/// A worker's part of a running capture.
#[derive(Clone)]
pub struct Capture {
    /// The points, as bits of [`Point`].
    pub points: u8,
    /// One interface only.
    pub interface: Option<u32>,
    /// Packets dropped for this reason only.
    pub reason: Option<Reason>,
    /// Packets that it takes only.
    pub filter: Option<Filter>,
    /// Whether dropped packets are copied from the beginning of the frame that was received, rather than from the header on
    /// that the dropping node looked at.
    pub frames: bool,
    /// Bytes kept of each packet.
    pub snap: usize,
    /// Queue to the task that writes the file.
    pub to: Outbox<Captured>,
}

impl Capture {
    /// The bit of a point.
    pub fn bit(point: Point) -> u8 {
        1 << point as u8
    }
    /// A capture of all packets at some points, which are bits of [`Point`].
    pub fn new(points: u8, snap: usize, to: Outbox<Captured>) -> Capture {
        Capture { points, interface: None, reason: None, filter: None, frames: false, snap, to }
    }
    #[inline]
    fn wants(&self, point: Point, interface: u32, reason: Option<Reason>) -> bool {
        self.points & Capture::bit(point) != 0
            && self.interface.is_none_or(|only| only == interface)
            && self.reason.is_none_or(|only| reason == Some(only))
    }
    pub(crate) fn take<'a>(
        &mut self,
        point: Point,
        interface: u32,
        time: u64,
        segments: impl Iterator<Item = &'a [u8]>,
        reason: Option<Reason>,
    ) {
        if !self.wants(point, interface, reason) {
            return;
        }
        let mut segments = segments.peekable();
        if self.takes(segments.peek().copied()) {
            self.copy(Captured { point, interface, time, length: 0, bytes: vec![], reason, seen: None }, segments);
        }
    }
    /// The same of a packet that comes to a node. `received` is what the filter looks at: the beginning of the frame.
    #[cold]
    pub(crate) fn see<'a>(
        &mut self,
        seen: Arrival,
        interface: u32,
        time: u64,
        received: Option<&[u8]>,
        segments: impl Iterator<Item = &'a [u8]>,
    ) {
        let point = Point::Node;
        if self.wants(point, interface, None) && self.takes(received) {
            let seen = Some(seen);
            self.copy(Captured { point, interface, time, length: 0, bytes: vec![], reason: None, seen }, segments);
        }
    }
    fn takes(&self, first: Option<&[u8]>) -> bool {
        self.filter.as_ref().is_none_or(|filter| first.is_some_and(|first| filter(first)))
    }
    fn copy<'a>(&mut self, mut captured: Captured, segments: impl Iterator<Item = &'a [u8]>) {
        for segment in segments {
            captured.length += segment.len() as u32;
            let room = self.snap - captured.bytes.len().min(self.snap);
            captured.bytes.extend_from_slice(&segment[..segment.len().min(room)]);
        }
        // A full queue loses the copy, and says so in its count.
        self.to.send(captured);
    }
}
