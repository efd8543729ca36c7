//! Nodes in the writer's hands.
use super::Table;
use super::shape::{self, BLOCK_CELLS, STRIDE, WORDS};
use crate::address::Address;
use crate::trie::BLOCK;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

/// A node, and where it lies.
#[derive(Clone, Copy)]
pub(super) struct Node<'a> {
    pub block: u32,
    cells: &'a [AtomicU64],
}

/// A word that may lead to a node: one of the root, or of a node.
#[derive(Clone, Copy)]
pub(super) enum Slot<'a> {
    Root(usize),
    Word(Node<'a>, usize),
}

impl<'a> Node<'a> {
    /// The node that begins with a block.
    pub fn at(table: &'a Table, block: u32) -> Node<'a> {
        let first = block as usize * BLOCK_CELLS;
        let shape = table.words.blocks.slice(first + 2, 1)[0].load(Ordering::Relaxed) as u32;
        Node { block, cells: table.words.blocks.slice(first, shape::cells(shape)) }
    }

    /// Makes a node of blocks that no reader knows of, all of whose words are `leaf`.
    pub fn write(table: &'a Table, block: u32, key: u128, shape: u32, leaf: u32) -> Node<'a> {
        let node = Node { block, cells: table.words.blocks.slice(block as usize * BLOCK_CELLS, shape::cells(shape)) };
        node.cells[0].store((key >> 64) as u64, Ordering::Relaxed);
        node.cells[1].store(key as u64, Ordering::Relaxed);
        node.cells[2].store(shape.into(), Ordering::Relaxed);
        (0..=shape::choices(shape)).for_each(|index| node.set(index, leaf));
        node
    }

    pub fn key(self) -> u128 {
        let half = |cell: &AtomicU64| u128::from(cell.load(Ordering::Relaxed));
        half(&self.cells[0]) << 64 | half(&self.cells[1])
    }

    /// Its shape, with how many routes end in it.
    pub fn shape(self) -> u32 {
        self.cells[2].load(Ordering::Relaxed) as u32
    }

    /// Number of words without the fallback.
    pub fn choices(self) -> usize {
        shape::choices(self.shape())
    }

    /// Number of leading bits above the node.
    pub fn start(self) -> u8 {
        self.end() - self.choices().ilog2() as u8
    }

    /// The length of the prefixes that its words stand for.
    pub fn end(self) -> u8 {
        (128 - shape::shift(self.shape())) as u8
    }

    pub fn is_tail(self) -> bool {
        self.choices() == 1
    }

    /// Whether it decides about the next bits behind `start`, and could be part of a wide node.
    pub fn is_narrow_at(self, start: u8) -> bool {
        self.choices() == 1 << STRIDE && self.start() == start
    }

    /// The word for an address: the fallback's if it does not belong to the node.
    pub fn index(self, address: u128) -> usize {
        let key = self.key();
        shape::index(self.shape(), (key >> 64) as u64, || key as u64, address)
    }

    /// The words for the part of a prefix that belongs to the node; the prefix is no shorter than its key.
    pub fn indices(self, prefix: u128, length: u8) -> Range<usize> {
        let (first, last) = prefix.range(length);
        self.index(first)..self.index(last) + 1
    }

    /// The first and the last address for a word.
    pub fn range(self, index: usize) -> (u128, u128) {
        (self.key() | (index as u128) << shape::shift(self.shape())).range(self.end())
    }

    pub fn word(self, index: usize) -> u32 {
        let half = WORDS + index;
        (self.cells[half / 2].load(Ordering::Relaxed) >> (half % 2 * 32)) as u32
    }

    /// Sets a word. Its neighbour in the cell is stored again as it was: there is one writer.
    pub fn set(self, index: usize, word: u32) {
        let (half, cell) = (WORDS + index, &self.cells[(WORDS + index) / 2]);
        let shift = half % 2 * 32;
        let others = cell.load(Ordering::Relaxed) & !(u64::from(u32::MAX) << shift);
        cell.store(others | u64::from(word) << shift, Ordering::Release);
    }

    pub fn fallback(self) -> u32 {
        self.word(self.choices())
    }

    pub fn set_fallback(self, leaf: u32) {
        self.set(self.choices(), leaf);
    }

    /// The words that lead to nodes.
    pub fn below(self) -> impl Iterator<Item = u32> {
        (0..self.choices()).map(move |index| self.word(index)).filter(|word| word & BLOCK != 0)
    }

    /// Number of routes that end in this node.
    pub fn routes(self) -> u32 {
        self.shape() >> shape::COUNT
    }

    /// Adds to the number of routes that end in this node, or subtracts from it.
    pub fn add_routes(self, more: i32) {
        let cell = self.cells[2].load(Ordering::Relaxed);
        let count = self.routes().wrapping_add_signed(more);
        let shape = self.shape() & ((1 << shape::COUNT) - 1) | count << shape::COUNT;
        self.cells[2].store(cell >> 32 << 32 | u64::from(shape), Ordering::Release);
    }
}

impl<'a> Slot<'a> {
    pub fn of_root(table: &Table, address: u128) -> Slot<'a> {
        Slot::Root(address.leading(table.root_bits))
    }

    pub fn word(self, table: &Table) -> u32 {
        match self {
            Slot::Root(index) => table.words.root.slice(index, 1)[0].load(Ordering::Relaxed),
            Slot::Word(node, index) => node.word(index),
        }
    }

    pub fn set(self, table: &Table, word: u32) {
        match self {
            Slot::Root(index) => table.words.root.slice(index, 1)[0].store(word, Ordering::Release),
            Slot::Word(node, index) => node.set(index, word),
        }
    }

    /// The node that the word leads to.
    pub fn below(self, table: &'a Table) -> Option<Node<'a>> {
        let word = self.word(table);
        (word & BLOCK != 0).then(|| Node::at(table, word & !BLOCK))
    }

    /// The length of the prefix that the word stands for.
    pub fn length(self, table: &Table) -> u8 {
        match self {
            Slot::Root(_) => table.root_bits,
            Slot::Word(node, _) => node.end(),
        }
    }

    /// The first and the last address that the word is for.
    pub fn range(self, table: &Table) -> (u128, u128) {
        match self {
            Slot::Root(index) => ((index as u128) << (128 - table.root_bits)).range(table.root_bits),
            Slot::Word(node, index) => node.range(index),
        }
    }
}
