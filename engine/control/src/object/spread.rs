//! Maps of which no part is ever large. A hash map that grows moves all its entries in one go: of a million, that takes longer
//! than a turn of the control thread may.

use std::borrow::Borrow;
use std::hash::{BuildHasher, Hash};

use foldhash::fast::RandomState;

use super::HashMap;

/// With more entries a map has parts.
const WHOLE_MAX: usize = 4096;
/// Parts of a large map.
const PARTS: usize = 1024;
/// With fewer entries a map with parts becomes one map again.
const SPREAD_MIN: usize = WHOLE_MAX / 8;

/// A hash map, in parts once it is large.
pub(crate) struct Spread<K, V> {
    /// The first entries. They stay here while the map grows: to move thousands takes as many allocations in one go.
    whole: HashMap<K, V>,
    /// Entries that came when `whole` was full.
    parts: Vec<HashMap<K, V>>,
    /// Chooses parts, by another seed than these choose their places.
    chooser: RandomState,
    len: usize,
}

impl<K, V> Default for Spread<K, V> {
    fn default() -> Spread<K, V> {
        Spread { whole: HashMap::default(), parts: Vec::new(), chooser: RandomState::default(), len: 0 }
    }
}

impl<K: Hash + Eq, V> Spread<K, V> {
    /// The number of entries.
    #[cfg(test)]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The value of a key.
    pub fn get<Q: Hash + Eq + ?Sized>(&self, key: &Q) -> Option<&V>
    where
        K: Borrow<Q>,
    {
        let in_part = self.part(key).and_then(|part| self.parts[part].get(key));
        in_part.or_else(|| self.whole.get(key))
    }

    /// The same, to be changed.
    pub fn get_mut<Q: Hash + Eq + ?Sized>(&mut self, key: &Q) -> Option<&mut V>
    where
        K: Borrow<Q>,
    {
        let in_part = self.part(key).and_then(|part| self.parts[part].get_mut(key));
        in_part.or_else(|| self.whole.get_mut(key))
    }

    /// Whether there is a value of a key.
    pub fn contains_key<Q: Hash + Eq + ?Sized>(&self, key: &Q) -> bool
    where
        K: Borrow<Q>,
    {
        self.get(key).is_some()
    }

    /// Sets the value of a key; returns the former one.
    pub fn insert(&mut self, key: K, value: V) -> Option<V> {
        if self.parts.is_empty() && self.len >= WHOLE_MAX {
            self.parts.resize_with(PARTS, HashMap::default);
        }
        let old = match self.part(&key) {
            Some(part) if !self.whole.contains_key(&key) => self.parts[part].insert(key, value),
            _ => self.whole.insert(key, value),
        };
        self.len += usize::from(old.is_none());
        old
    }

    /// Removes the value of a key.
    pub fn remove<Q: Hash + Eq + ?Sized>(&mut self, key: &Q) -> Option<V>
    where
        K: Borrow<Q>,
    {
        let in_part = self.part(key).and_then(|part| remove_from(&mut self.parts[part], key, 16));
        let old = in_part.or_else(|| remove_from(&mut self.whole, key, 1024))?;
        self.len -= 1;
        if !self.parts.is_empty() && self.len < SPREAD_MIN {
            self.whole.extend(std::mem::take(&mut self.parts).into_iter().flatten());
        }
        Some(old)
    }

    /// All entries, in no order.
    pub fn iter(&self) -> impl Iterator<Item = (&K, &V)> {
        self.parts.iter().chain([&self.whole]).flatten()
    }

    /// All entries, to be kept or freed one by one.
    pub fn into_entries(self) -> impl Iterator<Item = (K, V)> {
        self.parts.into_iter().chain([self.whole]).flatten()
    }

    /// The part that a key belongs to; none of a small map.
    fn part<Q: Hash + ?Sized>(&self, key: &Q) -> Option<usize> {
        (!self.parts.is_empty()).then(|| self.chooser.hash_one(key) as usize % PARTS)
    }

    /// Number of entries for which there are places.
    #[cfg(test)]
    pub fn capacity(&self) -> usize {
        self.parts.iter().chain([&self.whole]).map(HashMap::capacity).sum()
    }
}

/// Removes the value of a key, and gives back places that are empty since, if there are more than `small`.
fn remove_from<K, V, Q>(map: &mut HashMap<K, V>, key: &Q, small: usize) -> Option<V>
where
    K: Hash + Eq + Borrow<Q>,
    Q: Hash + Eq + ?Sized,
{
    let old = map.remove(key)?;
    if let Some(places) = fewer_places(map.len(), map.capacity(), small) {
        map.shrink_to(places);
    }
    Some(old)
}

/// New capacity of a map that was large: a million routes leave 100 MB of empty places behind. They are given back when
/// seven of eight are empty, and twice the needed places stay, so the cost per removal is negligible.
fn fewer_places(len: usize, capacity: usize, small: usize) -> Option<usize> {
    (capacity > small && len < capacity / 8).then_some(len * 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_are_found_in_maps_of_every_size_and_no_part_is_large() {
        let mut map = Spread::default();
        assert_eq!(map.remove(&7), None);
        assert!(map.is_empty() && map.get(&7).is_none());
        let all = 100_000;
        for number in 0..all {
            assert_eq!(map.insert(number, number + 1), None);
        }
        assert_eq!((map.insert(5, 0), map.len()), (Some(6), all));
        assert!((0..all).all(|number| map.contains_key(&number)));
        // Entries that move at once, where a part grows.
        let largest = map.parts.iter().map(HashMap::len).max();
        assert!(largest.is_some_and(|largest| largest < 4 * all / PARTS), "{largest:?}");
        map.get_mut(&9).into_iter().for_each(|value| *value = 1);
        assert_eq!((map.get(&9), map.iter().count()), (Some(&1), all));
        for number in 10..all {
            assert!(map.remove(&number).is_some());
        }
        assert_eq!((map.len(), map.parts.len()), (10, 0), "a small one is whole again");
        // Those of the 511 entries that it had when it became whole.
        assert!(map.capacity() < 1024, "{} places", map.capacity());
        assert!((0..10).all(|number| map.contains_key(&number)) && !map.contains_key(&10));
    }
}
