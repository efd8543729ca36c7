//! What `ip4-rewrite` does to a packet, for nodes that work packet by packet.

use quiver_engine::{Flags, Frame, Pool};
use quiver_wire::{Header, Ip4Header};

use crate::adjacency::AdjacencyRow;

/// Puts the neighbour's header before a packet, which has one hop less to live unless we made it. False, and nothing
/// changed, where the headroom is too small or the bytes are no IPv4 header.
pub(super) fn encapsulate(pool: &mut Pool, frame: &mut Frame, i: usize, row: &AdjacencyRow) -> bool {
    let length = row.header().len();
    if frame.bytes(pool, i).len() < Ip4Header::LENGTH || !frame.advance(pool, i, -(length as isize)) {
        return false;
    }
    let local = frame.flags(i).has(Flags::LOCAL);
    let bytes = frame.bytes_mut(pool, i);
    bytes.iter_mut().zip(row.header()).for_each(|(to, from)| *to = *from);
    if !local && let Some((header, _)) = Ip4Header::parse_at_mut(bytes, length) {
        header.decrement_ttl();
    }
    frame.tx[i] = row.tx();
    true
}
