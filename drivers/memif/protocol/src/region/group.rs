//! Eight packets at once: where they lie is checked for all of them together.
#![allow(unsafe_code)]

use std::marker::PhantomData;
use std::sync::atomic::{Ordering, compiler_fence};

use super::copy::{copy_line, stream_line};
use super::{LINE, Region, Store, View};

/// Packets of a group.
pub const GROUP: usize = 8;

/// The same values, which the compiler takes from memory from now on, one at a time where they are needed.
///
/// PERF: of an array that comes from a register it takes each value out of that register, by two operations, and all of them at once.
#[inline(always)]
fn in_memory(values: &[u32; GROUP]) -> &[u32; GROUP] {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    {
        let mut at: *const [u32; GROUP] = values;
        // SAFETY: no instruction at all, so the address is what it was.
        unsafe {
            std::arch::asm!("/* {0} */", inout(reg) at, options(readonly, nostack, preserves_flags));
            std::hint::assert_unchecked(!at.is_null());
            &*at
        }
    }
    #[cfg(not(all(target_arch = "x86_64", not(miri))))]
    values
}

/// Where eight packets begin that are read: so many lines of each are mapped.
pub struct Sources<'r> {
    base: *const u8,
    offsets: &'r [u32; GROUP],
    lines: usize,
    region: PhantomData<&'r Region>,
}

/// Where eight packets begin that are written: so many lines of each lie in the region.
pub struct Destinations<'r> {
    base: *mut u8,
    offsets: &'r [u32; GROUP],
    lines: usize,
    store: Store,
    region: PhantomData<&'r Region>,
}

impl View<'_> {
    /// Places to read so many lines from, one at least. They may reach beyond the end, up to that of the last page. None if
    /// one is not mapped.
    #[inline(always)]
    pub fn sources<'r>(&'r self, offsets: &'r [u32; GROUP], lines: usize) -> Option<Sources<'r>> {
        let (lines, offsets) = (lines.max(1), in_memory(offsets));
        let is_inside = most(offsets) as usize + lines.checked_mul(LINE)? <= self.mapped;
        is_inside.then_some(Sources { base: self.base, offsets, lines, region: PhantomData })
    }
    /// Places to write so many lines to, one at least. None if one does not lie inside; or, for stores past the caches, begins
    /// in the midst of a line.
    #[inline(always)]
    pub fn destinations<'r>(
        &'r self,
        offsets: &'r [u32; GROUP],
        lines: usize,
        store: Store,
    ) -> Option<Destinations<'r>> {
        let (lines, offsets) = (lines.max(1), in_memory(offsets));
        let is_inside = most(offsets) as usize + lines.checked_mul(LINE)? <= self.length;
        let is_aligned = store != Store::Streaming || offsets.iter().fold(0, |all, at| all | at) % LINE as u32 == 0;
        let region = PhantomData;
        (is_inside & is_aligned).then_some(Destinations { base: self.base, offsets, lines, store, region })
    }
}

/// The most of eight values.
#[inline(always)]
pub(crate) fn most(values: &[u32; GROUP]) -> u32 {
    values.iter().fold(0, |most, value| most.max(*value))
}

impl Sources<'_> {
    /// Copies the first line of packet `i` out, if there is one of this number.
    #[inline(always)]
    pub fn read_first(&self, i: usize, to: &mut [u8; LINE]) {
        if let Some(offset) = self.offsets.get(i) {
            // SAFETY: mapped, as was checked when this was made; `to` is ours alone.
            unsafe { copy_line(self.base.add(*offset as usize), to.as_mut_ptr()) };
        }
    }
    /// Copies a line of packet `i` out, if it is one of those that were asked for.
    #[inline(always)]
    pub fn read(&self, i: usize, line: usize, to: &mut [u8; LINE]) {
        if line < self.lines
            && let Some(offset) = self.offsets.get(i)
        {
            // SAFETY: mapped, as was checked when this was made; `to` is ours alone.
            unsafe { copy_line(self.base.add(*offset as usize + line * LINE), to.as_mut_ptr()) };
        }
    }
}
impl Drop for Sources<'_> {
    #[inline(always)]
    fn drop(&mut self) {
        // What was copied is what is looked at: nothing may be read from there a second time.
        compiler_fence(Ordering::SeqCst);
    }
}

impl Destinations<'_> {
    /// Copies the first line of packet `i` in, if there is one of this number.
    #[inline(always)]
    pub fn write_first(&self, i: usize, from: &[u8; LINE]) {
        // At least one was asked for.
        self.put(i, 0, from);
    }
    /// Copies a line of packet `i` in, if it is one of those that were asked for.
    #[inline(always)]
    pub fn write(&self, i: usize, line: usize, from: &[u8; LINE]) {
        if line < self.lines {
            self.put(i, line, from);
        }
    }
    /// The same of one of those lines.
    #[inline(always)]
    fn put(&self, i: usize, line: usize, from: &[u8; LINE]) {
        if let Some(offset) = self.offsets.get(i) {
            // SAFETY: inside the mapping, as was checked when this was made, and aligned where it matters: mappings begin at
            // pages.
            unsafe {
                let to = self.base.add(*offset as usize + line * LINE);
                match self.store {
                    Store::Plain | Store::Claimed => copy_line(from.as_ptr(), to),
                    Store::Streaming => stream_line(from, to),
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsFd;

    use super::*;
    use crate::region::fence_streams;

    #[test]
    fn lines_come_back_and_nothing_outside_is_touched() {
        let (region, file) = Region::create("test", 10_000).expect("memory");
        let other = Region::map(file.as_fd(), 10_000).expect("the same");
        let (region, other) = (region.view(), other.view());
        let at: [u32; GROUP] = std::array::from_fn(|i| i as u32 * 1216);
        for store in Store::ALL {
            let to = region.destinations(&at, 2, store).expect("they lie inside");
            for i in 0..GROUP {
                (0..3).for_each(|line| to.write(i, line, &[1 + 2 * i as u8 + line as u8; LINE]));
            }
            to.write(GROUP, 0, &[9; LINE]);
            fence_streams();
            let from = other.sources(&at, 2).expect("they are mapped");
            for i in 0..GROUP {
                let mut lines = [[0; LINE]; 3];
                lines.iter_mut().enumerate().for_each(|(line, to)| from.read(i, line, to));
                assert_eq!(lines, [[1 + 2 * i as u8; LINE], [2 + 2 * i as u8; LINE], [0; LINE]], "{store:?}");
            }
            from.read(GROUP, 0, &mut [0; LINE]);
        }
    }

    #[test]
    fn places_outside_and_between_lines_are_refused() {
        let (region, _file) = Region::create("test", 10_000).expect("memory");
        let last = |at| std::array::from_fn(|i| if i == 5 { at } else { 64 });
        let view = region.view();
        assert!(view.destinations(&last(9920), 1, Store::Plain).is_some());
        assert!(view.destinations(&last(9937), 1, Store::Plain).is_none(), "beyond the end");
        assert!(view.destinations(&last(9920), 2, Store::Plain).is_none());
        assert!(view.destinations(&last(65), 1, Store::Streaming).is_none(), "in the midst of a line");
        assert!(view.destinations(&last(64), usize::MAX, Store::Plain).is_none());
        assert!(view.sources(&last(12_288 - 64), 0).is_some(), "of the last page all can be read");
        assert!(view.sources(&last(12_288 - 63), 0).is_none() && view.sources(&last(u32::MAX), 1).is_none());
        assert!(view.sources(&last(0), usize::MAX / LINE + 1).is_none());
    }
}
