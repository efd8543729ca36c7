//! Finds entries by their names.
//!
//! The names themselves are the directory's. PERF: with a hundred thousand interfaces there are two million entries; a map of names
//! would have each in another place of memory, and look for it there whenever it grows.

use std::hash::BuildHasher;

use hashbrown::HashTable;

/// The hash of a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Hash(u64);

/// Numbers of entries by their names' hashes.
#[derive(Default)]
pub(crate) struct Index {
    table: HashTable<(u64, u32)>,
    hasher: foldhash::fast::RandomState,
}

impl Index {
    /// The hash of a name.
    pub fn hash(&self, name: &str) -> Hash {
        Hash(self.hasher.hash_one(name))
    }
    /// The entry with a name of this hash that `has_it` says yes to.
    pub fn find(&self, hash: Hash, has_it: impl Fn(u32) -> bool) -> Option<u32> {
        self.table.find(hash.0, |(other, id)| *other == hash.0 && has_it(*id)).map(|(_, id)| *id)
    }
    /// Adds an entry whose name no other entry has.
    pub fn insert(&mut self, hash: Hash, id: u32) {
        self.table.insert_unique(hash.0, (hash.0, id), |(hash, _)| *hash);
    }
    /// Takes an entry away.
    pub fn remove(&mut self, hash: Hash, id: u32) {
        if let Ok(found) = self.table.find_entry(hash.0, |(other, found)| *other == hash.0 && *found == id) {
            found.remove();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_are_told_apart_by_their_names_whatever_the_hashes_are() {
        let names: Vec<String> = (0..10_000).map(|n| format!("/if/{n}")).collect();
        let mut index = Index::default();
        let found = |index: &Index, name: &str| index.find(index.hash(name), |id| names[id as usize] == name);
        for (id, name) in (0..).zip(&names) {
            assert_eq!(found(&index, name), None);
            index.insert(index.hash(name), id);
        }
        for (id, name) in (0..).zip(&names).step_by(3) {
            // Another entry of this hash stays.
            index.remove(index.hash(name), id + 1);
            assert_eq!(found(&index, name), Some(id));
            index.remove(index.hash(name), id);
        }
        for (id, name) in (0..).zip(&names) {
            assert_eq!(found(&index, name), Some(id).filter(|id| id % 3 > 0));
        }
        let same = index.hash("/if/1");
        index.insert(same, 77);
        let both = [1, 77].map(|wanted| index.find(same, |id| id == wanted));
        assert_eq!((both, index.find(same, |_| false)), ([Some(1), Some(77)], None));
    }
}
