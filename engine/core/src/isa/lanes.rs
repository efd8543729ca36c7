//! Eight values of one packet field, for every instruction set. Safe: a value carries the proof of its level.

use super::{Isa, LANES, Mask};
use std::ops::{Add, BitAnd, BitOr, BitXor, Shl, Shr, Sub};

/// Eight values of one packet field.
#[derive(Clone, Copy)]
pub struct Lanes<I: Isa> {
    pub(super) v: I::V,
    isa: I,
}

/// The right operand of an operator: lanes, or one value for all of them.
pub trait Operand<I: Isa> {
    /// The eight words.
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
    /// Eight values.
    #[inline(always)]
    pub fn new(isa: I, a: &[u32; LANES]) -> Self {
        Lanes { v: isa.load(a), isa }
    }
    /// Eight values of 16 bits.
    #[inline(always)]
    pub fn widen(isa: I, a: &[u16; LANES]) -> Self {
        Lanes { v: isa.widen(a), isa }
    }
    /// The lower 16 bits of the eight values.
    #[inline(always)]
    pub fn narrow(self) -> [u16; LANES] {
        self.isa.narrow(self.v)
    }
    /// One value in all lanes.
    #[inline(always)]
    pub fn splat(isa: I, x: u32) -> Self {
        Lanes { v: isa.splat(x), isa }
    }
    /// The eight values.
    #[inline(always)]
    pub fn array(self) -> [u32; LANES] {
        self.isa.store(self.v)
    }
    /// Other values on the same instruction set.
    #[inline(always)]
    pub fn with(self, a: &[u32; LANES]) -> Self {
        Lanes::new(self.isa, a)
    }
    /// The same value in all lanes, on the same instruction set.
    #[inline(always)]
    pub fn same(self, x: u32) -> Self {
        Lanes::splat(self.isa, x)
    }
    /// The less of both, unsigned.
    #[inline(always)]
    pub fn min(self, o: impl Operand<I>) -> Self {
        Lanes { v: self.isa.min(self.v, o.register(self.isa)), isa: self.isa }
    }
    /// The value of the first lane in all of them.
    #[inline(always)]
    pub fn all_as_first(self) -> Self {
        Lanes::splat(self.isa, self.array()[0])
    }
    /// The bytes of each value in network order.
    #[inline(always)]
    pub fn to_be(self) -> Self {
        Lanes { v: self.isa.swap_bytes(self.v), isa: self.isa }
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
        for i in 0..LANES {
            a[i] = look_up(a[i], b[i]);
        }
        Lanes::new(self.isa, &a)
    }
    /// Looks each lane up in a table whose key is usually equal in all lanes, such as the rx interface.
    #[inline(always)]
    pub fn map_uniform(self, look_up: impl Fn(u32) -> u32) -> Self {
        let first = self.array()[0];
        match self.eq(first).all() {
            true => Lanes::splat(self.isa, look_up(first)),
            false => self.with(&map_several(&self.array(), &look_up)),
        }
    }
    /// Transposes eight rows into columns of their four big-endian words.
    #[inline(always)]
    pub fn four_columns<'a>(isa: I, row: impl Fn(usize) -> &'a [u8; 16]) -> [Self; 4] {
        let [a, b, c, d] = isa.columns(row);
        [Lanes { v: a, isa }, Lanes { v: b, isa }, Lanes { v: c, isa }, Lanes { v: d, isa }]
    }
}
/// The values that are found of several keys.
///
/// PERF: out of the way, so that hardly ever used scalars do not keep columns from being loaded as a whole.
#[cold]
#[inline(never)]
fn map_several(keys: &[u32; LANES], look_up: &impl Fn(u32) -> u32) -> [u32; LANES] {
    keys.map(look_up)
}

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
