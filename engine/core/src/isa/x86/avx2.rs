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
/// Ones in the words of the lanes.
pub type Truth = Register;
pub use std::arch::x86_64::{_mm256_and_si256 as both, _mm256_cmpeq_epi32 as eq, _mm256_or_si256 as either};
#[inline]
#[target_feature(enable = "avx2")]
pub fn lt(a: Register, b: Register) -> Truth {
    without(splat(-1), eq(_mm256_max_epu32(a, b), a))
}
#[inline]
#[target_feature(enable = "avx2")]
pub fn without(a: Truth, b: Truth) -> Truth {
    _mm256_andnot_si256(b, a)
}
#[inline]
#[target_feature(enable = "avx2")]
pub fn select(m: Truth, yes: Register, no: Register) -> Register {
    _mm256_blendv_epi8(no, yes, m)
}
#[inline]
#[target_feature(enable = "avx2")]
pub fn mask(bits: u16) -> Truth {
    let each = _mm256_setr_epi32(1, 2, 4, 8, 16, 32, 64, 128);
    eq(and(splat(bits.into()), each), each)
}
#[inline]
#[target_feature(enable = "avx2")]
pub fn bits([low, high]: [Truth; 2]) -> u16 {
    let of = |truths| _mm256_movemask_ps(_mm256_castsi256_ps(truths));
    (of(low) | of(high) << 8) as u16
}
#[inline]
#[target_feature(enable = "avx2")]
pub fn any([low, high]: [Truth; 2]) -> bool {
    let some = either(low, high);
    _mm256_testz_si256(some, some) == 0
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
/// Two rows side by side.
#[inline]
#[target_feature(enable = "avx2")]
fn two(lower: &[u8; 16], upper: &[u8; 16]) -> Register {
    _mm256_inserti128_si256::<1>(_mm256_castsi128_si256(super::load(lower)), super::load(upper))
}
/// # Safety
/// The CPU has AVX2.
#[inline(always)]
pub unsafe fn columns(r: &[&[u8; 16]; 16]) -> [[Register; 2]; 4] {
    // Words of four rows in the lower halves of registers, and of the four behind them in the upper ones.
    // SAFETY: by the contract.
    let ([a, b, c, d], [e, f, g, h]) = unsafe {
        (
            blocks(two(r[0], r[4]), two(r[1], r[5]), two(r[2], r[6]), two(r[3], r[7])),
            blocks(two(r[8], r[12]), two(r[9], r[13]), two(r[10], r[14]), two(r[11], r[15])),
        )
    };
    [[a, e], [b, f], [c, g], [d, h]]
}
/// # Safety
/// The CPU has AVX2.
#[inline(always)]
pub unsafe fn rows(c: &[[Register; 2]; 8], mut put: impl FnMut(usize, [u8; 32])) {
    for h in 0..2 {
        // SAFETY: by the contract.
        let r = unsafe { cross([c[0][h], c[1][h], c[2][h], c[3][h], c[4][h], c[5][h], c[6][h], c[7][h]]) };
        for i in 0..8 {
            // SAFETY: both are 32 bytes for which every pattern is valid.
            put(8 * h + i, unsafe { std::mem::transmute::<Register, [u8; 32]>(r[i]) });
        }
    }
}
