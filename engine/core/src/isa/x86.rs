//! The three levels of x86-64. A level is a table of its intrinsics under common names, and the differing parts:
//! compares, selects and transpositions; `level!` makes the lane operations of it. The functions of a table are safe to
//! call where the level's features are known to exist, which a token proves.
#![allow(unsafe_code)]

use super::{Isa, LANES};
use std::arch::x86_64::{__m128i, _mm_cvtsi32_si128, _mm_loadu_si128};

macro_rules! level { ($token:ident $table:ident $parts:literal) => {
    /// Proof that the CPU has the level.
    #[derive(Clone, Copy)]
    pub struct $token(());
    impl $token {
        /// # Safety
        /// The CPU has the features that the level's functions are compiled for.
        #[inline(always)]
        pub(super) unsafe fn proven() -> $token {
            $token(())
        }
    }
    impl Isa for $token {
        type V = [$table::Register; $parts];
        type M = [$table::Truth; $parts];
        level!(@two V $table add sub min and or xor);
        level!(@two M $table both either without);
        level!(@compare $table eq lt);
        level!(@shift $table shl shr);
        #[inline(always)]
        fn load(self, a: &[u32; LANES]) -> Self::V {
            // SAFETY: both types are 32 bytes for which every pattern is valid.
            unsafe { std::mem::transmute(*a) }
        }
        #[inline(always)]
        fn store(self, v: Self::V) -> [u32; LANES] {
            // SAFETY: as above.
            unsafe { std::mem::transmute(v) }
        }
        #[inline(always)]
        fn widen(self, a: &[u16; LANES]) -> Self::V {
            // SAFETY: the token.
            unsafe { $table::widen(a) }
        }
        #[inline(always)]
        fn narrow(self, v: Self::V) -> [u16; LANES] {
            // SAFETY: the token.
            unsafe { $table::narrow(v) }
        }
        #[inline(always)]
        fn splat(self, x: u32) -> Self::V {
            // SAFETY: the token.
            [unsafe { $table::splat(x as i32) }; $parts]
        }
        #[inline(always)]
        fn select(self, m: Self::M, yes: Self::V, mut no: Self::V) -> Self::V {
            // SAFETY: the token.
            for i in 0..$parts { no[i] = unsafe { $table::select(m[i], yes[i], no[i]) }; }
            no
        }
        #[inline(always)]
        fn mask(self, bits: u8) -> Self::M {
            // SAFETY: the token.
            let mut m = [unsafe { $table::mask(bits) }; $parts];
            for (i, part) in m.iter_mut().enumerate() {
                // SAFETY: the token.
                *part = unsafe { $table::mask(bits.checked_shr((LANES / $parts * i) as u32).unwrap_or(0)) };
            }
            m
        }
        #[inline(always)]
        fn first(self, n: usize) -> Self::M {
            let mut m = self.mask(0);
            for (i, part) in m.iter_mut().enumerate() {
                // SAFETY: the token.
                *part = unsafe { $table::first(n.saturating_sub(LANES / $parts * i)) };
            }
            m
        }
        #[inline(always)]
        fn bits(self, m: Self::M) -> u8 {
            // SAFETY: the token.
            unsafe { $table::bits(m) }
        }
        #[inline(always)]
        fn any(self, m: Self::M) -> bool {
            // SAFETY: the token.
            unsafe { $table::any(m) }
        }
        #[inline(always)]
        fn swap_bytes(self, mut a: Self::V) -> Self::V {
            // SAFETY: the token.
            for x in &mut a { *x = unsafe { $table::swap_bytes(*x) }; }
            a
        }
        #[inline(always)]
        fn columns<'a>(self, row: impl Fn(usize) -> &'a [u8; 16]) -> [Self::V; 4] {
            // PERF: the row is asked for in one place, so that this is compiled into it.
            let mut rows = [&[0; 16]; LANES];
            for i in 0..LANES { rows[i] = row(i); }
            // SAFETY: the token.
            unsafe { $table::columns(&rows) }
        }
    } };
    (@two $type:ident $table:ident $($name:ident)*) => { $(
        #[inline(always)]
        fn $name(self, mut a: Self::$type, b: Self::$type) -> Self::$type {
            // SAFETY: the token.
            for i in 0..a.len() { a[i] = unsafe { $table::$name(a[i], b[i]) }; }
            a
        } )* };
    (@compare $table:ident $($name:ident)*) => { $(
        #[inline(always)]
        fn $name(self, a: Self::V, b: Self::V) -> Self::M {
            let mut m = self.mask(0);
            // SAFETY: the token.
            for i in 0..a.len() { m[i] = unsafe { $table::$name(a[i], b[i]) }; }
            m
        } )* };
    (@shift $table:ident $($name:ident)*) => { $(
        #[inline(always)]
        fn $name(self, mut a: Self::V, n: u32) -> Self::V {
            // SAFETY: the token.
            for x in &mut a { *x = unsafe { $table::$name(*x, _mm_cvtsi32_si128(n as i32)) }; }
            a
        } )* };
    // Transposes the 4x4 words of each 128-bit block.
    (@blocks $features:literal) => {
        #[inline]
        #[target_feature(enable = $features)]
        fn blocks(a: Register, b: Register, c: Register, d: Register) -> [Register; 4] {
            let (p, q, r, s) = (low32(a, b), low32(c, d), high32(a, b), high32(c, d));
            [low64(p, q), high64(p, q), low64(r, s), high64(r, s)]
        } };
}

// A build for one machine leaves out others' levels; see `level`.
// AVX-512 has most of its columns from AVX2.
#[cfg(not(all(quiver_without_avx2, quiver_without_avx512)))]
#[cfg_attr(quiver_without_avx2, allow(dead_code, unused_imports))]
mod avx2;
#[cfg(not(quiver_without_avx512))]
mod avx512;
#[cfg(not(quiver_without_baseline))]
mod sse2;

#[cfg(not(quiver_without_baseline))]
level!(Sse2 sse2 2);
#[cfg(not(quiver_without_avx2))]
level!(Avx2 avx2 1);
#[cfg(not(quiver_without_avx512))]
level!(Avx512 avx512 1);

/// The bytes of a row.
#[inline(always)]
fn load(row: &[u8; 16]) -> __m128i {
    // SAFETY: SSE2 is part of the architecture, and a row has 16 bytes.
    unsafe { _mm_loadu_si128(row.as_ptr().cast()) }
}

/// A byte shuffle that reverses each word.
#[cfg(not(all(quiver_without_avx2, quiver_without_avx512)))]
#[inline(always)]
fn reversal() -> __m128i {
    // SAFETY: SSE2 is part of the architecture.
    unsafe { std::arch::x86_64::_mm_setr_epi8(3, 2, 1, 0, 7, 6, 5, 4, 11, 10, 9, 8, 15, 14, 13, 12) }
}

/// Masks of the first lanes of `N`, by how many they are.
const fn firsts<const N: usize, const COUNTS: usize>() -> [[i32; N]; COUNTS] {
    let (mut masks, mut n) = ([[0; N]; COUNTS], 0);
    while n < COUNTS {
        let mut lane = 0;
        while lane < n && lane < N {
            masks[n][lane] = -1;
            lane += 1;
        }
        n += 1;
    }
    masks
}
