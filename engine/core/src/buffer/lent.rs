//! Buffers that another process uses in place: it writes to empty ones, and reads packets where they are. They are held
//! here by slots, such as the descriptors of a ring, until they come back.

use super::memory::{END, HEADROOM, SEGMENT_MAX};
use super::pool::{Buffers, Pool};
use super::raw::{Flags, Raw, Span};
use crate::frame::Frame;
use crate::tx::Batch;

const NOTHING: Raw = Raw { buffer: END, offset: HEADROOM as u16, flags: Flags::NONE, length: 0 };

/// Lent buffers by slot. Dropping it takes everything back.
pub struct Lent {
    slots: Box<[Raw]>,
    home: Buffers,
}

impl Lent {
    /// `slots` empty slots for buffers of this memory.
    pub fn new(slots: usize, home: &Buffers) -> Lent {
        Lent { slots: vec![NOTHING; slots].into(), home: home.clone() }
    }
    /// Lends an empty buffer, from the store; what was in the slot is taken back. None if the store is empty.
    pub fn lend(&mut self, slot: usize) -> Option<Span> {
        let id = self.home.take_one()?;
        let old = std::mem::replace(&mut self.slots[slot], Raw { buffer: id, ..NOTHING });
        self.take_back(old);
        Some(empty(&self.home, id))
    }
    fn take_back(&self, raw: Raw) {
        if raw.buffer != END {
            self.home.give_back(raw);
        }
    }
    /// Makes a packet of what was written to slots, each with its length, and appends it to a frame. Other empty buffers
    /// are lent in their places, of which `lent` is told. False, and nothing changed, if the frame has no room, a slot
    /// is empty, a length is longer than a buffer, or the pool has too few buffers.
    #[inline]
    pub fn receive(
        &mut self,
        pool: &mut Pool,
        frame: &mut Frame,
        rx: u32,
        parts: impl Iterator<Item = (usize, u32)> + Clone,
        mut lent: impl FnMut(usize, Span),
    ) -> bool {
        self.home.check(pool);
        let (mut length, mut is_sane) = (0u32, frame.room() > 0);
        for (slot, part) in parts.clone() {
            let held = self.slots.get(slot).is_some_and(|raw| raw.buffer != END);
            is_sane &= held && part as usize <= SEGMENT_MAX;
            length = length.saturating_add(part);
        }
        if !is_sane || !pool.has(parts.clone().count()) {
            return false;
        }
        let (mut first, mut last) = (NOTHING, END);
        for (slot, part) in parts {
            let Some(new) = pool.allocate() else { break };
            let old = std::mem::replace(&mut self.slots[slot], Raw { buffer: new, ..NOTHING });
            lent(slot, empty(&self.home, new));
            if last == END {
                first = Raw { length, ..old };
            } else {
                first.flags = Flags::CHAINED;
                pool.append(last, old.buffer);
            }
            pool.link(old.buffer, END, part as usize);
            last = old.buffer;
        }
        if last == END {
            return false;
        }
        frame.push_raw(first, rx);
        true
    }
    /// Begins to receive packets of one buffer each, which costs less than [`Lent::receive`].
    #[inline(always)]
    pub fn burst<'a>(&'a mut self, pool: &'a mut Pool, frame: &'a mut Frame, rx: u32) -> Burst<'a> {
        self.home.check(pool);
        Burst { slots: &mut self.slots, home: &self.home, pool, frame, rx }
    }
    /// Takes packet `i` out of a batch and holds it in a slot, whose earlier packet is taken back. Says where its first part
    /// lies; None, and nothing changed, if it was taken out before.
    #[inline(always)]
    pub fn keep(&mut self, slot: usize, pool: &mut Pool, batch: &mut Batch, i: usize) -> Option<Span> {
        self.home.check(pool);
        let raw = batch.take_raw(pool, i)?;
        self.give_back(slot, pool);
        self.slots[slot] = raw;
        Some(pool.first_span(raw))
    }
    /// Takes back what is in a slot.
    #[inline]
    pub fn give_back(&mut self, slot: usize, pool: &mut Pool) {
        let raw = std::mem::replace(&mut self.slots[slot], NOTHING);
        if raw.buffer != END {
            pool.free_raw(raw);
        }
    }
}

/// Packets that are received where they are, one after the other; see [`Lent::burst`].
pub struct Burst<'a> {
    slots: &'a mut [Raw],
    home: &'a Buffers,
    pool: &'a mut Pool,
    frame: &'a mut Frame,
    rx: u32,
}
impl Burst<'_> {
    /// Makes a packet of the first `length` bytes of a slot's buffer, and appends it to the frame. Returns the empty buffer that
    /// is lent in its place; None, and nothing changed, where [`Lent::receive`] would say no.
    #[inline(always)]
    pub fn receive(&mut self, slot: usize, length: u32) -> Option<Span> {
        let held = self.slots.get_mut(slot).filter(|raw| raw.buffer != END && length as usize <= SEGMENT_MAX)?;
        if self.frame.room() == 0 {
            return None;
        }
        let new = self.pool.allocate()?;
        let old = std::mem::replace(held, Raw { buffer: new, ..NOTHING });
        self.frame.push_raw(Raw { length, ..old }, self.rx);
        Some(empty(self.home, new))
    }
}

fn empty(home: &Buffers, id: u32) -> Span {
    Span { offset: home.offset(id, HEADROOM), length: SEGMENT_MAX as u32 }
}
impl Drop for Lent {
    fn drop(&mut self) {
        std::mem::take(&mut self.slots).into_iter().for_each(|raw| self.take_back(raw));
    }
}
