//! Columns of packets' metadata: how runs of rows move between frames, batches and rings.
//!
//! A run moves by groups of eight, where both columns have room for a frame's rows, and rows behind the run become stale.
//! PERF: a call of `memcpy` for each column cost a turn of eight packets 100 of its 600 ticks (cross-connect, Zen 4).

use crate::isa::{Isa, Kernel, LANES, Lanes, Level};
use crate::vector::BLOCK;

/// Rows that move together.
const GROUP: usize = LANES;

/// Groups of rows that stages work on at once.
pub(crate) const GROUPS: usize = BLOCK / LANES;

/// The rows of group `g`.
#[inline(always)]
pub(crate) fn group<T>(column: &[T; BLOCK], g: usize) -> &[T; LANES] {
    &column.as_chunks().0[g % GROUPS]
}
/// The same, to change.
#[inline(always)]
pub(crate) fn group_mut<T>(column: &mut [T; BLOCK], g: usize) -> &mut [T; LANES] {
    &mut column.as_chunks_mut().0[g % GROUPS]
}

/// Columns of packets' metadata, as rings, batches and frames have them.
#[derive(Clone, Copy)]
pub(crate) struct Rows<'c> {
    pub buffer: &'c [u32],
    pub offset: &'c [u16],
    pub length: &'c [u32],
    pub flags: &'c [u16],
}
/// The same, to change.
pub(crate) struct RowsMut<'c> {
    pub buffer: &'c mut [u32],
    pub offset: &'c mut [u16],
    pub length: &'c mut [u32],
    pub flags: &'c mut [u16],
}
impl RowsMut<'_> {
    /// Copies the first `n` rows. Returns whether they were copied by groups, as they are where all columns have room for a frame's rows;
    /// then `each` was called with the number of each group.
    ///
    /// PERF: one test for all columns, and one loop over the groups.
    #[inline(always)]
    pub fn copy(self, from: Rows<'_>, n: usize, mut each: impl FnMut(usize)) -> bool {
        let rows = (
            from.buffer.first_chunk::<BLOCK>(),
            from.offset.first_chunk::<BLOCK>(),
            from.length.first_chunk::<BLOCK>(),
            from.flags.first_chunk::<BLOCK>(),
        );
        let places = (
            self.buffer.first_chunk_mut::<BLOCK>(),
            self.offset.first_chunk_mut::<BLOCK>(),
            self.length.first_chunk_mut::<BLOCK>(),
            self.flags.first_chunk_mut::<BLOCK>(),
        );
        if let (Some(buffers), Some(offsets), Some(lengths), Some(all_flags)) = rows
            && let (Some(buffer), Some(offset), Some(length), Some(flags)) = places
            && n <= BLOCK
        {
            for g in 0..n.div_ceil(GROUP) {
                *group_mut(buffer, g) = *group(buffers, g);
                *group_mut(offset, g) = *group(offsets, g);
                *group_mut(length, g) = *group(lengths, g);
                *group_mut(flags, g) = *group(all_flags, g);
                each(g);
            }
            return true;
        }
        self.buffer[..n].copy_from_slice(&from.buffer[..n]);
        self.offset[..n].copy_from_slice(&from.offset[..n]);
        self.length[..n].copy_from_slice(&from.length[..n]);
        self.flags[..n].copy_from_slice(&from.flags[..n]);
        false
    }
}

/// Sets the first `n` rows.
#[inline(always)]
pub(crate) fn fill<T: Copy>(to: &mut [T], value: T, n: usize) {
    match to.first_chunk_mut::<BLOCK>() {
        Some(to) if n <= BLOCK => {
            for group in to.as_chunks_mut().0.iter_mut().take(n.div_ceil(GROUP)) {
                *group = [value; GROUP];
            }
        }
        _ => to[..n].fill(value),
    }
}

/// Sets the rows from `len` on, at least up to the end of the group that a stage works on at once.
#[inline(always)]
pub(crate) fn pad<T: Copy>(column: &mut [T; BLOCK], len: usize, value: T) {
    // Rows behind are stale: a whole group of them costs a store.
    if let Some(group) = column.get_mut(len..).and_then(|rest| rest.first_chunk_mut::<LANES>()) {
        *group = [value; LANES];
    } else if let Some(rest) = column.get_mut(len..) {
        rest.fill(value);
    }
}

/// Whether the first `n` values are equal.
#[inline(always)]
pub(crate) fn uniform<T: Copy + PartialEq>(column: &[T; BLOCK], n: usize) -> bool {
    let (first, n) = (column[0], n.min(BLOCK));
    let (groups, rest) = column[..n].as_chunks::<LANES>();
    // PERF: whole groups are compared as such; sums of differences would be gathered lane by lane.
    groups.iter().all(|group| *group == [first; LANES]) && rest.iter().all(|value| *value == first)
}

/// A value of a column: 16 or 32 bits.
pub(crate) trait Value: Copy + PartialEq + Into<u32> {
    /// Eight of them as lanes.
    fn lanes<I: Isa>(isa: I, values: &[Self; LANES]) -> Lanes<I>;
}
impl Value for u16 {
    #[inline(always)]
    fn lanes<I: Isa>(isa: I, values: &[u16; LANES]) -> Lanes<I> {
        Lanes::widen(isa, values)
    }
}
impl Value for u32 {
    #[inline(always)]
    fn lanes<I: Isa>(isa: I, values: &[u32; LANES]) -> Lanes<I> {
        Lanes::new(isa, values)
    }
}

/// The first `n` rows that have this value, a bit for each.
#[inline]
pub(crate) fn rows_with<T: Value>(level: Level, column: &[T; BLOCK], n: usize, value: T) -> u64 {
    let mut rows = 0;
    level.run(RowsWith { column, groups: n.min(BLOCK).div_ceil(LANES), value, rows: &mut rows });
    rows & crate::vector::Rows::first(n).0
}
struct RowsWith<'a, T> {
    column: &'a [T; BLOCK],
    groups: usize,
    value: T,
    rows: &'a mut u64,
}
impl<T: Value> Kernel for RowsWith<'_, T> {
    #[inline(always)]
    fn run<I: Isa>(self, isa: I) {
        let mut rows = 0;
        for g in 0..self.groups {
            let found = T::lanes(isa, group(self.column, g)).eq(self.value.into());
            rows |= u64::from(found.bits().0) << (g * LANES);
        }
        *self.rows = rows;
    }
}

/// Whether the first `n` values are at least so large.
#[inline(always)]
pub(crate) fn all_reach(column: &[u32; BLOCK], n: usize, least: u32) -> bool {
    if least == 0 {
        return true;
    }
    let (mut short, n) = ([0u32; LANES], n.min(BLOCK));
    for group in &column.as_chunks::<LANES>().0[..n / LANES] {
        for lane in 0..LANES {
            short[lane] |= u32::from(group[lane] < least);
        }
    }
    let rest = column[n - n % LANES..n].iter().any(|value| *value < least);
    !rest && short.iter().all(|short| *short == 0)
}

/// The sum of the first `n` values: of bytes of packets, so that those of a frame fit.
#[inline(always)]
pub(crate) fn sum(column: &[u32; BLOCK], n: usize) -> u64 {
    let (mut sums, n) = ([0u32; LANES], n.min(BLOCK));
    let (groups, rest) = column[..n].as_chunks::<LANES>();
    for group in groups {
        for lane in 0..LANES {
            sums[lane] = sums[lane].wrapping_add(group[lane]);
        }
    }
    let mut sum = 0u32;
    for lane in 0..LANES {
        sum = sum.wrapping_add(sums[lane]);
    }
    for value in rest {
        sum = sum.wrapping_add(*value);
    }
    sum.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every length, and so every way that a run can end within a group.
    #[test]
    fn runs_of_every_length_are_moved_set_and_compared() {
        let from: [u16; BLOCK] = std::array::from_fn(|i| i as u16 + 1);
        for n in 1..=BLOCK {
            for room in [n, BLOCK] {
                let (mut offset, mut flags, mut set) = ([0; BLOCK], [0; BLOCK], [0; BLOCK]);
                let (mut buffer, mut length, mut groups) = ([0; BLOCK], [0; BLOCK], 0);
                let to = RowsMut {
                    buffer: &mut buffer[..room],
                    offset: &mut offset[..room],
                    length: &mut length[..room],
                    flags: &mut flags[..room],
                };
                let words = from.map(u32::from);
                let by_groups = to.copy(Rows { buffer: &words, offset: &from, length: &words, flags: &from }, n, |g| {
                    groups += usize::from(g == groups)
                });
                assert_eq!((by_groups, groups), if room == BLOCK { (true, n.div_ceil(LANES)) } else { (false, 0) });
                fill(&mut set[..room], 7, n);
                for copied in [offset, flags, buffer.map(|row| row as u16), length.map(|row| row as u16)] {
                    assert_eq!(copied[..n], from[..n]);
                    assert!(copied[room..].iter().all(|row| *row == 0), "{n} rows of {room}");
                }
                assert_eq!(set[..n], [7; BLOCK][..n]);
                assert!(set[room..].iter().all(|row| *row == 0), "{n} rows of {room}");
            }
            let mut padded = from;
            pad(&mut padded, n, 0);
            let end = n.next_multiple_of(LANES);
            assert_eq!(padded[..n], from[..n]);
            assert!(n == end || padded[n..end].iter().all(|row| *row == 0));
            let mut equal = [9u32; BLOCK];
            equal[n..].fill(1);
            assert!(uniform(&equal, n));
            equal[n - 1] = 8;
            assert_eq!(uniform(&equal, n), n == 1);
            for level in Level::all().into_iter().filter_map(|(_, level)| level) {
                assert_eq!(rows_with(level, &equal, n, 8), 1 << (n - 1));
                assert_eq!(rows_with(level, &equal, n, 9).count_ones() as usize, n - 1);
                assert_eq!(rows_with(level, &equal, n, 1), 0, "stale rows are none");
                assert_eq!(rows_with(level, &equal.map(|value| value as u16), n, 8), 1 << (n - 1));
            }
        }
    }
}
