//! Eight packets in a stage's hands: their columns, the words of their headers, and their bytes.

use crate::buffer::{All, Flags, Metadata, MetadataKey, Offload, Place, Raw};
use crate::isa::{Isa, LANES, Lanes, Mask, Mask8, Operand};
use std::fmt;

/// A field of the first 64 bytes, in network byte order.
#[derive(Clone, Copy)]
pub struct Field {
    at: usize,
    bits: u32,
}
impl Field {
    /// `bits` is 8, 16 or 32; a 16-bit field may not straddle a word.
    #[inline(always)]
    pub const fn new(at: usize, bits: u32) -> Field {
        assert!(matches!(bits, 8 | 16 | 32) && (bits == 32 || at % 4 + bits as usize / 8 <= 4));
        Field { at, bits }
    }
    /// Where it lies.
    pub const fn at(self) -> usize {
        self.at
    }
}

/// The windows of a group: word `n` has the aligned four bytes at byte `4 n` of each, in host order.
pub(crate) type Group = [[u32; LANES]; 16];

/// A window of 64 bytes of eight packets, as sixteen columns of words in host order.
///
/// PERF: a reference to the columns and no copy, so that each word is read where it is used, and none takes a register before.
#[derive(Clone, Copy)]
pub struct Header<'w, I: Isa> {
    isa: I,
    words: &'w Group,
    #[cfg(debug_assertions)]
    reads: Quarters,
}
impl<'w, I: Isa> Header<'w, I> {
    /// The words of a group, for a stage that reads these quarters of them.
    #[inline(always)]
    pub(crate) fn of(isa: I, words: &'w Group, reads: Quarters) -> Self {
        #[cfg(not(debug_assertions))]
        let _ = reads;
        Header {
            isa,
            words,
            #[cfg(debug_assertions)]
            reads,
        }
    }
    /// The field of every packet.
    #[inline(always)]
    pub fn get(&self, f: Field) -> Lanes<I> {
        let (word, skip) = (self.word(f.at / 4 * 4), (f.at % 4 * 8) as u32);
        match (f.bits, skip) {
            (32, 0) => word,
            (32, _) => word << skip | self.word(f.at / 4 * 4 + 4) >> (32 - skip),
            (bits, skip) if bits + skip == 32 => word & ((1 << bits) - 1),
            (bits, 0) => word >> (32 - bits),
            (bits, _) => word >> (32 - bits - skip) & ((1 << bits) - 1),
        }
    }
    /// The aligned word at byte `at`.
    #[inline(always)]
    pub fn word(&self, at: usize) -> Lanes<I> {
        #[cfg(debug_assertions)]
        assert!(self.reads.has(at / 16), "byte {at} of the window is not among the stage's READS: {}", self.reads);
        Lanes::new(self.isa, &self.words[at / 4 % 16])
    }
}

/// Eight packets on their way through a stage. Lanes that are not live hold arbitrary values.
#[derive(Clone, Copy)]
pub struct PacketLanes<'w, I: Isa> {
    /// 64 bytes from the stage's window on, of which the quarters are loaded that the stage reads.
    pub header: Header<'w, I>,
    /// Where the current header begins in the buffer; see [`PacketLanes::advance`].
    pub offset: Lanes<I>,
    /// Bytes from `offset` on.
    pub length: Lanes<I>,
    /// The interface that received the packet.
    pub rx: Lanes<I>,
    /// The interface that is to send it.
    pub tx: Lanes<I>,
    /// [`Flags`].
    pub flags: Lanes<I>,
    /// The result of a lookup, as in [`Frame::hop`](crate::Frame::hop).
    pub hop: Lanes<I>,
    /// The arc taken by lanes that left; arc 0 is the way on.
    pub next: Lanes<I>,
    /// Lanes that have not left.
    pub live: Mask<I>,
    /// Flags that some packet of the frame may have.
    pub any: Flags,
    /// Whether one interface received all packets of the frame, and whether one is to send them.
    pub(super) one_rx: bool,
    pub(super) one_tx: bool,
    /// Whether `flags` may have changed.
    pub(super) reflagged: bool,
    /// The row of the first lane.
    pub row: usize,
}
impl<I: Isa> PacketLanes<'_, I> {
    /// A value of the interface that received each packet: `known` if one interface received the whole frame
    /// ([`Body::begin`](super::Body::begin)), else the result of `look_up` for each.
    #[inline(always)]
    pub fn of_rx(&self, known: u32, look_up: impl Fn(u32) -> u32) -> Lanes<I> {
        if self.one_rx { self.rx.same(known) } else { self.rx.map_uniform(look_up) }
    }
    /// The same of the interface that is to send each packet.
    #[inline(always)]
    pub fn of_tx(&self, known: u32, look_up: impl Fn(u32) -> u32) -> Lanes<I> {
        if self.one_tx { self.tx.same(known) } else { self.tx.map_uniform(look_up) }
    }
    /// Whether one interface received all packets of the frame.
    #[inline(always)]
    pub fn has_one_rx(&self) -> bool {
        self.one_rx
    }
    /// Lanes in `mask` leave by an arc, unless they left before.
    #[inline(always)]
    pub fn leave(&mut self, mask: Mask<I>, arc: impl Into<u16>) {
        self.next = self.next.replace(mask & self.live, u32::from(arc.into()));
        self.live = self.live.without(mask);
    }
    /// Lanes in `mask`, all of them live, leave by an arc each.
    #[inline(always)]
    pub fn leave_each(&mut self, mask: Mask<I>, arcs: Lanes<I>) {
        self.next = self.next.replace(mask, arcs);
        self.live = self.live.without(mask);
    }
    /// Whether one interface is to send all packets of the frame.
    #[inline(always)]
    pub fn has_one_tx(&self) -> bool {
        self.one_tx
    }
    /// Sets a flag in the lanes of `mask`, and takes it from the others.
    #[inline(always)]
    pub fn flag(&mut self, mask: Mask<I>, flag: Flags) {
        let flag = u32::from(flag.0);
        self.flags = (self.flags & !flag).replace(mask, self.flags | flag);
        self.reflagged = true;
    }
    /// Takes a flag from all lanes.
    #[inline(always)]
    pub fn unflag(&mut self, flag: Flags) {
        if self.any.has(flag) {
            self.flags = self.flags & !u32::from(flag.0);
            self.reflagged = true;
        }
    }
    /// The lanes that have a flag.
    #[inline(always)]
    pub fn flagged(&self, flag: Flags) -> Mask<I> {
        match self.any.has(flag) {
            true => (self.flags & u32::from(flag.0)).ne(0),
            false => self.live.with(Mask8(0)),
        }
    }
    /// In the lanes of `mask` the current header begins `by` bytes further on.
    #[inline(always)]
    pub fn advance(&mut self, mask: Mask<I>, by: impl Operand<I>) {
        let by = self.offset.with(&[0; LANES]).replace(mask, by);
        self.offset = self.offset + by;
        self.length = self.length - by;
    }
}

/// The columns that a stage changes; the node writes back only these.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Columns(u8);
impl Columns {
    /// Only the arc.
    pub const NONE: Columns = Columns(0);
    /// The interface to send by.
    pub const TX: Columns = Columns(1);
    /// The result of a lookup.
    pub const HOP: Columns = Columns(2);
    /// Where the current header begins; with it [`Columns::LENGTH`] changes.
    pub const OFFSET: Columns = Columns(4 | 32);
    /// Bytes from there on.
    pub const LENGTH: Columns = Columns(32);
    /// The interface that received the packet.
    pub const RX: Columns = Columns(8);
    /// [`Flags`]; written only where one changed.
    pub const FLAGS: Columns = Columns(16);
    /// Both.
    #[must_use]
    pub const fn and(self, other: Columns) -> Columns {
        Columns(self.0 | other.0)
    }
    #[inline(always)]
    pub(super) const fn without(self, other: Columns) -> Columns {
        Columns(self.0 & !other.0)
    }
    #[inline(always)]
    pub(crate) const fn has(self, other: Columns) -> bool {
        self.0 & other.0 == other.0
    }
}

/// The quarters of a window, of 16 bytes each, that a stage reads.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Quarters(u8);
impl Quarters {
    /// No byte.
    pub const NONE: Quarters = Quarters(0);
    /// Whether there are none.
    pub const fn is_none(self) -> bool {
        self.0 == 0
    }
    /// All 64 bytes.
    pub const ALL: Quarters = Quarters(15);
    /// The quarters that hold bytes `from` up to `to`.
    pub const fn of(from: usize, to: usize) -> Quarters {
        let (mut n, mut all) = (from / 16, 0);
        while n < to.div_ceil(16) {
            all |= 1 << n;
            n += 1;
        }
        Quarters(all)
    }
    /// The number of quarters from the start of the window up to the last one of the set.
    #[inline(always)]
    pub(crate) const fn end(self) -> u32 {
        u8::BITS - self.0.leading_zeros()
    }
    #[inline(always)]
    pub(crate) const fn has(self, n: usize) -> bool {
        self.0 & 1 << n != 0
    }
    #[inline(always)]
    pub(crate) const fn without(self, other: Quarters) -> Quarters {
        Quarters(self.0 & !other.0)
    }
    /// The quarters of both.
    #[inline(always)]
    pub const fn and(self, other: Quarters) -> Quarters {
        Quarters(self.0 | other.0)
    }
}

impl fmt::Display for Quarters {
    /// The first and the last byte of each run of quarters: `0-15, 32-63`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ends = |n: usize| !self.has(n + 1) || n == 3;
        let mut separator = "";
        for first in (0..4).filter(|n| self.has(*n) && (*n == 0 || !self.has(n - 1))) {
            let last = (first..4).find(|n| ends(*n)).unwrap_or(3);
            write!(f, "{separator}{}-{}", 16 * first, 16 * last + 15)?;
            separator = ", ";
        }
        Ok(())
    }
}

/// The bytes of eight packets, for stages that write, or look at packets one by one.
pub struct Windows<'w> {
    pub(super) bytes: All<'w>,
    pub(super) buffer: &'w [u32; LANES],
    pub(super) places: &'w [Place; LANES],
}
impl Windows<'_> {
    /// The window of a packet, for a stage that reads windows.
    #[inline(always)]
    pub fn of(&mut self, lane: usize) -> &mut [u8; 64] {
        self.bytes.at(self.places[lane % LANES])
    }
    /// The bytes of a packet in its first buffer, from its current header on: for work on single packets.
    #[cold]
    pub fn packet<I: Isa>(&self, p: &PacketLanes<I>, lane: usize) -> &[u8] {
        self.bytes.pool().bytes_of(self.raw(p, lane))
    }
    /// The same, to change: among the stage's [`Body::REWRITES`](super::Body::REWRITES).
    #[cold]
    pub fn packet_mut<I: Isa>(&mut self, p: &PacketLanes<I>, lane: usize) -> &mut [u8] {
        self.bytes.bytes_of_mut(self.raw(p, lane))
    }
    /// The offload that the driver left with a packet: checksums and segments that are still to be made.
    #[cold]
    pub fn offload<I: Isa>(&self, p: &PacketLanes<I>, lane: usize) -> Option<Offload> {
        self.bytes.pool().offload_of(self.raw(p, lane))
    }
    /// Metadata of a packet by its key ([`Frame::set_metadata`](crate::Frame::set_metadata)).
    #[cold]
    pub fn metadata<I: Isa, T: Metadata>(&self, p: &PacketLanes<I>, lane: usize, key: MetadataKey<T>) -> Option<T> {
        self.bytes.pool().metadata_of(self.raw(p, lane))?.get(key)
    }
    fn raw<I: Isa>(&self, p: &PacketLanes<I>, lane: usize) -> Raw {
        let (buffer, flags) = (self.buffer[lane % LANES], Flags(p.flags.narrow()[lane % LANES]));
        Raw { buffer, offset: p.offset.narrow()[lane % LANES], length: p.length.array()[lane % LANES], flags }
    }
    /// 64 bytes of a packet's buffer from an offset on; the offset is brought into the buffer.
    #[inline(always)]
    pub fn at(&mut self, lane: usize, offset: u32) -> &mut [u8; 64] {
        self.bytes.window(self.buffer[lane % LANES], offset as usize)
    }
}
