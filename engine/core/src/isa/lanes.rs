//! Sixteen values of one packet field, for every instruction set. Safe: a value carries the proof of its level.

use super::{Isa, Mask};
use std::ops::{Add, BitAnd, BitOr, BitXor, Shl, Shr, Sub};

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
    pub fn eq(self, o: impl Operand<I>) -> Mask<I> {
        Mask { m: self.isa.eq(self.v, o.register(self.isa)), isa: self.isa }
    }
    /// Lanes that differ.
    #[inline(always)]
    pub fn ne(self, o: impl Operand<I>) -> Mask<I> {
        !self.eq(o)
    }
    /// Lanes in which self is less, unsigned.
    #[inline(always)]
    pub fn lt(self, o: impl Operand<I>) -> Mask<I> {
        Mask { m: self.isa.lt(self.v, o.register(self.isa)), isa: self.isa }
    }
    /// Lanes in which self is greater, unsigned.
    #[inline(always)]
    pub fn gt(self, o: impl Operand<I>) -> Mask<I> {
        Mask { m: self.isa.lt(o.register(self.isa), self.v), isa: self.isa }
    }
    /// `other` in the lanes of `mask`, self elsewhere.
    #[inline(always)]
    pub fn replace(self, mask: Mask<I>, other: impl Operand<I>) -> Self {
        let other = other.register(self.isa);
        Lanes { v: self.isa.select(mask.m, other, self.v), isa: self.isa }
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
        let a = self.array();
        if self.eq(a[0]).all() {
            let (words, _) = look_up(a[0]).as_chunks();
            let word = |i: usize| Lanes::splat(self.isa, u32::from_be_bytes(words[i]));
            return [word(0), word(1), word(2), word(3), word(4), word(5), word(6), word(7)];
        }
        let mut rows = [EMPTY; 16];
        for i in 0..16 {
            rows[i] = look_up(a[i]);
        }
        Lanes::columns(self.isa, &rows)
    }
    /// The same for tables whose key is usually equal in all lanes, such as the rx interface.
    #[inline(always)]
    pub fn map_uniform(self, look_up: impl Fn(u32) -> u32) -> Self {
        let first = self.array()[0];
        if self.eq(first).all() { Lanes::splat(self.isa, look_up(first)) } else { self.map(look_up) }
    }
    /// Transposes sixteen rows into columns of their eight big-endian words.
    #[inline(always)]
    pub fn columns(isa: I, rows: &[&[u8; 32]; 16]) -> [Self; 8] {
        // Written out, here and below: LLVM leaves arrays that loops fill in memory, and copies them from place to place.
        let [a, b, c, d] = Lanes::four_columns(isa, |i| quarter::<0>(rows[i]));
        let [e, f, g, h] = Lanes::four_columns(isa, |i| quarter::<16>(rows[i]));
        [a, b, c, d, e, f, g, h]
    }
    /// Transposes sixteen rows into columns of their four big-endian words.
    #[inline(always)]
    pub fn four_columns<'a>(isa: I, row: impl Fn(usize) -> &'a [u8; 16]) -> [Self; 4] {
        let ([a, b, c, d], swap) = (isa.columns(row), Lanes::swapped);
        [swap(isa, a), swap(isa, b), swap(isa, c), swap(isa, d)]
    }
    /// The inverse of `columns`; each row is put somewhere.
    #[inline(always)]
    pub fn rows([a, b, c, d, e, f, g, h]: [Self; 8], put: impl FnMut(usize, [u8; 32])) {
        let isa = a.isa;
        let [a, b, c, d] = [isa.swap_bytes(a.v), isa.swap_bytes(b.v), isa.swap_bytes(c.v), isa.swap_bytes(d.v)];
        let [e, f, g, h] = [isa.swap_bytes(e.v), isa.swap_bytes(f.v), isa.swap_bytes(g.v), isa.swap_bytes(h.v)];
        isa.rows(&[a, b, c, d, e, f, g, h], put)
    }
    #[inline(always)]
    fn swapped(isa: I, v: I::V) -> Self {
        Lanes { v: isa.swap_bytes(v), isa }
    }
}
/// The sixteen bytes from `AT` on.
#[inline(always)]
pub(crate) fn quarter<const AT: usize>(bytes: &[u8]) -> &[u8; 16] {
    match bytes[AT..].first_chunk() {
        Some(quarter) => quarter,
        None => unreachable!("whoever asks has more"),
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
