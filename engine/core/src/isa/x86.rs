//! The three levels of x86-64. A level is a table of its intrinsics under common names, and what differs: compares,
//! selects and transpositions; `level!` makes the lane operations of it. The functions of a table are safe to call where
//! the level's features are known to exist, which a token proves.
#![allow(unsafe_code)]

use super::Isa;
use std::arch::x86_64::{__m128i, _mm_cvtsi32_si128, _mm_setr_epi8};

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
        level!(@two $table add sub and or xor);
        level!(@shift $table shl shr);
        level!(@compare $table $parts eq lt);
        #[inline(always)]
        fn load(self, a: &[u32; 16]) -> Self::V {
            // SAFETY: both types are 64 bytes for which every pattern is valid.
            unsafe { std::mem::transmute(*a) }
        }
        #[inline(always)]
        fn store(self, v: Self::V) -> [u32; 16] {
            // SAFETY: as above.
            unsafe { std::mem::transmute(v) }
        }
        #[inline(always)]
        fn splat(self, x: u32) -> Self::V {
            // SAFETY: the token.
            [unsafe { $table::splat(x as i32) }; $parts]
        }
        #[inline(always)]
        fn select(self, m: u16, yes: Self::V, mut no: Self::V) -> Self::V {
            // SAFETY: the token.
            for i in 0..$parts { no[i] = unsafe { $table::select(m >> (16 / $parts * i), yes[i], no[i]) }; }
            no
        }
        #[inline(always)]
        fn swap_bytes(self, mut a: Self::V) -> Self::V {
            // SAFETY: the token.
            for x in &mut a { *x = unsafe { $table::swap_bytes(*x) }; }
            a
        }
        #[inline(always)]
        fn columns(self, rows: &[&[u8; 32]; 16]) -> [Self::V; 8] {
            // SAFETY: the token.
            unsafe { $table::columns(rows) }
        }
        #[inline(always)]
        fn rows(self, columns: &[Self::V; 8]) -> [[u8; 32]; 16] {
            // SAFETY: the token.
            unsafe { $table::rows(columns) }
        }
    } };
    (@two $table:ident $($name:ident)*) => { $(
        #[inline(always)]
        fn $name(self, mut a: Self::V, b: Self::V) -> Self::V {
            // SAFETY: the token.
            for i in 0..a.len() { a[i] = unsafe { $table::$name(a[i], b[i]) }; }
            a
        } )* };
    (@shift $table:ident $($name:ident)*) => { $(
        #[inline(always)]
        fn $name(self, mut a: Self::V, n: u32) -> Self::V {
            // SAFETY: the token.
            for x in &mut a { *x = unsafe { $table::$name(*x, _mm_cvtsi32_si128(n as i32)) }; }
            a
        } )* };
    (@compare $table:ident $parts:literal $($name:ident)*) => { $(
        #[inline(always)]
        fn $name(self, a: Self::V, b: Self::V) -> u16 {
            let mut m = 0;
            // SAFETY: the token.
            for i in 0..$parts { m |= (unsafe { $table::$name(a[i], b[i]) } as u16) << (16 / $parts * i); }
            m
        } )* };
    // Transposes the 4x4 words of each 128-bit block; its own inverse.
    (@blocks $features:literal) => {
        #[inline]
        #[target_feature(enable = $features)]
        fn blocks(a: Register, b: Register, c: Register, d: Register) -> [Register; 4] {
            let (p, q, r, s) = (low32(a, b), low32(c, d), high32(a, b), high32(c, d));
            [low64(p, q), high64(p, q), low64(r, s), high64(r, s)]
        } };
}

mod avx2;
mod avx512;
mod sse2;

level!(Sse2 sse2 4);
level!(Avx2 avx2 2);
level!(Avx512 avx512 1);

/// A byte shuffle that reverses each word.
#[inline(always)]
fn reversal() -> __m128i {
    // SAFETY: SSE2 is part of the architecture.
    unsafe { _mm_setr_epi8(3, 2, 1, 0, 7, 6, 5, 4, 11, 10, 9, 8, 15, 14, 13, 12) }
}
