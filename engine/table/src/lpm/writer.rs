//! The writer of an LPM table: it keeps the words in step with the routes.
use super::blocks::Blocks;
use super::root::RootPages;
use super::{BLOCK, Lpm, LpmConfig, LpmError, NEAR, Shared, Table};
use crate::epoch::Domain;
use crate::routes::{Address, Routes};
use crate::simulation::seam;
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

/// The only writer of a table, on the control thread. Host bits of the prefixes given to it are ignored.
pub struct LpmWriter {
    shared: Arc<Shared<Table>>,
    routes: Routes<u32>,
    blocks: Blocks<AtomicU32>,
    root: RootPages,
}

/// A level of the tree: the words that an address is looked up in, and how far to shift it for its index.
#[derive(Clone, Copy)]
struct Level<'a> {
    words: &'a [AtomicU32],
    shift: u32,
}

impl<'a> Level<'a> {
    fn root(table: &'a Table) -> Level<'a> {
        Level { words: table.root.slice(0, 1 << (32 - table.root_shift)), shift: table.root_shift }
    }

    fn block(self, table: &'a Table, block: u32) -> Level<'a> {
        Level { words: table.blocks.slice(block as usize * 256, 256), shift: self.shift - 8 }
    }

    /// The word for an address. The number of words is a power of two.
    fn word(self, address: u32) -> &'a AtomicU32 {
        &self.words[(address >> self.shift) as usize & (self.words.len() - 1)]
    }

    /// Down to the block below the word for this address, if there is one.
    fn below(self, table: &'a Table, address: u32) -> Option<(u32, Level<'a>)> {
        let word = self.word(address).load(Ordering::Relaxed);
        (word & BLOCK != 0).then(|| (word & !BLOCK, self.block(table, word & !BLOCK)))
    }

    /// The longest prefix length that whole words of this level can express.
    fn length_max(self) -> u8 {
        (32 - self.shift) as u8
    }

    /// Sets the words for `first..=last`, and those in the blocks below.
    fn fill(self, table: &Table, first: u32, last: u32, leaf: u32) {
        for index in first >> self.shift..=last >> self.shift {
            let (start, end) = (index << self.shift).range(self.length_max());
            match self.below(table, start) {
                Some((_, level)) => level.fill(table, first.max(start), last.min(end), leaf),
                None => self.word(start).store(leaf, Ordering::Release),
            }
        }
    }
}

impl LpmWriter {
    /// An empty table in the readers' domain.
    pub fn new(domain: &Domain, config: LpmConfig) -> Result<LpmWriter, LpmError> {
        let table = Table::new(config).map_err(|source| LpmError::Memory {
            bytes: (4 << config.root_bits) + config.blocks_max as usize * 1024,
            source,
        })?;
        Ok(LpmWriter {
            routes: Routes::new(),
            blocks: Blocks::new(domain, &table.blocks, 256, &[1], config.blocks_max),
            root: RootPages::new(&table.root, config.root_bits),
            shared: Arc::new(Shared::new(table, domain)),
        })
    }

    /// A reader's handle.
    pub fn reader(&self) -> Lpm {
        Lpm(Arc::clone(&self.shared))
    }

    /// Adds a route or changes its leaf; returns the leaf it had. After an error nothing has changed.
    pub fn insert(&mut self, prefix: u32, length: u8, leaf: u32) -> Result<Option<u32>, LpmError> {
        let name = Ipv4Addr::from(prefix).into();
        if length > 32 {
            return Err(LpmError::Length { prefix: name, length });
        }
        if leaf == 0 || leaf & BLOCK != 0 {
            return Err(LpmError::Leaf { prefix: name, length, leaf });
        }
        let prefix = prefix.range(length).0;
        self.make_room(prefix, length)?;
        let old = self.routes.insert(prefix, length, leaf);
        if old.is_none() {
            self.root.enter(prefix, length);
            self.table().is_far.store(self.routes.len() > NEAR, Ordering::Relaxed);
        }
        self.paint(prefix, length, leaf);
        Ok(old)
    }

    /// Changes the leaf of a route that is there, and returns the one it had. None, and nothing changed, if it is not there
    /// or `leaf` is none. It needs no room, so a full table does not refuse it.
    pub fn replace(&mut self, prefix: u32, length: u8, leaf: u32) -> Option<u32> {
        let prefix = prefix.range(length).0;
        if leaf == 0 || leaf & BLOCK != 0 || self.routes.get(prefix, length).is_none() {
            return None;
        }
        let old = self.routes.insert(prefix, length, leaf);
        self.paint(prefix, length, leaf);
        old
    }

    /// Removes a route and returns its leaf. What it covered falls to the next shorter route.
    pub fn remove(&mut self, prefix: u32, length: u8) -> Option<u32> {
        let prefix = prefix.range(length).0;
        let old = self.routes.remove(prefix, length)?;
        // The default route has no words of its own: zero stands for it.
        let shorter = self.routes.longest_match(prefix, length).filter(|&(_, length, _)| length > 0);
        self.paint(prefix, length, shorter.map_or(0, |(_, _, leaf)| leaf));
        self.collapse(prefix, length);
        self.root.leave(&self.shared.table().root, prefix, length);
        self.table().is_far.store(self.routes.len() > NEAR, Ordering::Relaxed);
        Some(old)
    }

    /// The leaf of exactly this route.
    pub fn get(&self, prefix: u32, length: u8) -> Option<u32> {
        self.routes.get(prefix.range(length).0, length)
    }

    /// The longest route that contains the address: prefix, length, leaf.
    pub fn longest_match(&self, address: u32) -> Option<(u32, u8, u32)> {
        self.routes.longest_match(address, 32)
    }

    /// The leaf that a reader finds now; zero if there is none.
    pub fn lookup(&self, address: u32) -> u32 {
        self.table().view().lookup(address)
    }

    /// All routes by prefix, shorter first: prefix, length, leaf.
    pub fn iter(&self) -> impl Iterator<Item = (u32, u8, u32)> + '_ {
        self.routes.iter()
    }

    /// How many routes there are.
    pub fn len(&self) -> usize {
        self.routes.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.routes.is_empty()
    }

    /// How many blocks routes use, of at most [`LpmConfig::with_blocks_max`].
    pub fn blocks_in_use(&self) -> u32 {
        self.blocks.in_use()
    }

    /// The table's memory: the pages of the root and of blocks that routes touch, and the ordered set of routes. An upper
    /// bound, as where the system has no huge pages it gives small ones.
    pub fn memory_bytes(&self) -> usize {
        self.root.memory_bytes() + self.blocks.memory_bytes() + self.routes.memory_bytes()
    }

    fn table(&self) -> &Table {
        self.shared.table()
    }

    /// Splits words until whole words stand for the prefix. Readers notice nothing: a new block says
    /// what the word said that it replaces.
    fn make_room(&mut self, prefix: u32, length: u8) -> Result<(), LpmError> {
        let table = self.shared.table();
        let mut level = Level::root(table);
        while level.length_max() < length {
            level = match level.below(table, prefix) {
                Some((_, below)) => below,
                None => {
                    let block = match self.blocks.allocate(0) {
                        Ok(Some(block)) => block,
                        refused => {
                            // Half a path is of no use, and nobody would find it to take it back.
                            self.collapse(prefix, length);
                            self.root.untouched(&self.shared.table().root, prefix);
                            return Err(match refused {
                                Err(source) => LpmError::Memory { bytes: 1024, source },
                                _ => {
                                    let (prefix, blocks_max) = (Ipv4Addr::from(prefix).into(), self.blocks.max());
                                    LpmError::Full { prefix, length, blocks_max }
                                }
                            });
                        }
                    };
                    let (word, below) = (level.word(prefix), level.block(table, block));
                    let leaf = word.load(Ordering::Relaxed);
                    for word in below.words {
                        word.store(leaf, Ordering::Relaxed);
                    }
                    seam("a block ready, not linked yet");
                    word.store(BLOCK | block, Ordering::Release);
                    below
                }
            }
        }
        Ok(())
    }

    /// Gives a leaf to all addresses of a prefix that no longer route claims.
    fn paint(&self, prefix: u32, length: u8, leaf: u32) {
        let table = self.table();
        if length == 0 {
            return table.default.store(leaf, Ordering::Release);
        }
        let root = Level::root(table);
        for (first, last) in self.routes.gaps(prefix, length) {
            seam("a route half painted");
            root.fill(table, first, last, leaf);
        }
    }

    /// Unlinks the blocks around a prefix in which no route is left that needs them.
    fn collapse(&mut self, prefix: u32, length: u8) {
        let table = self.shared.table();
        let mut path = Vec::new();
        let mut level = Level::root(table);
        while level.length_max() < length
            && let Some((block, below)) = level.below(table, prefix)
        {
            path.push((level, block, below));
            level = below;
        }
        for (level, block, below) in path.into_iter().rev() {
            let length = level.length_max();
            if self.routes.has_longer(prefix.range(length).0, length) {
                break;
            }
            // All its words are equal now: any of them can stand for the block.
            level.word(prefix).store(below.word(prefix).load(Ordering::Relaxed), Ordering::Release);
            seam("a block unlinked, not retired yet");
            self.blocks.unlinked(block);
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[cfg(all(target_os = "linux", not(miri)))]
    #[test]
    fn memory_is_given_back_when_routes_have_gone() {
        for config in [LpmConfig::small(), LpmConfig::large()] {
            let domain = Domain::new();
            let mut reader = domain.register();
            let mut writer = LpmWriter::new(&domain, config).expect("a table");
            let resident = |writer: &LpmWriter| writer.table().root.resident() + writer.table().blocks.resident();
            let tables = |writer: &LpmWriter| writer.root.memory_bytes() + writer.blocks.memory_bytes();
            let page = writer.table().root.page_bytes();
            assert!(writer.insert(0, 0, 9).is_ok());
            let nothing = tables(&writer);
            assert!(nothing <= 2 * page, "{nothing}");
            // Over all of the root, with a block or two for each.
            let prefix = |i: u32| i.wrapping_mul(0x9e37_79b1);
            (0..20_000).for_each(|i| assert!(writer.insert(prefix(i), 30, 1 + i).is_ok()));
            let full = resident(&writer);
            assert!(full > 20_000 * 1024, "{full}");
            assert!(tables(&writer) >= full, "{} are reported of {full}", tables(&writer));
            // A worker that reads meanwhile holds the blocks back, and then no longer.
            let lpm = writer.reader();
            let view = lpm.view(reader.guard());
            (0..20_000).for_each(|i| assert!(writer.remove(prefix(i), 30).is_some()));
            assert!(resident(&writer) > 20_000 * 1024 / 2);
            assert_eq!(view.lookup(prefix(7)), 9, "the default route");
            reader.quiescent();
            domain.reclaim();
            // What stays: the page of block 0, and of root and blocks the last ones that became empty.
            assert!(resident(&writer) <= 3 * page, "{} of {full}", resident(&writer));
            assert!(tables(&writer) <= 3 * page, "{}", tables(&writer));
            assert!(writer.insert(prefix(7), 30, 5).is_ok());
            assert_eq!((writer.lookup(prefix(7)), writer.lookup(prefix(8))), (5, 9));
        }
    }

    #[test]
    fn a_path_for_which_memory_ends_half_way_is_given_back() {
        let mut writer = LpmWriter::new(&Domain::new(), LpmConfig::small()).expect("a table");
        // Two megabytes of blocks are there, one of which is nobody's; each of these routes needs two.
        (0..1023).for_each(|i| assert!(writer.insert(i << 16, 32, 7).is_ok()));
        assert_eq!(writer.blocks_in_use(), 2046);
        writer.table().blocks.given_max.store(2 << 20, Ordering::Relaxed);
        for _ in 0..3 {
            let error = writer.insert(2000 << 16, 32, 7).expect_err("there is room for one block of two");
            assert!(matches!(error, LpmError::Memory { .. }), "{error}");
            assert_eq!((writer.blocks_in_use(), writer.get(2000 << 16, 32), writer.len()), (2046, None, 1023));
        }
        writer.table().blocks.given_max.store(usize::MAX, Ordering::Relaxed);
        assert!(writer.insert(2000 << 16, 32, 7).is_ok());
        assert_eq!((writer.blocks_in_use(), writer.lookup(2000 << 16)), (2048, 7));
    }
}
