//! The work of `ip4-rewrite` and `ip6-rewrite` for nodes that process one packet at a time.

use quiver_engine::{Flags, Frame, Pool};
use quiver_wire::Header;

use crate::adjacency::AdjacencyRow;
use crate::family::Family;

/// Puts the neighbour's header before a packet, which has one hop less to live unless we made it. False, and nothing
/// changed, where the headroom is too small or the bytes are no IP header.
pub(super) fn encapsulate<F: Family>(pool: &mut Pool, frame: &mut Frame, i: usize, row: &AdjacencyRow) -> bool {
    let length = row.header().len();
    if frame.bytes(pool, i).len() < F::HEADER_LENGTH || !frame.advance(pool, i, -(length as isize)) {
        return false;
    }
    let local = frame.flags(i).has(Flags::LOCAL);
    let bytes = frame.bytes_mut(pool, i);
    bytes.iter_mut().zip(row.header()).for_each(|(to, from)| *to = *from);
    if !local && let Some((header, _)) = F::Header::parse_at_mut(bytes, length) {
        F::take_hop(header);
    }
    frame.tx[i] = row.tx();
    true
}
