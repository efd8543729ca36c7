//! Packets copied in whole cache lines, from memory that others write to and to memory that others read.
//!
//! PERF: a copy of known length is a few instructions, and one of a packet's own length a call. The pool gives out the buffer that
//! was freed last, so the same few take one burst after the other and stay in the nearest caches.

use crate::buffer::{DATA, Flags, HEADROOM, Pool, SEGMENT_MAX};
use crate::frame::Frame;
use crate::isa::{Isa, LANES, Lanes, Mask};
use crate::tx::Batch;

/// Bytes of a cache line.
pub const LINE: usize = 64;

/// A frame to which packets are copied.
pub struct Filling<'f> {
    frame: &'f mut Frame,
    pool: &'f mut Pool,
    rx: u32,
}

impl Frame {
    /// Begins to copy packets of an interface into the frame.
    pub fn filling<'f>(&'f mut self, pool: &'f mut Pool, rx: u32) -> Filling<'f> {
        self.expect(rx);
        Filling { frame: self, pool, rx }
    }
}

impl Filling<'_> {
    /// The pool and the frame, for a packet that takes more than one buffer.
    pub fn parts(&mut self) -> (&mut Pool, &mut Frame) {
        (self.pool, self.frame)
    }
    /// Appends a packet of `length` bytes, which `fill` writes in whole lines; bytes behind the packet may have any
    /// value. False, and nothing appended, if there is no room for it, no buffer, or `fill` returns false.
    #[inline(always)]
    pub fn push(&mut self, length: usize, fill: impl FnOnce(&mut [[u8; LINE]]) -> bool) -> bool {
        if self.frame.room() == 0 || length > SEGMENT_MAX {
            return false;
        }
        let lines = length.div_ceil(LINE);
        let fill = |to: &mut [u8]| fill(&mut to.as_chunks_mut().0[..lines]);
        let raw = self.pool.raw_of_lines(length, fill);
        raw.inspect(|raw| self.frame.push_raw(*raw, self.rx)).is_some()
    }
    /// Appends `N` packets of these lengths, none of which takes more than so many lines; `first` writes the first line of
    /// one of them, by the packet's number, and `fill` others, by the line's number, too; whatever they write behind the
    /// packet. False, and nothing appended, if there is no room for all of them, or too few buffers.
    #[inline(always)]
    pub fn push_group<const N: usize>(
        &mut self,
        lengths: &[u32; N],
        lines: usize,
        first: impl Fn(usize, &mut [u8; LINE]),
        fill: impl Fn(usize, usize, &mut [u8; LINE]),
    ) -> bool {
        if lines > SEGMENT_MAX / LINE || self.frame.room() < N {
            return false;
        }
        let Some(buffers) = self.pool.allocate_group::<N>() else { return false };
        let mut all = self.pool.all();
        for i in 0..N {
            first(i, all.window(buffers[i], HEADROOM));
        }
        // Most packets are one line, and a loop costs as much again.
        if lines > 1 {
            for i in 0..N {
                for line in 1..(lengths[i] as usize).div_ceil(LINE).min(lines) {
                    fill(i, line, all.window(buffers[i], HEADROOM + line * LINE));
                }
            }
        }
        self.frame.push_group(&buffers, lengths, HEADROOM as u16, self.rx);
        true
    }
}

impl Batch {
    /// Writes zeros behind each packet, up to the end of a line, so that no former content of a buffer leaves with it.
    /// False, and the packets must not be sent in lines, if some packet is a chain or has no room for that.
    #[inline(always)]
    pub fn seal<I: Isa>(&self, isa: I, pool: &mut Pool) -> bool {
        if self.may_have(Flags::CHAINED) {
            return false;
        }
        let last = (DATA - LINE) as u32;
        let (lengths, offsets) = (self.lengths().as_chunks(), self.offsets().as_chunks());
        let (mut odd, mut far) = (Lanes::splat(isa, 0), Mask::first(isa, 0));
        for (length, offset) in lengths.0.iter().zip(offsets.0) {
            let length = Lanes::new(isa, length);
            odd = odd | length;
            far = far | (length + Lanes::widen(isa, offset)).gt(last);
        }
        let (mut is_odd, mut fits) = ((odd & (LINE as u32 - 1)).ne(0).any(), !far.any());
        for (length, offset) in lengths.1.iter().zip(offsets.1) {
            is_odd |= !(*length as usize).is_multiple_of(LINE);
            fits &= length + u32::from(*offset) <= last;
        }
        // PERF: whole lines have nothing behind them.
        if fits && is_odd {
            for i in 0..self.len() {
                let raw = self.raw(i);
                if !(raw.length as usize).is_multiple_of(LINE) {
                    *pool.window_mut(raw.buffer, usize::from(raw.offset) + raw.length as usize) = [0; LINE];
                }
            }
        }
        fits
    }
    /// The lines of packet `i` of a sealed batch, and its length.
    #[inline(always)]
    pub fn lines<'p>(&self, pool: &'p Pool, i: usize) -> (&'p [[u8; LINE]], usize) {
        let raw = self.raw(i);
        let lines = pool.data_from(raw.buffer, raw.offset.into()).as_chunks().0;
        (lines.get(..(raw.length as usize).div_ceil(LINE)).unwrap_or_default(), raw.length as usize)
    }
    /// `N` packets of a sealed batch from a number on.
    #[inline(always)]
    pub fn group<'b, const N: usize>(&'b self, pool: &'b Pool, n: usize) -> Option<Group<'b, N>> {
        let (buffer, offset, length) = self.columns(n)?;
        Some(Group { pool, buffer, offset, length })
    }
}

/// Packets that follow one another in a batch, each in one buffer.
#[derive(Clone, Copy)]
pub struct Group<'b, const N: usize> {
    pool: &'b Pool,
    buffer: &'b [u32; N],
    offset: &'b [u16; N],
    length: &'b [u32; N],
}
impl<'b, const N: usize> Group<'b, N> {
    /// The packets' lengths.
    #[inline(always)]
    pub fn lengths(&self) -> &'b [u32; N] {
        self.length
    }
    /// A line of one of them, with zeros behind the packet.
    #[inline(always)]
    pub fn line(&self, i: usize, line: usize) -> &[u8; LINE] {
        self.pool.window(self.buffer[i % N], usize::from(self.offset[i % N]) + line * LINE)
    }
}
impl Group<'_, LANES> {
    /// Shows the first line of each, with zeros behind the packet.
    #[inline(always)]
    pub fn each_first<I: Isa>(&self, isa: I, mut see: impl FnMut(usize, &[u8; LINE])) {
        let windows = self.pool.windows(isa, self.buffer, self.offset);
        for i in 0..LANES {
            see(i, windows.at(i));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::buffer::Buffers;
    use crate::isa::{Kernel, Level};

    #[test]
    fn packets_are_filled_by_lines_one_by_one_and_in_groups() {
        let buffers = Buffers::new(64, 64).expect("memory");
        let mut pool = buffers.pool().expect("buffers");
        let mut frame = Frame::new(pool.home());
        let mut filling = frame.filling(&mut pool, 7);
        assert!(!filling.push(SEGMENT_MAX + 1, |_| true), "longer than a buffer");
        assert!(!filling.push(64, |_| false), "refused");
        let lines = |lines: &mut [[u8; LINE]]| {
            lines.iter_mut().zip(1..).for_each(|(line, n)| *line = [n; LINE]);
            lines.len() == 2
        };
        assert!(filling.push(65, lines));
        let (first, other) = (
            |i: usize, to: &mut [u8; LINE]| *to = [i as u8; LINE],
            |i, n, to: &mut [u8; LINE]| {
                *to = [(10 * i + n) as u8; LINE];
            },
        );
        assert!(filling.push_group(&[60, 130, 64, 1], 3, first, other));
        let of = |frame: &Frame, pool: &Pool, i| frame.bytes(pool, i).to_vec();
        assert_eq!(of(&frame, &pool, 0), [vec![1; 64], vec![2; 1]].concat());
        assert_eq!(of(&frame, &pool, 1), vec![0; 60]);
        assert_eq!(of(&frame, &pool, 2), [vec![1; 64], vec![11; 64], vec![12; 2]].concat());
        assert_eq!(of(&frame, &pool, 4), vec![3; 1]);
        assert_eq!((frame.len(), frame.rx[4], frame.length[2]), (5, 7, 130));
        frame.free(&mut pool);
    }

    /// Seals on every instruction set that there is here, which has to be the same.
    fn seal(batch: &Batch, pool: &mut Pool) -> bool {
        struct Seal<'a>(&'a Batch, &'a mut Pool, &'a mut Vec<bool>);
        impl Kernel for Seal<'_> {
            fn run<I: Isa>(self, isa: I) {
                self.2.push(self.0.seal(isa, self.1));
                if let Some(group) = self.0.group::<LANES>(self.1, 0) {
                    let mut seen = 0;
                    group.each_first(isa, |i, line| {
                        assert_eq!(line, group.line(i, 0));
                        seen += 1;
                    });
                    assert_eq!(seen, LANES);
                }
            }
        }
        let mut sealed = vec![];
        Level::all()
            .into_iter()
            .filter_map(|(_, level)| level)
            .for_each(|level| level.run(Seal(batch, pool, &mut sealed)));
        assert!(sealed.iter().all(|all| *all == sealed[0]));
        sealed[0]
    }

    #[test]
    fn nothing_of_before_stands_behind_a_sealed_packet() {
        let buffers = Buffers::new(64, 64).expect("memory");
        let mut pool = buffers.pool().expect("buffers");
        let (mut frame, mut batch) = (Frame::new(pool.home()), Batch::new());
        let all = [60, 64, 65, SEGMENT_MAX - LINE, 1, 64, 128, 130, 2, 64];
        for length in all {
            assert!(frame.push_bytes(&mut pool, &vec![9; SEGMENT_MAX - LINE], 0));
            frame.truncate(frame.len() - 1, length as u32);
        }
        batch.push_rows(&frame, 0);
        assert!(seal(&batch, &mut pool));
        for (i, length) in all.into_iter().enumerate() {
            let (lines, told) = batch.lines(&pool, i);
            let bytes = lines.as_flattened();
            assert_eq!((told, bytes.len()), (length, length.next_multiple_of(LINE)));
            assert!(bytes[..length].iter().all(|byte| *byte == 9) && bytes[length..].iter().all(|byte| *byte == 0));
        }
        let group = batch.group::<3>(&pool, 0).expect("three");
        assert_eq!((group.lengths(), group.line(2, 1)[..2].to_vec()), (&[60, 64, 65], vec![9, 0]));
        for long in [3, 9] {
            let length = std::mem::replace(&mut frame.length[long], SEGMENT_MAX as u32);
            for from in 0..=long {
                let mut full = Batch::new();
                full.push_rows(&frame, from);
                assert!(!seal(&full, &mut pool), "there is no room behind it");
            }
            frame.length[long] = length;
        }
        frame.free(&mut pool);
    }
}
