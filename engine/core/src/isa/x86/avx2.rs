//! AVX2: eight words to a register.
#![allow(unsafe_code)]

pub use std::arch::x86_64::{
    __m256i as Register, _mm256_set1_epi32 as splat, _mm256_sll_epi32 as shl, _mm256_srl_epi32 as shr,
};
pub use std::arch::x86_64::{
    _mm256_add_epi32 as add, _mm256_and_si256 as and, _mm256_min_epu32 as min, _mm256_or_si256 as or,
    _mm256_sub_epi32 as sub, _mm256_xor_si256 as xor,
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
pub fn mask(bits: u8) -> Truth {
    let each = _mm256_setr_epi32(1, 2, 4, 8, 16, 32, 64, 128);
    eq(and(splat(bits.into()), each), each)
}
#[inline]
#[target_feature(enable = "avx2")]
pub fn widen(a: &[u16; 8]) -> [Register; 1] {
    // SAFETY: 16 bytes.
    [_mm256_cvtepu16_epi32(unsafe { _mm_loadu_si128(a.as_ptr().cast()) })]
}
#[inline]
#[target_feature(enable = "avx2")]
pub fn narrow([words]: [Register; 1]) -> [u16; 8] {
    // The lower halves come together in each block, and the blocks' ends then.
    let halves = _mm256_setr_epi8(
        0, 1, 4, 5, 8, 9, 12, 13, -1, -1, -1, -1, -1, -1, -1, -1, 0, 1, 4, 5, 8, 9, 12, 13, -1, -1, -1, -1, -1, -1, -1,
        -1,
    );
    let halves = _mm256_permute4x64_epi64::<0b1000>(_mm256_shuffle_epi8(words, halves));
    // SAFETY: both are 16 bytes for which every pattern is valid.
    unsafe { std::mem::transmute(_mm256_castsi256_si128(halves)) }
}
/// PERF: a load, where [`mask`] takes four instructions.
#[inline]
#[target_feature(enable = "avx2")]
pub fn first(n: usize) -> Truth {
    const ONES: [[i32; 8]; 9] = super::firsts();
    // SAFETY: 32 bytes.
    unsafe { _mm256_loadu_si256(ONES[n.min(8)].as_ptr().cast()) }
}
#[inline]
#[target_feature(enable = "avx2")]
pub fn bits([truths]: [Truth; 1]) -> u8 {
    _mm256_movemask_ps(_mm256_castsi256_ps(truths)) as u8
}
#[inline]
#[target_feature(enable = "avx2")]
pub fn any([truths]: [Truth; 1]) -> bool {
    _mm256_testz_si256(truths, truths) == 0
}
#[inline]
#[target_feature(enable = "avx2")]
pub fn swap_bytes(a: Register) -> Register {
    _mm256_shuffle_epi8(a, _mm256_broadcastsi128_si256(super::reversal()))
}
/// Two rows side by side.
#[inline]
#[target_feature(enable = "avx2")]
fn two(lower: &[u8; 16], upper: &[u8; 16]) -> Register {
    _mm256_inserti128_si256::<1>(_mm256_castsi128_si256(super::load(lower)), super::load(upper))
}
/// A value that the compiler cannot take apart.
///
/// PERF: it would merge the reversal of bytes with the transposition behind it, and take twenty operations for twelve.
#[inline]
#[target_feature(enable = "avx2")]
fn as_it_is(mut words: Register) -> Register {
    // SAFETY: no instruction at all.
    #[cfg(not(miri))]
    unsafe {
        std::arch::asm!("/* {0} */", inout(ymm_reg) words, options(pure, nomem, nostack, preserves_flags));
    }
    words
}
/// # Safety
/// The CPU has AVX2.
#[inline(always)]
pub unsafe fn columns(r: &[&[u8; 16]; 8]) -> [[Register; 1]; 4] {
    // Words of four rows in the lower halves of registers, and of the four behind them in the upper ones.
    // PERF: bytes are reversed before: behind, the compiler would do so in each half of a column.
    // SAFETY: by the contract.
    let [a, b, c, d] = unsafe {
        let two = |lower: usize| as_it_is(swap_bytes(two(r[lower], r[lower + 4])));
        blocks(two(0), two(1), two(2), two(3))
    };
    [[a], [b], [c], [d]]
}
