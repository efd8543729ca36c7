//! Packets that are looked at ahead: what their lookups will read is fetched, one word after the other, before they are stepped.
//! A hint only: whoever is not where it was looked at begins anew.

use std::cell::Cell;

use quiver_engine::Guard;

use crate::family::Family;
use crate::fib::{Reader, View};
use crate::ingress::TableView;

/// Packets that were looked at ahead, and are remembered: a power of two, as many as lie between one that is looked at and
/// one that is stepped.
const RECENT: usize = 128;
/// So many are walked together, one word each, so that their loads are under way together.
const TOGETHER: usize = 16;

/// Packets on their way through a table, ahead of their step: where they go to, and the word that each has come to.
#[derive(Clone)]
pub(super) struct Walk<F: Family> {
    to: [Cell<F::Bits>; RECENT],
    word: [Cell<u32>; RECENT],
    /// Packets of this frame that were looked at, that have a word, and that were stepped.
    looked: Cell<usize>,
    begun: Cell<usize>,
    stepped: Cell<usize>,
}
impl<F: Family> Walk<F> {
    pub fn new() -> Walk<F> {
        Walk {
            to: std::array::from_fn(|_| Cell::default()),
            word: std::array::from_fn(|_| Cell::default()),
            looked: Cell::new(0),
            begun: Cell::new(0),
            stepped: Cell::new(0),
        }
    }
    /// A frame begins: words of the one before may lead to what is gone.
    #[inline(always)]
    pub fn begin(&self) {
        [&self.looked, &self.begun, &self.stepped].iter().for_each(|count| count.set(0));
    }
    /// Whether the next sixteen to be stepped have been looked at, and are remembered.
    #[inline(always)]
    pub fn has_next_sixteen(&self) -> bool {
        let stepped = self.stepped.get();
        stepped + 16 <= self.begun.get() && self.looked.get() <= stepped + RECENT
    }
    /// The words that they have come to. Whoever is not in the place where it was looked at begins anew.
    #[inline(always)]
    pub fn words(&self, to: &[F::Bits; 16], begin: impl Fn(F::Bits) -> u32) -> [u32; 16] {
        let (from, mut words) = (self.stepped.get(), [0; 16]);
        for lane in 0..16 {
            let i = (from + lane) % RECENT;
            words[lane] = if self.to[i].get() == to[lane] { self.word[i].get() } else { begin(to[lane]) };
        }
        words
    }
    /// Sixteen are stepped.
    #[inline(always)]
    pub fn step(&self) {
        if F::Reader::STEPS > 0 {
            self.stepped.set(self.stepped.get() + 16);
        }
    }
    /// Fetches what a lookup will read: the first word of this packet; of others before it, the words behind.
    #[inline(always)]
    pub fn look(&self, table: &TableView<F>, guard: Guard<'_>, worker: usize, destination: F::Bits) {
        let at = self.looked.get();
        self.looked.set(at + 1);
        self.to[at % RECENT].set(destination);
        table.lpm.prefetch_first(guard, destination);
        if at % TOGETHER == TOGETHER - 1 {
            self.go_on(table, guard, worker, at + 1 - TOGETHER);
        }
    }
    /// Has packets take a step each: those that were looked at a stride before these the first, those before them the next;
    /// and of those that have taken all, the group and counter of their route are fetched.
    #[inline(always)]
    fn go_on(&self, table: &TableView<F>, guard: Guard<'_>, worker: usize, first: usize) {
        let lpm = table.lpm.view(guard);
        let group = |step: usize| first.checked_sub((step + 1) * F::Reader::STRIDE);
        let Some(from) = group(0) else { return };
        for i in from..from + TOGETHER {
            self.word[i % RECENT].set(lpm.begin(self.to[i % RECENT].get()));
        }
        self.begun.set(from + TOGETHER);
        for step in 0..F::Reader::STEPS {
            let Some(from) = group(step + 1) else { return };
            let words = &self.word[from % RECENT..from % RECENT + TOGETHER];
            if words.iter().all(|word| <F::Reader as Reader<F::Bits>>::View::is_leaf(word.get())) {
                continue;
            }
            for (word, to) in words.iter().zip(&self.to[from % RECENT..]) {
                word.set(lpm.descend(word.get(), to.get()));
            }
        }
        let (Some(counted), Some(from)) = (&table.counted, group(F::Reader::STEPS + 1)) else { return };
        for i in from..from + TOGETHER {
            let route = lpm.lookup(self.to[i % RECENT].get());
            if let Some(group) = counted.groups.read(guard).get(route as usize) {
                quiver_engine::isa::prefetch(group);
            }
            if let Some(row) = counted.rows.get(worker) {
                row.prefetch(route);
            }
        }
    }
}
