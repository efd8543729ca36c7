//! Eight values in memory, and the rows of a table that eight numbers choose: for work on one lane after the other.
#![allow(unsafe_code)]

use super::{Isa, LANES, Lanes};

/// Eight values of one packet field in memory, read one at a time.
///
/// PERF: of an array that comes from a register the compiler takes each value out of that register, by two operations, and mostly all of
/// them at once, for which there are not enough scalar registers. Reads that it may not move cost one load each, where they stand.
#[derive(Clone, Copy)]
pub struct Each<I: Isa>(I::V);
impl<I: Isa> Each<I> {
    /// The value of a lane, modulo [`LANES`].
    #[inline(always)]
    pub fn at(&self, lane: usize) -> u32 {
        const { assert!(size_of::<I::V>() == size_of::<[u32; LANES]>()) };
        // SAFETY: registers that hold eight words are these words, one behind the other ([`Isa::V`]), and they are borrowed.
        unsafe { (&raw const self.0).cast::<u32>().add(lane % LANES).read_volatile() }
    }
}

/// The rows of a table, of which there is at least one.
#[derive(Debug)]
pub struct Slots<'t, T> {
    rows: &'t [T],
    last: u32,
}
impl<T> Clone for Slots<'_, T> {
    #[inline(always)]
    fn clone(&self) -> Self {
        *self
    }
}
impl<T> Copy for Slots<'_, T> {}
impl<'t, T> Slots<'t, T> {
    /// Wraps a slice; None if it is empty. Only the first 2^32 rows can be reached.
    #[inline(always)]
    pub fn new(rows: &'t [T]) -> Option<Slots<'t, T>> {
        let last = u32::try_from(rows.len()).unwrap_or(u32::MAX).checked_sub(1)?;
        Some(Slots { rows, last })
    }
    /// Wraps an array, which is not empty.
    #[inline(always)]
    pub fn of<const N: usize>(rows: &'t [T; N]) -> Slots<'t, T> {
        const { assert!(N > 0 && N <= u32::MAX as usize) };
        Slots { rows, last: N as u32 - 1 }
    }
    /// The row of a number, if there is one.
    #[inline(always)]
    pub fn get(self, number: u32) -> Option<&'t T> {
        self.rows.get(number as usize)
    }
    /// The number of the last one.
    #[inline(always)]
    pub fn last(self) -> u32 {
        self.last
    }
}

/// Eight rows of a table.
#[derive(Clone, Copy)]
pub struct Picked<'t, T, I: Isa> {
    rows: &'t [T],
    /// Each is a row's number.
    numbers: Each<I>,
}
impl<'t, T, I: Isa> Picked<'t, T, I> {
    /// The row of a lane, modulo [`LANES`].
    #[inline(always)]
    pub fn row(&self, lane: usize) -> &'t T {
        // SAFETY: `Lanes::pick`, which alone makes values of this type, has brought the numbers below that of rows.
        unsafe { self.rows.get_unchecked(self.numbers.at(lane) as usize) }
    }
}

impl<I: Isa> Lanes<I> {
    /// The eight values in memory.
    #[inline(always)]
    pub fn each(self) -> Each<I> {
        Each(self.v)
    }
    /// The rows of these numbers. A number that is too large stands for the last row.
    #[inline(always)]
    pub fn pick<'t, T>(self, slots: Slots<'t, T>) -> Picked<'t, T, I> {
        Picked { rows: slots.rows, numbers: self.min(slots.last).each() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::isa::{Kernel, Level};

    struct Check;
    impl Kernel for Check {
        fn run<I: Isa>(self, isa: I) {
            let numbers = [0, 1, 2, 3, u32::MAX, 4, 1 << 31, 2];
            let lanes = Lanes::new(isa, &numbers);
            let picked = lanes.pick(Slots::of(&[10u64, 11, 12, 13]));
            let rows: Vec<u64> = (0..LANES).map(|lane| *picked.row(lane)).collect();
            assert_eq!(rows, [10, 11, 12, 13, 13, 13, 13, 12]);
            assert_eq!(
                (0..2 * LANES).map(|lane| lanes.each().at(lane)).collect::<Vec<_>>(),
                [numbers, numbers].concat()
            );
        }
    }

    #[test]
    fn numbers_that_are_too_large_choose_the_last_row() {
        for level in Level::all().into_iter().filter_map(|(_, level)| level) {
            level.run(Check);
        }
        assert!(Slots::<u8>::new(&[]).is_none());
        assert_eq!(Slots::new(&[1, 2]).map(Slots::last), Some(1));
    }
}
