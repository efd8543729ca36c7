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
#[inline]
#[target_feature(enable = "avx512f")]
pub fn select(m: u16, yes: Register, no: Register) -> Register {
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
#[inline]
#[target_feature(enable = "avx512f")]
pub fn columns(rows: &[&[u8; 32]; 16]) -> [[Register; 1]; 8] {
    // Row i lies in the lower half of a register, row i + 8 in the upper one.
    let mut r = [splat(0); 8];
    for i in 0..8 {
        // SAFETY: a row has 32 bytes.
        let row = |i: usize| unsafe { _mm256_loadu_si256(rows[i].as_ptr().cast()) };
        r[i] = _mm512_inserti64x4::<1>(_mm512_castsi256_si512(row(i)), row(i + 8));
    }
    let c = deal(blocks(r[0], r[1], r[2], r[3]), blocks(r[4], r[5], r[6], r[7]));
    [[c[0]], [c[1]], [c[2]], [c[3]], [c[4]], [c[5]], [c[6]], [c[7]]]
}
#[inline]
#[target_feature(enable = "avx512f")]
pub fn rows(c: &[[Register; 1]; 8]) -> [[u8; 32]; 16] {
    let r = deal([c[0][0], c[1][0], c[2][0], c[3][0]], [c[4][0], c[5][0], c[6][0], c[7][0]]);
    let (a, b) = (blocks(r[0], r[1], r[2], r[3]), blocks(r[4], r[5], r[6], r[7]));
    let mut rows = [[0; 32]; 16];
    for i in 0..8 {
        let z = if i < 4 { a[i] } else { b[i - 4] };
        // SAFETY: a row has 32 bytes.
        unsafe {
            _mm256_storeu_si256(rows[i].as_mut_ptr().cast(), _mm512_castsi512_si256(z));
            _mm256_storeu_si256(rows[8 + i].as_mut_ptr().cast(), _mm512_extracti64x4_epi64::<1>(z));
        }
    }
    rows
}
