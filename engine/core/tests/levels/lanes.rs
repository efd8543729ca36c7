//! Every operation on lanes, on every instruction set, beside the same on plain words.

use fastrand::Rng;
use quiver_engine::isa::Kernel;
use quiver_engine::{Isa, LANES, Lanes, Level, Mask, Mask8};

quiver_testkit::level_tests![operations_agree_with_plain_words, rows_become_columns];

/// Random words, with values among them at which comparisons and sums turn.
struct Random(Rng);
impl Random {
    fn word(&mut self) -> u32 {
        match self.0.u8(..8) {
            0 => [0, 1, i32::MAX as u32, i32::MIN as u32, u32::MAX][self.0.usize(..5)],
            _ => self.0.u32(..),
        }
    }
    fn words(&mut self) -> [u32; LANES] {
        std::array::from_fn(|_| self.word())
    }
}

struct Operations<'r>(&'r mut Random);
impl Kernel for Operations<'_> {
    fn run<I: Isa>(self, isa: I) {
        for _ in 0..2000 {
            let (a, mut b, one, mask) = (self.0.words(), self.0.words(), self.0.word(), self.0.word() as u8);
            // Equal lanes are rare otherwise.
            b[usize::from(mask) % LANES] = a[usize::from(mask) % LANES];
            let shift = self.0.word() % 40;
            let (x, y) = (Lanes::new(isa, &a), Lanes::new(isa, &b));
            let each = |f: &dyn Fn(u32, u32) -> u32| std::array::from_fn::<u32, LANES, _>(|lane| f(a[lane], b[lane]));
            let bits = |f: &dyn Fn(u32, u32) -> bool| Mask8((0..LANES).map(|i| u8::from(f(a[i], b[i])) << i).sum());

            assert_eq!(x.array(), a);
            assert_eq!(Lanes::splat(isa, one).array(), [one; LANES]);
            assert_eq!((x + y).array(), each(&u32::wrapping_add));
            assert_eq!((x - y).array(), each(&u32::wrapping_sub));
            assert_eq!((x & y).array(), each(&|a, b| a & b));
            assert_eq!((x | y).array(), each(&|a, b| a | b));
            assert_eq!((x ^ one).array(), each(&|a, _| a ^ one));
            assert_eq!((x << shift).array(), each(&|a, _| a.checked_shl(shift).unwrap_or(0)));
            assert_eq!((x >> shift).array(), each(&|a, _| a.checked_shr(shift).unwrap_or(0)));
            assert_eq!(x.eq(y).bits(), bits(&|a, b| a == b));
            assert_eq!(x.ne(y).bits(), bits(&|a, b| a != b));
            assert_eq!(x.lt(y).bits(), bits(&|a, b| a < b));
            assert_eq!(x.gt(y).bits(), bits(&|a, b| a > b));
            assert_eq!(x.lt(one).bits(), bits(&|a, _| a < one));
            let replaced = x.replace(Mask::new(isa, Mask8(mask)), y).array();
            assert_eq!(replaced, std::array::from_fn(|i| if mask >> i & 1 == 1 { b[i] } else { a[i] }));
            let (m, n) = (Mask::new(isa, Mask8(mask)), x.lt(y));
            let (plain, other) = (Mask8(mask), n.bits());
            assert_eq!((m & n).bits(), plain & other);
            assert_eq!((m | n).bits(), plain | other);
            assert_eq!((m.without(n).bits(), (!m).bits()), (plain & !other, !plain));
            for bits in [mask, 0, !0, 1 << (mask % 8), !(1 << (mask % 8))] {
                let some = m.with(Mask8(bits));
                assert_eq!((some.bits(), some.any(), some.all()), (Mask8(bits), bits != 0, bits == !0));
            }
            assert_eq!(x.map(u32::swap_bytes).array(), each(&|a, _| a.swap_bytes()));
            assert_eq!(x.map_with(y, |a, b| a.rotate_left(b % 32)).array(), each(&|a, b| a.rotate_left(b % 32)));
            assert_eq!(x.map_uniform(u32::count_ones).array(), each(&|a, _| a.count_ones()));
            assert_eq!(Lanes::splat(isa, one).map_uniform(u32::count_ones).array(), [one.count_ones(); LANES]);
            assert_eq!((x.min(y).array(), x.min(one).array()), (each(&u32::min), each(&|a, _| a.min(one))));
            assert_eq!(x.same(one).array(), [one; LANES]);
            let halves = a.map(|a| a as u16);
            assert_eq!((x.narrow(), Lanes::widen(isa, &halves).array()), (halves, halves.map(u32::from)));
            assert_eq!(x.to_be().array(), each(&|a, _| a.to_be()));
            assert_eq!(x.all_as_first().array(), [a[0]; LANES]);
            for n in 0..=LANES + 1 {
                assert_eq!(Mask::first(isa, n).bits(), Mask8::first(n), "the first {n}");
            }
            assert_eq!(Mask8(mask).collect::<Vec<_>>(), (0..LANES).filter(|i| mask >> i & 1 == 1).collect::<Vec<_>>());
        }
    }
}
fn operations_agree_with_plain_words(level: Level) {
    level.run(Operations(&mut Random(Rng::with_seed(1))));
}

struct Transpositions<'r>(&'r mut Random);
impl Kernel for Transpositions<'_> {
    fn run<I: Isa>(self, isa: I) {
        for _ in 0..200 {
            let rows: [[u8; 16]; LANES] = std::array::from_fn(|_| std::array::from_fn(|_| self.0.word() as u8));
            let columns = Lanes::four_columns(isa, |lane| &rows[lane]);
            for (number, column) in columns.iter().enumerate() {
                let word = |row: &[u8; 16]| row[4 * number..].first_chunk().copied().map(u32::from_be_bytes);
                assert_eq!(column.array().map(Some), rows.each_ref().map(word), "column {number}");
            }
        }
    }
}
fn rows_become_columns(level: Level) {
    level.run(Transpositions(&mut Random(Rng::with_seed(42))));
}
