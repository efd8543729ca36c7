//! The baseline: four words to a register, four registers to a value.
#![allow(unsafe_code)]

pub use std::arch::x86_64::{__m128i as Register, _mm_set1_epi32 as splat, _mm_sll_epi32 as shl, _mm_srl_epi32 as shr};
pub use std::arch::x86_64::{
    _mm_add_epi32 as add, _mm_and_si128 as and, _mm_or_si128 as or, _mm_sub_epi32 as sub, _mm_xor_si128 as xor,
};
use std::arch::x86_64::{
    _mm_unpackhi_epi32 as high32, _mm_unpackhi_epi64 as high64, _mm_unpacklo_epi32 as low32,
    _mm_unpacklo_epi64 as low64, *,
};
level!(@blocks "sse2");
#[inline]
#[target_feature(enable = "sse2")]
pub fn eq(a: Register, b: Register) -> i32 {
    _mm_movemask_ps(_mm_castsi128_ps(_mm_cmpeq_epi32(a, b)))
}
/// SSE2 compares signed words only, so the range moves down.
#[inline]
#[target_feature(enable = "sse2")]
pub fn lt(a: Register, b: Register) -> i32 {
    let low = splat(i32::MIN);
    _mm_movemask_ps(_mm_castsi128_ps(_mm_cmplt_epi32(xor(a, low), xor(b, low))))
}
#[inline]
#[target_feature(enable = "sse2")]
pub fn select(m: u16, yes: Register, no: Register) -> Register {
    let bits = _mm_setr_epi32(1, 2, 4, 8);
    let m = _mm_cmpeq_epi32(and(splat(m.into()), bits), bits);
    or(and(m, yes), _mm_andnot_si128(m, no))
}
#[inline]
#[target_feature(enable = "sse2")]
pub fn swap_bytes(a: Register) -> Register {
    let halves = _mm_shufflehi_epi16::<0xb1>(_mm_shufflelo_epi16::<0xb1>(a));
    or(_mm_srli_epi16::<8>(halves), _mm_slli_epi16::<8>(halves))
}
#[inline]
#[target_feature(enable = "sse2")]
pub fn columns(rows: &[&[u8; 32]; 16]) -> [[Register; 4]; 8] {
    let [a, b, c, d] = [quarter(rows, 0, 0), quarter(rows, 4, 0), quarter(rows, 8, 0), quarter(rows, 12, 0)];
    let [e, f, g, h] = [quarter(rows, 0, 1), quarter(rows, 4, 1), quarter(rows, 8, 1), quarter(rows, 12, 1)];
    [
        [a[0], b[0], c[0], d[0]],
        [a[1], b[1], c[1], d[1]],
        [a[2], b[2], c[2], d[2]],
        [a[3], b[3], c[3], d[3]],
        [e[0], f[0], g[0], h[0]],
        [e[1], f[1], g[1], h[1]],
        [e[2], f[2], g[2], h[2]],
        [e[3], f[3], g[3], h[3]],
    ]
}
/// Half of four rows, as four columns. Written out in `columns`: LLVM leaves an array that loops fill in memory,
/// and copies it.
#[inline]
#[target_feature(enable = "sse2")]
fn quarter(rows: &[&[u8; 32]; 16], first: usize, half: usize) -> [Register; 4] {
    // SAFETY: 16 bytes from byte 0 or 16 of 32.
    let row = |i: usize| unsafe { _mm_loadu_si128(rows[first + i].as_ptr().cast::<Register>().add(half)) };
    blocks(row(0), row(1), row(2), row(3))
}
#[inline]
#[target_feature(enable = "sse2")]
pub fn rows(c: &[[Register; 4]; 8]) -> [[u8; 32]; 16] {
    let mut rows = [[0; 32]; 16];
    for part in 0..4 {
        for half in 0..2 {
            let h = 4 * half;
            let r = blocks(c[h][part], c[h + 1][part], c[h + 2][part], c[h + 3][part]);
            for i in 0..4 {
                // SAFETY: 16 bytes from byte 0 or 16 of 32.
                unsafe { _mm_storeu_si128(rows[4 * part + i].as_mut_ptr().cast::<Register>().add(half), r[i]) };
            }
        }
    }
    rows
}
