//! What a family's table of prefixes must do; for IPv4 the LPM of `quiver-table` does it.

use quiver_table::routes::Address;
use quiver_table::{Domain, Lpm, LpmConfig, LpmError, LpmWriter};
use quiver_wire::{IpFamily, Prefix, V4};

/// How many routes a table is made for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Size {
    /// Few: little memory.
    Small,
    /// Millions: the fastest lookup.
    Large,
}

/// A family whose tables can be made.
pub trait Forwarding: IpFamily<Address: Address> {
    /// The writer of a table.
    type Trie: Trie<Self>;
}
impl Forwarding for V4 {
    type Trie = LpmWriter;
}

/// The writer of a table of prefixes, each with a leaf.
pub trait Trie<F: IpFamily>: Sized {
    /// The workers' side.
    type Reader: Clone + Send + Sync + 'static;
    /// Why a route is refused.
    type Error: std::error::Error + 'static;

    /// An empty table.
    fn make(domain: &Domain, size: Size) -> Result<Self, Self::Error>;
    /// The workers' side.
    fn reader(&self) -> Self::Reader;
    /// Adds a prefix or changes its leaf.
    fn set(&mut self, prefix: Prefix<F>, leaf: u32) -> Result<(), Self::Error>;
    /// Changes the leaf of a prefix that is there; false if it is not. It needs no room.
    fn replace(&mut self, prefix: Prefix<F>, leaf: u32) -> bool;
    /// Removes a prefix.
    fn unset(&mut self, prefix: Prefix<F>);
    /// The leaf of exactly this prefix.
    fn leaf(&self, prefix: &Prefix<F>) -> Option<u32>;
    /// The longest prefix that contains the address, and its leaf.
    fn find(&self, address: F::Address) -> Option<(Prefix<F>, u32)>;
    /// Bytes in use.
    fn memory_bytes(&self) -> usize;
}

impl Trie<V4> for LpmWriter {
    type Reader = Lpm;
    type Error = LpmError;

    fn make(domain: &Domain, size: Size) -> Result<LpmWriter, LpmError> {
        let config = match size {
            Size::Small => LpmConfig::small(),
            Size::Large => LpmConfig::large(),
        };
        LpmWriter::new(domain, config)
    }
    fn reader(&self) -> Lpm {
        LpmWriter::reader(self)
    }
    fn set(&mut self, prefix: Prefix<V4>, leaf: u32) -> Result<(), LpmError> {
        self.insert(prefix.address().to_bits(), prefix.length(), leaf).map(|_| ())
    }
    fn replace(&mut self, prefix: Prefix<V4>, leaf: u32) -> bool {
        LpmWriter::replace(self, prefix.address().to_bits(), prefix.length(), leaf).is_some()
    }
    fn unset(&mut self, prefix: Prefix<V4>) {
        self.remove(prefix.address().to_bits(), prefix.length());
    }
    fn leaf(&self, prefix: &Prefix<V4>) -> Option<u32> {
        self.get(prefix.address().to_bits(), prefix.length())
    }
    fn find(&self, address: std::net::Ipv4Addr) -> Option<(Prefix<V4>, u32)> {
        let (bits, length, leaf) = self.longest_match(address.to_bits())?;
        Some((Prefix::new(bits.into(), length).ok()?, leaf))
    }
    fn memory_bytes(&self) -> usize {
        LpmWriter::memory_bytes(self)
    }
}
