//! Prefixes as words, for patterns and for eight packets at once.

use quiver_engine::{Isa, Lanes, Mask};
use quiver_ip::Family;
use quiver_wire::{Prefix, V4, V6};

use crate::prefix::AnyPrefix;

/// The words of an address that have to be so, each with the bits of it that matter.
#[derive(Clone, Copy, Debug)]
pub struct Part([(u32, u32); 4]);

impl Part {
    fn of<F: Family>(prefix: &Prefix<F>) -> Part {
        let last = F::ADDRESS_BITS as u32 / 32 - 1;
        let words = |bits: u128| [0, 1, 2, 3].map(|n: u32| (bits >> (32 * last.saturating_sub(n))) as u32);
        let (value, mask) = (words(F::to_bits(prefix.address())), words(F::mask(prefix.length())));
        Part([0, 1, 2, 3].map(|n| (value[n], mask[n])))
    }
    /// A word and its mask.
    pub fn word(&self, n: usize) -> (u32, u32) {
        self.0[n % 4]
    }
    /// The lanes of addresses that are so.
    #[inline(always)]
    pub(crate) fn meets<F: Family, I: Isa>(&self, address: &[Lanes<I>; 4]) -> Mask<I> {
        let is = |n: usize| {
            let (value, mask) = self.0[n];
            (address[n] & mask).eq(value)
        };
        if F::ADDRESS_BITS == 32 { is(0) } else { is(0) & is(1) & is(2) & is(3) }
    }
}

/// A family with prefixes in rules.
pub trait Ranged: Family {
    /// The words of a prefix, and of its mask; None of one of the other family.
    fn part(prefix: &AnyPrefix) -> Option<Part>;
}
impl Ranged for V4 {
    fn part(prefix: &AnyPrefix) -> Option<Part> {
        if let AnyPrefix::Ip4(prefix) = prefix { Some(Part::of(prefix)) } else { None }
    }
}
impl Ranged for V6 {
    fn part(prefix: &AnyPrefix) -> Option<Part> {
        if let AnyPrefix::Ip6(prefix) = prefix { Some(Part::of(prefix)) } else { None }
    }
}
