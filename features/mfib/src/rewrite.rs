//! `ip4-rewrite-mcast`, `ip6-rewrite-mcast`: the link's header before packets for groups, whose MAC address follows from the
//! group (RFC 1112, 6.4; RFC 2464, 7), one hop less to live, out by the adjacency's interface. What is too long for the link
//! fares as it does in `ip4-rewrite`, whose arcs the node has.

use std::sync::Arc;

use quiver_engine::{Context, Frame, Node, Pool, Row, Snapshot};
use quiver_ip::adjacency::{AdjacencyRow, AdjacencyTable, State};
use quiver_ip::node::rewrite::Next;
use quiver_ip::node::too_big;
use quiver_wire::{Header, IpHeader};

use crate::family::Multicast;

/// The node.
pub struct Rewrite<F: Multicast> {
    /// The adjacencies, of which those of links are used.
    pub adjacencies: Snapshot<AdjacencyTable<F>>,
    /// This worker's counters of packets by adjacency.
    pub sent: Arc<Row>,
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
        too_big::process::<F>(cx, frame, |pool, frame, i| row_of(table, pool, frame, i), &self.sent);
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
