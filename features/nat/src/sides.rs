//! Sides of interfaces, as workers read them.

/// The hosts behind the interface are translated.
pub const INSIDE: u32 = 1;
/// Packets that leave by the interface are of hosts that are translated, when they come in.
pub const OUTSIDE: u32 = 2;
/// Packets that leave by the interface are translated then.
pub const OUTPUT: u32 = 4;

/// Sides of an interface.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sides {
    /// Bits; 0 without NAT.
    pub bits: u32,
    /// The interface.
    pub interface: u32,
}
