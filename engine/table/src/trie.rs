//! The code that longest prefix match for IPv4 and for IPv6 share: a trie's memory, its sizes and errors, and its writer.
//!
//! A root of words is indexed by the first bits of an address. A word is a leaf, or the number of the block where a node
//! begins. Each family lays out its nodes in its own way ([`Trie`]).
use crate::address::Address;
use crate::epoch::Domain;
use crate::memory::{Cell, Cells};
use crate::routes::Routes;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32};

mod blocks;
mod config;
mod error;
mod root;
mod shared;
mod writer;

pub use blocks::{Blocks, Refused};
pub use config::{LpmConfig, Size};
pub use error::LpmError;
pub use shared::Shared;
pub use writer::TrieWriter;

/// Set in a word that is the number of a block.
pub const BLOCK: u32 = 1 << 31;

/// Largest number of routes whose words lie close together: those of the root, and their children.
pub const NEAR: usize = 1 << 10;

type BlocksOf<T> = Blocks<<T as Trie>::Cell>;
type RoutesOf<T> = Routes<<T as Trie>::Address>;

/// A family's trie, implemented by [`crate::lpm::Table`] and [`crate::lpm6::Table`] alone. It changes word by word: a reader
/// finds the leaf from before a change or the one from after it.
pub trait Trie: Send + Sync + Sized + 'static {
    /// An address as a number.
    type Address: Address;
    /// The unit of memory that nodes consist of.
    type Cell: Cell;
    /// The readers' side.
    type Reader;
    /// The table of host routes beside the trie, or `()`. Hosts are routes of full length.
    type Hosts;

    /// The size of a table for many routes.
    const LARGE: Size;
    /// The size of a table for few routes.
    const SMALL: Size;
    /// The highest limit on blocks; higher ones are lowered to it.
    const BLOCKS_MAX: u32;
    /// Cells per block.
    const BLOCK_CELLS: usize;
    /// Blocks per node, for each size of nodes.
    const NODES: &'static [u32];

    /// An empty trie.
    fn new(words: TrieMemory<Self::Cell>, root_bits: u8) -> Self;
    /// Its memory.
    fn words(&self) -> &TrieMemory<Self::Cell>;
    /// A reader's handle.
    fn reader(shared: Arc<Shared<Self>>, hosts: &Self::Hosts) -> Self::Reader;
    /// The leaf of the longest prefix that contains the address; zero if there is none.
    fn lookup(&self, address: Self::Address) -> u32;

    /// Makes words that stand for the addresses of a new route and for no others. Lookups find the same leaves as before:
    /// a new node repeats the word that it replaces. After an error, nodes may be left that no route needs.
    fn make_room(&self, blocks: &mut BlocksOf<Self>, prefix: Self::Address, length: u8) -> Result<(), Refused>;
    /// Sets the words for `first..=last`. No word stands for addresses inside and outside of this range.
    fn fill(&self, first: Self::Address, last: Self::Address, leaf: u32);
    /// Frees the nodes around a prefix that no route needs. `routes` are the routes that are left.
    fn collapse(&self, blocks: &mut BlocksOf<Self>, routes: &RoutesOf<Self>, prefix: Self::Address, length: u8);
    /// Frees the nodes of a route that is gone. Its words belong to other routes by now.
    fn leave(&self, blocks: &mut BlocksOf<Self>, routes: &RoutesOf<Self>, prefix: Self::Address, length: u8) {
        self.collapse(blocks, routes, prefix, length);
    }

    /// An empty table for up to `hosts_max` hosts.
    fn hosts(domain: &Domain, hosts_max: usize) -> io::Result<Self::Hosts>;
    /// Sets the leaf of a host, or removes the host. If the table of hosts refuses it, lookups find it in the trie.
    fn note_host(_hosts: &mut Self::Hosts, _host: Self::Address, _leaf: Option<u32>) {}
    /// Decides whether readers look in the table of hosts first.
    fn note_size(&self, _hosts: &Self::Hosts, _routes: usize) {}
    /// Bytes of the table of hosts.
    fn hosts_bytes(_hosts: &Self::Hosts) -> usize {
        0
    }
}

/// A trie's memory, and what every lookup needs beside it.
pub struct TrieMemory<C: Cell> {
    /// Indexed by the first bits of an address.
    pub root: Cells<AtomicU32>,
    /// Nodes. Block 0 is never given out: lookups that need no node read it and discard the result.
    pub blocks: Arc<Cells<C>>,
    /// The leaf of the default route, or zero. It has no words, so that a change of it does not touch all of them.
    pub default: AtomicU32,
    /// Whether there are so many routes that lookups miss the near caches.
    pub is_far: AtomicBool,
}

impl<C: Cell> TrieMemory<C> {
    /// Reserves the memory and commits the root and block 0. All words are zero.
    pub fn new(size: Size, block_cells: usize) -> io::Result<TrieMemory<C>> {
        let root_words = 1 << size.root_bits;
        let words = TrieMemory {
            root: Cells::reserve(root_words, size.huge_pages)?,
            blocks: Arc::new(Cells::reserve((size.blocks_max as usize + 1) * block_cells, size.huge_pages)?),
            default: AtomicU32::new(0),
            is_far: AtomicBool::new(false),
        };
        words.root.commit(root_words)?;
        words.blocks.commit(block_cells)?;
        Ok(words)
    }
}
