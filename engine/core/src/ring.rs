//! A ring of packets in memory: what generators fill and captures read.

use crate::buffer::{Buffers, Flags, Packet, Pool, Raw};
use crate::frame::Frame;
use crate::tx::Batch;
use std::collections::VecDeque;

/// Packets in their order; the ring owns them. Not shared between threads: a generator and the interface that it feeds
/// live on one worker.
pub struct PacketRing {
    rows: VecDeque<Raw>,
    capacity: usize,
    home: Buffers,
}

impl PacketRing {
    /// A ring of at most `capacity` packets of these buffers.
    pub fn new(capacity: usize, home: &Buffers) -> PacketRing {
        PacketRing { rows: VecDeque::with_capacity(capacity), capacity, home: home.clone() }
    }
    /// Packets in the ring.
    pub fn len(&self) -> usize {
        self.rows.len()
    }
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }
    /// Places left.
    pub fn room(&self) -> usize {
        self.capacity - self.rows.len().min(self.capacity)
    }
    /// Appends a packet. Gives it back if the ring is full, or of other buffers.
    pub fn push(&mut self, packet: Packet) -> Result<(), Packet> {
        if self.room() == 0 || packet.home() != self.home.home() {
            return Err(packet);
        }
        self.rows.push_back(packet.disown());
        Ok(())
    }
    fn check(&self, pool: &Pool) {
        assert!(pool.home() == self.home.home(), "the ring is of other buffers");
    }
    /// Takes the oldest packet.
    pub fn pop(&mut self, pool: &Pool) -> Option<Packet> {
        self.check(pool);
        Some(Packet::own(self.rows.pop_front()?, pool))
    }
    /// Moves up to `most` of the oldest packets into a frame, as received by `rx`. Returns how many.
    #[inline]
    pub fn receive(&mut self, pool: &Pool, frame: &mut Frame, rx: u16, most: usize) -> usize {
        self.check(pool);
        let n = most.min(frame.room()).min(self.rows.len());
        for raw in self.rows.drain(..n) {
            crate::isa::prefetch(pool.window(raw.buffer, raw.offset.into()));
            frame.push_raw(raw, rx);
        }
        n
    }
    /// Takes packets from the front of a batch while there is room. Returns how many.
    #[inline]
    pub fn transmit(&mut self, pool: &Pool, batch: &mut Batch) -> usize {
        self.check(pool);
        let n = batch.len().min(self.room());
        for i in 0..n {
            if let Some(mut raw) = batch.take_raw(pool, i) {
                raw.flags = raw.flags.without(Flags::TRACED);
                self.rows.push_back(raw);
            }
        }
        n
    }
}
impl Drop for PacketRing {
    fn drop(&mut self) {
        self.rows.drain(..).for_each(|raw| self.home.give_back(raw));
    }
}
