//! Columns of packets' metadata: how runs of rows move between frames, batches and rings.
//!
//! A short run moves as one group of sixteen, where both columns have room for it, and rows behind the run become stale.
//! PERF: a call of `memcpy` for each column cost a turn of eight packets 100 of its 600 ticks (cross-connect, Zen 4).

use crate::frame::VECTOR;

/// Rows of a group: what a stage works on at once.
const GROUP: usize = 16;

/// Copies the first `n` rows.
#[inline(always)]
pub(crate) fn copy<T: Copy>(to: &mut [T], from: &[T], n: usize) {
    match (to.first_chunk_mut::<GROUP>(), from.first_chunk::<GROUP>()) {
        (Some(to), Some(from)) if n <= GROUP => *to = *from,
        _ => to[..n].copy_from_slice(&from[..n]),
    }
}

/// Sets the first `n` rows.
#[inline(always)]
pub(crate) fn fill<T: Copy>(to: &mut [T], value: T, n: usize) {
    match to.first_chunk_mut::<GROUP>() {
        Some(to) if n <= GROUP => *to = [value; GROUP],
        _ => to[..n].fill(value),
    }
}

/// Sets the rows from `len` on up to the end of the group in which it lies.
#[inline(always)]
pub(crate) fn pad<T: Copy>(column: &mut [T; VECTOR], len: usize, value: T) {
    let (groups, _) = column.as_chunks_mut::<GROUP>();
    if let Some(group) = groups.get_mut(len / GROUP) {
        for lane in 0..GROUP {
            group[lane] = if lane < len % GROUP { group[lane] } else { value };
        }
    }
}

/// Whether the first `n` values are equal.
#[inline(always)]
pub(crate) fn uniform(column: &[u16; VECTOR], n: usize) -> bool {
    let (first, mut differ) = (column[0], 0);
    for value in &column[..n - n % GROUP] {
        differ |= value ^ first;
    }
    if let Some(group) = column.as_chunks::<GROUP>().0.get(n / GROUP) {
        for lane in 0..GROUP {
            differ |= if lane < n % GROUP { group[lane] ^ first } else { 0 };
        }
    }
    differ == 0
}

/// Whether all values of a group are equal.
#[inline(always)]
pub(crate) fn is_one(group: &[u16; GROUP]) -> bool {
    let mut differ = 0;
    for value in group {
        differ |= value ^ group[0];
    }
    differ == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every length, and so every way that a run can end within a group.
    #[test]
    fn runs_of_every_length_are_moved_set_and_compared() {
        let from: [u16; VECTOR] = std::array::from_fn(|i| i as u16 + 1);
        for n in 1..=VECTOR {
            for room in [n, VECTOR] {
                let (mut copied, mut set) = ([0; VECTOR], [0; VECTOR]);
                copy(&mut copied[..room], &from, n);
                fill(&mut set[..room], 7, n);
                assert_eq!(copied[..n], from[..n]);
                assert_eq!(set[..n], [7; VECTOR][..n]);
                assert!(copied[room..].iter().chain(&set[room..]).all(|row| *row == 0), "{n} rows of {room}");
            }
            let mut padded = from;
            pad(&mut padded, n, 0);
            let end = n.next_multiple_of(GROUP);
            assert_eq!(padded[..n], from[..n]);
            assert!(n == end || padded[n..end].iter().all(|row| *row == 0));
            let mut equal = [9; VECTOR];
            equal[n..].fill(1);
            assert!(uniform(&equal, n));
            equal[n - 1] = 8;
            assert_eq!(uniform(&equal, n), n == 1);
        }
    }
}
