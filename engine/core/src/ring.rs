//! A ring of packets in memory: generators fill it, and captures read it.

use crate::buffer::{Buffers, Flags, Packet, Pool, Raw};
use crate::column::{Rows, RowsMut};
use crate::frame::Frame;
use crate::tx::Batch;
use std::ops::Range;

/// Packets in their order; the ring owns them. Not shared between threads: a generator and the interface that it feeds
/// live on one worker.
///
/// Like frames it keeps columns, so that vectors move in and out by copies of whole slices.
pub struct PacketRing {
    buffer: Box<[u32]>,
    offset: Box<[u16]>,
    length: Box<[u32]>,
    flags: Box<[u16]>,
    /// The oldest packet's place.
    head: usize,
    len: usize,
    home: Buffers,
}

/// Packets whose headers stay in a cache near enough that fetching them ahead costs more than it saves.
const NEAR: usize = 4096;

impl PacketRing {
    /// A ring of at most `capacity` packets of these buffers.
    pub fn new(capacity: usize, home: &Buffers) -> PacketRing {
        let (long, short) = (vec![0; capacity], vec![0; capacity]);
        PacketRing {
            buffer: long.clone().into(),
            offset: short.clone().into(),
            length: long.into(),
            flags: short.into(),
            head: 0,
            len: 0,
            home: home.clone(),
        }
    }
    /// Packets in the ring.
    pub fn len(&self) -> usize {
        self.len
    }
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }
    /// Places left.
    pub fn room(&self) -> usize {
        self.buffer.len() - self.len
    }
    /// Appends a packet. Gives it back if the ring is full, or of other buffers.
    pub fn push(&mut self, packet: Packet) -> Result<(), Packet> {
        if self.room() == 0 || packet.home() != self.home.home() {
            return Err(packet);
        }
        let (raw, at) = (packet.disown(), self.place(self.len));
        (self.buffer[at], self.offset[at], self.length[at], self.flags[at]) =
            (raw.buffer, raw.offset, raw.length, raw.flags.0);
        self.len += 1;
        Ok(())
    }
    #[inline]
    fn check(&self, pool: &Pool) {
        assert!(pool.home() == self.home.home(), "the ring is of other buffers");
    }
    /// Takes the oldest packet.
    pub fn pop(&mut self, pool: &Pool) -> Option<Packet> {
        self.check(pool);
        Some(Packet::own(self.pop_raw()?, pool))
    }
    fn pop_raw(&mut self) -> Option<Raw> {
        let at = self.head;
        if self.len == 0 {
            return None;
        }
        (self.head, self.len) = (self.place(1), self.len - 1);
        let (offset, length, flags) = (self.offset[at], self.length[at], Flags(self.flags[at]));
        Some(Raw { buffer: self.buffer[at], offset, length, flags })
    }
    /// Moves up to `most` of the oldest packets into a frame, as received by `rx`. Returns how many.
    #[inline]
    pub fn receive(&mut self, pool: &Pool, frame: &mut Frame, rx: u32, most: usize) -> usize {
        self.check(pool);
        let n = most.min(frame.room()).min(self.len);
        for span in self.spans(0, n) {
            let (from, n) = (span.start, span.len());
            if n == 0 {
                break;
            }
            if self.buffer.len() > NEAR {
                for at in span {
                    crate::isa::prefetch(pool.window(self.buffer[at], self.offset[at].into()));
                }
            }
            let (buffer, offset) = (&self.buffer[from..], &self.offset[from..]);
            let rows = Rows { buffer, offset, length: &self.length[from..], flags: &self.flags[from..] };
            frame.push_rows(rows, n, rx);
        }
        (self.head, self.len) = (self.place(n), self.len - n);
        n
    }
    /// Takes packets from the front of a batch while there is room. Returns how many.
    #[inline]
    pub fn transmit(&mut self, pool: &Pool, batch: &mut Batch) -> usize {
        self.check(pool);
        let n = batch.len().min(self.room());
        if !batch.is_whole() {
            // Some were taken singly before, so the rest is.
            (0..n).for_each(|i| drop(batch.take(pool, i).map(|packet| self.push(packet))));
            return n;
        }
        let mut from = 0;
        // All of the room, of which the batch may fill a part.
        for span in self.spans(self.len, self.room()) {
            if from == n {
                break;
            }
            let (buffer, offset) = (&mut self.buffer[span.clone()], &mut self.offset[span.clone()]);
            let (length, flags) = (&mut self.length[span.clone()], &mut self.flags[span]);
            from += batch.take_rows(RowsMut { buffer, offset, length, flags });
        }
        self.len += n;
        n
    }
    /// The place of the packet that comes after `after` others.
    #[inline]
    fn place(&self, after: usize) -> usize {
        let at = self.head + after;
        if at < self.buffer.len() { at } else { at - self.buffer.len() }
    }
    /// The places of `n` packets that come after `after` others: up to the end of the columns, and from their start on.
    #[inline]
    fn spans(&self, after: usize, n: usize) -> [Range<usize>; 2] {
        let at = if n == 0 { 0 } else { self.place(after) };
        let first = n.min(self.buffer.len() - at);
        [at..at + first, 0..n - first]
    }
}
impl Drop for PacketRing {
    fn drop(&mut self) {
        while let Some(raw) = self.pop_raw() {
            self.home.give_back(raw);
        }
    }
}
