//! Longest prefix match for IPv4: one load for most prefixes, read by workers while routes change.
//!
//! The first 24 bits of an address index a root of 2²⁴ words (DIR-24-8). A word is a leaf, or the number of
//! a block of 256 words for the last eight bits. A leaf is whatever the owner makes of 31 bits: the id of a
//! next-hop group, say. Zero means no route; then the default route applies, which is kept apart, so that
//! its coming and going does not touch 16 million words. For further VRFs, which have few routes,
//! [`crate::LpmConfig::small`] has a root of 2¹⁶ words and two levels of blocks behind the same interface.
//!
//! Every word changes by one store: a reader finds the leaf from before a change or the one from after it,
//! for each address by itself. A block that falls out of use is given out again only after a grace period.
//!
//! Publish what a leaf stands for before the route, and retire it after. A worker whose frame read that other
//! table *before* a lookup can meet a leaf too new for it; reading the other table again then finds it, for
//! the lookup acquires what the writer did before.
#![allow(unsafe_code)]
use crate::epoch::Guard;
use crate::memory::prefetch;
use crate::trie::{BLOCK, Shared, TrieMemory, TrieWriter};
use std::marker::PhantomData;
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

mod levels;

/// The writer of a table for IPv4.
pub type LpmWriter = TrieWriter<Table>;

/// The words of a table for IPv4.
pub struct Table {
    words: TrieMemory<AtomicU32>,
    /// Shift that turns an address into its index in the root: 8 or 16.
    root_shift: u32,
}

impl Table {
    /// The caller sees to it that the table lives that long.
    #[inline(always)]
    fn view<'a>(&self) -> LpmView<'a> {
        LpmView {
            root: self.words.root.start(),
            blocks: self.words.blocks.start(),
            default: self.words.default.load(Ordering::Acquire),
            root_shift: self.root_shift,
            table: PhantomData,
        }
    }
}

/// The readers' side of a table, for workers: cheap to clone.
#[derive(Clone)]
pub struct Lpm(Arc<Shared<Table>>);

impl Lpm {
    /// The table as hot loops want it; take it once per frame.
    ///
    /// # Panics
    /// If the guard is of another domain than the table, which is a mistake in the program's wiring.
    #[inline(always)]
    pub fn view<'g>(&self, guard: Guard<'g>) -> LpmView<'g> {
        self.0.table_under(guard).view()
    }

    /// The leaf of the longest prefix that contains the address; zero if there is none.
    #[inline(always)]
    pub fn lookup(&self, guard: Guard<'_>, address: u32) -> u32 {
        self.view(guard).lookup(address)
    }

    /// Whether there are so many routes that lookups miss the cache, and prefetching pays.
    #[inline(always)]
    pub fn is_far(&self) -> bool {
        self.0.table().words.is_far.load(Ordering::Relaxed)
    }

    /// [`LpmView::prefetch_first`], for one packet at a time.
    #[inline(always)]
    pub fn prefetch_first(&self, _: Guard<'_>, address: u32) {
        self.0.table().view().prefetch_first(address);
    }
}

/// A table in a worker's hands during a frame. It shows changes as they happen, but for the default route.
#[derive(Clone, Copy)]
pub struct LpmView<'g> {
    root: NonNull<AtomicU32>,
    blocks: NonNull<AtomicU32>,
    default: u32,
    root_shift: u32,
    table: PhantomData<&'g Table>,
}

impl LpmView<'_> {
    /// Whether a word leads no further.
    #[inline(always)]
    pub fn is_leaf(word: u32) -> bool {
        word & BLOCK == 0
    }

    /// The leaf of the longest prefix that contains the address; zero if there is none.
    #[inline(always)]
    pub fn lookup(&self, address: u32) -> u32 {
        let mut word = self.root_word(address);
        let mut shift = self.root_shift;
        while word & BLOCK != 0 {
            shift -= 8;
            word = self.block_word(word & !BLOCK, address >> shift);
        }
        if word == 0 { self.default } else { word }
    }

    /// The leaves of several addresses at once. All loads of a level are under way together, and the only
    /// branches are on whether any address needs the next level. For hot loops, with the words that
    /// [`LpmView::begin`] gave some way ahead.
    #[inline(always)]
    pub fn finish_each<const N: usize>(&self, mut words: [u32; N], addresses: &[u32; N]) -> [u32; N] {
        self.descend(&mut words, addresses, self.root_shift - 8);
        if self.root_shift == 16 {
            self.descend(&mut words, addresses, 0);
        }
        for lane in 0..N {
            words[lane] = if words[lane] == 0 { self.default } else { words[lane] };
        }
        words
    }

    /// The same from the beginning.
    #[inline(always)]
    pub fn lookup_each<const N: usize>(&self, addresses: &[u32; N]) -> [u32; N] {
        let mut words = [0; N];
        for lane in 0..N {
            words[lane] = self.root_word(addresses[lane]);
        }
        self.finish_each(words, addresses)
    }
    /// The first word of a lookup. One above [`LpmView::LEAF_MAX`] leads further ([`LpmView::finish_each`]); others are leaves, where
    /// zero stands for [`LpmView::default_leaf`].
    #[inline(always)]
    pub fn first(&self, address: u32) -> u32 {
        self.root_word(address)
    }
    /// The largest word that is a leaf.
    pub const LEAF_MAX: u32 = BLOCK - 1;
    /// The leaf of addresses that no prefix contains.
    #[inline(always)]
    pub fn default_leaf(&self) -> u32 {
        self.default
    }

    /// Follows the words that are blocks by one level.
    #[inline(always)]
    fn descend<const N: usize>(&self, words: &mut [u32; N], addresses: &[u32; N], shift: u32) {
        let mut any = 0;
        for lane in 0..N {
            any |= words[lane];
        }
        if any & BLOCK == 0 {
            return;
        }
        for lane in 0..N {
            let word = words[lane];
            // All ones for a block, else zero, so that leaves read a word of block 0 that is always in cache.
            let is_block = ((word as i32) >> 31) as u32;
            let below = self.block_word(word & is_block & !BLOCK, (addresses[lane] >> shift) & is_block);
            words[lane] = (below & is_block) | (word & !is_block);
        }
    }

    #[inline(always)]
    fn root_word(&self, address: u32) -> u32 {
        // SAFETY: the root has 2^(32 - root_shift) committed words. The memory lives as long as the view:
        // whoever holds one holds a guard of the table's domain, where the memory ends up, or the table.
        unsafe { self.root.add((address >> self.root_shift) as usize).as_ref() }.load(Ordering::Acquire)
    }

    /// The word that a lookup of this address begins with; what it leads to is fetched. It waits for the root's word if that is
    /// cold, as among millions of scattered routes; there, fetch that even earlier.
    ///
    /// PERF: without a branch, since nobody can tell ahead which words are blocks. Leaves fetch a word of block 0.
    #[inline(always)]
    pub fn begin(&self, address: u32) -> u32 {
        let word = self.root_word(address);
        let is_block = ((word as i32) >> 31) as u32;
        let index = (address >> (self.root_shift - 8) & 255 & is_block) as usize;
        prefetch(self.blocks.as_ptr().wrapping_add((word & is_block & !BLOCK) as usize * 256 + index));
        word
    }

    /// Fetches the root's word for this address.
    #[inline(always)]
    pub fn prefetch_first(&self, address: u32) {
        prefetch(self.root.as_ptr().wrapping_add((address >> self.root_shift) as usize));
    }

    #[inline(always)]
    fn block_word(&self, block: u32, index: u32) -> u32 {
        // SAFETY: the writer stores only numbers of committed blocks of 256 words in the table, and block 0
        // is committed from the start. For the memory's life, see `root_word`.
        unsafe { self.blocks.add(block as usize * 256 + (index & 255) as usize).as_ref() }.load(Ordering::Acquire)
    }
}
