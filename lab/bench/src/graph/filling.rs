//! Numbers of packets: in flight, in a window, in a vector.

/// Packets that are in the rings at once: what a network card's ring usually has.
pub const FILL: usize = 1024;

/// Fillings of [`FILL`] packets in a window; of larger ones there are fewer.
pub const FILLS: usize = 192;

/// Packets received at once at most.
pub const VECTORS: [usize; 3] = [8, 32, 256];
