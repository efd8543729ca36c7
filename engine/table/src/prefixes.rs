//! A map of prefixes in their order, whose entries lie near those that they belong with.
//!
//! One tree of a million prefixes costs several cache misses at every step of a change. So when there are many, those of
//! 16 bits and more lie in small trees, one for each of their first 16 bits. Few prefixes are one tree, and take no more
//! memory than they must.
use crate::address::Address;
use std::collections::BTreeMap;
use std::ops::{Bound, RangeInclusive};

/// With so many prefixes the tree is split.
const SPLIT: usize = 4096;
/// With so few left it is joined again.
const JOIN: usize = SPLIT / 4;
/// The bits that choose a small tree. Shorter prefixes are in none.
pub(crate) const SHORT: u8 = 16;

type Tree<A, V> = BTreeMap<(A, u8), V>;

/// Values by prefix and length; of equal prefixes the shorter comes first. Prefixes are given with zero host bits.
#[derive(Debug)]
pub struct PrefixMap<A, V> {
    /// All prefixes; when there are many, those that are shorter than 16 bits.
    rest: Tree<A, V>,
    /// When there are many: the others, by their first 16 bits.
    split: Option<Box<[Tree<A, V>]>>,
    len: usize,
}

impl<A: Address, V> Default for PrefixMap<A, V> {
    fn default() -> PrefixMap<A, V> {
        PrefixMap { rest: BTreeMap::new(), split: None, len: 0 }
    }
}

impl<A: Address, V> PrefixMap<A, V> {
    /// An empty map.
    pub fn new() -> PrefixMap<A, V> {
        PrefixMap::default()
    }

    /// The value of exactly this prefix.
    pub fn get(&self, prefix: A, length: u8) -> Option<&V> {
        self.tree(prefix, length).get(&(prefix, length))
    }

    /// The same, to be changed.
    pub fn get_mut(&mut self, prefix: A, length: u8) -> Option<&mut V> {
        self.tree_mut(prefix, length).get_mut(&(prefix, length))
    }

    /// Adds a prefix or changes its value; returns the value it had.
    pub fn insert(&mut self, prefix: A, length: u8, value: V) -> Option<V> {
        let old = self.tree_mut(prefix, length).insert((prefix, length), value);
        self.len += usize::from(old.is_none());
        if self.len >= SPLIT && self.split.is_none() {
            let mut split: Box<[Tree<A, V>]> = (0..1 << SHORT).map(|_| BTreeMap::new()).collect();
            for ((prefix, length), value) in std::mem::take(&mut self.rest) {
                let tree = if length < SHORT { &mut self.rest } else { &mut split[prefix.leading(SHORT)] };
                tree.insert((prefix, length), value);
            }
            self.split = Some(split);
        }
        old
    }

    /// Removes a prefix; returns its value.
    pub fn remove(&mut self, prefix: A, length: u8) -> Option<V> {
        let old = self.tree_mut(prefix, length).remove(&(prefix, length))?;
        self.len -= 1;
        if self.len <= JOIN
            && let Some(split) = self.split.take()
        {
            self.rest.extend(split.into_iter().flatten());
        }
        Some(old)
    }

    /// Number of prefixes.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Bytes in use, about: a tree's nodes are two thirds full on average.
    pub fn memory_bytes(&self) -> usize {
        let trees = self.split.as_ref().map_or(0, |split| size_of_val(&**split));
        trees + self.len * (size_of::<(A, u8)>() + size_of::<V>()) * 3 / 2
    }

    /// All of them in order: prefix, length, value.
    pub fn iter(&self) -> impl Iterator<Item = (A, u8, &V)> {
        self.after(None)
    }

    /// Those behind a prefix in order, whether or not that is there itself; all of them without one.
    pub fn after(&self, last: Option<(A, u8)>) -> impl Iterator<Item = (A, u8, &V)> {
        let bounds = (last.map_or(Bound::Unbounded, Bound::Excluded), Bound::Unbounded);
        let first = last.map_or(0, |(prefix, _)| prefix.leading(SHORT));
        let split = self.split.iter().flat_map(move |split| &split[first..]);
        self.merge(self.rest.range(bounds), split.flat_map(move |tree| tree.range(bounds)))
    }

    /// The last one in order up to this prefix. If prefixes are split: of those with at least [`SHORT`] bits that share
    /// their first ones with it, or if it is shorter itself, of the shorter ones.
    pub(crate) fn last_up_to(&self, prefix: A, length: u8) -> Option<(A, u8, &V)> {
        let (&(prefix, length), value) = self.tree(prefix, length).range(..=(prefix, length)).next_back()?;
        Some((prefix, length, value))
    }

    /// Whether prefixes of 16 bits and more, and shorter ones, are kept apart.
    pub(crate) fn is_split(&self) -> bool {
        self.split.is_some()
    }

    /// The ones inside a prefix that are longer than it, in order.
    pub(crate) fn longer(&self, prefix: A, length: u8) -> impl Iterator<Item = (A, u8)> + '_ {
        // Prefixes inside another follow it in order. Without a bound for lengths there would be none above the full
        // length, where the range is empty.
        let last = prefix.range(length).1;
        let bounds = (length < A::BITS).then(|| (prefix, length + 1)..=(last, A::BITS));
        let rest = bounds.clone().filter(|_| self.split.is_none() || length + 1 < SHORT);
        let split = bounds.into_iter().flat_map(move |bounds: RangeInclusive<(A, u8)>| {
            let trees = self.split.iter().flat_map(move |split| &split[prefix.leading(SHORT)..=last.leading(SHORT)]);
            trees.flat_map(move |tree| tree.range(bounds.clone()))
        });
        let rest = rest.into_iter().flat_map(|bounds| self.rest.range(bounds));
        self.merge(rest, split).map(|(prefix, length, _)| (prefix, length))
    }

    /// Two sequences in order as one.
    fn merge<'m>(
        &'m self,
        rest: impl Iterator<Item = (&'m (A, u8), &'m V)>,
        split: impl Iterator<Item = (&'m (A, u8), &'m V)>,
    ) -> impl Iterator<Item = (A, u8, &'m V)> {
        let (mut rest, mut split) = (rest.peekable(), split.peekable());
        std::iter::from_fn(move || {
            let next = match (rest.peek(), split.peek()) {
                (Some((one, _)), Some((other, _))) if one < other => rest.next(),
                (Some(_), None) => rest.next(),
                _ => split.next(),
            };
            next.map(|(&(prefix, length), value)| (prefix, length, value))
        })
    }

    fn tree(&self, prefix: A, length: u8) -> &Tree<A, V> {
        match &self.split {
            Some(split) if length >= SHORT => &split[prefix.leading(SHORT)],
            _ => &self.rest,
        }
    }

    fn tree_mut(&mut self, prefix: A, length: u8) -> &mut Tree<A, V> {
        match &mut self.split {
            Some(split) if length >= SHORT => &mut split[prefix.leading(SHORT)],
            _ => &mut self.rest,
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Prefixes of all lengths that often lie in each other, enough to be split and joined on the way.
    fn prefixes(count: usize) -> impl Strategy<Value = Vec<(u32, u8)>> {
        let prefix =
            (any::<u32>(), 0_u8..=32).prop_map(|(bits, length)| ((bits & 0x03ff_0fff).range(length).0, length));
        prop::collection::vec(prefix, count)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(8))]
        #[test]
        #[cfg_attr(miri, ignore = "it is about answers, not memory")]
        fn agrees_with_one_tree(list in prefixes(2 * SPLIT), keep in 0..JOIN) {
            let (mut map, mut tree) = (PrefixMap::new(), BTreeMap::new());
            for (i, &(prefix, length)) in list.iter().enumerate() {
                prop_assert_eq!(map.insert(prefix, length, i), tree.insert((prefix, length), i));
            }
            prop_assert!(map.is_split());
            let check = |map: &PrefixMap<u32, usize>, tree: &BTreeMap<(u32, u8), usize>| {
                prop_assert_eq!(map.len(), tree.len());
                let in_order: Vec<_> = map.iter().map(|(prefix, length, value)| ((prefix, length), *value)).collect();
                prop_assert_eq!(in_order, tree.iter().map(|(key, value)| (*key, *value)).collect::<Vec<_>>());
                for &(prefix, length) in list.iter().step_by(101) {
                    prop_assert_eq!(map.get(prefix, length), tree.get(&(prefix, length)));
                    let inside = |(inner, longer): &(u32, u8)| *longer > length && inner.range(length).0 == prefix;
                    let longer: Vec<_> = map.longer(prefix, length).collect();
                    prop_assert_eq!(longer, tree.keys().copied().filter(inside).collect::<Vec<_>>());
                    let after: Vec<_> = map.after(Some((prefix, length))).map(|(prefix, length, _)| (prefix, length)).collect();
                    let behind = (Bound::Excluded((prefix, length)), Bound::Unbounded);
                    prop_assert_eq!(after, tree.range(behind).map(|(key, _)| *key).collect::<Vec<_>>());
                }
                Ok(())
            };
            check(&map, &tree)?;
            for &(prefix, length) in &list[keep..] {
                prop_assert_eq!(map.remove(prefix, length), tree.remove(&(prefix, length)));
            }
            prop_assert!(!map.is_split());
            check(&map, &tree)?;
        }
    }
}
