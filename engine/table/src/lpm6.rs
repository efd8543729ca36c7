//! Longest prefix match for IPv6: a few loads for any prefix, read by workers while routes change.
//!
//! The first 23 bits of an address index a root of words, in a small table the first 14. A word is a leaf as in
//! [`crate::lpm`], or the number of a node. A node has a key: the bits that an address must have to belong to it, however
//! many there are between it and its parent. An address that has them goes on by the next 3 or 6 bits, which choose one
//! of 8 or 64 words; for any other address the node has a word of its own, the fallback, which is the leaf of the shorter
//! route there. A node of one word, a tail, is a route that is alone: what the address shares with it decides. So the
//! number of loads depends on how many routes are near, and not on how long they are.
//!
//! A node for 3 bits takes one cache line, and a tail half of one. Nodes begin at multiples of 3 bits behind the root.
//! Where half of the words of one lead to nodes for the next 3 bits, a node for 6 bits takes the place of all of them, as
//! it needs no more memory; such a node begins at a multiple of 6 bits.
//!
//! Hosts, which are routes of 128 bits, are found at once where they are many: a hash table beside the trie has them, too
//! ([`crate::hash`]). It only saves the way: what it does not have, the trie does.
//!
//! Every word changes by one store, and keys never: a reader finds the leaf from before a change or the one from after
//! it, for each address by itself. A node that goes down, below one that comes in between, is replaced by a copy. A node that falls out of use is given out again only after a grace period. What
//! [`crate::lpm`] says of the default route, and of what a leaf stands for, holds here, too.
#![allow(unsafe_code)]
use crate::epoch::Guard;
use crate::hash::{ExactTable, ExactView, Keys128};
use crate::memory::prefetch;
use crate::trie::{BLOCK, Shared, TrieMemory, TrieWriter};
use std::marker::PhantomData;
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};

mod change;
mod node;
mod shape;

use shape::{BLOCK_CELLS, WORDS};

/// The writer of a table for IPv6.
pub type Lpm6Writer = TrieWriter<Table>;

/// The words of a table for IPv6.
pub struct Table {
    words: TrieMemory<AtomicU64>,
    /// Whether so many routes are hosts that these are asked for first.
    hosts_first: AtomicBool,
    root_bits: u8,
}

impl Table {
    /// The table without its hosts. The caller sees to it that it lives that long.
    #[inline(always)]
    fn view<'a>(&self) -> Lpm6View<'a> {
        Lpm6View {
            root: self.words.root.start(),
            blocks: self.words.blocks.start(),
            default: self.words.default.load(Ordering::Acquire),
            root_shift: 64 - u32::from(self.root_bits),
            hosts: None,
            table: PhantomData,
        }
    }
}

/// The readers' side of a table, for workers: cheap to clone.
#[derive(Clone)]
pub struct Lpm6 {
    shared: Arc<Shared<Table>>,
    hosts: ExactTable<Keys128>,
}

impl Lpm6 {
    /// The table as hot loops want it; take it once per frame.
    ///
    /// # Panics
    /// If the guard is of another domain than the table, which is a mistake in the program's wiring.
    #[inline(always)]
    pub fn view<'g>(&self, guard: Guard<'g>) -> Lpm6View<'g> {
        let table = self.shared.table_under(guard);
        let hosts = table.hosts_first.load(Ordering::Relaxed).then(|| self.hosts.view(guard));
        Lpm6View { hosts, ..table.view() }
    }

    /// The leaf of the longest prefix that contains the address; zero if there is none.
    #[inline(always)]
    pub fn lookup(&self, guard: Guard<'_>, address: u128) -> u32 {
        self.view(guard).lookup(address)
    }

    /// Whether there are so many routes that lookups miss the cache, and prefetching pays.
    #[inline(always)]
    pub fn is_far(&self) -> bool {
        self.shared.table().words.is_far.load(Ordering::Relaxed)
    }

    /// [`Lpm6View::prefetch_first`], for one packet at a time.
    #[inline(always)]
    pub fn prefetch_first(&self, guard: Guard<'_>, address: u128) {
        let table = self.shared.table();
        table.view().prefetch_first(address);
        if table.hosts_first.load(Ordering::Relaxed) {
            self.hosts.view(guard).prefetch(address);
        }
    }
}

/// A table in a worker's hands during a frame. It shows changes as they happen, but for the default route and, while their
/// table grows, hosts.
#[derive(Clone, Copy)]
pub struct Lpm6View<'g> {
    root: NonNull<AtomicU32>,
    blocks: NonNull<AtomicU64>,
    default: u32,
    /// Shift that turns the first half of an address into its index in the root.
    root_shift: u32,
    /// If they are to be asked for first.
    hosts: Option<ExactView<'g, Keys128>>,
    table: PhantomData<&'g Table>,
}

impl Lpm6View<'_> {
    /// Whether a word leads no further.
    #[inline(always)]
    pub fn is_leaf(word: u32) -> bool {
        word & BLOCK == 0
    }

    /// The leaf of the longest prefix that contains the address; zero if there is none.
    #[inline(always)]
    pub fn lookup(&self, address: u128) -> u32 {
        self.follow(self.first(address), address)
    }

    /// The leaf for an address, from a word on.
    #[inline(always)]
    fn follow(&self, mut word: u32, address: u128) -> u32 {
        while word & BLOCK != 0 {
            word = self.below(word & !BLOCK, address);
        }
        if word == 0 { self.default } else { word }
    }

    /// The leaves of several addresses at once. All loads of a level are under way together, and the only
    /// branches are on whether any address needs the next level. For hot loops, with the words that
    /// [`Lpm6View::begin`] and [`Lpm6View::descend`] gave some way ahead, so that what is read is near.
    #[inline(always)]
    pub fn finish_each<const N: usize>(&self, mut words: [u32; N], addresses: &[u128; N]) -> [u32; N] {
        let mut any = 0;
        for lane in 0..N {
            any |= words[lane];
        }
        while any & BLOCK != 0 {
            any = 0;
            if words == [words[0]; N] {
                // PERF: where there are few routes one node leads to all of them, and is looked at once.
                let node = self.open(words[0] & !BLOCK);
                for lane in 0..N {
                    words[lane] = node.below(addresses[lane]);
                    any |= words[lane];
                }
                continue;
            }
            for lane in 0..N {
                // The other lanes' turns come first: what is next is fetched meanwhile.
                words[lane] = self.descend(words[lane], addresses[lane]);
                any |= words[lane];
            }
        }
        for lane in 0..N {
            words[lane] = if words[lane] == 0 { self.default } else { words[lane] };
        }
        words
    }

    /// The same from the beginning.
    #[inline(always)]
    pub fn lookup_each<const N: usize>(&self, addresses: &[u128; N]) -> [u32; N] {
        if self.hosts.is_some() {
            return (*self).lookup_each_host(addresses);
        }
        let mut words = [0; N];
        for lane in 0..N {
            words[lane] = self.root_word(addresses[lane]);
        }
        self.finish_each(words, addresses)
    }

    /// The same where hosts come first. Out of line: callers with that many routes prefetch.
    ///
    /// PERF: it takes a copy, for what a call may look at lies in memory ever after, and is loaded again for each lane.
    #[cold]
    #[inline(never)]
    fn lookup_each_host<const N: usize>(self, addresses: &[u128; N]) -> [u32; N] {
        let mut leaves = [0; N];
        for lane in 0..N {
            leaves[lane] = self.lookup(addresses[lane]);
        }
        leaves
    }

    #[inline(always)]
    fn root_word(&self, address: u128) -> u32 {
        // SAFETY: the root has 2^(64 - root_shift) committed words. The memory lives as long as the view:
        // whoever holds one holds a guard of the table's domain, where the memory ends up, or the table.
        unsafe { self.root.add(self.root_index(address)).as_ref() }.load(Ordering::Acquire)
    }

    /// The word that a lookup of this address begins with: the leaf of a host, or a word of the root.
    #[inline(always)]
    fn first(&self, address: u128) -> u32 {
        let host = self.hosts.and_then(|hosts| hosts.get(address));
        host.unwrap_or_else(|| self.root_word(address))
    }

    /// The word that a lookup of this address begins with; if it is a node, that is fetched. It waits for what
    /// [`Lpm6View::prefetch_first`] fetches if that is cold; where it is, do that even earlier.
    #[inline(always)]
    pub fn begin(&self, address: u128) -> u32 {
        let word = self.first(address);
        prefetch(self.node(word));
        word
    }

    /// The word below one that is a node, which is fetched if it is one, too; a leaf stays as it is.
    ///
    /// PERF: without a branch, since nobody can tell ahead where an address finds its leaf.
    #[inline(always)]
    pub fn descend(&self, word: u32, address: u128) -> u32 {
        // All ones for a node, else zero, so that leaves read block 0, which is always in cache.
        let is_node = ((word as i32) >> 31) as u32;
        let below = self.below(word & is_node & !BLOCK, address);
        let word = (below & is_node) | (word & !is_node);
        prefetch(self.node(word));
        word
    }

    /// Fetches what a lookup of this address reads first: the root's word, and where hosts come first, their line.
    #[inline(always)]
    pub fn prefetch_first(&self, address: u128) {
        prefetch(self.root.as_ptr().wrapping_add(self.root_index(address)));
        if let Some(hosts) = self.hosts {
            hosts.prefetch(address);
        }
    }

    /// Where a word's node is; for a word that is a leaf it is anywhere.
    #[inline(always)]
    fn node(&self, word: u32) -> *const AtomicU64 {
        self.blocks.as_ptr().wrapping_add((word & !BLOCK) as usize * BLOCK_CELLS)
    }

    #[inline(always)]
    fn root_index(&self, address: u128) -> usize {
        ((address >> 64) as u64 >> self.root_shift) as usize
    }

    /// A node's word for an address.
    #[inline(always)]
    fn below(&self, block: u32, address: u128) -> u32 {
        self.open(block).below(address)
    }

    /// A node to find words in.
    #[inline(always)]
    fn open(&self, block: u32) -> Open<'_> {
        let at = block as usize * BLOCK_CELLS;
        Open { view: self, at, first: self.cell(at), shape: self.cell(at + 2) as u32 }
    }

    #[inline(always)]
    fn cell(&self, index: usize) -> u64 {
        // SAFETY: the writer stores only numbers of nodes in the table, whose cells are committed and have their key and
        // shape before their number is in any word; no index of a word is above its node's `shape::choices`. Block 0 is committed from
        // the start, and a node with nothing but a fallback. For the memory's life, see `root_word`.
        unsafe { self.blocks.add(index).as_ref() }.load(Ordering::Acquire)
    }
}

/// A node whose shape and key have been read.
struct Open<'v> {
    view: &'v Lpm6View<'v>,
    at: usize,
    /// The first half of its key.
    first: u64,
    shape: u32,
}

impl Open<'_> {
    /// Its word for an address.
    #[inline(always)]
    fn below(&self, address: u128) -> u32 {
        let half = WORDS + shape::index(self.shape, self.first, || self.view.cell(self.at + 1), address);
        (self.view.cell(self.at + half / 2) >> (half % 2 * 32)) as u32
    }
}

#[cfg(all(test, not(loom), not(miri)))]
mod tests {
    use super::*;
    use crate::trie::NEAR;
    use crate::{Domain, LpmConfig};

    #[test]
    fn many_hosts_are_found_at_once() {
        let domain = Domain::new();
        let reader = domain.register();
        let mut writer = Lpm6Writer::new(&domain, LpmConfig::large()).expect("a table");
        let lpm = writer.reader();
        let host = |n: usize| (0x2001_0db8 << 96) | (1 + n as u128);
        // What the first word for a host says: its leaf, or nothing if that is behind nodes.
        let first = |n: usize| Some(lpm.view(reader.guard()).begin(host(n))).filter(|word| word & BLOCK == 0);
        for n in 0..NEAR {
            assert!(writer.insert(host(n), 128, 1 + n as u32).is_ok());
        }
        assert_eq!(first(5), None, "they are few");
        assert!(writer.insert(host(NEAR), 128, 7).is_ok());
        assert_eq!((first(5), first(NEAR), first(NEAR + 1)), (Some(6), Some(7), None));
        assert_eq!((writer.replace(host(5), 128, 9), first(5)), (Some(6), Some(9)));
        // Among four times as many other routes they are not worth the question.
        for n in 0..3 * NEAR + 4 {
            let is_few = first(5) == Some(9);
            assert_eq!(is_few, n <= 3 * NEAR + 3, "at {n}");
            assert!(writer.insert((n as u128) << 100, 28, 1).is_ok());
        }
        assert_eq!((first(5), writer.lookup(host(5))), (None, 9));
        assert_eq!((writer.remove(0, 28), first(5)), (Some(1), Some(9)));
        assert_eq!((writer.remove(host(NEAR), 128), first(5), writer.lookup(host(NEAR))), (Some(7), None, 0));
    }
}
