//! The memory of a ring, as words that two processes share.
#![allow(unsafe_code)]

use std::sync::Arc;
pub(crate) use std::sync::atomic::{AtomicU16, AtomicU32, AtomicU64, Ordering, fence};

use crate::region::{GROUP, LINE, Regions, claim_line, stream_line};

/// Sixteen bytes of a ring.
#[repr(C, align(16))]
pub(crate) struct Cell(pub [AtomicU64; 2]);

impl Cell {
    /// Changes the upper half of its first half.
    #[inline(always)]
    pub fn set_second_word(&self, word: u32) {
        // SAFETY: the upper four bytes of eight that are borrowed, so they are aligned to four.
        unsafe { AtomicU32::from_ptr(self.0[0].as_ptr().cast::<u32>().add(1)) }.store(word, Ordering::Relaxed);
    }
    /// The lower half of its second half.
    #[inline(always)]
    pub fn third_word(&self) -> u32 {
        // SAFETY: four bytes that are borrowed, aligned to eight.
        unsafe { AtomicU32::from_ptr(self.0[1].as_ptr().cast()) }.load(Ordering::Relaxed)
    }
}

/// The first three of the four words of eight cells, a column for each.
///
/// PERF: by whole registers, where atomics are loaded one by one.
#[inline(always)]
pub(crate) fn columns(cells: &[Cell; GROUP]) -> [[u32; GROUP]; 3] {
    let (mut columns, mut at) = ([[0; GROUP]; 3], 0);
    for four in cells.as_chunks().0 {
        for (column, words) in columns.iter_mut().zip(columns_of_four(four)) {
            column[at..at + 4].copy_from_slice(&words);
        }
        at += 4;
    }
    columns
}
#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn columns_of_four(cells: &[Cell; 4]) -> [[u32; 4]; 3] {
    use std::arch::x86_64::{__m128i, _mm_unpackhi_epi32, _mm_unpackhi_epi64, _mm_unpacklo_epi32, _mm_unpacklo_epi64};
    // SAFETY: every x86-64 processor has SSE2. A cell is 16 bytes, aligned to as many, and every pattern is valid. Our own threads write to it
    // by atomics, and the peer is another process. The read is volatile, so it is made once, and what it gave does not change: half of an
    // old descriptor and half of a new one is as wrong as any other.
    unsafe {
        let [a, b, c, d] = std::array::from_fn(|i| (&raw const cells[i]).cast::<__m128i>().read_volatile());
        let (low, other_low) = (_mm_unpacklo_epi32(a, b), _mm_unpacklo_epi32(c, d));
        let (high, other_high) = (_mm_unpackhi_epi32(a, b), _mm_unpackhi_epi32(c, d));
        let words = [
            _mm_unpacklo_epi64(low, other_low),
            _mm_unpackhi_epi64(low, other_low),
            _mm_unpacklo_epi64(high, other_high),
        ];
        std::mem::transmute(words)
    }
}
#[cfg(not(target_arch = "x86_64"))]
fn columns_of_four(cells: &[Cell; 4]) -> [[u32; 4]; 3] {
    let halves = cells.each_ref().map(|cell| cell.0.each_ref().map(|half| half.load(Ordering::Relaxed)));
    [halves.map(|half| half[0] as u32), halves.map(|half| (half[0] >> 32) as u32), halves.map(|half| half[1] as u32)]
}

/// A stretch of a region with a power of two of 16-byte cells behind a head of 128 bytes: the memory of a ring. All
/// access stays inside, whatever is asked for.
#[derive(Clone)]
pub(crate) struct Cells {
    regions: Arc<Regions>,
    head: *mut u8,
    log2: u8,
}
// SAFETY: an address inside a region that `regions` keeps mapped; access is by atomics.
unsafe impl Send for Cells {}
// SAFETY: as above.
unsafe impl Sync for Cells {}

impl Cells {
    /// The cells at `offset` of a region. None if they do not lie inside, or not at a multiple of 16.
    pub fn at(regions: &Arc<Regions>, region: u16, offset: usize, log2: u8) -> Option<Cells> {
        let bytes = 128 + 16usize.checked_shl(log2.into())?;
        if log2 > 15 || !offset.is_multiple_of(16) {
            return None;
        }
        Some(Cells { regions: regions.clone(), head: regions.address(region, offset, bytes)?, log2 })
    }
    pub fn log2(&self) -> u8 {
        self.log2
    }
    /// The regions that the cells' contents refer to.
    pub fn regions(&self) -> &Arc<Regions> {
        &self.regions
    }
    /// The word of 32 bits at the front.
    pub fn word32(&self) -> &AtomicU32 {
        // SAFETY: the head lies inside the mapping, which `regions` keeps, and is aligned to 16.
        unsafe { AtomicU32::from_ptr(self.head.cast()) }
    }
    /// A word of 16 bits of the head.
    #[inline(always)]
    pub fn word16<const AT: usize>(&self) -> &AtomicU16 {
        const { assert!(AT.is_multiple_of(2) && AT < 128) }
        // SAFETY: as above; `AT` is even and inside the head.
        unsafe { AtomicU16::from_ptr(self.head.add(AT).cast()) }
    }
    /// Writes four cells past the caches, the first at a multiple of four; the index wraps around. False, and nothing
    /// written, if they are no line of the caches.
    #[inline(always)]
    #[must_use]
    pub fn stream(&self, index: u16, cells: &[[u64; 2]; 4]) -> bool {
        let index = usize::from(index & !3) & ((1 << self.log2) - 1);
        if self.log2 < 2 || !self.head.addr().is_multiple_of(LINE) {
            return false;
        }
        let mut line = [0; LINE];
        for (to, word) in line.as_chunks_mut().0.iter_mut().zip(cells.as_flattened()) {
            *to = word.to_ne_bytes();
        }
        // SAFETY: four cells from a multiple of four on lie inside the mapping, since there are four at all, and are an
        // aligned line. Others that look at it meanwhile see old or new words; they are told of it after a fence.
        unsafe { stream_line(&line, self.head.add(128 + 16 * index)) };
        true
    }
    /// Takes the line of a cell from the core that wrote or read it last, to be written to; the index wraps around.
    #[inline(always)]
    pub fn claim(&self, index: u16) {
        claim_line((&raw const *self.cell(index)).cast(), 0);
    }
    /// All of them.
    #[inline(always)]
    pub fn all(&self) -> &[Cell] {
        // SAFETY: so many cells lie inside the mapping, which `regions` keeps, behind the head, and are aligned to 16;
        // whoever else writes to them, does it by atomics or as another process.
        unsafe { std::slice::from_raw_parts(self.head.add(128).cast(), 1 << self.log2) }
    }
    /// The cell at an index, which wraps around.
    #[inline(always)]
    pub fn cell(&self, index: u16) -> &Cell {
        let index = usize::from(index) & ((1 << self.log2) - 1);
        // SAFETY: the masked index is one of the cells.
        unsafe { self.all().get_unchecked(index) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::region::Region;

    #[test]
    fn cells_stay_inside() {
        let (region, _file) = Region::create("test", 128 + 16 * 4 + 16).expect("memory");
        let regions = Arc::new(Regions::new(vec![region]));
        assert!(Cells::at(&regions, 0, 32, 2).is_none() && Cells::at(&regions, 0, 8, 2).is_none());
        assert!(Cells::at(&regions, 1, 0, 2).is_none() && Cells::at(&regions, 0, 0, 63).is_none());
        let cells = Cells::at(&regions, 0, 16, 2).expect("they fit");
        cells.cell(u16::MAX).0[1].store(7, Ordering::Relaxed);
        let mut last = [0; 8];
        assert!(regions.get(0).is_some_and(|region| region.read(16 + 128 + 48 + 8, &mut last)));
        assert_eq!(u64::from_le_bytes(last), 7);
    }
}
