//! A peer behind a port.

/// How a peer behaves.
pub(super) struct Peer {
    /// Packets that it takes off its ring at once.
    pub pace: usize,
    /// Whether it answers who asks for it.
    pub answers: bool,
    /// Whether its interrupts arrive.
    pub interrupts: bool,
}

impl Peer {
    /// Nothing is wrong with it.
    pub fn well() -> Peer {
        Peer { pace: 64, answers: true, interrupts: true }
    }
}
