//! Sizes of vectors, and rows of them.

/// Packets in a frame at most: so few that their columns stay in the nearest cache while stages work on them.
pub const BLOCK: usize = 64;

/// Packets that a worker receives from a queue in one turn, and that a port sends at once, at most.
pub const VECTOR: usize = 256;

/// Interfaces that there can be at once: their numbers are less than this. Tables pack one into 18 bits.
pub const INTERFACES_MAX: u32 = 1 << 18;

/// The arc of a row whose packet was taken out of the frame.
pub(crate) const TAKEN: u16 = u16::MAX;
/// Rows of a frame, a bit for each, the lowest first.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Rows(pub(crate) u64);

impl Rows {
    /// The first `n` rows.
    #[inline(always)]
    pub fn first(n: usize) -> Rows {
        Rows(if n < BLOCK { (1 << n) - 1 } else { !0 })
    }
    /// Adds a row of a frame.
    #[inline(always)]
    pub fn insert(&mut self, row: usize) {
        self.0 |= 1 << (row % BLOCK);
    }
    /// Whether there are none.
    #[inline(always)]
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }
}

impl Iterator for Rows {
    type Item = usize;
    #[inline(always)]
    fn next(&mut self) -> Option<usize> {
        let row = self.0.trailing_zeros() as usize;
        self.0 &= self.0.wrapping_sub(1);
        (row < BLOCK).then_some(row)
    }
}
