//! Sixteen lanes of u32, safe to use, for every instruction set: the only file with intrinsics.
//!
//! A level is a token (`Avx512`) that exists only if the CPU has the features. Every `Lanes` value
//! carries its token (no bytes), so an operation on lanes may call intrinsics safely.
#![allow(unsafe_code)]

use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch, _rdtsc};
use std::ops::{Add, BitAnd, BitOr, BitXor, Not, Shl, Shr, Sub};

/// The operations a level provides on its registers. Feature code never sees this, only `Lanes`.
pub trait Isa: Copy + 'static {
    /// The registers that hold sixteen words.
    type V: Copy;
    /// Sixteen words from memory.
    fn load(self, a: &[u32; 16]) -> Self::V;
    /// Sixteen words to memory.
    fn store(self, v: Self::V) -> [u32; 16];
    /// One word in all lanes.
    fn splat(self, x: u32) -> Self::V;
    /// Sum, wrapping.
    fn add(self, a: Self::V, b: Self::V) -> Self::V;
    /// Difference, wrapping.
    fn sub(self, a: Self::V, b: Self::V) -> Self::V;
    /// Bits of both.
    fn and(self, a: Self::V, b: Self::V) -> Self::V;
    /// Bits of either.
    fn or(self, a: Self::V, b: Self::V) -> Self::V;
    /// Bits that differ.
    fn xor(self, a: Self::V, b: Self::V) -> Self::V;
    /// All lanes shifted left.
    fn shl(self, a: Self::V, n: u32) -> Self::V;
    /// All lanes shifted right, zeros coming in.
    fn shr(self, a: Self::V, n: u32) -> Self::V;
    /// A bit for each lane whose words are equal.
    fn eq(self, a: Self::V, b: Self::V) -> u16;
    /// A bit for each lane where `a` is less, unsigned.
    fn lt(self, a: Self::V, b: Self::V) -> u16;
    /// `yes` where the bit is set, else `no`.
    fn select(self, m: u16, yes: Self::V, no: Self::V) -> Self::V;
    /// The bytes of each word reversed.
    fn swap_bytes(self, a: Self::V) -> Self::V;
    /// Sixteen rows of 32 bytes become eight columns of sixteen little-endian words.
    fn columns(self, rows: &[&[u8; 32]; 16]) -> [Self::V; 8];
    /// The inverse of `columns`.
    fn rows(self, columns: &[Self::V; 8]) -> [[u8; 32]; 16];
}

/// One bit per lane.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Mask16(pub u16);

impl Mask16 {
    /// All lanes.
    pub const ALL: Mask16 = Mask16(!0);
    /// The first `n` lanes.
    #[inline(always)]
    pub fn first(n: usize) -> Mask16 {
        Mask16(if n >= 16 { !0 } else { (1 << n) - 1 })
    }
}
/// The lanes that are set, lowest first.
impl Iterator for Mask16 {
    type Item = usize;
    #[inline(always)]
    fn next(&mut self) -> Option<usize> {
        let lane = self.0.trailing_zeros() as usize;
        self.0 &= self.0.wrapping_sub(1);
        (lane < 16).then_some(lane)
    }
}
impl BitAnd for Mask16 {
    type Output = Mask16;
    #[inline(always)]
    fn bitand(self, o: Mask16) -> Mask16 {
        Mask16(self.0 & o.0)
    }
}
impl BitOr for Mask16 {
    type Output = Mask16;
    #[inline(always)]
    fn bitor(self, o: Mask16) -> Mask16 {
        Mask16(self.0 | o.0)
    }
}
impl Not for Mask16 {
    type Output = Mask16;
    #[inline(always)]
    fn not(self) -> Mask16 {
        Mask16(!self.0)
    }
}

/// Sixteen values of one packet field.
#[derive(Clone, Copy)]
pub struct Lanes<I: Isa> {
    v: I::V,
    isa: I,
}

/// What may stand on the right of an operator: lanes, or one value for all of them.
pub trait Operand<I: Isa> {
    /// The sixteen words.
    fn register(self, isa: I) -> I::V;
}
impl<I: Isa> Operand<I> for u32 {
    #[inline(always)]
    fn register(self, isa: I) -> I::V {
        isa.splat(self)
    }
}
impl<I: Isa> Operand<I> for Lanes<I> {
    #[inline(always)]
    fn register(self, _: I) -> I::V {
        self.v
    }
}

impl<I: Isa> Lanes<I> {
    /// Sixteen values.
    #[inline(always)]
    pub fn new(isa: I, a: &[u32; 16]) -> Self {
        Lanes { v: isa.load(a), isa }
    }
    /// One value in all lanes.
    #[inline(always)]
    pub fn splat(isa: I, x: u32) -> Self {
        Lanes { v: isa.splat(x), isa }
    }
    /// The sixteen values.
    #[inline(always)]
    pub fn array(self) -> [u32; 16] {
        self.isa.store(self.v)
    }
    /// Other values on the same instruction set.
    #[inline(always)]
    pub fn with(self, a: &[u32; 16]) -> Self {
        Lanes::new(self.isa, a)
    }
    /// Lanes that are equal.
    #[inline(always)]
    pub fn eq(self, o: impl Operand<I>) -> Mask16 {
        Mask16(self.isa.eq(self.v, o.register(self.isa)))
    }
    /// Lanes that differ.
    #[inline(always)]
    pub fn ne(self, o: impl Operand<I>) -> Mask16 {
        !self.eq(o)
    }
    /// Lanes in which self is less, unsigned.
    #[inline(always)]
    pub fn lt(self, o: impl Operand<I>) -> Mask16 {
        Mask16(self.isa.lt(self.v, o.register(self.isa)))
    }
    /// Lanes in which self is greater, unsigned.
    #[inline(always)]
    pub fn gt(self, o: impl Operand<I>) -> Mask16 {
        Mask16(self.isa.lt(o.register(self.isa), self.v))
    }
    /// `other` in the lanes of `mask`, self elsewhere.
    #[inline(always)]
    pub fn replace(self, mask: Mask16, other: impl Operand<I>) -> Self {
        let other = other.register(self.isa);
        Lanes { v: self.isa.select(mask.0, other, self.v), isa: self.isa }
    }
    /// Looks each lane up in a table, with scalar loads (faster than gathers on the CPUs measured).
    #[inline(always)]
    pub fn map(self, look_up: impl Fn(u32) -> u32) -> Self {
        let mut a = self.array();
        for x in &mut a {
            *x = look_up(*x);
        }
        Lanes::new(self.isa, &a)
    }
    /// The same with a second value per lane.
    #[inline(always)]
    pub fn map_with(self, other: Self, look_up: impl Fn(u32, u32) -> u32) -> Self {
        let (mut a, b) = (self.array(), other.array());
        for i in 0..16 {
            a[i] = look_up(a[i], b[i]);
        }
        Lanes::new(self.isa, &a)
    }
    /// Looks each lane up in a table of rows, whose big-endian words become columns.
    #[inline(always)]
    pub fn map_rows<'a>(self, look_up: impl Fn(u32) -> &'a [u8; 32]) -> [Self; 8] {
        let (a, mut rows) = (self.array(), [EMPTY; 16]);
        for i in 0..16 {
            rows[i] = look_up(a[i]);
        }
        Lanes::columns(self.isa, &rows)
    }
    /// The same for tables whose key is usually equal in all lanes, such as the rx interface.
    #[inline(always)]
    pub fn map_uniform(self, look_up: impl Fn(u32) -> u32) -> Self {
        let first = self.array()[0];
        if self.eq(first) == Mask16::ALL { Lanes::splat(self.isa, look_up(first)) } else { self.map(look_up) }
    }
    /// Transposes sixteen rows into columns of their eight big-endian words.
    #[inline(always)]
    pub fn columns(isa: I, rows: &[&[u8; 32]; 16]) -> [Self; 8] {
        let v = isa.columns(rows);
        let mut lanes = [Lanes { v: v[0], isa }; 8];
        for i in 0..8 {
            lanes[i].v = isa.swap_bytes(v[i]);
        }
        lanes
    }
    /// The inverse of `columns`.
    #[inline(always)]
    pub fn rows(columns: &[Self; 8]) -> [[u8; 32]; 16] {
        let isa = columns[0].isa;
        let mut v = [columns[0].v; 8];
        for i in 0..8 {
            v[i] = isa.swap_bytes(columns[i].v);
        }
        isa.rows(&v)
    }
}
const EMPTY: &[u8; 32] = &[0; 32];

macro_rules! operators { ($($trait:ident $method:ident $op:ident),*) => { $(
    impl<I: Isa, R: Operand<I>> $trait<R> for Lanes<I> {
        type Output = Lanes<I>;
        #[inline(always)]
        fn $method(self, o: R) -> Lanes<I> {
            Lanes { v: self.isa.$op(self.v, o.register(self.isa)), isa: self.isa }
        }
    } )* } }
operators!(Add add add, Sub sub sub, BitAnd bitand and, BitOr bitor or, BitXor bitxor xor);
impl<I: Isa> Shl<u32> for Lanes<I> {
    type Output = Lanes<I>;
    #[inline(always)]
    fn shl(self, n: u32) -> Lanes<I> {
        Lanes { v: self.isa.shl(self.v, n), isa: self.isa }
    }
}
impl<I: Isa> Shr<u32> for Lanes<I> {
    type Output = Lanes<I>;
    #[inline(always)]
    fn shr(self, n: u32) -> Lanes<I> {
        Lanes { v: self.isa.shr(self.v, n), isa: self.isa }
    }
}

/// The three levels of x86-64. A level is a table of its intrinsics under common names, and what differs: compares,
/// selects and transpositions; `level!` makes the lane operations of it. The functions of a table are safe to call
/// where the level's features are known to exist, which a token proves.
mod x86 {
    use super::Isa;
    use std::arch::x86_64::*;

    macro_rules! level { ($token:ident $table:ident $parts:literal) => {
        #[derive(Clone, Copy)]
        pub struct $token(pub(super) ());
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
    level!(Sse2 sse2 4);
    level!(Avx2 avx2 2);
    level!(Avx512 avx512 1);

    mod sse2 {
        pub use std::arch::x86_64::{
            __m128i as Register, _mm_set1_epi32 as splat, _mm_sll_epi32 as shl, _mm_srl_epi32 as shr,
        };
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
            let mut columns = [[splat(0); 4]; 8];
            for part in 0..4 {
                for half in 0..2 {
                    // SAFETY: 16 bytes from byte 0 or 16 of 32.
                    let row =
                        |i: usize| unsafe { _mm_loadu_si128(rows[4 * part + i].as_ptr().cast::<Register>().add(half)) };
                    let c = blocks(row(0), row(1), row(2), row(3));
                    for i in 0..4 {
                        columns[4 * half + i][part] = c[i];
                    }
                }
            }
            columns
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
    }

    mod avx2 {
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
    }

    mod avx512 {
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
    }

    /// A byte shuffle that reverses each word.
    #[inline(always)]
    fn reversal() -> __m128i {
        // SAFETY: SSE2 is part of the architecture.
        unsafe { _mm_setr_epi8(3, 2, 1, 0, 7, 6, 5, 4, 11, 10, 9, 8, 15, 14, 13, 12) }
    }
}

/// Work that can be compiled for every level.
pub trait Kernel {
    /// The work, in the code of one level.
    fn run<I: Isa>(self, isa: I);
}

/// A level that this CPU has; a value is the proof.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Level(Name);
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Name {
    Baseline,
    Avx2,
    Avx512,
}

impl Level {
    /// Every level, with None where this CPU lacks it.
    pub fn all() -> [(&'static str, Option<Level>); 3] {
        let avx2 = is_x86_feature_detected!("avx2")
            && is_x86_feature_detected!("bmi1")
            && is_x86_feature_detected!("bmi2")
            && is_x86_feature_detected!("lzcnt")
            && is_x86_feature_detected!("popcnt");
        let avx512 = avx2
            && is_x86_feature_detected!("avx512f")
            && is_x86_feature_detected!("avx512bw")
            && is_x86_feature_detected!("avx512vl");
        [
            ("baseline", Some(Level(Name::Baseline))),
            ("avx2", avx2.then_some(Level(Name::Avx2))),
            ("avx512", avx512.then_some(Level(Name::Avx512))),
        ]
    }
    /// The highest level that this CPU has.
    pub fn best() -> Level {
        Level::all().iter().rev().find_map(|l| l.1).expect("the baseline exists")
    }
    /// Runs the kernel in the code compiled for this level.
    pub fn run(self, kernel: impl Kernel) {
        match self.0 {
            Name::Baseline => baseline(kernel),
            // SAFETY: `Level::all` made this value after checking the features.
            Name::Avx2 => unsafe { avx2(kernel) },
            // SAFETY: as above.
            Name::Avx512 => unsafe { avx512(kernel) },
        }
    }
}
#[inline(never)]
fn baseline(kernel: impl Kernel) {
    kernel.run(x86::Sse2(()));
}
#[inline(never)]
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
fn avx2(kernel: impl Kernel) {
    kernel.run(x86::Avx2(()));
}
#[inline(never)]
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt,avx512f,avx512bw,avx512vl")]
fn avx512(kernel: impl Kernel) {
    kernel.run(x86::Avx512(()));
}

/// Asks for the line of `x` to be brought near; a hint, without any other effect.
#[inline(always)]
pub fn prefetch<T>(x: &T) {
    // SAFETY: a prefetch never faults, and SSE is part of the architecture.
    unsafe { _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(x).cast()) };
}

/// Ticks of the time stamp counter, which runs at one rate whatever the core does.
#[inline(always)]
pub fn ticks() -> u64 {
    // SAFETY: the instruction exists on every x86-64 CPU and touches no memory.
    unsafe { _rdtsc() }
}

/// Ticks since `clock`, which becomes now.
#[inline(always)]
pub(crate) fn lap(clock: &mut u64) -> u64 {
    let now = ticks();
    now.wrapping_sub(std::mem::replace(clock, now))
}
