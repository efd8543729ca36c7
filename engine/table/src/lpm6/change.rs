//! Creation, growth and removal of nodes. A replaced node gives the same answers, so readers are not affected.
use super::node::{Node, Slot};
use super::shape::{self, STRIDE};
use super::{Lpm6, Table};
use crate::address::Address;
use crate::epoch::Domain;
use crate::hash::{ExactWriter, Keys128};
use crate::routes::Routes;
use crate::simulation::seam;
use crate::trie::{BLOCK, Blocks, NEAR, Refused, Shared, Size, Trie, TrieMemory};
use std::hash::{BuildHasher, RandomState};
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Which share of the routes are hosts, at least, where these are asked for first.
const HOSTS_SHARE: usize = 4;

impl Trie for Table {
    type Address = u128;
    type Cell = AtomicU64;
    type Reader = Lpm6;
    type Hosts = ExactWriter<Keys128>;

    // Of the bits behind the root a multiple of three is left.
    const LARGE: Size = Size { root_bits: 23, blocks_max: 1 << 25, huge_pages: true };
    const SMALL: Size = Size { root_bits: 14, blocks_max: 1 << 18, huge_pages: false };
    const BLOCKS_MAX: u32 = 1 << 30;
    const BLOCK_CELLS: usize = shape::BLOCK_CELLS;
    const NODES: &'static [u32] = shape::SIZES;

    fn new(words: TrieMemory<AtomicU64>, root_bits: u8) -> Table {
        words.blocks.slice(2, 1)[0].store(shape::NOTHING.into(), Ordering::Relaxed);
        Table { words, hosts_first: AtomicBool::new(false), root_bits }
    }

    fn words(&self) -> &TrieMemory<AtomicU64> {
        &self.words
    }

    fn reader(shared: Arc<Shared<Table>>, hosts: &ExactWriter<Keys128>) -> Lpm6 {
        Lpm6 { shared, hosts: hosts.reader() }
    }

    fn lookup(&self, address: u128) -> u32 {
        self.view().lookup(address)
    }

    fn make_room(&self, blocks: &mut Blocks<AtomicU64>, prefix: u128, length: u8) -> Result<(), Refused> {
        let mut slot = Slot::of_root(self, prefix);
        // The word that leads to the node that `slot` is in.
        let mut above = None;
        while slot.length(self) < length {
            let Some(node) = slot.below(self) else {
                let tail = self.allocate(blocks, prefix, shape::new(length, 0), slot.word(self))?;
                self.link(slot, tail);
                return Ok(());
            };
            let common = prefix.common_bits(node.key()).min(length).min(node.start());
            if common == node.start() && common < length && !node.is_tail() {
                above = Some(slot);
                slot = Slot::Word(node, node.index(prefix));
                continue;
            }
            // A node goes in between that holds whatever comes first: where the two part, or the end of one of them.
            let end = (common + 1).min(length).min(node.start());
            let start = self.root_bits + (end - 1 - self.root_bits) / STRIDE * STRIDE;
            self.split(blocks, slot, node, start)?;
            if let (Some(above), Slot::Word(parent, _)) = (above, slot)
                && parent.end() == start
                && self.widen(blocks, above, parent)
            {
                slot = above; // The next turn goes down again.
            }
        }
        if let Slot::Word(node, _) = slot {
            node.add_routes(1);
        }
        Ok(())
    }

    fn fill(&self, first: u128, last: u128, leaf: u32) {
        for index in first.leading(self.root_bits)..=last.leading(self.root_bits) {
            self.fill_below(Slot::Root(index), first, last, leaf);
        }
    }

    /// Takes back the nodes that decide nothing: those where no route ends, and at most one node is below.
    fn collapse(&self, blocks: &mut Blocks<AtomicU64>, _: &Routes<u128>, prefix: u128, _: u8) {
        let mut path = vec![];
        let mut slot = Slot::of_root(self, prefix);
        while let Some(node) = slot.below(self)
            && !node.is_tail()
            && node.index(prefix) < node.choices()
        {
            path.push((slot, node));
            slot = Slot::Word(node, node.index(prefix));
        }
        for (slot, node) in path.into_iter().rev() {
            let mut below = node.below();
            let (first, second) = (below.next(), below.next());
            // All words that are leaves have one owner now: any of them can stand for the node.
            let leaf = (0..node.choices()).map(|index| node.word(index)).find(|word| word & BLOCK == 0);
            let (Some(leaf), None, 0) = (leaf, second, node.routes()) else {
                break;
            };
            if let Some(word) = first {
                // If no address could fall back there so far, the word is not up to date.
                Node::at(self, word & !BLOCK).set_fallback(leaf);
            }
            slot.set(self, first.unwrap_or(leaf));
            seam("a node unlinked, not retired yet");
            blocks.unlinked(node.block);
        }
    }

    fn leave(&self, blocks: &mut Blocks<AtomicU64>, routes: &Routes<u128>, prefix: u128, length: u8) {
        let mut slot = Slot::of_root(self, prefix);
        while slot.length(self) < length
            && let Some(node) = slot.below(self)
        {
            if node.is_tail() {
                slot.set(self, node.fallback());
                seam("a tail unlinked, not retired yet");
                blocks.unlinked(node.block);
                return self.collapse(blocks, routes, prefix, length);
            }
            slot = Slot::Word(node, node.index(prefix));
        }
        if let Slot::Word(node, _) = slot {
            node.add_routes(-1);
        }
        self.collapse(blocks, routes, prefix, length);
    }

    fn hosts(domain: &Domain, hosts_max: usize) -> io::Result<ExactWriter<Keys128>> {
        ExactWriter::of_lines(domain, hosts_max, RandomState::new().hash_one(0)).map_err(io::Error::other)
    }

    fn note_host(hosts: &mut ExactWriter<Keys128>, host: u128, leaf: Option<u32>) {
        match leaf {
            // What is refused is found in the trie.
            Some(leaf) => _ = hosts.insert(host, leaf, 0),
            None => _ = hosts.remove(host),
        }
    }

    fn note_size(&self, hosts: &ExactWriter<Keys128>, routes: usize) {
        let hosts_first = hosts.len() > NEAR && hosts.len() * HOSTS_SHARE >= routes;
        self.hosts_first.store(hosts_first, Ordering::Relaxed);
    }

    fn hosts_bytes(hosts: &ExactWriter<Keys128>) -> usize {
        hosts.memory_bytes()
    }
}

impl Table {
    /// Puts a narrow node that begins with bit `start` between a word and the node below.
    fn split(&self, blocks: &mut Blocks<AtomicU64>, slot: Slot<'_>, below: Node<'_>, start: u8) -> Result<(), Refused> {
        let key = below.key().range(start).0;
        let node = self.allocate(blocks, key, shape::new(start, STRIDE), below.fallback())?;
        if let Err(refused) = self.place(blocks, node, below) {
            blocks.unlinked(node.block);
            return Err(refused);
        }
        self.link(slot, node);
        blocks.unlinked(below.block);
        Ok(())
    }

    /// Replaces a narrow node by a wide one, if that needs no more memory and there is some. False if nothing changed.
    fn widen(&self, blocks: &mut Blocks<AtomicU64>, slot: Slot<'_>, narrow: Node<'_>) -> bool {
        let below = |word: u32| (word & BLOCK != 0).then(|| Node::at(self, word & !BLOCK));
        let (start, end) = (narrow.start(), narrow.end());
        let parts = narrow.below().filter_map(below).filter(|node| node.is_narrow_at(end));
        let may_be_wide = narrow.is_narrow_at(start) && (start - self.root_bits).is_multiple_of(2 * STRIDE);
        if !may_be_wide || parts.count() < 4 {
            return false;
        }
        let shape = shape::new(start, 2 * STRIDE);
        let Ok(wide) = self.allocate(blocks, narrow.key(), shape, narrow.fallback()) else {
            return false;
        };
        wide.add_routes(narrow.routes() as i32);
        let (mut made, mut gone) = (vec![wide.block], vec![narrow.block]);
        for index in 0..narrow.choices() {
            let (word, first) = (narrow.word(index), index << STRIDE);
            let words = first..first + (1 << STRIDE);
            match below(word) {
                None => words.for_each(|index| wide.set(index, word)),
                Some(part) if part.is_narrow_at(end) => {
                    words.for_each(|index| wide.set(index, part.word(index - first)));
                    wide.add_routes(part.routes() as i32);
                    gone.push(part.block);
                }
                Some(node) => {
                    words.for_each(|index| wide.set(index, node.fallback()));
                    let Ok(copy) = self.place(blocks, wide, node) else {
                        made.into_iter().for_each(|block| blocks.unlinked(block));
                        return false;
                    };
                    made.extend(copy);
                    gone.push(node.block);
                }
            }
        }
        self.link(slot, wide);
        gone.into_iter().for_each(|block| blocks.unlinked(block));
        true
    }

    /// Sets the words for `first..=last` at and below a word.
    fn fill_below(&self, slot: Slot<'_>, first: u128, last: u128, leaf: u32) {
        let Some(node) = slot.below(self) else {
            return slot.set(self, leaf);
        };
        let (slot_first, slot_last) = slot.range(self);
        let (first, last) = (first.max(slot_first), last.min(slot_last));
        let (node_first, node_last) = node.key().range(node.start());
        if first < node_first || node_last < last {
            node.set_fallback(leaf);
        }
        let (first, last) = (first.max(node_first), last.min(node_last));
        if first <= last {
            for index in node.index(first)..=node.index(last) {
                self.fill_below(Slot::Word(node, index), first, last, leaf);
            }
        }
    }

    /// A new node that no word leads to yet, all of whose words are `leaf`.
    fn allocate(&self, blocks: &mut Blocks<AtomicU64>, key: u128, shape: u32, leaf: u32) -> Result<Node<'_>, Refused> {
        Ok(Node::write(self, blocks.allocate(shape::size(shape))?, key, shape, leaf))
    }

    fn link(&self, slot: Slot<'_>, node: Node<'_>) {
        seam("a node ready, not linked yet");
        slot.set(self, BLOCK | node.block);
    }

    /// Puts a node below another that no reader knows of, and that takes its place. If it is a tail whose route ends in the
    /// other, that has the route now; else a copy goes there, whose block is returned.
    ///
    /// A copy, since its fallback stands for fewer addresses from now on: who has found the node where it was, and goes on
    /// after that word was changed, would read a leaf that was never theirs.
    fn place(&self, blocks: &mut Blocks<AtomicU64>, node: Node<'_>, below: Node<'_>) -> Result<Option<u32>, Refused> {
        if below.is_tail() && below.start() <= node.end() {
            node.indices(below.key(), below.start()).for_each(|index| node.set(index, below.word(0)));
            node.add_routes(1);
            return Ok(None);
        }
        let copy = self.allocate(blocks, below.key(), below.shape(), below.fallback())?;
        (0..below.choices()).for_each(|index| copy.set(index, below.word(index)));
        node.set(node.index(below.key()), BLOCK | copy.block);
        Ok(Some(copy.block))
    }
}

#[cfg(all(test, not(loom), not(miri)))]
mod tests {
    use super::*;
    use crate::{Lpm6Writer, LpmConfig};

    /// A reader that has loaded a word continues in that node, also if nodes are inserted in between meanwhile.
    #[test]
    fn a_reader_between_two_loads_gets_no_leaf_that_was_never_its_own() {
        let here = 0x2001_0db8 << 96;
        let (inside, outside) = (here | 1 << 64, here | 0xff << 80 | 1 << 64);
        let domain = Domain::new();
        let mut reader = domain.register();
        let mut writer = Lpm6Writer::new(&domain, LpmConfig::large()).expect("a table");
        writer.insert(inside, 64, 1).expect("room");
        let lpm = writer.reader();
        let view = lpm.view(reader.guard());
        let word = view.root_word(outside);
        // A node comes in between, and what is below falls back to another route.
        writer.insert(here, 48, 5).expect("room");
        assert_eq!(lpm.shared.table().view().follow(word, outside), 0);
        assert_eq!((view.lookup(outside), view.lookup(inside ^ 1), view.lookup(inside ^ 1 << 65)), (0, 1, 5));
        reader.quiescent();

        // Below a node that becomes wide: the first word is the root's, the next that of the narrow one.
        let mut writer = Lpm6Writer::new(&domain, LpmConfig::large()).expect("a table");
        let at = |bits: u128, from: u8| here | bits << (128 - from - 3);
        // A narrow node behind bit 35, a deep one below its first word, and four narrow ones, which make it wide.
        let deep = at(0, 35) | 1;
        writer.insert(deep, 128, 2).expect("room");
        writer.insert(deep ^ 2, 128, 3).expect("room");
        for part in 1..4 {
            (0..2).for_each(|n| _ = writer.insert(at(part, 35) | n << 87, 41, 4).expect("room"));
        }
        let lpm = writer.reader();
        let view = lpm.view(reader.guard());
        let beside = deep | 1 << 88;
        let (root, blocks) = (view.root_word(beside), writer.blocks_in_use());
        let narrow = view.below(root & !BLOCK, beside);
        assert_ne!(narrow & BLOCK, 0, "the deep node, below the narrow one");
        (0..2).for_each(|n| _ = writer.insert(at(4, 35) | n << 87, 41, 4).expect("room"));
        writer.insert(deep, 41, 6).expect("room");
        assert!(writer.blocks_in_use() > blocks);
        assert_eq!(lpm.shared.table().view().follow(narrow, beside), 0);
        assert_eq!((view.lookup(beside), view.lookup(deep ^ 8)), (0, 6));
    }
}
