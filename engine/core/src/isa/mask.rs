//! Eight truths, as the instruction set has them: where comparisons leave them, and selections find them.

use super::{Isa, Mask8};
use std::ops::{BitAnd, BitOr, Not};

/// A choice among eight lanes. To go through them, or to count them, take its [`Mask::bits`].
#[derive(Clone, Copy)]
pub struct Mask<I: Isa> {
    pub(super) m: I::M,
    pub(super) isa: I,
}

impl<I: Isa> Mask<I> {
    /// A mask of these lanes.
    #[inline(always)]
    pub fn new(isa: I, lanes: Mask8) -> Self {
        Mask { m: isa.mask(lanes.0), isa }
    }
    /// The first `n` lanes, or all if there are fewer.
    #[inline(always)]
    pub fn first(isa: I, n: usize) -> Self {
        Mask { m: isa.first(n), isa }
    }
    /// Other lanes on the same instruction set.
    #[inline(always)]
    pub fn with(self, lanes: Mask8) -> Self {
        Mask::new(self.isa, lanes)
    }
    /// A bit for each lane.
    #[inline(always)]
    pub fn bits(self) -> Mask8 {
        Mask8(self.isa.bits(self.m))
    }
    /// Whether there is any lane in it.
    #[inline(always)]
    pub fn any(self) -> bool {
        self.isa.any(self.m)
    }
    /// Whether all lanes are in it.
    #[inline(always)]
    pub fn all(self) -> bool {
        !(!self).any()
    }
    /// The lanes that are not in the other one.
    #[inline(always)]
    pub fn without(self, o: Self) -> Self {
        Mask { m: self.isa.without(self.m, o.m), isa: self.isa }
    }
}
impl<I: Isa> BitAnd for Mask<I> {
    type Output = Mask<I>;
    #[inline(always)]
    fn bitand(self, o: Self) -> Self {
        Mask { m: self.isa.both(self.m, o.m), isa: self.isa }
    }
}
impl<I: Isa> BitOr for Mask<I> {
    type Output = Mask<I>;
    #[inline(always)]
    fn bitor(self, o: Self) -> Self {
        Mask { m: self.isa.either(self.m, o.m), isa: self.isa }
    }
}
impl<I: Isa> Not for Mask<I> {
    type Output = Mask<I>;
    #[inline(always)]
    fn not(self) -> Self {
        Mask::new(self.isa, Mask8::ALL).without(self)
    }
}
