//! AVX-512: sixteen words to a register.
#![allow(unsafe_code)]

pub use std::arch::x86_64::{
    __m512i as Register, _mm512_set1_epi32 as splat, _mm512_sll_epi32 as shl, _mm512_srl_epi32 as shr,
};
pub use std::arch::x86_64::{
    _mm512_add_epi32 as add, _mm512_and_si512 as and, _mm512_or_si512 as or, _mm512_sub_epi32 as sub,
    _mm512_xor_si512 as xor,
};
pub use std::arch::x86_64::{_mm512_cmpeq_epi32_mask as eq, _mm512_cmplt_epu32_mask as lt};
use std::arch::x86_64::{
    _mm512_unpackhi_epi32 as high32, _mm512_unpackhi_epi64 as high64, _mm512_unpacklo_epi32 as low32,
    _mm512_unpacklo_epi64 as low64, *,
};
level!(@blocks "avx512f");
/// A bit for each lane.
pub type Truth = u16;
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
pub fn mask(bits: u16) -> Truth {
    bits
}
#[inline]
#[target_feature(enable = "avx512f")]
pub fn bits([truths]: [Truth; 1]) -> u16 {
    truths
}
#[inline]
#[target_feature(enable = "avx512f")]
pub fn any([truths]: [Truth; 1]) -> bool {
    truths != 0
}
#[inline]
#[target_feature(enable = "avx512f")]
pub fn select(m: Truth, yes: Register, no: Register) -> Register {
    _mm512_mask_blend_epi32(m, no, yes)
}
#[inline]
#[target_feature(enable = "avx512bw")]
pub fn swap_bytes(a: Register) -> Register {
    _mm512_shuffle_epi8(a, _mm512_broadcast_i32x4(super::reversal()))
}
/// Deals the 128-bit blocks of two registers out to two: even ones first. Its own inverse.
#[inline]
#[target_feature(enable = "avx512f")]
fn deal(a: [Register; 4], b: [Register; 4]) -> [Register; 8] {
    let even = _mm512_setr_epi64(0, 1, 8, 9, 4, 5, 12, 13);
    let odd = _mm512_setr_epi64(2, 3, 10, 11, 6, 7, 14, 15);
    let mut r = [even; 8];
    for i in 0..4 {
        r[i] = _mm512_permutex2var_epi64(a[i], even, b[i]);
        r[4 + i] = _mm512_permutex2var_epi64(a[i], odd, b[i]);
    }
    r
}
/// Rows i, i + 4, i + 8 and i + 12 side by side.
#[inline]
#[target_feature(enable = "avx512f")]
fn four([a, b, c, d]: [&[u8; 16]; 4]) -> Register {
    let two = _mm512_inserti32x4::<1>(_mm512_castsi128_si512(super::load(a)), super::load(b));
    let three = _mm512_inserti32x4::<2>(two, super::load(c));
    _mm512_inserti32x4::<3>(three, super::load(d))
}
/// # Safety
/// The CPU has AVX-512.
#[inline(always)]
pub unsafe fn columns(r: &[&[u8; 16]; 16]) -> [[Register; 1]; 4] {
    // SAFETY: by the contract.
    let [a, b, c, d] = unsafe {
        blocks(
            four([r[0], r[4], r[8], r[12]]),
            four([r[1], r[5], r[9], r[13]]),
            four([r[2], r[6], r[10], r[14]]),
            four([r[3], r[7], r[11], r[15]]),
        )
    };
    [[a], [b], [c], [d]]
}
/// # Safety
/// The CPU has AVX-512.
#[inline(always)]
pub unsafe fn rows(c: &[[Register; 1]; 8], mut put: impl FnMut(usize, [u8; 32])) {
    // SAFETY: by the contract.
    let r = unsafe { deal([c[0][0], c[1][0], c[2][0], c[3][0]], [c[4][0], c[5][0], c[6][0], c[7][0]]) };
    // SAFETY: as above.
    let (a, b) = unsafe { (blocks(r[0], r[1], r[2], r[3]), blocks(r[4], r[5], r[6], r[7])) };
    for i in 0..8 {
        // SAFETY: both are 64 bytes for which every pattern is valid.
        let [lower, upper]: [[u8; 32]; 2] = unsafe { std::mem::transmute(if i < 4 { a[i] } else { b[i - 4] }) };
        put(i, lower);
        put(8 + i, upper);
    }
}
