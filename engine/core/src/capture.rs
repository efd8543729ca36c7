//! Copies of packets at receive, transmit and drop, for pcap files that the control thread writes.

use crate::channel::Outbox;
use crate::graph::Reason;

/// Where a packet was seen.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Point {
    /// Received.
    Rx,
    /// About to be sent.
    Tx,
    /// Dropped.
    Drop,
}

/// A copy.
#[derive(Clone, Debug)]
pub struct Captured {
    /// Where.
    pub point: Point,
    /// The interface: the sending one at `Tx`, else the one that received the packet.
    pub interface: u16,
    /// Nanoseconds of the engine's clock.
    pub time: u64,
    /// Bytes of the whole packet.
    pub length: u32,
    /// Its first bytes.
    pub bytes: Vec<u8>,
    /// Why it was dropped.
    pub reason: Option<Reason>,
}

/// A worker's part of a running capture.
#[derive(Clone)]
pub struct Capture {
    /// The points, as bits of [`Point`].
    pub points: u8,
    /// One interface only.
    pub interface: Option<u16>,
    /// Bytes kept of each packet.
    pub snap: usize,
    /// To whoever writes the file.
    pub to: Outbox<Captured>,
}

impl Capture {
    /// The bit of a point.
    pub fn bit(point: Point) -> u8 {
        1 << point as u8
    }
    #[inline]
    pub(crate) fn wants(&self, point: Point, interface: u16) -> bool {
        self.points & Capture::bit(point) != 0 && self.interface.is_none_or(|only| only == interface)
    }
    pub(crate) fn take<'a>(
        &mut self,
        point: Point,
        interface: u16,
        time: u64,
        segments: impl Iterator<Item = &'a [u8]>,
        reason: Option<Reason>,
    ) {
        if !self.wants(point, interface) {
            return;
        }
        let (mut bytes, mut length) = (vec![], 0);
        for segment in segments {
            length += segment.len() as u32;
            bytes.extend_from_slice(&segment[..segment.len().min(self.snap - bytes.len().min(self.snap))]);
        }
        // A full queue loses the copy, and says so in its count.
        self.to.send(Captured { point, interface, time, length, bytes, reason });
    }
}
