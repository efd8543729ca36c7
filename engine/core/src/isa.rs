//! Eight lanes of u32, safe to use, for every instruction set: the only room with intrinsics.
//!
//! A level is a token (`Avx512`) that exists only if the CPU has the features. Every `Lanes` value carries its token (no
//! bytes), so an operation on lanes may call intrinsics safely.

mod cpu;
mod each;
mod lanes;
mod level;
mod mask;
mod x86;

pub(crate) use cpu::lap;
#[cfg(test)]
pub(crate) use cpu::set_clock;
pub use cpu::{prefetch, ticks, unlikely};
pub use each::{Each, Picked, Slots};
pub use lanes::{Lanes, Operand};
pub use level::{Kernel, Level, LevelError};
pub use mask::Mask;

use std::ops::{BitAnd, BitOr, Not};

/// Values of a `Lanes`: packets that a stage works on at once.
pub const LANES: usize = 8;

/// The operations a level provides on its registers. Feature code never sees this, only `Lanes`.
pub trait Isa: Copy + 'static {
    /// The registers that hold eight words, the first one in the lowest bits of the first.
    type V: Copy;
    /// The registers that hold a mask: the result of comparing eight words, and what selects among eight words.
    type M: Copy;
    /// Eight words from memory.
    fn load(self, a: &[u32; LANES]) -> Self::V;
    /// Eight words to memory.
    fn store(self, v: Self::V) -> [u32; LANES];
    /// Eight halves of words from memory, and zeros above them.
    fn widen(self, a: &[u16; LANES]) -> Self::V;
    /// The lower halves of eight words.
    fn narrow(self, v: Self::V) -> [u16; LANES];
    /// One word in all lanes.
    fn splat(self, x: u32) -> Self::V;
    /// Sum, wrapping.
    fn add(self, a: Self::V, b: Self::V) -> Self::V;
    /// Difference, wrapping.
    fn sub(self, a: Self::V, b: Self::V) -> Self::V;
    /// The less of both, unsigned.
    fn min(self, a: Self::V, b: Self::V) -> Self::V;
    /// Bits of both.
    fn and(self, a: Self::V, b: Self::V) -> Self::V;
    /// Bits of either.
    fn or(self, a: Self::V, b: Self::V) -> Self::V;
    /// Bits that differ.
    fn xor(self, a: Self::V, b: Self::V) -> Self::V;
    /// All lanes shifted left.
    fn shl(self, a: Self::V, n: u32) -> Self::V;
    /// All lanes shifted right, zeros coming in.
    fn shr(self, a: Self::V, n: u32) -> Self::V;
    /// The lanes whose words are equal.
    fn eq(self, a: Self::V, b: Self::V) -> Self::M;
    /// The lanes where `a` is less, unsigned.
    fn lt(self, a: Self::V, b: Self::V) -> Self::M;
    /// `yes` in the lanes of the mask, else `no`.
    fn select(self, m: Self::M, yes: Self::V, no: Self::V) -> Self::V;
    /// The lanes of both masks.
    fn both(self, a: Self::M, b: Self::M) -> Self::M;
    /// The lanes of either mask.
    fn either(self, a: Self::M, b: Self::M) -> Self::M;
    /// The lanes of `a` that are not in `b`.
    fn without(self, a: Self::M, b: Self::M) -> Self::M;
    /// The mask of bits, one for each lane.
    fn mask(self, bits: u8) -> Self::M;
    /// The mask of the first `n` lanes, or all if there are fewer.
    fn first(self, n: usize) -> Self::M;
    /// The bits of a mask.
    fn bits(self, m: Self::M) -> u8;
    /// Whether there is any lane in the mask.
    fn any(self, m: Self::M) -> bool;
    /// The bytes of each word reversed.
    fn swap_bytes(self, a: Self::V) -> Self::V;
    /// Eight rows of 16 bytes become four columns of eight big-endian words.
    fn columns<'a>(self, row: impl Fn(usize) -> &'a [u8; 16]) -> [Self::V; 4];
}

/// One bit per lane.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Mask8(pub u8);

impl Mask8 {
    /// All lanes.
    pub const ALL: Mask8 = Mask8(!0);
    /// The first `n` lanes.
    #[inline(always)]
    pub fn first(n: usize) -> Mask8 {
        Mask8(if n >= LANES { !0 } else { (1 << n) - 1 })
    }
}
impl Mask8 {
    /// The number of lanes in the mask.
    #[inline(always)]
    pub fn len(self) -> usize {
        self.0.count_ones() as usize
    }
    /// Whether there are none.
    #[inline(always)]
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }
}
/// The lanes that are set, lowest first.
impl Iterator for Mask8 {
    type Item = usize;
    #[inline(always)]
    fn next(&mut self) -> Option<usize> {
        let lane = self.0.trailing_zeros() as usize;
        self.0 &= self.0.wrapping_sub(1);
        (lane < LANES).then_some(lane)
    }
}
impl BitAnd for Mask8 {
    type Output = Mask8;
    #[inline(always)]
    fn bitand(self, o: Mask8) -> Mask8 {
        Mask8(self.0 & o.0)
    }
}
impl BitOr for Mask8 {
    type Output = Mask8;
    #[inline(always)]
    fn bitor(self, o: Mask8) -> Mask8 {
        Mask8(self.0 | o.0)
    }
}
impl Not for Mask8 {
    type Output = Mask8;
    #[inline(always)]
    fn not(self) -> Mask8 {
        Mask8(!self.0)
    }
}
