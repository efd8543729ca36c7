//! The words of outer headers in which the datagrams of a tunnel differ.

use quiver_engine::{Isa, Lanes};

/// The words of outer headers in which datagrams differ, in host order, and the sum over all that they have in common. Where they lie is
/// their family's ([`Underlay::WORDS`](crate::underlay::Underlay::WORDS)).
#[derive(Clone, Copy, Debug, Default)]
pub struct Template<W> {
    /// The words.
    pub words: [W; WORDS],
    /// The sum.
    pub sum: W,
}

/// Words in which datagrams differ.
pub const WORDS: usize = 5;

/// Outer fields that differ beside the length: UDP source port, IPv4 identification and ECN.
#[derive(Clone, Copy)]
pub struct Differing<I: Isa> {
    /// The port.
    pub source_port: Lanes<I>,
    /// The identification, 16 bits.
    pub identification: Lanes<I>,
    /// The field.
    pub ecn: Lanes<I>,
}
