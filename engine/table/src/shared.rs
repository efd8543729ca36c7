//! A map whose copies share what was not changed in them.
//!
//! For maps that control publishes as a part of a snapshot: a change copies one bucket, the page that it is in and the list of
//! pages, however many entries there are, and workers look a key up in the map as they find it. Its buckets are made anew, all
//! of them, only when there are twice as many entries.

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hash};
use std::sync::Arc;

use crate::paged::{PAGE, Paged};

/// Entries of a bucket, on average, at most.
const FULL: usize = 4;

/// The map.
#[derive(Clone, Debug)]
pub struct SharedMap<K, V> {
    /// A power of two, in whole pages.
    buckets: Paged<Arc<[(K, V)]>>,
    len: usize,
    /// Random key of the hash, so that clients cannot choose keys that collide.
    secret: RandomState,
}

impl<K, V> Default for SharedMap<K, V> {
    fn default() -> SharedMap<K, V> {
        SharedMap { buckets: Paged::default(), len: 0, secret: RandomState::new() }
    }
}

impl<K: Hash + Eq, V> SharedMap<K, V> {
    /// Entries there are.
    pub fn len(&self) -> usize {
        self.len
    }
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }
    /// The value of a key.
    pub fn get(&self, key: &K) -> Option<&V> {
        if self.len == 0 {
            return None;
        }
        let bucket = self.buckets.get(self.place(key))?;
        bucket.iter().find(|(other, _)| other == key).map(|(_, value)| value)
    }
    /// The bucket of a key.
    fn place(&self, key: &K) -> usize {
        self.secret.hash_one(key) as usize & (self.buckets.capacity().max(PAGE) - 1)
    }
}

impl<K: Hash + Eq + Clone, V: Clone> SharedMap<K, V> {
    /// Gives a key a value; returns that which it had.
    pub fn insert(&mut self, key: K, value: V) -> Option<V> {
        let place = self.place(&key);
        let bucket = self.buckets.get_mut(place);
        let old = bucket.iter().find(|(other, _)| *other == key).map(|(_, value)| value.clone());
        let others = bucket.iter().filter(|(other, _)| *other != key).cloned();
        *bucket = others.chain([(key.clone(), value)]).collect();
        if old.is_none() {
            self.len += 1;
            if self.len > FULL * self.buckets.capacity() {
                self.resize(2 * self.buckets.capacity());
            }
        }
        old
    }
    /// Takes a key away; returns the value that it had.
    pub fn remove(&mut self, key: &K) -> Option<V> {
        let value = self.get(key)?.clone();
        let place = self.place(key);
        let bucket = self.buckets.get_mut(place);
        *bucket = bucket.iter().filter(|(other, _)| other != key).cloned().collect();
        self.len -= 1;
        let capacity = self.buckets.capacity();
        if capacity > PAGE && self.len < FULL * capacity / 4 {
            self.resize(capacity / 2);
        }
        Some(value)
    }
    /// Makes the buckets anew, so many of them: whole pages.
    fn resize(&mut self, capacity: usize) {
        let mut made: Vec<Vec<(K, V)>> = vec![vec![]; capacity];
        for (key, value) in self.buckets.iter().flat_map(|bucket| bucket.iter()) {
            let place = self.secret.hash_one(key) as usize & (capacity - 1);
            made[place].push((key.clone(), value.clone()));
        }
        self.buckets = Paged::default();
        made.into_iter().enumerate().for_each(|(place, bucket)| *self.buckets.get_mut(place) = bucket.into());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::HashMap;

    proptest! {
        /// As a map does; and a copy keeps its entries whatever happens to the other.
        #[test]
        fn it_is_a_map_and_its_copies_are_maps_of_their_own(
            changes in prop::collection::vec((0u16..3000, any::<Option<u8>>()), 1..4000),
            copied_at in 0usize..4000,
        ) {
            let (mut map, mut naive) = (SharedMap::default(), HashMap::new());
            let mut copies = None;
            for (n, (key, value)) in changes.into_iter().enumerate() {
                if n == copied_at {
                    copies = Some((map.clone(), naive.clone()));
                }
                match value {
                    Some(value) => prop_assert_eq!(map.insert(key, value), naive.insert(key, value)),
                    None => prop_assert_eq!(map.remove(&key), naive.remove(&key)),
                }
            }
            for (map, naive) in copies.into_iter().chain([(map, naive)]) {
                prop_assert_eq!((map.len(), map.is_empty()), (naive.len(), naive.is_empty()));
                for key in 0..3000 {
                    prop_assert_eq!(map.get(&key), naive.get(&key));
                }
            }
        }
    }

    #[test]
    fn a_change_copies_one_page_however_many_there_are() {
        let mut map = SharedMap::<u32, u32>::default();
        (0..100_000).for_each(|key| _ = map.insert(key, key));
        let before = map.clone();
        assert_eq!(map.insert(7, 8), Some(7));
        assert_eq!((map.get(&7), before.get(&7)), (Some(&8), Some(&7)));
        let pages = map.buckets.capacity() / PAGE;
        let page = |map: &SharedMap<u32, u32>, n: usize| map.buckets.page(n * PAGE).map(|page| page.as_ptr());
        assert!(pages > 50);
        assert_eq!((0..pages).filter(|n| page(&map, *n) != page(&before, *n)).count(), 1);
        // What became small gives its pages back.
        (0..100_000).for_each(|key| _ = map.remove(&key));
        assert_eq!((map.len(), map.buckets.capacity(), before.len()), (0, PAGE, 100_000));
    }
}
