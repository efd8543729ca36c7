//! `ip4-rewrite-mcast`, `ip6-rewrite-mcast`: write the link header of multicast packets, whose MAC address follows from
//! the group (RFC 1112, 6.4; RFC 2464, 7), decrement the TTL, and send by the adjacency's interface. Packets that are
//! too long for the link are handled as in `ip4-rewrite`, whose arcs the node has.

use std::sync::Arc;

use quiver_engine::{Context, Frame, MetadataKey, Node, Pool, Row, Snapshot};
use quiver_ip::adjacency::{AdjacencyRow, AdjacencyTable, State};
use quiver_ip::node::rewrite::Next;
use quiver_ip::node::too_big::{self, Cutting};
use quiver_ip::upper::Upper;
use quiver_wire::{Header, IpHeader};

use crate::family::Multicast;

/// The node.
pub struct Rewrite<F: Multicast> {
    /// The adjacencies, of which those of links are used.
    pub adjacencies: Snapshot<AdjacencyTable<F>>,
    /// This worker's counters of packets by adjacency.
    pub sent: Arc<Row>,
    /// Key of the ports that fragments carry.
    pub upper: MetadataKey<Upper>,
}

impl<F: Multicast> Node for Rewrite<F> {
    fn process(&mut self, cx: &mut Context, frame: &mut Frame) {
        let table = self.adjacencies.read(cx.guard);
        for i in 0..frame.len() {
            let row = table.row(frame.hop[i]);
            // An adjacency that is no more is for `ip4-resolve` to judge.
            let is_link = row.is(State::Glean) || row.is_complete();
            frame.next[i] = if is_link { Next::TooBig.into() } else { Next::Resolve.into() };
        }
        let cutting = Cutting { sent: &self.sent, upper: self.upper, link_too_small: Next::LinkTooSmall.into() };
        too_big::process::<F>(cx, frame, |pool, frame, i| row_of(table, pool, frame, i), &cutting);
    }
}

/// The header of a link, with the address of the packet's group, if the link has such addresses.
fn row_of<F: Multicast>(table: &AdjacencyTable<F>, pool: &Pool, frame: &Frame, i: usize) -> AdjacencyRow {
    let mut row = *table.row(frame.hop[i]);
    if row.is(State::Glean)
        && let Some((header, _)) = F::Header::parse(frame.bytes(pool, i))
    {
        row.set_destination(F::group_mac(header.destination()));
    }
    row
}
