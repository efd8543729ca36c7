//! Cache lines of the packets that come next, fetched to be read or written while those before them are dealt with.

use crate::places::Buffers;
use crate::region::{GROUP, LINE, View};
use crate::ring::{Cell, Ring};

/// Largest number of lines of a packet that are prefetched or claimed ahead. In longer packets the processor's own
/// prefetcher sees the sequence.
const LINES_AHEAD: usize = 4;

/// Shows where packets begin, and where their lines behind that begin, of so many in all: up to [`LINES_AHEAD`].
///
/// PERF: no loop, whose end would be computed each time, for most packets are one line.
#[inline(always)]
fn show_lines<const N: usize>(offsets: &[u32; N], lines: usize, show: &impl Fn(usize)) {
    const { assert!(LINES_AHEAD == 4) };
    show_line(offsets, 0, show);
    if lines > 1 {
        show_line(offsets, 1, show);
        if lines > 2 {
            show_line(offsets, 2, show);
            if lines > 3 {
                show_line(offsets, 3, show);
            }
        }
    }
}
#[inline(always)]
fn show_line<const N: usize>(offsets: &[u32; N], line: usize, show: &impl Fn(usize)) {
    offsets.iter().for_each(|offset| show(*offset as usize + line * LINE));
}

/// A stretch of descriptors, whose buffers lie in one region, mostly.
pub(crate) struct Ahead<'r, B> {
    pub ring: &'r Ring,
    /// The index of the first descriptor.
    pub next: u16,
    pub cells: &'r [Cell],
    pub buffers: B,
    pub region: View<'r>,
    /// The lines that a packet has, mostly.
    pub lines: usize,
}
impl<B: Buffers> Ahead<'_, B> {
    /// Fetches the packets of eight descriptors, or of as many as there are, to be read.
    #[inline(always)]
    pub fn fetch(&self, from: usize) {
        // Descriptors are written only if we post them anew.
        if B::ARE_OURS {
            self.ring.claim(self.next, from, self.cells.len());
        }
        self.show(from, |offset| self.region.prefetch(offset));
    }
    /// Claims eight descriptors and their buffers, or as many as there are, to be written to.
    #[inline(always)]
    pub fn claim(&self, from: usize) {
        self.ring.claim(self.next, from, self.cells.len());
        self.show(from, |offset| self.region.claim(offset));
    }
    #[inline(always)]
    fn show(&self, from: usize, show: impl Fn(usize)) {
        let Some(behind) = self.cells.get(from..) else { return };
        match behind.first_chunk::<GROUP>() {
            Some(eight) => show_lines(&self.buffers.offsets(from, eight), self.lines, &show),
            None => {
                for (i, cell) in behind.iter().enumerate() {
                    show_lines(&[self.buffers.offset(from + i, cell)], self.lines, &show);
                }
            }
        }
    }
}
