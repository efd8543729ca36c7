//! A frame's lookups in a table too large for the caches, one word of all of them after the other, before they are stepped: as many
//! loads are under way together as the frame has packets.

use quiver_engine::{Ahead, BLOCK, Guard, LANES};

use crate::family::Family;
use crate::fib::{Reader, View};
use crate::ingress::TableView;

/// Where the packets of a frame go to, and the word that each lookup has come to.
#[derive(Clone)]
pub(super) struct Walk<F: Family> {
    to: [F::Bits; BLOCK],
    word: [u32; BLOCK],
    /// Packets that were walked.
    walked: usize,
}
impl<F: Family> Walk<F> {
    pub fn new() -> Walk<F> {
        Walk { to: [F::Bits::default(); BLOCK], word: [0; BLOCK], walked: 0 }
    }
    /// A frame begins: words of the one before may lead to what is gone.
    #[inline(always)]
    pub fn begin(&mut self) {
        self.walked = 0;
    }
    /// Whether the eight packets from a row on have been walked.
    #[inline(always)]
    pub fn has(&self, row: usize) -> bool {
        row + LANES <= self.walked
    }
    /// The words that they have come to. One that goes elsewhere by now begins anew.
    #[inline(always)]
    pub fn words(&self, row: usize, to: &[F::Bits; LANES], begin: impl Fn(F::Bits) -> u32) -> [u32; LANES] {
        let mut words = [0; LANES];
        for lane in 0..LANES {
            let i = (row + lane) % BLOCK;
            words[lane] = if self.to[i] == to[lane] { self.word[i] } else { begin(to[lane]) };
        }
        words
    }
    /// Walks the lookups of a frame. A hint only: whatever lies there is taken for a destination.
    pub fn walk(&mut self, table: &TableView<F>, guard: Guard<'_>, worker: usize, windows: Ahead<'_>) {
        let n = windows.len().min(BLOCK);
        let (to, words) = (&mut self.to[..n], &mut self.word[..n]);
        for (i, to) in to.iter_mut().enumerate() {
            *to = F::destination_in(windows.window(i));
            table.lpm.prefetch_first(guard, *to);
        }
        let lpm = table.lpm.view(guard);
        if F::Reader::STEPS > 0 {
            for (word, to) in words.iter_mut().zip(&*to) {
                *word = lpm.begin(*to);
            }
            for _ in 0..F::Reader::STEPS {
                if words.iter().all(|word| <F::Reader as Reader<F::Bits>>::View::is_leaf(*word)) {
                    break;
                }
                for (word, to) in words.iter_mut().zip(&*to) {
                    *word = lpm.descend(*word, *to);
                }
            }
            self.walked = n;
        }
        let Some(counted) = &table.counted else { return };
        for to in to {
            let route = lpm.lookup(*to);
            if let Some(group) = counted.groups.read(guard).get(route as usize) {
                quiver_engine::isa::prefetch(group);
            }
            if let Some(row) = counted.rows.get(worker) {
                row.prefetch(route);
            }
        }
    }
}
