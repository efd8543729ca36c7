//! Where the buffers of a slave's ring lie.

use crate::region::{GROUP, most};
use crate::ring::{Cell, Columns, Descriptor, Ring};

/// Where a buffer lies.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Place {
    /// The region.
    pub region: u16,
    /// Where it begins there.
    pub offset: u32,
    /// Its bytes.
    pub length: u32,
}

impl Place {
    /// Where a descriptor says that a buffer lies.
    #[inline(always)]
    pub(crate) fn of(Descriptor { region, offset, length, .. }: Descriptor) -> Place {
        Place { region, offset, length }
    }
}

/// A buffer for each descriptor of a ring, all of one length and in one region: what a slave posts, or fills.
///
/// PERF: four bytes a buffer stay in the caches where a [`Place`] each would not, and the region is looked up by the burst.
pub struct Places {
    region: u16,
    length: u32,
    /// Offsets of all descriptors of the ring, or none.
    offsets: Box<[u32]>,
}

impl Places {
    /// Buffers of `length` bytes in a region, one for each descriptor of the ring: `offset` says where it begins.
    pub fn of(ring: &Ring, region: u16, length: u32, offset: impl FnMut(u16) -> u32) -> Places {
        Places { region, length, offsets: (0..ring.size()).map(offset).collect() }
    }
    /// No buffers: packets are sent from where they are.
    pub fn none() -> Places {
        Places { region: 0, length: 0, offsets: Box::default() }
    }
    /// Offsets from a place of the ring on.
    #[inline(always)]
    pub(crate) fn known(&self, slot: usize) -> Known<'_> {
        let Places { region, length, offsets } = self;
        Known { region: *region, length: *length, offsets: offsets.get(slot..).unwrap_or_default() }
    }
    /// Writes descriptors anew: those of a stretch of the ring, from a place of it on.
    #[inline(always)]
    pub(crate) fn post(&self, slot: usize, cells: &[Cell]) {
        let known = self.known(slot);
        for (cell, offset) in cells.iter().zip(known.offsets) {
            Descriptor { has_next: false, region: known.region, length: known.length, offset: *offset }.store(cell);
        }
    }
    /// Another buffer for a place of the ring begins here.
    #[inline(always)]
    pub(crate) fn set_offset(&mut self, slot: usize, offset: u32) {
        if let Some(own) = self.offsets.get_mut(slot) {
            *own = offset;
        }
    }
    /// The buffer of a descriptor, whose index wraps around. One of no bytes where there is none.
    #[inline(always)]
    pub(crate) fn get(&self, index: u16) -> Place {
        let slot = usize::from(index) & self.offsets.len().wrapping_sub(1);
        match self.offsets.get(slot) {
            Some(offset) => Place { region: self.region, offset: *offset, length: self.length },
            None => Place::default(),
        }
    }
}

/// The buffers behind a stretch of descriptors, by their number in it.
pub(crate) trait Buffers: Copy {
    /// Whether we post them, so that their descriptors are written anew after each packet that was received.
    const ARE_OURS: bool;
    /// Where one begins.
    fn offset(self, i: usize, cell: &Cell) -> u32;
    /// The same of eight, from `first` on.
    fn offsets(self, first: usize, cells: &[Cell; GROUP]) -> [u32; GROUP];
    /// The buffer to write to; its length is the room in it.
    fn room(self, i: usize, cell: &Cell) -> Place;
    /// The peer's description of the packet in it. An invalid one has length 0.
    fn packet(self, i: usize, cell: &Cell) -> Descriptor;
    /// The same of eight, from `first` on. None if one goes on in the next buffer, or lies in another region than this.
    fn packets(self, first: usize, cells: &[Cell; GROUP], region: u16) -> Option<Eight>;
    /// Eight to write to, from `first` on: where they begin, and the least room that one has. None if one lies in another
    /// region than this, or if what its descriptor says of flags would have to be changed.
    fn rooms(self, first: usize, cells: &[Cell; GROUP], region: u16) -> Option<([u32; GROUP], u32)>;
    /// Describes packets that were written to these.
    fn describe(self, cells: &[Cell; GROUP], region: u16, offsets: &[u32; GROUP], lengths: &[u32; GROUP]);
}

/// Eight packets of one buffer each, in one region.
pub(crate) struct Eight {
    /// Where they begin.
    pub offsets: [u32; GROUP],
    /// The packets' lengths.
    pub lengths: [u32; GROUP],
    /// The bits of each length less one: few instructions tell by them that none is longer than a power of two, and that
    /// none has no bytes, which gives all bits.
    pub bits: u32,
}
impl Eight {
    #[inline(always)]
    fn of(offsets: [u32; GROUP], lengths: [u32; GROUP]) -> Eight {
        let bits = lengths.iter().fold(0, |bits, length| bits | length.wrapping_sub(1));
        Eight { offsets, lengths, bits }
    }
}

/// Buffers of the peer, as it tells: what a master has.
#[derive(Clone, Copy)]
pub(crate) struct Told;
impl Buffers for Told {
    const ARE_OURS: bool = false;
    #[inline(always)]
    fn offset(self, _: usize, cell: &Cell) -> u32 {
        Descriptor::load_offset(cell)
    }
    #[inline(always)]
    fn offsets(self, _: usize, cells: &[Cell; GROUP]) -> [u32; GROUP] {
        std::array::from_fn(|i| Descriptor::load_offset(&cells[i]))
    }
    #[inline(always)]
    fn room(self, _: usize, cell: &Cell) -> Place {
        Place::of(Descriptor::load(cell))
    }
    #[inline(always)]
    fn packet(self, _: usize, cell: &Cell) -> Descriptor {
        Descriptor::load(cell)
    }
    #[inline(always)]
    fn packets(self, _: usize, cells: &[Cell; GROUP], region: u16) -> Option<Eight> {
        let columns = Columns::load(cells);
        columns.are_whole_in(region).then(|| Eight::of(columns.offsets, columns.lengths))
    }
    #[inline(always)]
    fn rooms(self, _: usize, cells: &[Cell; GROUP], region: u16) -> Option<([u32; GROUP], u32)> {
        let columns = Columns::load(cells);
        let room = columns.lengths.into_iter().fold(u32::MAX, u32::min);
        columns.are_plain_in(region).then_some((columns.offsets, room))
    }
    #[inline(always)]
    fn describe(self, cells: &[Cell; GROUP], _: u16, _: &[u32; GROUP], lengths: &[u32; GROUP]) {
        // All else stands there.
        cells.iter().zip(lengths).for_each(|(cell, length)| Descriptor::store_length(cell, *length));
    }
}

/// Buffers of ours: what a slave has. Of what the peer writes into their descriptors only the packet's length counts.
#[derive(Clone, Copy)]
pub(crate) struct Known<'a> {
    region: u16,
    length: u32,
    offsets: &'a [u32],
}
impl Buffers for Known<'_> {
    const ARE_OURS: bool = true;
    #[inline(always)]
    fn offset(self, i: usize, _: &Cell) -> u32 {
        self.offsets.get(i).copied().unwrap_or_default()
    }
    #[inline(always)]
    fn offsets(self, first: usize, _: &[Cell; GROUP]) -> [u32; GROUP] {
        self.offsets.get(first..).and_then(|offsets| offsets.first_chunk()).copied().unwrap_or_default()
    }
    #[inline(always)]
    fn room(self, i: usize, _: &Cell) -> Place {
        match self.offsets.get(i) {
            Some(offset) => Place { region: self.region, offset: *offset, length: self.length },
            None => Place::default(),
        }
    }
    #[inline(always)]
    fn packet(self, i: usize, cell: &Cell) -> Descriptor {
        let described = Descriptor::load(cell);
        let Place { region, offset, length } = self.room(i, cell);
        // What does not fit is none.
        let length = if described.length <= length { described.length } else { 0 };
        Descriptor { region, offset, length, ..described }
    }
    #[inline(always)]
    fn packets(self, first: usize, cells: &[Cell; GROUP], region: u16) -> Option<Eight> {
        let (offsets, room) = self.rooms(first, cells, region)?;
        let columns = Columns::load(cells);
        (columns.are_whole() & (most(&columns.lengths) <= room)).then(|| Eight::of(offsets, columns.lengths))
    }
    #[inline(always)]
    fn rooms(self, first: usize, _: &[Cell; GROUP], region: u16) -> Option<([u32; GROUP], u32)> {
        let offsets = self.offsets.get(first..)?.first_chunk()?;
        (self.region == region).then_some((*offsets, self.length))
    }
    #[inline(always)]
    fn describe(self, cells: &[Cell; GROUP], region: u16, offsets: &[u32; GROUP], lengths: &[u32; GROUP]) {
        for i in 0..GROUP {
            Descriptor { has_next: false, region, length: lengths[i], offset: offsets[i] }.store(&cells[i]);
        }
    }
}
