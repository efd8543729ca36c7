//! One packet that outlives its frame, and packets about to be read.

use super::memory::{END, HEADROOM, Offload, SEGMENT_MAX};
use super::pool::{Pool, SCATTER_MAX, Shared};
use std::io::IoSliceMut;
use std::sync::Arc;

/// What is said of a packet beside its length; a column of the frame.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
#[repr(transparent)]
pub struct Flags(pub u16);

impl Flags {
    /// None of them.
    pub const NONE: Flags = Flags(0);
    /// The packet goes on in further buffers.
    pub const CHAINED: Flags = Flags(1);
    /// The buffer holds an [`Offload`]: a checksum to be filled in, segments to be cut.
    pub const OFFLOAD: Flags = Flags(2);
    /// Nodes record what they do with the packet.
    pub const TRACED: Flags = Flags(4);
    /// We made the packet; it was not received.
    pub const LOCAL: Flags = Flags(8);
    /// It came in a frame for a group of stations or all of them, so it is not reported, and not forwarded unless somebody wants
    /// that (RFC 1812, 4.3.2.7 and 5.3.4).
    pub const LINK_GROUP: Flags = Flags(16);
    /// The buffer holds a room's note about the packet, for rooms that know of it.
    pub const NOTED: Flags = Flags(32);

    /// Whether any of the flags of `other` is set.
    #[inline(always)]
    pub fn has(self, other: Flags) -> bool {
        self.0 & other.0 != 0
    }
    /// The flags of both.
    #[inline(always)]
    #[must_use]
    pub const fn with(self, other: Flags) -> Flags {
        Flags(self.0 | other.0)
    }
    /// The flags that both have.
    #[inline(always)]
    #[must_use]
    pub const fn only(self, other: Flags) -> Flags {
        Flags(self.0 & other.0)
    }
    /// These flags without those of `other`.
    #[inline(always)]
    #[must_use]
    pub const fn without(self, other: Flags) -> Flags {
        Flags(self.0 & !other.0)
    }
}

/// A packet's place in memory. A plain value: whoever holds one must own the packet.
#[derive(Clone, Copy)]
pub(crate) struct Raw {
    pub buffer: u32,
    pub offset: u16,
    pub flags: Flags,
    pub length: u32,
}

/// A packet owned by its holder: in a queue for an address to be resolved, in reassembly, on its way to a worker.
/// Dropping it gives the buffers back.
pub struct Packet {
    pub(crate) raw: Raw,
    /// Where it was received.
    pub rx: u32,
    /// Where it is to be sent.
    pub tx: u32,
    /// What a lookup chose.
    pub hop: u32,
    home: Arc<Shared>,
}

impl Packet {
    pub(crate) fn own(raw: Raw, pool: &Pool) -> Packet {
        Packet { raw, rx: 0, tx: 0, hop: 0, home: pool.shared.clone() }
    }
    #[must_use]
    pub(crate) fn with_columns(mut self, rx: u32, tx: u32, hop: u32) -> Packet {
        (self.rx, self.tx, self.hop) = (rx, tx, hop);
        self
    }
    /// Takes the buffers out of the handle.
    pub(crate) fn disown(mut self) -> Raw {
        let raw = self.raw;
        self.raw.buffer = END;
        raw
    }
    /// Which pool it is of.
    pub(crate) fn home(&self) -> usize {
        Arc::as_ptr(&self.home).addr()
    }
    /// Bytes of the whole packet.
    pub fn len(&self) -> usize {
        self.raw.length as usize
    }
    /// Whether it has no bytes.
    pub fn is_empty(&self) -> bool {
        self.raw.length == 0
    }
    /// What is said of it.
    pub fn flags(&self) -> Flags {
        self.raw.flags
    }
    /// Marks it as made by us.
    pub fn set_local(&mut self) {
        self.raw.flags = self.raw.flags.with(Flags::LOCAL);
    }
    /// Marks it as received in a frame for many.
    pub fn set_link_group(&mut self) {
        self.raw.flags = self.raw.flags.with(Flags::LINK_GROUP);
    }
    /// Has nodes record what they do with it as they do with a traced packet, whose number this is.
    pub(crate) fn set_traced(&mut self, pool: &mut Pool, number: u32) {
        pool.check(self);
        self.raw.flags = self.raw.flags.with(Flags::TRACED);
        pool.header_mut(self.raw.buffer).trace = number;
    }
    /// Attaches what a room has to say of it.
    pub fn set_note(&mut self, pool: &mut Pool, note: u64) {
        pool.check(self);
        self.raw.flags = self.raw.flags.with(Flags::NOTED);
        pool.header_mut(self.raw.buffer).note = note;
    }
    /// Attaches what an offloading driver says of it.
    pub fn set_offload(&mut self, pool: &mut Pool, offload: Offload) {
        pool.check(self);
        self.raw.flags = self.raw.flags.with(Flags::OFFLOAD);
        pool.header_mut(self.raw.buffer).offload = offload;
    }
}
impl Drop for Packet {
    fn drop(&mut self) {
        if self.raw.buffer != END {
            self.home.give_back_chain(self.raw);
        }
    }
}

/// Buffers kept ready for reads of packets whose length is not known before, up to 64 KB.
#[derive(Default)]
pub struct Scatter {
    ids: Vec<u32>,
    home: Option<Arc<Shared>>,
}

impl Scatter {
    /// Fills up to room for `bytes`, at most 64 KB and what stands in front. False if the pool has too few buffers.
    pub fn fill(&mut self, pool: &mut Pool, bytes: usize) -> bool {
        let home = self.home.get_or_insert_with(|| pool.shared.clone());
        assert!(Arc::ptr_eq(home, &pool.shared), "the buffers are of another pool");
        while self.room() < bytes && self.ids.len() < SCATTER_MAX {
            match pool.allocate() {
                Some(id) => self.ids.push(id),
                None => return false,
            }
        }
        true
    }
    fn check(&self, pool: &Pool) {
        assert!(
            self.home.as_ref().is_none_or(|home| Arc::ptr_eq(home, &pool.shared)),
            "the buffers are of another pool"
        );
    }
    /// Bytes that there is room for.
    pub fn room(&self) -> usize {
        self.ids.len() * SEGMENT_MAX
    }
    /// Reads into the buffers, in order, what comes behind a header that is not the packet's.
    pub fn read<R>(&mut self, pool: &mut Pool, header: &mut [u8], read: impl FnOnce(&mut [IoSliceMut]) -> R) -> R {
        self.check(pool);
        pool.scatter(header, &self.ids, read)
    }
    /// Makes a packet of the first `length` bytes read. None if they exceed the room.
    pub fn take(&mut self, pool: &mut Pool, length: usize) -> Option<Packet> {
        self.check(pool);
        let used = length.div_ceil(SEGMENT_MAX).max(1);
        if used > self.ids.len() {
            return None;
        }
        let chained = used > 1;
        let mut raw = Raw { buffer: self.ids[0], offset: HEADROOM as u16, length: length as u32, flags: Flags::NONE };
        if chained {
            raw.flags = Flags::CHAINED;
            for i in 0..used {
                let next = if i + 1 < used { self.ids[i + 1] } else { END };
                pool.link(self.ids[i], next, (length - i * SEGMENT_MAX).min(SEGMENT_MAX));
            }
        }
        self.ids.drain(..used);
        Some(Packet::own(raw, pool))
    }
}
impl Drop for Scatter {
    fn drop(&mut self) {
        if let Some(home) = &self.home {
            let single = |buffer| Raw { buffer, offset: 0, flags: Flags::NONE, length: 0 };
            self.ids.drain(..).for_each(|id| home.give_back_chain(single(id)));
        }
    }
}
