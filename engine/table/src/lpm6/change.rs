//! How nodes come, grow and go. Readers notice nothing of it: what takes another's place says the same.
use super::node::{Node, Slot};
use super::{STRIDE, Table, shape};
use crate::lpm::BLOCK;
use crate::lpm::blocks::Blocks;
use crate::routes::Address;
use crate::simulation::seam;
use std::sync::atomic::AtomicU64;

/// Why there is no block.
pub(super) enum Refused {
    Full,
    Memory(std::io::Error),
}

impl Table {
    /// Makes words that are for the addresses of a prefix and no others, and notes that its route is there. The route is
    /// new. When it is refused, a node may be left that nobody needs.
    pub(super) fn make_room(&self, blocks: &mut Blocks<AtomicU64>, prefix: u128, length: u8) -> Result<(), Refused> {
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

    /// Notes that a route has gone, whose words have other owners by now, and takes back the nodes that were for it.
    pub(super) fn leave(&self, blocks: &mut Blocks<AtomicU64>, prefix: u128, length: u8) {
        let mut slot = Slot::of_root(self, prefix);
        while slot.length(self) < length
            && let Some(node) = slot.below(self)
        {
            if node.is_tail() {
                slot.set(self, node.fallback());
                seam("a tail unlinked, not retired yet");
                blocks.unlinked(node.block);
                return self.collapse(blocks, prefix);
            }
            slot = Slot::Word(node, node.index(prefix));
        }
        if let Slot::Word(node, _) = slot {
            node.add_routes(-1);
        }
        self.collapse(blocks, prefix);
    }

    /// Takes back the nodes around a prefix that decide nothing: those where no route ends, and at most one node is below.
    pub(super) fn collapse(&self, blocks: &mut Blocks<AtomicU64>, prefix: u128) {
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

    /// Sets the words for `first..=last` at and below a word. No word is for an address in there and another outside.
    pub(super) fn fill(&self, slot: Slot<'_>, first: u128, last: u128, leaf: u32) {
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
                self.fill(Slot::Word(node, index), first, last, leaf);
            }
        }
    }

    /// A new node that no word leads to yet, all of whose words are `leaf`.
    fn allocate(&self, blocks: &mut Blocks<AtomicU64>, key: u128, shape: u32, leaf: u32) -> Result<Node<'_>, Refused> {
        match blocks.allocate(shape::size(shape)) {
            Ok(Some(block)) => Ok(Node::write(self, block, key, shape, leaf)),
            Ok(None) => Err(Refused::Full),
            Err(source) => Err(Refused::Memory(source)),
        }
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
