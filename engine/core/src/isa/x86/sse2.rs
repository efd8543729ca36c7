//! The baseline: four words to a register, two registers to a value.
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
/// Ones in the words of the lanes.
pub type Truth = Register;
pub use std::arch::x86_64::{_mm_and_si128 as both, _mm_cmpeq_epi32 as eq, _mm_or_si128 as either};
/// SSE2 compares signed words only, so the range moves down.
#[inline]
#[target_feature(enable = "sse2")]
pub fn lt(a: Register, b: Register) -> Truth {
    let low = splat(i32::MIN);
    _mm_cmplt_epi32(xor(a, low), xor(b, low))
}
#[inline]
#[target_feature(enable = "sse2")]
pub fn without(a: Truth, b: Truth) -> Truth {
    _mm_andnot_si128(b, a)
}
#[inline]
#[target_feature(enable = "sse2")]
pub fn select(m: Truth, yes: Register, no: Register) -> Register {
    or(and(m, yes), without(no, m))
}
#[inline]
#[target_feature(enable = "sse2")]
pub fn mask(bits: u8) -> Truth {
    let each = _mm_setr_epi32(1, 2, 4, 8);
    eq(and(splat(bits.into()), each), each)
}
#[inline]
#[target_feature(enable = "sse2")]
pub fn widen(a: &[u16; 8]) -> [Register; 2] {
    // SAFETY: 16 bytes.
    let halves = unsafe { _mm_loadu_si128(a.as_ptr().cast()) };
    [_mm_unpacklo_epi16(halves, _mm_setzero_si128()), _mm_unpackhi_epi16(halves, _mm_setzero_si128())]
}
#[inline]
#[target_feature(enable = "sse2")]
pub fn narrow([low, high]: [Register; 2]) -> [u16; 8] {
    // The instruction saturates signed words. A word whose upper half only extends the sign of its lower half passes unchanged.
    let extended = |words| _mm_srai_epi32::<16>(_mm_slli_epi32::<16>(words));
    let halves = _mm_packs_epi32(extended(low), extended(high));
    // SAFETY: both are 16 bytes for which every pattern is valid.
    unsafe { std::mem::transmute(halves) }
}
#[inline]
#[target_feature(enable = "sse2")]
pub fn first(n: usize) -> Truth {
    const ONES: [[i32; 4]; 5] = super::firsts();
    // SAFETY: 16 bytes.
    unsafe { _mm_loadu_si128(ONES[n.min(4)].as_ptr().cast()) }
}
#[inline]
#[target_feature(enable = "sse2")]
pub fn bits([a, b]: [Truth; 2]) -> u8 {
    let halves = _mm_packs_epi32(a, b);
    _mm_movemask_epi8(_mm_packs_epi16(halves, halves)) as u8
}
#[inline]
#[target_feature(enable = "sse2")]
pub fn any([a, b]: [Truth; 2]) -> bool {
    _mm_movemask_epi8(either(a, b)) != 0
}
/// The less of both, unsigned.
#[inline]
#[target_feature(enable = "sse2")]
pub fn min(a: Register, b: Register) -> Register {
    select(lt(a, b), a, b)
}
#[inline]
#[target_feature(enable = "sse2")]
pub fn swap_bytes(a: Register) -> Register {
    let halves = _mm_shufflehi_epi16::<0xb1>(_mm_shufflelo_epi16::<0xb1>(a));
    or(_mm_srli_epi16::<8>(halves), _mm_slli_epi16::<8>(halves))
}
/// # Safety
/// The CPU has SSE2.
#[inline(always)]
pub unsafe fn columns(r: &[&[u8; 16]; 8]) -> [[Register; 2]; 4] {
    let mut columns = [[super::load(r[0]); 2]; 4];
    for i in 0..2 {
        let four =
            [super::load(r[4 * i]), super::load(r[4 * i + 1]), super::load(r[4 * i + 2]), super::load(r[4 * i + 3])];
        // SAFETY: by the contract.
        let words = unsafe { blocks(four[0], four[1], four[2], four[3]) };
        for word in 0..4 {
            // SAFETY: by the contract.
            columns[word][i] = unsafe { swap_bytes(words[word]) };
        }
    }
    columns
}
