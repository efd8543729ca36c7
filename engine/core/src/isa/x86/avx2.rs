//! AVX2: eight words to a register, two registers to a value.
#![allow(unsafe_code)]

pub use std::arch::x86_64::{
    __m256i as Register, _mm256_set1_epi32 as splat, _mm256_sll_epi32 as shl, _mm256_srl_epi32 as shr,
};
pub use std::arch::x86_64::{
    _mm256_add_epi32 as add, _mm256_and_si256 as and, _mm256_or_si256 as or, _mm256_sub_epi32 as sub,
    _mm256_xor_si256 as xor,
};
use std::arch::x86_64::{
    _mm256_unpackhi_epi32 as high32, _mm256_unpackhi_epi64 as high64, _mm256_unpacklo_epi32 as low32,
    _mm256_unpacklo_epi64 as low64, *,
};
level!(@blocks "avx2");
#[inline]
#[target_feature(enable = "avx2")]
pub fn eq(a: Register, b: Register) -> i32 {
    _mm256_movemask_ps(_mm256_castsi256_ps(_mm256_cmpeq_epi32(a, b)))
}
#[inline]
#[target_feature(enable = "avx2")]
pub fn lt(a: Register, b: Register) -> i32 {
    !eq(_mm256_max_epu32(a, b), a) & 0xff
}
#[inline]
#[target_feature(enable = "avx2")]
pub fn select(m: u16, yes: Register, no: Register) -> Register {
    let bits = _mm256_setr_epi32(1, 2, 4, 8, 16, 32, 64, 128);
    _mm256_blendv_epi8(no, yes, _mm256_cmpeq_epi32(and(splat(m.into()), bits), bits))
}
#[inline]
#[target_feature(enable = "avx2")]
pub fn swap_bytes(a: Register) -> Register {
    _mm256_shuffle_epi8(a, _mm256_broadcastsi128_si256(super::reversal()))
}
/// Transposes 8x8 words; its own inverse.
#[inline]
#[target_feature(enable = "avx2")]
fn cross(r: [Register; 8]) -> [Register; 8] {
    let (a, b) = (blocks(r[0], r[1], r[2], r[3]), blocks(r[4], r[5], r[6], r[7]));
    let mut c = r;
    for i in 0..4 {
        c[i] = _mm256_permute2x128_si256::<0x20>(a[i], b[i]);
        c[4 + i] = _mm256_permute2x128_si256::<0x31>(a[i], b[i]);
    }
    c
}
#[inline]
#[target_feature(enable = "avx2")]
pub fn columns(rows: &[&[u8; 32]; 16]) -> [[Register; 2]; 8] {
    let mut columns = [[splat(0); 2]; 8];
    for half in 0..2 {
        let mut r = [splat(0); 8];
        for i in 0..8 {
            // SAFETY: a row has 32 bytes.
            r[i] = unsafe { _mm256_loadu_si256(rows[8 * half + i].as_ptr().cast()) };
        }
        let c = cross(r);
        for i in 0..8 {
            columns[i][half] = c[i];
        }
    }
    columns
}
#[inline]
#[target_feature(enable = "avx2")]
pub fn rows(c: &[[Register; 2]; 8]) -> [[u8; 32]; 16] {
    let mut rows = [[0; 32]; 16];
    for h in 0..2 {
        let r = cross([c[0][h], c[1][h], c[2][h], c[3][h], c[4][h], c[5][h], c[6][h], c[7][h]]);
        for i in 0..8 {
            // SAFETY: a row has 32 bytes.
            unsafe { _mm256_storeu_si256(rows[8 * h + i].as_mut_ptr().cast(), r[i]) };
        }
    }
    rows
}
