//! Sixteen lanes of u32, safe to use, for every instruction set: the only room with intrinsics.
//!
//! A level is a token (`Avx512`) that exists only if the CPU has the features. Every `Lanes` value carries its token (no
//! bytes), so an operation on lanes may call intrinsics safely.

mod cpu;
mod lanes;
mod level;
mod x86;

pub(crate) use cpu::lap;
pub use cpu::{prefetch, ticks};
pub use lanes::{Lanes, Operand};
pub use level::{Kernel, Level, LevelError};

use std::ops::{BitAnd, BitOr, Not};

/// The operations a level provides on its registers. Feature code never sees this, only `Lanes`.
pub trait Isa: Copy + 'static {
    /// The registers that hold sixteen words.
    type V: Copy;
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
    /// A bit for each lane whose words are equal.
    fn eq(self, a: Self::V, b: Self::V) -> u16;
    /// A bit for each lane where `a` is less, unsigned.
    fn lt(self, a: Self::V, b: Self::V) -> u16;
    /// `yes` where the bit is set, else `no`.
    fn select(self, m: u16, yes: Self::V, no: Self::V) -> Self::V;
    /// The bytes of each word reversed.
    fn swap_bytes(self, a: Self::V) -> Self::V;
    /// Sixteen rows of 32 bytes become eight columns of sixteen little-endian words.
    fn columns(self, rows: &[&[u8; 32]; 16]) -> [Self::V; 8];
    /// The inverse of `columns`.
    fn rows(self, columns: &[Self::V; 8]) -> [[u8; 32]; 16];
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
