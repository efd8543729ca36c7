//! Sixteen lanes of u32, safe to use, for every instruction set: the only room with intrinsics.
//!
//! A level is a token (`Avx512`) that exists only if the CPU has the features. Every `Lanes` value carries its token (no
//! bytes), so an operation on lanes may call intrinsics safely.

mod cpu;
mod lanes;
mod level;
mod mask;
mod x86;

pub(crate) use cpu::lap;
pub use cpu::{prefetch, ticks};
pub(crate) use lanes::quarter;
pub use lanes::{Lanes, Operand};
pub use level::{Kernel, Level, LevelError};
pub use mask::Mask;

use std::ops::{BitAnd, BitOr, Not};

/// The operations a level provides on its registers. Feature code never sees this, only `Lanes`.
pub trait Isa: Copy + 'static {
    /// The registers that hold sixteen words.
    type V: Copy;
    /// What a comparison says of sixteen words, and a selection goes by.
    type M: Copy;
    /// Sixteen words from memory.
    fn load(self, a: &[u32; 16]) -> Self::V;
    /// Sixteen words to memory.
    fn store(self, v: Self::V) -> [u32; 16];
    /// One word in all lanes.
    fn splat(self, x: u32) -> Self::V;
    /// Sum, wrapping.
    fn add(self, a: Self::V, b: Self::V) -> Self::V;
    /// Difference, wrapping.
    fn sub(self, a: Self::V, b: Self::V) -> Self::V;
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
    fn mask(self, bits: u16) -> Self::M;
    /// The bits of a mask.
    fn bits(self, m: Self::M) -> u16;
    /// Whether there is any lane in the mask.
    fn any(self, m: Self::M) -> bool;
    /// The bytes of each word reversed.
    fn swap_bytes(self, a: Self::V) -> Self::V;
    /// Sixteen rows of 16 bytes become four columns of sixteen little-endian words.
    fn columns<'a>(self, row: impl Fn(usize) -> &'a [u8; 16]) -> [Self::V; 4];
    /// Eight columns of sixteen little-endian words become rows of 32 bytes, each of which is put somewhere.
    fn rows(self, columns: &[Self::V; 8], put: impl FnMut(usize, [u8; 32]));
}

/// One bit per lane.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Mask16(pub u16);

impl Mask16 {
    /// All lanes.
    pub const ALL: Mask16 = Mask16(!0);
    /// The first `n` lanes.
    #[inline(always)]
    pub fn first(n: usize) -> Mask16 {
        Mask16(if n >= 16 { !0 } else { (1 << n) - 1 })
    }
}
/// The lanes that are set, lowest first.
impl Iterator for Mask16 {
    type Item = usize;
    #[inline(always)]
    fn next(&mut self) -> Option<usize> {
        let lane = self.0.trailing_zeros() as usize;
        self.0 &= self.0.wrapping_sub(1);
        (lane < 16).then_some(lane)
    }
}
impl BitAnd for Mask16 {
    type Output = Mask16;
    #[inline(always)]
    fn bitand(self, o: Mask16) -> Mask16 {
        Mask16(self.0 & o.0)
    }
}
impl BitOr for Mask16 {
    type Output = Mask16;
    #[inline(always)]
    fn bitor(self, o: Mask16) -> Mask16 {
        Mask16(self.0 | o.0)
    }
}
impl Not for Mask16 {
    type Output = Mask16;
    #[inline(always)]
    fn not(self) -> Mask16 {
        Mask16(!self.0)
    }
}
