//! Tuple space: many patterns, of which the first that matches is found without looking at each.
//!
//! Patterns of one mask are a tuple, and lie in a hash table by their masked words. A packet is looked up in the tuples in the order
//! of their first patterns, until no later tuple can have an earlier pattern (early cut-off).
//!
//! Few tuples are looked into: for some bits of a packet's words, a slice, a row says which tuples have patterns that these bits can
//! match. Only tuples in the rows of all slices come into question. The slices are those that leave the fewest tuples.

/// Words that are matched where the mask has ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pattern<const W: usize> {
    /// The words. Bits that the mask excludes are zero.
    value: [u32; W],
    mask: [u32; W],
}

impl<const W: usize> Pattern<W> {
    /// The pattern of words, as far as the mask goes.
    pub fn new(value: [u32; W], mask: [u32; W]) -> Pattern<W> {
        Pattern { value: masked(&value, &mask), mask }
    }
}

fn masked<const W: usize>(words: &[u32; W], mask: &[u32; W]) -> [u32; W] {
    std::array::from_fn(|n| words[n] & mask[n])
}

/// A pattern to be found.
#[derive(Clone, Copy, Debug)]
pub struct Item<const W: usize> {
    /// The pattern.
    pub pattern: Pattern<W>,
    /// Its number, below 2^30: of several that match the lowest is found.
    pub number: u32,
    /// Whether it matches only if [`Tuples::find`]'s `meets` says so, too.
    pub is_conditional: bool,
}

/// An item in its tuple. Items of the same words lie one behind the other, the lowest number first.
#[derive(Clone, Copy, Debug)]
struct Entry<const W: usize> {
    value: [u32; W],
    /// The number, [`CONDITIONAL`] and [`LAST`].
    number: u32,
}
const CONDITIONAL: u32 = 1 << 31;
/// The last item of its words.
const LAST: u32 = 1 << 30;

/// The items of one mask.
#[derive(Clone, Copy, Debug)]
struct Tuple<const W: usize> {
    mask: [u32; W],
    /// The lowest number.
    first: u32,
    /// Its slots, a power of two: the first one, and the others' mask.
    slots: u32,
    slots_mask: u32,
}

/// Bits of a word by which rows are chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Slice {
    word: usize,
    shift: u32,
}

/// Most slices. Each costs a load per packet.
const SLICES_MAX: usize = 4;
/// Most and fewest bits of a slice. PERF: rows of 12 bits for up to 64 tuples fill 32 KB a slice.
const BITS_MAX: u32 = 12;
const BITS_MIN: u32 = 6;
/// Most bytes of all rows.
const ROWS_MAX: usize = 1 << 20;
/// Packets by which slices are chosen.
const PACKETS: usize = 64;

/// Many patterns.
#[derive(Debug)]
pub struct Tuples<const W: usize> {
    /// In the order of their first items.
    tuples: Box<[Tuple<W>]>,
    entries: Box<[Entry<W>]>,
    /// The entry's number and one, or zero for a free slot.
    slots: Box<[u32]>,
    slices: Box<[Slice]>,
    /// Bits of a slice.
    bits: u32,
    /// Words of a row, each with a bit for 64 tuples.
    sets: usize,
    rows: Box<[u64]>,
}

/// PERF: three operations a word, without the latency of a multiplication for each; collisions cost a look, and no more.
#[inline(always)]
fn hash<const W: usize>(words: &[u32; W]) -> u32 {
    let mut hash = 0u32;
    for (n, word) in (0u32..).zip(words) {
        hash ^= word.rotate_left(n * 11 % 32);
    }
    let hash = hash.wrapping_mul(0x9e37_79b1);
    hash ^ hash >> 15
}

impl<const W: usize> Tuples<W> {
    /// Takes the items in.
    pub fn new(mut items: Vec<Item<W>>) -> Tuples<W> {
        items.sort_unstable_by_key(|item| (item.pattern.mask, item.pattern.value, item.number));
        // Behind an item that always matches, others of the same words never do.
        items.dedup_by(|later, earlier| later.pattern == earlier.pattern && !earlier.is_conditional);
        let mut groups: Vec<&[Item<W>]> = items.chunk_by(|one, other| one.pattern.mask == other.pattern.mask).collect();
        let first = |group: &[Item<W>]| group.iter().map(|item| item.number).min().unwrap_or(0);
        groups.sort_by_cached_key(|group| first(group));
        let sets = groups.len().div_ceil(64);
        let bits = bits_for(items.len(), sets);
        let slices = slices(&groups, bits);
        let mut made = Tuples {
            tuples: Box::default(),
            entries: Box::default(),
            slots: Box::default(),
            rows: rows(&groups, &slices, bits, sets),
            slices: slices.into(),
            bits,
            sets,
        };
        let (mut tuples, mut entries, mut slots) = (vec![], Vec::with_capacity(items.len()), vec![]);
        for group in groups {
            let keys = group.chunk_by(|one, other| one.pattern == other.pattern).count();
            let count = (2 * keys).next_power_of_two();
            let tuple = Tuple {
                mask: group[0].pattern.mask,
                first: first(group),
                slots: slots.len() as u32,
                slots_mask: count as u32 - 1,
            };
            slots.resize(slots.len() + count, 0);
            for same in group.chunk_by(|one, other| one.pattern == other.pattern) {
                let mut place = hash(&same[0].pattern.value) & tuple.slots_mask;
                while slots[(tuple.slots + place) as usize] != 0 {
                    place = (place + 1) & tuple.slots_mask;
                }
                slots[(tuple.slots + place) as usize] = entries.len() as u32 + 1;
                entries.extend(same.iter().map(|item| Entry {
                    value: item.pattern.value,
                    number: item.number | if item.is_conditional { CONDITIONAL } else { 0 },
                }));
                entries.last_mut().into_iter().for_each(|last| last.number |= LAST);
            }
            tuples.push(tuple);
        }
        (made.tuples, made.entries, made.slots) = (tuples.into(), entries.into(), slots.into());
        made
    }
    /// The lowest number of an item that matches words, if there is one. Of conditional ones `meets` decides.
    #[inline(always)]
    pub fn find(&self, words: &[u32; W], meets: impl Fn(u32) -> bool) -> Option<u32> {
        let mut best = u32::MAX;
        for set in 0..self.sets {
            let mut open = u64::MAX;
            for (n, slice) in self.slices.iter().enumerate() {
                let row = slice.row(n, words, self.bits);
                open &= self.rows.get(row * self.sets + set).copied().unwrap_or(0);
            }
            while open != 0 {
                let number = set * 64 + open.trailing_zeros() as usize;
                open &= open - 1;
                let Some(tuple) = self.tuples.get(number) else { break };
                if tuple.first >= best {
                    return Some(best);
                }
                best = best.min(self.find_in(tuple, words, best, &meets));
            }
        }
        Some(best).filter(|best| *best != u32::MAX)
    }
    /// The lowest number in a tuple, if it is below `best`; otherwise `u32::MAX`.
    #[inline(always)]
    fn find_in(&self, tuple: &Tuple<W>, words: &[u32; W], best: u32, meets: &impl Fn(u32) -> bool) -> u32 {
        let key = masked(words, &tuple.mask);
        let mut place = hash(&key) & tuple.slots_mask;
        loop {
            let slot = self.slots.get((tuple.slots + place) as usize).copied().unwrap_or(0);
            let Some(first) = slot.checked_sub(1) else { return u32::MAX };
            let entries = self.entries.get(first as usize..).unwrap_or_default();
            if entries.first().is_some_and(|entry| entry.value == key) {
                for entry in entries {
                    let number = entry.number & !(CONDITIONAL | LAST);
                    if number >= best {
                        break;
                    }
                    if entry.number & CONDITIONAL == 0 || meets(number) {
                        return number;
                    }
                    if entry.number & LAST != 0 {
                        break;
                    }
                }
                return u32::MAX;
            }
            // At least half of the slots are free.
            place = (place + 1) & tuple.slots_mask;
        }
    }
    /// Number of tuples.
    pub fn count(&self) -> usize {
        self.tuples.len()
    }
}

impl Slice {
    /// The number of the row of words, for the n-th slice.
    #[inline(always)]
    fn row<const W: usize>(self, n: usize, words: &[u32; W], bits: u32) -> usize {
        let part = words.get(self.word).copied().unwrap_or(0) >> self.shift & ((1 << bits) - 1);
        n << bits | part as usize
    }
}

/// Bytes of the rows of so many items in so many tuples, at most.
pub fn rows_bytes(items: usize, tuples: usize) -> usize {
    let sets = tuples.div_ceil(64);
    (SLICES_MAX * sets * 8) << bits_for(items, sets)
}

/// Bits of slices: twice as many rows as items, as far as there is room.
fn bits_for(items: usize, sets: usize) -> u32 {
    let wanted = (2 * items).next_power_of_two().trailing_zeros().clamp(BITS_MIN, BITS_MAX);
    let fits = |bits: &u32| (SLICES_MAX * sets.max(1) * 8) << bits <= ROWS_MAX;
    (BITS_MIN..=wanted).rev().find(fits).unwrap_or(BITS_MIN)
}

/// The slices that together leave the fewest tuples, for packets that look like the items.
fn slices<const W: usize>(groups: &[&[Item<W>]], bits: u32) -> Vec<Slice> {
    let candidates: Vec<Slice> = (0..W)
        .flat_map(|word| (0..=32 - bits).step_by(4).map(move |shift| Slice { word, shift }))
        .filter(|slice| groups.iter().any(|group| group[0].pattern.mask[slice.word] >> slice.shift != 0))
        .collect();
    let packets = packets(groups);
    // By candidate, tuple and packet, whether the tuple is left.
    let leaves: Vec<Vec<bool>> = candidates
        .iter()
        .map(|slice| groups.iter().flat_map(|group| leaves(group, *slice, bits, &packets)).collect())
        .collect();
    let mut left = vec![true; groups.len() * packets.len()];
    let (mut chosen, mut before) = (vec![], left.len());
    while chosen.len() < SLICES_MAX {
        let count = |n: usize| left.iter().zip(&leaves[n]).filter(|(left, leaves)| **left && **leaves).count();
        let counts = (0..candidates.len()).map(|n| (count(n), n));
        let Some((count, best)) = counts.min() else { break };
        // PERF: a slice costs about a tenth of a look into a tuple.
        if before - count <= packets.len() / 10 {
            break;
        }
        left.iter_mut().zip(&leaves[best]).for_each(|(left, leaves)| *left &= leaves);
        chosen.push(candidates[best]);
        before = count;
    }
    chosen
}

/// Words of packets that some items match; what they leave open is drawn.
fn packets<const W: usize>(groups: &[&[Item<W>]]) -> Vec<[u32; W]> {
    let count = groups.iter().map(|group| group.len()).sum::<usize>();
    let every = (count / PACKETS).max(1);
    let mut drawn = 0x9e37_79b9u32;
    let all = groups.iter().flat_map(|group| group.iter()).step_by(every).take(PACKETS);
    all.map(|item| {
        std::array::from_fn(|n| {
            drawn = drawn.wrapping_mul(0x915f_77f5).wrapping_add(1);
            item.pattern.value[n] | (drawn ^ drawn >> 16) & !item.pattern.mask[n]
        })
    })
    .collect()
}

/// For which packets a slice leaves a tuple in question.
fn leaves<const W: usize>(group: &[Item<W>], slice: Slice, bits: u32, packets: &[[u32; W]]) -> Vec<bool> {
    let mask = group[0].pattern.mask[slice.word] >> slice.shift & ((1 << bits) - 1);
    if mask == 0 {
        return vec![true; packets.len()];
    }
    let mut seen = [0u64; (1 << BITS_MAX) / 64];
    let part = |words: &[u32; W]| (words[slice.word] >> slice.shift & mask) as usize;
    for item in group {
        let value = part(&item.pattern.value);
        seen[value / 64] |= 1 << (value % 64);
    }
    packets.iter().map(|words| seen[part(words) / 64] >> (part(words) % 64) & 1 != 0).collect()
}

/// The rows of all slices.
fn rows<const W: usize>(groups: &[&[Item<W>]], slices: &[Slice], bits: u32, sets: usize) -> Box<[u64]> {
    let mut rows = vec![0u64; (slices.len() << bits) * sets];
    for (tuple, group) in groups.iter().enumerate() {
        let (set, bit) = (tuple / 64, 1u64 << (tuple % 64));
        for (n, slice) in slices.iter().enumerate() {
            let all = (1u32 << bits) - 1;
            let mask = group[0].pattern.mask[slice.word] >> slice.shift & all;
            for item in *group {
                let value = item.pattern.value[slice.word] >> slice.shift & mask;
                let row = |part: u32| (n << bits | part as usize) * sets + set;
                if rows[row(value)] & bit != 0 {
                    continue;
                }
                // All values of the bits that the mask excludes.
                let free = all & !mask;
                let mut rest = free;
                loop {
                    rows[row(value | rest)] |= bit;
                    if rest == 0 {
                        break;
                    }
                    rest = (rest - 1) & free;
                }
            }
        }
    }
    rows.into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use fastrand::Rng;

    /// Looks at each item.
    fn naive(items: &[Item<3>], words: &[u32; 3], meets: impl Fn(u32) -> bool) -> Option<u32> {
        let matches = |item: &&Item<3>| masked(words, &item.pattern.mask) == item.pattern.value;
        let all = items.iter().filter(matches).filter(|item| !item.is_conditional || meets(item.number));
        all.map(|item| item.number).min()
    }

    fn prefix(length: u32) -> u32 {
        (u64::from(u32::MAX) << (32 - length)) as u32
    }

    #[test]
    fn the_first_match_is_that_of_a_naive_search() {
        let mut r = Rng::with_seed(5);
        let mut found = 0;
        for round in 0..200 {
            // Few values and many, few masks and more than a set has.
            let (masks, spread) = ([1, 3, 40, 90][round % 4], [3u32, 50, 100_000][round / 4 % 3]);
            let word = |r: &mut Rng| r.u32(..spread).wrapping_mul(0x0101_0001) << r.u32(..12);
            let mut mask = || match r.u8(..8) {
                0 => [r.u32(..), r.u32(..), 0],
                1 => [0; 3],
                _ => [prefix(r.u32(..33)), prefix(r.u32(..33)), [0, 0xff, 0xffff_ffff][r.usize(..3)]],
            };
            let masks: Vec<_> = (0..masks).map(|_| mask()).collect();
            let items: Vec<Item<3>> = (0..r.u32(1..400))
                .map(|number| {
                    let value = [word(&mut r), word(&mut r), r.u32(..4)];
                    let pattern = Pattern::new(value, masks[r.usize(..masks.len())]);
                    Item { pattern, number, is_conditional: r.u8(..3) == 0 }
                })
                .collect();
            let tuples = Tuples::new(items.clone());
            for _ in 0..200 {
                let words = match r.bool() {
                    true => [word(&mut r), word(&mut r), r.u32(..4)],
                    false => items[r.usize(..items.len())]
                        .pattern
                        .value
                        .map(|word| word ^ (r.u32(..) & r.u32(..) & r.u32(..))),
                };
                let salt = r.u32(..);
                let meets = |number: u32| (number ^ salt) & 3 == 0;
                let expected = naive(&items, &words, meets);
                assert_eq!(tuples.find(&words, meets), expected, "round {round}: {words:x?}");
                found += usize::from(expected.is_some());
            }
        }
        assert!((2_000..38_000).contains(&found), "{found} matches of 40,000");
    }

    #[test]
    fn without_items_nothing_is_found() {
        let tuples = Tuples::<3>::new(vec![]);
        assert_eq!((tuples.find(&[1, 2, 3], |_| true), tuples.count()), (None, 0));
    }

    #[test]
    fn rows_stay_within_their_memory() {
        for (items, sets) in [(1, 0), (65, 1), (10_000, 1), (65_536, 137), (65_536, 1024)] {
            let bits = bits_for(items, sets);
            let bytes = rows_bytes(items, 64 * sets);
            assert!(bytes <= ROWS_MAX || bits == BITS_MIN && bytes <= 4 * ROWS_MAX, "{items}, {sets}: {bytes}");
        }
    }
}
