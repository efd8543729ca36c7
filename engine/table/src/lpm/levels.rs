//! The levels of a table for IPv4: the root, and blocks of 256 words.
use super::{Lpm, Table};
use crate::address::Address;
use crate::epoch::Domain;
use crate::routes::Routes;
use crate::simulation::seam;
use crate::trie::{BLOCK, Blocks, Refused, Shared, Size, Trie, TrieMemory};
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

/// A level of the tree: the words that an address is looked up in, and how far to shift it for its index.
#[derive(Clone, Copy)]
struct Level<'a> {
    words: &'a [AtomicU32],
    shift: u32,
}

impl<'a> Level<'a> {
    fn root(table: &'a Table) -> Level<'a> {
        Level { words: table.words.root.slice(0, 1 << (32 - table.root_shift)), shift: table.root_shift }
    }

    fn block(self, table: &'a Table, block: u32) -> Level<'a> {
        Level { words: table.words.blocks.slice(block as usize * 256, 256), shift: self.shift - 8 }
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

impl Trie for Table {
    type Address = u32;
    type Cell = AtomicU32;
    type Reader = Lpm;
    type Hosts = ();

    const LARGE: Size = Size { root_bits: 24, blocks_max: 1 << 21, huge_pages: true };
    const SMALL: Size = Size { root_bits: 16, blocks_max: 1 << 16, huge_pages: false };
    // Enough for a block in each /24 and each /16.
    const BLOCKS_MAX: u32 = 1 << 25;
    const BLOCK_CELLS: usize = 256;
    const NODES: &'static [u32] = &[1];

    fn new(words: TrieMemory<AtomicU32>, root_bits: u8) -> Table {
        Table { words, root_shift: 32 - u32::from(root_bits) }
    }

    fn words(&self) -> &TrieMemory<AtomicU32> {
        &self.words
    }

    fn reader(shared: Arc<Shared<Table>>, (): &()) -> Lpm {
        Lpm(shared)
    }

    fn lookup(&self, address: u32) -> u32 {
        self.view().lookup(address)
    }

    /// Splits words until whole words stand for the prefix.
    fn make_room(&self, blocks: &mut Blocks<AtomicU32>, prefix: u32, length: u8) -> Result<(), Refused> {
        let mut level = Level::root(self);
        while level.length_max() < length {
            level = match level.below(self, prefix) {
                Some((_, below)) => below,
                None => {
                    let block = blocks.allocate(0)?;
                    let (word, below) = (level.word(prefix), level.block(self, block));
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

    fn fill(&self, first: u32, last: u32, leaf: u32) {
        Level::root(self).fill(self, first, last, leaf);
    }

    fn collapse(&self, blocks: &mut Blocks<AtomicU32>, routes: &Routes<u32>, prefix: u32, length: u8) {
        let mut path = Vec::new();
        let mut level = Level::root(self);
        while level.length_max() < length
            && let Some((block, below)) = level.below(self, prefix)
        {
            path.push((level, block, below));
            level = below;
        }
        for (level, block, below) in path.into_iter().rev() {
            let length = level.length_max();
            if routes.has_longer(prefix.range(length).0, length) {
                break;
            }
            // All its words are equal now: any of them can stand for the block.
            level.word(prefix).store(below.word(prefix).load(Ordering::Relaxed), Ordering::Release);
            seam("a block unlinked, not retired yet");
            blocks.unlinked(block);
        }
    }

    fn hosts(_: &Domain, _: usize) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::{LpmConfig, LpmError, LpmWriter};

    #[test]
    fn a_path_for_which_memory_ends_half_way_is_given_back() {
        let mut writer = LpmWriter::new(&Domain::new(), LpmConfig::small()).expect("a table");
        // Two megabytes of blocks are there, one of which is nobody's; each of these routes needs two.
        (0..1023).for_each(|i| assert!(writer.insert(i << 16, 32, 7).is_ok()));
        assert_eq!(writer.blocks_in_use(), 2046);
        writer.reader().0.table().words.blocks.given_max.store(2 << 20, Ordering::Relaxed);
        for _ in 0..3 {
            let error = writer.insert(2000 << 16, 32, 7).expect_err("there is room for one block of two");
            assert!(matches!(error, LpmError::Memory { .. }), "{error}");
            assert_eq!((writer.blocks_in_use(), writer.get(2000 << 16, 32), writer.len()), (2046, None, 1023));
        }
        writer.reader().0.table().words.blocks.given_max.store(usize::MAX, Ordering::Relaxed);
        assert!(writer.insert(2000 << 16, 32, 7).is_ok());
        assert_eq!((writer.blocks_in_use(), writer.lookup(2000 << 16)), (2048, 7));
    }
}
