//! The writer of a table: it keeps the words in step with the routes.
//!
//! Every word has one owner: the route that is the longest for all the addresses of the word. So a route is painted over the
//! words that no longer route owns, and a new route gets words of its own before it is painted.
use super::blocks::{Blocks, Refused};
use super::config::LpmConfig;
use super::error::LpmError;
use super::root::RootPages;
use super::shared::Shared;
use super::{BLOCK, NEAR, Trie, TrieMemory};
use crate::address::Address;
use crate::epoch::Domain;
use crate::routes::Routes;
use crate::simulation::seam;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// The only writer of a table, on the control thread. Host bits of the prefixes given to it are ignored.
pub struct TrieWriter<T: Trie> {
    shared: Arc<Shared<T>>,
    routes: Routes<T::Address>,
    blocks: Blocks<T::Cell>,
    root: RootPages,
    hosts: T::Hosts,
}

impl<T: Trie> TrieWriter<T> {
    const BLOCK_BYTES: usize = T::BLOCK_CELLS * size_of::<T::Cell>();

    /// An empty table in the readers' domain.
    pub fn new(domain: &Domain, config: LpmConfig) -> Result<TrieWriter<T>, LpmError> {
        let size = config.size(T::SMALL, T::LARGE, T::BLOCKS_MAX);
        let refused = |source| LpmError::Memory {
            bytes: (4 << size.root_bits) + (size.blocks_max as usize + 1) * Self::BLOCK_BYTES,
            source,
        };
        let words = TrieMemory::new(size, T::BLOCK_CELLS).map_err(refused)?;
        Ok(TrieWriter {
            hosts: T::hosts(domain, size.blocks_max as usize).map_err(refused)?,
            routes: Routes::new(),
            blocks: Blocks::new(domain, &words.blocks, T::BLOCK_CELLS, T::NODES, size.blocks_max),
            root: RootPages::new(&words.root, size.root_bits),
            shared: Arc::new(Shared::new(T::new(words, size.root_bits), domain)),
        })
    }

    /// A reader's handle.
    pub fn reader(&self) -> T::Reader {
        T::reader(Arc::clone(&self.shared), &self.hosts)
    }

    /// Adds a route or changes its leaf; returns the leaf it had. After an error no route has changed.
    pub fn insert(&mut self, prefix: T::Address, length: u8, leaf: u32) -> Result<Option<u32>, LpmError> {
        let name = prefix.ip();
        if length > T::Address::BITS {
            return Err(LpmError::Length { prefix: name, length });
        }
        if leaf == 0 || leaf & BLOCK != 0 {
            return Err(LpmError::Leaf { prefix: name, length, leaf });
        }
        self.shared.domain().flush();
        let prefix = prefix.range(length).0;
        let old = self.routes.insert(prefix, length, leaf);
        if old.is_none() {
            let table = self.shared.table();
            if let Err(refused) = table.make_room(&mut self.blocks, prefix, length) {
                self.routes.remove(prefix, length);
                // Half a path is of no use, and nobody would find it to take it back.
                table.collapse(&mut self.blocks, &self.routes, prefix, length);
                self.root.untouched(&table.words().root, prefix);
                return Err(match refused {
                    Refused::Memory(source) => LpmError::Memory { bytes: Self::BLOCK_BYTES, source },
                    Refused::Full => LpmError::Full { prefix: name, length, blocks_max: self.blocks.max() },
                });
            }
            self.root.enter(prefix, length);
        }
        self.paint(prefix, length, leaf);
        if length == T::Address::BITS {
            T::note_host(&mut self.hosts, prefix, Some(leaf));
        }
        if old.is_none() {
            self.note_size();
        }
        Ok(old)
    }

    /// Changes the leaf of a route that is there, and returns the one it had. None, and nothing changed, if it is not there
    /// or `leaf` is none. It needs no room, so a full table does not refuse it.
    pub fn replace(&mut self, prefix: T::Address, length: u8, leaf: u32) -> Option<u32> {
        self.get(prefix, length)?;
        self.insert(prefix, length, leaf).ok()?
    }

    /// Removes a route and returns its leaf. What it covered falls to the next shorter route.
    pub fn remove(&mut self, prefix: T::Address, length: u8) -> Option<u32> {
        let prefix = prefix.range(length).0;
        let old = self.routes.remove(prefix, length)?;
        self.shared.domain().flush();
        if length == T::Address::BITS {
            T::note_host(&mut self.hosts, prefix, None);
        }
        // The default route has no words of its own: zero stands for it.
        let shorter = self.routes.longest_match(prefix, length).filter(|&(_, length, _)| length > 0);
        self.paint(prefix, length, shorter.map_or(0, |(_, _, leaf)| leaf));
        let table = self.shared.table();
        table.leave(&mut self.blocks, &self.routes, prefix, length);
        self.root.leave(&table.words().root, prefix, length);
        self.note_size();
        Some(old)
    }

    /// The leaf of exactly this route.
    pub fn get(&self, prefix: T::Address, length: u8) -> Option<u32> {
        self.routes.get(prefix.range(length).0, length)
    }

    /// The longest route that contains the address: prefix, length, leaf.
    pub fn longest_match(&self, address: T::Address) -> Option<(T::Address, u8, u32)> {
        self.routes.longest_match(address, T::Address::BITS)
    }

    /// The leaf that a reader finds now; zero if there is none.
    pub fn lookup(&self, address: T::Address) -> u32 {
        self.shared.table().lookup(address)
    }

    /// All routes by prefix, shorter first: prefix, length, leaf.
    pub fn iter(&self) -> impl Iterator<Item = (T::Address, u8, u32)> + '_ {
        self.routes.iter()
    }

    /// Number of routes.
    pub fn len(&self) -> usize {
        self.routes.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.routes.is_empty()
    }

    /// Number of blocks that nodes use, at most [`LpmConfig::with_blocks_max`].
    pub fn blocks_in_use(&self) -> u32 {
        self.blocks.in_use()
    }

    /// The table's memory: the pages of the root and of nodes that routes touch, the table of hosts, and the ordered set of
    /// routes. An upper bound, as where the system has no huge pages it gives small ones.
    pub fn memory_bytes(&self) -> usize {
        self.pages_bytes() + T::hosts_bytes(&self.hosts) + self.routes.memory_bytes()
    }

    /// Bytes of the pages that routes touch.
    fn pages_bytes(&self) -> usize {
        self.root.memory_bytes() + self.blocks.memory_bytes()
    }

    /// Tells readers how best to look up among so many routes.
    fn note_size(&self) {
        let table = self.shared.table();
        table.words().is_far.store(self.routes.len() > NEAR, Ordering::Relaxed);
        table.note_size(&self.hosts, self.routes.len());
    }

    /// Gives a leaf to all addresses of a prefix that no longer route claims.
    fn paint(&self, prefix: T::Address, length: u8, leaf: u32) {
        let table = self.shared.table();
        if length == 0 {
            return table.words().default.store(leaf, Ordering::Release);
        }
        for (first, last) in self.routes.gaps(prefix, length) {
            seam("a route half painted");
            table.fill(first, last, leaf);
        }
    }
}

#[cfg(all(test, not(loom), not(miri), target_os = "linux"))]
mod tests {
    use super::*;
    use crate::epoch::Guard;
    use crate::{Lpm, Lpm6};

    /// Routes come and go, and so do `full` bytes at least of pages.
    fn memory_is_given_back<T: Trie>(
        lookup: impl Fn(&T::Reader, Guard<'_>, T::Address) -> u32,
        routes: u32,
        prefix: impl Fn(u32) -> (T::Address, u8),
        full_min: usize,
    ) {
        for config in [LpmConfig::small(), LpmConfig::large()] {
            let domain = Domain::new();
            let mut reader = domain.register();
            let mut writer = TrieWriter::<T>::new(&domain, config).expect("a table");
            let insert = |writer: &mut TrieWriter<T>, (prefix, length), leaf| writer.insert(prefix, length, leaf).ok();
            let root = |writer: &TrieWriter<T>| writer.shared.table().words().root.resident();
            let blocks = |writer: &TrieWriter<T>| writer.shared.table().words().blocks.resident();
            let page = writer.shared.table().words().root.page_bytes();
            let default = prefix(0).0.range(0).0;
            assert!(writer.insert(default, 0, 9).is_ok());
            assert!(writer.pages_bytes() <= 2 * page, "{}", writer.pages_bytes());
            (0..routes).for_each(|n| assert_eq!(insert(&mut writer, prefix(n), 1 + n), Some(None)));
            let (full, full_blocks) = (root(&writer) + blocks(&writer), blocks(&writer));
            assert!(full > full_min, "{full}");
            assert!(writer.pages_bytes() >= full, "{} are reported of {full}", writer.pages_bytes());
            // A worker that reads meanwhile holds the blocks back, and then no longer.
            let (lpm, guard) = (writer.reader(), reader.guard());
            (0..routes).for_each(|n| assert!(writer.remove(prefix(n).0, prefix(n).1).is_some()));
            assert_eq!(writer.blocks_in_use(), 0);
            assert!(blocks(&writer) > full_blocks / 2);
            assert_eq!(lookup(&lpm, guard, prefix(7).0), 9, "the default route");
            reader.quiescent();
            domain.reclaim();
            // What stays: the page of block 0, and of root and blocks the last ones that became empty.
            let left = root(&writer) + blocks(&writer);
            assert!(left <= 3 * page, "{left} of {full}");
            assert!(writer.pages_bytes() <= 3 * page, "{}", writer.pages_bytes());
            assert_eq!(insert(&mut writer, prefix(7), 5), Some(None));
            assert_eq!((writer.lookup(prefix(7).0), writer.lookup(prefix(8).0)), (5, 9));
        }
    }

    #[test]
    fn memory_is_given_back_when_routes_have_gone() {
        // Over all of the root, with a block or two for each.
        let prefix = |n: u32| (n.wrapping_mul(0x9e37_79b1), 30);
        memory_is_given_back::<crate::lpm::Table>(Lpm::lookup, 20_000, prefix, 20_000 * 1024);
    }

    #[test]
    fn memory_is_given_back_when_routes_of_ipv6_have_gone() {
        // Over all of unicast space, nodes of all sizes among them.
        let prefix = |n: u32| {
            let network = 1 << 125 | u128::from(n / 256 * 256).wrapping_mul(0x9e37_79b9_7f4a_7c15) << 61 >> 3;
            let host = u128::from(n % 256);
            if host < 128 { (network + host, 128) } else { ((network + (host << 70)).range(58).0, 58) }
        };
        memory_is_given_back::<crate::lpm6::Table>(Lpm6::lookup, 100_000, prefix, 20 * 100_000);
    }
}
