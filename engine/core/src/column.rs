//! Columns of packets' metadata: how runs of rows move between frames, batches and rings.
//!
//! A run moves by groups of eight, where both columns have room for a frame's rows, and rows behind the run become stale.
//! PERF: a call of `memcpy` for each column cost a turn of eight packets 100 of its 600 ticks (cross-connect, Zen 4).

use crate::frame::BLOCK;
use crate::isa::LANES;

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

/// Copies the first `n` rows.
#[inline(always)]
pub(crate) fn copy<T: Copy>(to: &mut [T], from: &[T], n: usize) {
    match (to.first_chunk_mut::<BLOCK>(), from.first_chunk::<BLOCK>()) {
        (Some(to), Some(from)) if n <= BLOCK => {
            for (to, from) in to.as_chunks_mut::<GROUP>().0.iter_mut().zip(from.as_chunks().0).take(n.div_ceil(GROUP)) {
                *to = *from;
            }
        }
        _ => to[..n].copy_from_slice(&from[..n]),
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
pub(crate) fn uniform(column: &[u16; BLOCK], n: usize) -> bool {
    let (first, mut differ, n) = (column[0], [0; LANES], n.min(BLOCK));
    let groups = column.as_chunks::<LANES>().0;
    for group in &groups[..n / LANES] {
        for lane in 0..LANES {
            differ[lane] |= group[lane] ^ first;
        }
    }
    let differ = differ.iter().fold(0, |all, lane| all | lane);
    differ == 0 && column[n - n % LANES..n].iter().all(|value| *value == first)
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
    for group in &column.as_chunks::<LANES>().0[..n / LANES] {
        for lane in 0..LANES {
            sums[lane] = sums[lane].wrapping_add(group[lane]);
        }
    }
    let rest = column[n - n % LANES..n].iter();
    sums.iter().chain(rest).map(|length| u64::from(*length)).sum()
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
                let (mut copied, mut set) = ([0; BLOCK], [0; BLOCK]);
                copy(&mut copied[..room], &from, n);
                fill(&mut set[..room], 7, n);
                assert_eq!(copied[..n], from[..n]);
                assert_eq!(set[..n], [7; BLOCK][..n]);
                assert!(copied[room..].iter().chain(&set[room..]).all(|row| *row == 0), "{n} rows of {room}");
            }
            let mut padded = from;
            pad(&mut padded, n, 0);
            let end = n.next_multiple_of(LANES);
            assert_eq!(padded[..n], from[..n]);
            assert!(n == end || padded[n..end].iter().all(|row| *row == 0));
            let mut equal = [9; BLOCK];
            equal[n..].fill(1);
            assert!(uniform(&equal, n));
            equal[n - 1] = 8;
            assert_eq!(uniform(&equal, n), n == 1);
        }
    }
}
