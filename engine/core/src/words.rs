//! The first bytes of a frame's packets as columns of words: loaded once, for all stages that follow one another.

use crate::buffer::{All, Place, Pool};
use crate::column::{GROUPS, group, group_mut};
use crate::frame::Frame;
use crate::isa::{Isa, Kernel, LANES, Lanes, Level};
use crate::stage::{Group, Header, Quarters};
use crate::vector::BLOCK;

/// The windows of a frame's packets, 64 bytes each, by the groups of rows that stages work on at once.
///
/// They are loaded when a stage first reads them. Where a stage has moved its window, or a node has worked on the packets that
/// may have changed their bytes, they are loaded anew.
pub struct HeaderWords {
    groups: [Group; GROUPS],
    /// Where the windows begin, in the pool's memory.
    places: [Place; BLOCK],
    /// The quarters of the windows that are loaded.
    loaded: Quarters,
    /// The quarters that stages have asked for of this frame, and those that they are likely to ask for.
    asked: Quarters,
    likely: Quarters,
    /// Bytes by which the windows begin before the current headers; None if the windows are of another frame.
    back: Option<i32>,
}

impl HeaderWords {
    pub(crate) fn new() -> Box<HeaderWords> {
        Box::new(HeaderWords {
            groups: [[[0; LANES]; 16]; GROUPS],
            places: [Place::default(); BLOCK],
            loaded: Quarters::NONE,
            asked: Quarters::NONE,
            likely: Quarters::NONE,
            back: None,
        })
    }
    /// Another frame comes, to stages that are likely to read these quarters.
    ///
    /// PERF: all of them are loaded at once.
    #[inline(always)]
    pub(crate) fn begin(&mut self, likely: Quarters) {
        self.forget();
        (self.likely, self.asked) = (likely, Quarters::NONE);
    }
    /// The quarters that stages have read of this frame.
    #[inline(always)]
    pub(crate) fn read(&self) -> Quarters {
        self.asked
    }
    /// Packets may have changed.
    #[inline(always)]
    pub(crate) fn forget(&mut self) {
        (self.loaded, self.back) = (Quarters::NONE, None);
    }
    /// Bytes of these quarters have changed.
    #[inline(always)]
    pub(crate) fn forget_quarters(&mut self, quarters: Quarters) {
        self.loaded = self.loaded.without(quarters);
    }
    /// All current headers begin `by` bytes further on, and the windows stay.
    #[inline(always)]
    pub(crate) fn stay(&mut self, by: i32) {
        self.back = self.back.map(|back| back.wrapping_add(by));
    }
    /// Loads these quarters of windows that begin `back` bytes before the current headers, those that are not loaded yet.
    #[inline(always)]
    pub(crate) fn load(&mut self, level: Level, frame: &Frame, pool: &mut Pool, quarters: Quarters, back: u16) {
        self.asked = self.asked.and(quarters);
        if self.back != Some(back.into()) || !quarters.without(self.loaded).is_none() {
            self.load_missing(level, frame, pool, quarters, back);
        }
    }
    #[inline(never)]
    fn load_missing(&mut self, level: Level, frame: &Frame, pool: &mut Pool, quarters: Quarters, back: u16) {
        let quarters = if quarters.is_none() { quarters } else { quarters.and(self.likely) };
        level.run(Load { words: self, frame, pool, quarters, back });
    }
    /// The windows of group `g`, for a stage that reads these quarters of them.
    #[inline(always)]
    pub(crate) fn header<I: Isa>(&self, isa: I, g: usize, reads: Quarters) -> Header<'_, I> {
        Header::of(isa, &self.groups[g % GROUPS], reads)
    }
    /// Where the windows of group `g` begin.
    #[inline(always)]
    pub(crate) fn places(&self, g: usize) -> &[Place; LANES] {
        group(&self.places, g)
    }
}

struct Load<'a> {
    words: &'a mut HeaderWords,
    frame: &'a Frame,
    pool: &'a mut Pool,
    quarters: Quarters,
    back: u16,
}
impl Kernel for Load<'_> {
    #[inline(always)]
    fn run<I: Isa>(self, isa: I) {
        let Load { words, frame, pool, quarters, back } = self;
        let groups = frame.len().div_ceil(LANES);
        if words.back != Some(back.into()) {
            let mut is_cut = false;
            for g in 0..groups {
                let offsets = group(&frame.offset, g);
                let at = offsets.map(|at| at.saturating_sub(back));
                *group_mut(&mut words.places, g) = pool.places(group(&frame.buffer, g), &at);
                for offset in offsets {
                    is_cut |= *offset < back;
                }
            }
            // Windows that begin with their buffers do not move as headers do.
            (words.loaded, words.back) = (Quarters::NONE, if is_cut { None } else { Some(back.into()) });
        }
        let bytes = pool.all();
        // PERF: the quarters of a packet one after the other, up to the last one that is asked for, so that its place is read once.
        match quarters.end() {
            0 => {}
            1 => words.load_first::<I, 1>(isa, groups, &bytes),
            2 => words.load_first::<I, 2>(isa, groups, &bytes),
            3 => words.load_first::<I, 3>(isa, groups, &bytes),
            _ => words.load_first::<I, 4>(isa, groups, &bytes),
        }
    }
}
impl HeaderWords {
    /// Loads the first `N` quarters.
    #[inline(always)]
    fn load_first<I: Isa, const N: usize>(&mut self, isa: I, groups: usize, bytes: &All<'_>) {
        for g in 0..groups {
            // PERF: a copy, which is not read again behind each store of a column.
            let (places, to) = (*group(&self.places, g), &mut self.groups[g % GROUPS]);
            for n in 0..N {
                let row = |lane: usize| quarter(bytes.seen(places[lane]), n);
                let [a, b, c, d] = Lanes::four_columns(isa, row);
                (to[4 * n], to[4 * n + 1], to[4 * n + 2], to[4 * n + 3]) = (a.array(), b.array(), c.array(), d.array());
            }
        }
        self.loaded = self.loaded.and(Quarters::of(0, 16 * N));
    }
}

/// A quarter of a window.
#[inline(always)]
fn quarter(window: &[u8; 64], n: usize) -> &[u8; 16] {
    &window.as_chunks().0[n % 4]
}
