//! The rows of a vector, of either kind of cell.

use crate::cell::{Counter, CounterBlock, Pair};
use crate::memory::Block;

/// A cell of a vector: a [`Counter`] or a [`Pair`].
pub trait Cell: CounterBlock {
    /// Sets it to zero. Counts that its thread adds at the same moment may be lost.
    fn clear(&self);
    /// The rows of a vector, whatever they consist of.
    #[doc(hidden)]
    fn rows(blocks: Vec<Block<Self>>) -> Rows;
}

impl Cell for Counter {
    fn clear(&self) {
        self.set(0);
    }
    fn rows(blocks: Vec<Block<Counter>>) -> Rows {
        Rows::Simple(blocks)
    }
}

impl Cell for Pair {
    fn clear(&self) {
        self.packets.set(0);
        self.bytes.set(0);
    }
    fn rows(blocks: Vec<Block<Pair>>) -> Rows {
        Rows::Combined(blocks)
    }
}

/// The rows of a vector, one for each thread.
#[doc(hidden)]
#[derive(Debug)]
pub enum Rows {
    /// Rows of counters.
    Simple(Vec<Block<Counter>>),
    /// Rows of pairs.
    Combined(Vec<Block<Pair>>),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_cleared() {
        let pair = Pair::default();
        pair.add(1, 60);
        pair.clear();
        assert_eq!((pair.packets.get(), pair.bytes.get()), (0, 0));
    }
}
