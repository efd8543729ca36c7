//! AVX-512: eight words to a register, as AVX2 has them, with masks of their own and 32 registers.
#![allow(unsafe_code)]

pub use super::avx2::{Register, add, and, columns, min, narrow, or, shl, shr, splat, sub, swap_bytes, widen, xor};
use std::arch::x86_64::_mm256_mask_blend_epi32;
pub use std::arch::x86_64::{_mm256_cmpeq_epi32_mask as eq, _mm256_cmplt_epu32_mask as lt};

/// A bit for each lane.
pub type Truth = u8;
#[inline]
#[target_feature(enable = "avx512f")]
pub fn both(a: Truth, b: Truth) -> Truth {
    a & b
}
#[inline]
#[target_feature(enable = "avx512f")]
pub fn either(a: Truth, b: Truth) -> Truth {
    a | b
}
#[inline]
#[target_feature(enable = "avx512f")]
pub fn without(a: Truth, b: Truth) -> Truth {
    a & !b
}
#[inline]
#[target_feature(enable = "avx512f")]
pub fn mask(bits: u8) -> Truth {
    bits
}
#[inline]
#[target_feature(enable = "avx512f")]
pub fn first(n: usize) -> Truth {
    if n >= 8 { !0 } else { (1 << n) - 1 }
}
#[inline]
#[target_feature(enable = "avx512f")]
pub fn bits([truths]: [Truth; 1]) -> u8 {
    truths
}
#[inline]
#[target_feature(enable = "avx512f")]
pub fn any([truths]: [Truth; 1]) -> bool {
    truths != 0
}
#[inline]
#[target_feature(enable = "avx512f,avx512vl")]
pub fn select(m: Truth, yes: Register, no: Register) -> Register {
    _mm256_mask_blend_epi32(m, no, yes)
}
