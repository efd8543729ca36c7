//! One packet that outlives its frame, and packets about to be read.

use super::memory::{END, HEADROOM, Offload, SEGMENT_MAX};
use super::metadata::{Metadata, MetadataKey};
use super::pool::{Pool, SCATTER_MAX, Shared};
use super::raw::{Flags, Raw};
use std::io::IoSliceMut;
use std::sync::Arc;

/// A packet owned by its holder: in a queue for an address to be resolved, in reassembly, on its way to a worker.
/// Dropping it gives the buffers back.
pub struct Packet {
    pub(crate) raw: Raw,
    /// Where it was received.
    pub rx: u32,
    /// Where it is to be sent.
    pub tx: u32,
    /// Result of a lookup, for the node that acts on it.
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
    /// Flags of the packet.
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
    /// Makes nodes record what they do with the packet, as part of the trace of this number.
    pub(crate) fn set_traced(&mut self, pool: &mut Pool, number: u32) {
        pool.check(self);
        self.raw.flags = self.raw.flags.with(Flags::TRACED);
        pool.header_mut(self.raw.buffer).trace = number;
    }
    /// Keeps a value with it.
    pub fn set_metadata<T: Metadata>(&mut self, pool: &mut Pool, key: MetadataKey<T>, value: T) {
        pool.check(self);
        pool.set_metadata_of(self.raw, key, value);
        self.raw.flags = self.raw.flags.with(Flags::METADATA);
    }
    /// Metadata of the packet by its key.
    pub fn metadata<T: Metadata>(&self, pool: &Pool, key: MetadataKey<T>) -> Option<T> {
        pool.check(self);
        pool.metadata_of(self.raw)?.get(key)
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

impl Pool {
    /// A packet with these bytes. None when the pool has too few buffers.
    pub fn packet(&mut self, bytes: &[u8]) -> Option<Packet> {
        let raw = self.raw_from(bytes)?;
        Some(Packet::own(raw, self))
    }
    /// A packet of these bytes, one stretch behind the other. None when the pool has too few buffers.
    pub fn packet_of(&mut self, stretches: &[&[u8]]) -> Option<Packet> {
        let length = stretches.iter().map(|stretch| stretch.len()).sum();
        if length <= SEGMENT_MAX {
            let id = self.allocate()?;
            let mut to = &mut self.data_mut(id)[HEADROOM..];
            for stretch in stretches {
                let (here, behind) = to.split_at_mut(stretch.len());
                here.copy_from_slice(stretch);
                to = behind;
            }
            let raw = Raw { buffer: id, offset: HEADROOM as u16, length: length as u32, flags: Flags::NONE };
            return Some(Packet::own(raw, self));
        }
        let (mut others, mut from) = (stretches.iter(), &[][..]);
        let raw = self.raw_filled(length, |mut to| {
            while !to.is_empty() {
                if from.is_empty() {
                    let Some(next) = others.next() else { return false };
                    from = next;
                }
                let length = from.len().min(to.len());
                let (these, rest) = from.split_at(length);
                let (here, behind) = to.split_at_mut(length);
                here.copy_from_slice(these);
                (from, to) = (rest, behind);
            }
            true
        })?;
        Some(Packet::own(raw, self))
    }
    /// A copy of a packet, with its offload, for floods and captures.
    pub fn copy(&mut self, packet: &Packet) -> Option<Packet> {
        self.check(packet);
        let raw = self.copy_raw(packet.raw)?;
        Some(Packet::own(raw, self).with_columns(packet.rx, packet.tx, packet.hop))
    }
    /// Access to a packet is sound only through its own pool: two pools of one process are a programming error.
    pub(crate) fn check(&self, packet: &Packet) {
        assert!(packet.home() == self.home(), "the packet is of another pool");
    }
    /// Frees a packet at once, to this worker's own list.
    pub fn free(&mut self, packet: Packet) {
        self.check(&packet);
        let raw = packet.disown();
        self.free_raw(raw);
    }
    /// Bytes of the packet's first buffer; all of them unless it is chained.
    pub fn bytes(&self, packet: &Packet) -> &[u8] {
        self.check(packet);
        self.bytes_of(packet.raw)
    }
    /// The same, to change.
    pub fn bytes_mut(&mut self, packet: &mut Packet) -> &mut [u8] {
        self.check(packet);
        self.bytes_of_mut(packet.raw)
    }
    /// The parts of a packet in their order.
    pub fn segments(&self, packet: &Packet) -> impl Iterator<Item = &[u8]> {
        self.check(packet);
        self.segments_of(packet.raw)
    }
    /// Offload state of the packet.
    pub fn offload(&self, packet: &Packet) -> Option<Offload> {
        self.check(packet);
        self.offload_of(packet.raw)
    }
    /// Gives a packet that was made of another one what rooms keep with that.
    pub fn keep_metadata(&mut self, from: &Packet, to: &mut Packet) {
        self.check(from);
        self.hand_on_metadata(from.raw, to);
    }
    /// The same of a packet in a frame.
    pub(crate) fn hand_on_metadata(&mut self, from: Raw, to: &mut Packet) {
        self.check(to);
        if let Some(kept) = self.metadata_of(from).copied() {
            self.header_mut(to.raw.buffer).metadata = kept;
            to.raw.flags = to.raw.flags.with(Flags::METADATA);
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
