//! Interface of a family's table of prefixes; the LPMs of `quiver-table` implement it.

use quiver_engine::{Guard, Isa, LANES, Lanes};
use quiver_table::{Address, Domain, Lpm, Lpm6, Lpm6View, Lpm6Writer, LpmConfig, LpmError, LpmView, LpmWriter};
use quiver_wire::{IpFamily, Prefix, V4, V6};

/// Number of routes that a table is built for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Size {
    /// Few: little memory.
    Small,
    /// Millions: the fastest lookup.
    Large,
    /// As many, for rehearsals: no packet is looked up. A short prefix is written in fewer words, and memory comes in small pages.
    Rehearsed,
}

/// A family whose tables can be made.
pub trait Forwarding: IpFamily<Address: Address> {
    /// An address as a number, as lookups take it.
    type Bits: Copy + Default + PartialEq + Send + Sync + 'static;
    /// The writer of a table.
    type Trie: Trie<Self, Reader = Self::Reader>;
    /// The lookup structure that workers read.
    type Reader: Reader<Self::Bits>;
    /// An address as lookups take it.
    fn bits(address: Self::Address) -> Self::Bits;
}

/// A table of prefixes during a frame.
pub type TrieView<'f, F> = <<F as Forwarding>::Reader as Reader<<F as Forwarding>::Bits>>::View<'f>;

/// A table in the hands of workers.
pub trait Reader<Bits>: Clone + Send + Sync + 'static {
    /// The table during a frame.
    type View<'g>: View<Bits>;
    /// The table as hot loops want it.
    fn view<'g>(&self, guard: Guard<'g>) -> Self::View<'g>;
    /// Whether what lookups read is far away: whoever looks up many addresses looks ahead then.
    fn is_far(&self) -> bool;
    /// Prefetches the first word of a lookup.
    fn prefetch_first(&self, guard: Guard<'_>, address: Bits);
    /// Number of words after the first that are worth prefetching.
    const STEPS: usize;
}

/// A table during a frame.
pub trait View<Bits>: Copy {
    /// The leaf of an address; zero if there is none.
    fn lookup(&self, address: Bits) -> u32;
    /// The leaves of eight, as a column like another one.
    fn leaves<I: Isa>(&self, like: Lanes<I>, addresses: &[Bits; LANES]) -> Lanes<I>;
    /// The leaves of eight.
    fn lookup_each(&self, addresses: &[Bits; LANES]) -> [u32; LANES];
    /// The word that a lookup begins with. What it leads to is fetched.
    fn begin(&self, address: Bits) -> u32;
    /// The word that another leads to, or the same if that is a leaf. What it leads to is fetched.
    fn descend(&self, word: u32, address: Bits) -> u32;
    /// Whether a word leads no further.
    fn is_leaf(word: u32) -> bool;
    /// The leaves of eight, from words on that were looked at ahead.
    fn finish_each(&self, words: [u32; LANES], addresses: &[Bits; LANES]) -> [u32; LANES];
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
    ($family:ty, $bits:ty, $reader:ty, $view:ident, $writer:ty, ($steps:expr, $descend:expr), $leaves:path) => {
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
            type View<'g> = $view<'g>;
            #[inline(always)]
            fn view<'g>(&self, guard: Guard<'g>) -> $view<'g> {
                <$reader>::view(self, guard)
            }
            #[inline(always)]
            fn is_far(&self) -> bool {
                <$reader>::is_far(self)
            }
            #[inline(always)]
            fn prefetch_first(&self, guard: Guard<'_>, address: $bits) {
                <$reader>::prefetch_first(self, guard, address);
            }
            const STEPS: usize = $steps;
        }

        impl View<$bits> for $view<'_> {
            #[inline(always)]
            fn lookup(&self, address: $bits) -> u32 {
                self.lookup(address)
            }
            #[inline(always)]
            fn leaves<I: Isa>(&self, like: Lanes<I>, addresses: &[$bits; LANES]) -> Lanes<I> {
                $leaves(self, like, addresses)
            }
            #[inline(always)]
            fn lookup_each(&self, addresses: &[$bits; LANES]) -> [u32; LANES] {
                self.lookup_each(addresses)
            }
            #[inline(always)]
            fn begin(&self, address: $bits) -> u32 {
                self.begin(address)
            }
            #[inline(always)]
            fn descend(&self, word: u32, address: $bits) -> u32 {
                $descend(self, word, address)
            }
            #[inline(always)]
            fn is_leaf(word: u32) -> bool {
                <$view<'_>>::is_leaf(word)
            }
            #[inline(always)]
            fn finish_each(&self, words: [u32; LANES], addresses: &[$bits; LANES]) -> [u32; LANES] {
                self.finish_each(words, addresses)
            }
        }

        impl Trie<$family> for $writer {
            type Reader = $reader;

            fn make(domain: &Domain, size: Size) -> Result<$writer, LpmError> {
                let config = match size {
                    Size::Small => LpmConfig::small(),
                    Size::Large => LpmConfig::large(),
                    Size::Rehearsed => LpmConfig::slim(),
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
// Behind the first word of IPv4 is the leaf, mostly; behind that of IPv6 are some nodes.
forwarding!(V4, u32, Lpm, LpmView, LpmWriter, (0, |_, word, _| word), leaves4);
forwarding!(
    V6,
    u128,
    Lpm6,
    Lpm6View,
    Lpm6Writer,
    (4, |view: &Lpm6View<'_>, word, address| view.descend(word, address)),
    leaves6
);

/// PERF: whether any word leads further is asked of the column, not of eight scalars.
#[inline(always)]
fn leaves4<I: Isa>(view: &LpmView<'_>, like: Lanes<I>, addresses: &[u32; LANES]) -> Lanes<I> {
    let (each, mut words) = (like.with(addresses).each(), [0; LANES]);
    for lane in 0..LANES {
        words[lane] = view.first(each.at(lane));
    }
    let words = like.with(&words);
    match words.gt(LpmView::LEAF_MAX).any() {
        true => like.with(&view.finish_each(words.array(), addresses)),
        false => words.replace(words.eq(0), view.default_leaf()),
    }
}
#[inline(always)]
fn leaves6<I: Isa>(view: &Lpm6View<'_>, like: Lanes<I>, addresses: &[u128; LANES]) -> Lanes<I> {
    like.with(&view.lookup_each(addresses))
}
