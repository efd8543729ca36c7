//! Counts of a memif run.

use std::ops::AddAssign;

/// Counts of a run.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Report {
    /// Connections that came to be.
    pub connections: u64,
    /// Strangers that were refused.
    pub refused: u64,
    /// Packets that passed, both ways.
    pub passed: u64,
    /// Packets that found a ring full, and were sent later.
    pub full: u64,
    /// Interrupts that were lost.
    pub lost: u64,
    /// Times that an end slept.
    pub slept: u64,
}

impl AddAssign for Report {
    fn add_assign(&mut self, other: Report) {
        self.connections += other.connections;
        self.refused += other.refused;
        self.passed += other.passed;
        self.full += other.full;
        self.lost += other.lost;
        self.slept += other.slept;
    }
}
