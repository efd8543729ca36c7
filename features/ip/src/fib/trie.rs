//! What a family's table of prefixes must do; the LPMs of `quiver-table` do it.

use quiver_engine::Guard;
use quiver_table::routes::Address;
use quiver_table::{Domain, Lpm, Lpm6, Lpm6Config, Lpm6Writer, LpmConfig, LpmError, LpmWriter};
use quiver_wire::{IpFamily, Prefix, V4, V6};

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
    /// An address as a number, as lookups take it.
    type Bits: Copy + Default + Send + Sync + 'static;
    /// The writer of a table.
    type Trie: Trie<Self, Reader = Self::Reader>;
    /// What workers look up in.
    type Reader: Reader<Self::Bits>;
    /// An address as lookups take it.
    fn bits(address: Self::Address) -> Self::Bits;
}

/// A table in the hands of workers.
pub trait Reader<Bits>: Clone + Send + Sync + 'static {
    /// The leaf of an address; zero if there is none.
    fn lookup(&self, guard: Guard<'_>, address: Bits) -> u32;
    /// The leaves of sixteen.
    fn lookup_each(&self, guard: Guard<'_>, addresses: &[Bits; 16]) -> [u32; 16];
    /// Whether its first words are so many that they are far away.
    fn is_large(&self) -> bool;
    /// Fetches the word that a lookup begins with.
    fn prefetch_root(&self, address: Bits);
    /// Fetches what that word leads to.
    fn prefetch(&self, address: Bits);
}

/// The writer of a table of prefixes, each with a leaf.
pub trait Trie<F: IpFamily>: Sized {
    /// The workers' side.
    type Reader;

    /// An empty table.
    fn make(domain: &Domain, size: Size) -> Result<Self, LpmError>;
    /// The workers' side.
    fn reader(&self) -> Self::Reader;
    /// Adds a prefix or changes its leaf.
    fn set(&mut self, prefix: Prefix<F>, leaf: u32) -> Result<(), LpmError>;
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

macro_rules! forwarding {
    ($family:ty, $bits:ty, $reader:ty, $writer:ty, $config:ty) => {
        impl Forwarding for $family {
            type Bits = $bits;
            type Trie = $writer;
            type Reader = $reader;
            #[inline(always)]
            fn bits(address: Self::Address) -> $bits {
                address.to_bits()
            }
        }

        impl Reader<$bits> for $reader {
            #[inline(always)]
            fn lookup(&self, guard: Guard<'_>, address: $bits) -> u32 {
                <$reader>::lookup(self, guard, address)
            }
            #[inline(always)]
            fn lookup_each(&self, guard: Guard<'_>, addresses: &[$bits; 16]) -> [u32; 16] {
                self.view(guard).lookup_each(addresses)
            }
            #[inline(always)]
            fn is_large(&self) -> bool {
                <$reader>::is_large(self)
            }
            #[inline(always)]
            fn prefetch_root(&self, address: $bits) {
                <$reader>::prefetch_root(self, address);
            }
            #[inline(always)]
            fn prefetch(&self, address: $bits) {
                <$reader>::prefetch(self, address);
            }
        }

        impl Trie<$family> for $writer {
            type Reader = $reader;

            fn make(domain: &Domain, size: Size) -> Result<$writer, LpmError> {
                let config = match size {
                    Size::Small => <$config>::small(),
                    Size::Large => <$config>::large(),
                };
                <$writer>::new(domain, config)
            }
            fn reader(&self) -> $reader {
                <$writer>::reader(self)
            }
            fn set(&mut self, prefix: Prefix<$family>, leaf: u32) -> Result<(), LpmError> {
                self.insert(prefix.address().to_bits(), prefix.length(), leaf).map(|_| ())
            }
            fn replace(&mut self, prefix: Prefix<$family>, leaf: u32) -> bool {
                <$writer>::replace(self, prefix.address().to_bits(), prefix.length(), leaf).is_some()
            }
            fn unset(&mut self, prefix: Prefix<$family>) {
                self.remove(prefix.address().to_bits(), prefix.length());
            }
            fn leaf(&self, prefix: &Prefix<$family>) -> Option<u32> {
                self.get(prefix.address().to_bits(), prefix.length())
            }
            fn find(&self, address: <$family as IpFamily>::Address) -> Option<(Prefix<$family>, u32)> {
                let (bits, length, leaf) = self.longest_match(address.to_bits())?;
                Some((Prefix::new(bits.into(), length).ok()?, leaf))
            }
            fn memory_bytes(&self) -> usize {
                <$writer>::memory_bytes(self)
            }
        }
    };
}
forwarding!(V4, u32, Lpm, LpmWriter, LpmConfig);
forwarding!(V6, u128, Lpm6, Lpm6Writer, Lpm6Config);
