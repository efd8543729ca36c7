//! A ring of descriptors in shared memory. Indices are free-running; the peer's ones are believed only as far as they can
//! be true.

use std::sync::Arc;

pub(crate) use crate::cells::Cell;
use crate::cells::{Cells, Ordering, columns, fence};
use crate::region::{GROUP, LINE, Regions};

/// Bytes in front of a ring's descriptors.
pub const HEAD_LENGTH: usize = 128;
/// The cookie at the start of every ring.
const COOKIE: u32 = 0x03E3_1F20;
/// In a ring's flags: its receiver wants not to be woken.
const MASK_INTERRUPT: u16 = 1;

/// Protocol violations of a peer, after which nothing can pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Broken {
    /// Its index is further away than the ring is long.
    #[error("the peer's index is {distance} descriptors away from ours in a ring of {size}")]
    Distance {
        /// Distance from our index to the peer's.
        distance: u16,
        /// Descriptors in the ring.
        size: u16,
    },
    /// A slave posted a place to write to that is none.
    #[error("the peer has posted a buffer that does not lie in its memory")]
    Place,
    /// The shared memory is gone.
    #[error("the peer has truncated its memory")]
    Lost,
}

/// A descriptor, copied out of a ring.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Descriptor {
    /// The packet goes on in the next descriptor.
    pub has_next: bool,
    /// The region of the bytes.
    pub region: u16,
    /// Length in bytes; of a posted buffer, its capacity.
    pub length: u32,
    /// Offset of the first byte in the region.
    pub offset: u32,
}

impl Descriptor {
    /// Copies a descriptor out.
    #[inline(always)]
    pub(crate) fn load(Cell([first, second]): &Cell) -> Descriptor {
        // Each half is read once; between the halves the peer may write, which gives a descriptor as wrong as any other.
        let (first, second) = (first.load(Ordering::Relaxed), second.load(Ordering::Relaxed));
        Descriptor {
            has_next: first & 1 != 0,
            region: (first >> 16) as u16,
            length: (first >> 32) as u32,
            offset: second as u32,
        }
    }
    /// Where its bytes begin, alone.
    #[inline(always)]
    pub(crate) fn load_offset(cell: &Cell) -> u32 {
        cell.third_word()
    }
    /// Changes its length alone.
    #[inline(always)]
    pub(crate) fn store_length(cell: &Cell, length: u32) {
        cell.set_second_word(length);
    }
    /// Writes it.
    #[inline(always)]
    pub(crate) fn store(self, cell: &Cell) {
        for (half, word) in cell.0.iter().zip(self.words()) {
            half.store(word, Ordering::Relaxed);
        }
    }
    /// The descriptor as the words of a ring entry.
    #[inline(always)]
    fn words(self) -> [u64; 2] {
        let Descriptor { has_next, region, length, offset } = self;
        [u64::from(has_next) | u64::from(region) << 16 | u64::from(length) << 32, u64::from(offset)]
    }
}

/// Eight descriptors, copied out of a ring: columns of what they say.
pub(crate) struct Columns {
    /// Flags, and regions above them.
    pub heads: [u32; GROUP],
    pub lengths: [u32; GROUP],
    pub offsets: [u32; GROUP],
}
impl Columns {
    /// Copies them out.
    #[inline(always)]
    pub fn load(cells: &[Cell; GROUP]) -> Columns {
        let [heads, lengths, offsets] = columns(cells);
        Columns { heads, lengths, offsets }
    }
    /// Whether all lie in this region, and none has a flag.
    #[inline(always)]
    pub fn are_plain_in(&self, region: u16) -> bool {
        self.odd(region) == 0
    }
    /// Whether all lie in this region, and none goes on in the next descriptor.
    #[inline(always)]
    pub fn are_whole_in(&self, region: u16) -> bool {
        self.odd(region) & 0xffff_0001 == 0
    }
    /// Whether none goes on in the next descriptor.
    #[inline(always)]
    pub fn are_whole(&self) -> bool {
        self.odd(0) & 1 == 0
    }
    /// The bits of any head that are not those of this region.
    #[inline(always)]
    fn odd(&self, region: u16) -> u32 {
        self.heads.iter().fold(0, |odd, head| odd | (head ^ u32::from(region) << 16))
    }
}

/// A ring, in any of its four uses.
#[derive(Clone)]
pub struct Ring {
    cells: Cells,
}

impl Ring {
    /// The ring at a place of a region. None if it does not lie inside.
    pub fn at(regions: &Arc<Regions>, region: u16, offset: u32, log2_size: u8) -> Option<Ring> {
        Some(Ring { cells: Cells::at(regions, region, offset as usize, log2_size)? })
    }
    /// Empties it and writes what it begins with: the slave's part, before it offers the ring.
    pub fn initialise(&self) {
        self.cells.word32().store(COOKIE, Ordering::Relaxed);
        self.cells.word16::<4>().store(0, Ordering::Relaxed);
        self.set_head(0);
        self.set_tail(0);
    }
    /// Whether it was initialised.
    pub fn has_cookie(&self) -> bool {
        self.cells.word32().load(Ordering::Relaxed) == COOKIE
    }
    /// The regions that its descriptors refer to.
    pub fn regions(&self) -> &Arc<Regions> {
        self.cells.regions()
    }
    /// Descriptors in the ring.
    #[inline(always)]
    pub fn size(&self) -> u16 {
        1 << self.cells.log2()
    }
    /// The place in the ring of a free-running index.
    #[inline(always)]
    pub fn slot(&self, index: u16) -> usize {
        usize::from(index & (self.size() - 1))
    }
    /// The slave's index.
    #[inline(always)]
    pub fn head(&self) -> u16 {
        self.cells.word16::<6>().load(Ordering::Acquire)
    }
    /// The master's index.
    #[inline(always)]
    pub fn tail(&self) -> u16 {
        self.cells.word16::<64>().load(Ordering::Acquire)
    }
    /// Publishes what the slave wrote before.
    #[inline(always)]
    pub fn set_head(&self, head: u16) {
        self.cells.word16::<6>().store(head, Ordering::Release);
    }
    /// Publishes what the master wrote before.
    #[inline(always)]
    pub fn set_tail(&self, tail: u16) {
        self.cells.word16::<64>().store(tail, Ordering::Release);
    }
    /// Says whether the receiver, who calls this, wants to be woken by its eventfd. When it does, whatever was published
    /// before is seen by a look at the ring that comes after this.
    pub fn set_interrupt(&self, wanted: bool) {
        let flags = if wanted { 0 } else { MASK_INTERRUPT };
        self.cells.word16::<4>().store(flags, Ordering::Relaxed);
        if wanted {
            // Pairs with the fence in `wants_interrupt`: either the sender sees the flag, or we see the packets.
            fence(Ordering::SeqCst);
        }
    }
    /// Whether the receiver wants to be woken for what was published before this call, by its sender.
    #[inline]
    pub fn wants_interrupt(&self) -> bool {
        fence(Ordering::SeqCst);
        self.is_interrupt_wanted()
    }
    /// Whether the receiver wants to be woken, for onlookers.
    #[inline]
    pub fn is_interrupt_wanted(&self) -> bool {
        self.cells.word16::<4>().load(Ordering::Relaxed) & MASK_INTERRUPT == 0
    }
    /// Copies a descriptor out; the index wraps around.
    #[inline(always)]
    pub fn descriptor(&self, index: u16) -> Descriptor {
        Descriptor::load(self.cells.cell(index))
    }
    /// The places of all descriptors, a power of two.
    #[inline(always)]
    pub(crate) fn cells(&self) -> &[Cell] {
        self.cells.all()
    }
    /// The places of descriptors from an index on: `n`, or those up to the ring's end.
    #[inline(always)]
    pub(crate) fn stretch(&self, index: u16, n: usize) -> &[Cell] {
        let behind = &self.cells()[self.slot(index)..];
        &behind[..n.min(behind.len())]
    }
    /// Writes a descriptor; the index wraps around.
    #[inline(always)]
    pub fn set_descriptor(&self, index: u16, descriptor: Descriptor) {
        descriptor.store(self.cells.cell(index));
    }
    /// Takes the lines of eight descriptors from the peer's core, to be written to: of a stretch of `n` from an index on, which
    /// wraps around, those from number `from` on, or as many as there are.
    #[inline(always)]
    pub(crate) fn claim(&self, index: u16, from: usize, n: usize) {
        let index = index.wrapping_add(from as u16);
        for i in (0..n.saturating_sub(from).min(GROUP)).step_by(LINE / size_of::<Cell>()) {
            self.cells.claim(index.wrapping_add(i as u16));
        }
    }
    /// Writes four descriptors past the caches, the first at a multiple of four; the index wraps around. False, and
    /// nothing written, if they are no line of the caches.
    #[inline(always)]
    #[must_use]
    pub fn stream_descriptors(&self, index: u16, descriptors: &[Descriptor; 4]) -> bool {
        self.cells.stream(index, &descriptors.map(Descriptor::words))
    }
    /// Descriptors by which the peer's index is ahead of ours; an error above `most`.
    #[inline(always)]
    pub(crate) fn distance(&self, ours: u16, peers: u16, most: u16) -> Result<u16, Broken> {
        let distance = peers.wrapping_sub(ours);
        if distance > most { Err(Broken::Distance { distance, size: self.size() }) } else { Ok(distance) }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::link::ring_bytes;
    use crate::region::Region;

    fn ring(log2: u8) -> (Ring, Arc<Regions>) {
        let (region, _file) = Region::create("ring", ring_bytes(log2)).expect("memory");
        let regions = Arc::new(Regions::new(vec![region]));
        (Ring::at(&regions, 0, 0, log2).expect("it fits"), regions)
    }

    #[test]
    fn the_layout_is_that_of_the_protocol() {
        let (ring, regions) = ring(3);
        ring.initialise();
        ring.set_head(0x0102);
        ring.set_tail(0x0304);
        ring.set_interrupt(false);
        ring.set_descriptor(8 + 1, Descriptor { has_next: true, region: 2, length: 0x0a0b_0c0d, offset: 0x0102_0304 });
        let mut bytes = vec![0; ring_bytes(3)];
        assert!(regions.get(0).is_some_and(|region| region.read(0, &mut bytes)));
        assert_eq!(bytes[..8], [0x20, 0x1f, 0xe3, 0x03, 1, 0, 2, 1]);
        assert_eq!(bytes[64..66], [4, 3]);
        assert_eq!(bytes[144..160], [1, 0, 2, 0, 13, 12, 11, 10, 4, 3, 2, 1, 0, 0, 0, 0]);
    }

    #[test]
    fn indices_wrap_and_lies_are_found() {
        let (ring, _) = ring(2);
        assert_eq!(ring.distance(0xfffe, 1, 4), Ok(3));
        assert_eq!(ring.distance(0, 5, 4), Err(Broken::Distance { distance: 5, size: 4 }));
        assert_eq!(ring.distance(1, 0, 4), Err(Broken::Distance { distance: 0xffff, size: 4 }));
    }

    #[test]
    fn a_receiver_can_refuse_to_be_woken() {
        let (ring, _) = ring(2);
        ring.initialise();
        assert!(ring.wants_interrupt());
        ring.set_interrupt(false);
        assert!(!ring.wants_interrupt());
        ring.set_interrupt(true);
        assert!(ring.wants_interrupt());
    }
}
