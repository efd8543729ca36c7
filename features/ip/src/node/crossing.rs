//! `ip4-via-ip6`, `ip6-via-ip4`: packets whose next hop is known by an address of the other family (RFC 8950). They come from
//! `ip4-lookup-again` and `ip6-lookup-again`, and go by what the way to that address comes to in the other family, in frames
//! that say which family they carry; or wait there for the neighbour, at `ip6-resolve` or `ip4-resolve`, and come back.

use std::sync::Arc;

use quiver_engine::{ArcSpec, Context, Frame, MetadataKey, Node, Paged, Pool, Row, Snapshot, arcs};

use super::again::LOOKUPS_MAX;
use super::too_big::{self, Cutting};
use crate::adjacency::{AdjacencyRow, AdjacencyTable};
use crate::family::Family;
use crate::fib::hop::{self, Continuation};
use crate::fib::rows::{GroupRow, GroupRows};
use crate::ingress::Ingress;
use crate::node::rewrite;
use crate::upper::Upper;

arcs! {
    /// Where packets go from here: the first arcs of `ip4-rewrite`, and others.
    pub enum Next of F: Family {
        Output => features (F::NAMES.output),
        Resolve => node (F::Other::NAMES.resolve),
        TooBig => node (F::NAMES.error),
        Expired => node (F::NAMES.error),
        CannotFragment => drop "cannot-be-fragmented",
        NoBuffers => drop "no-buffers",
        Continuation => node (F::NAMES.again),
        /// Back in their own family.
        Rewrite => node (F::NAMES.rewrite),
        Drop => drop "route-drop",
        Unresolved => drop "unresolved-route",
        /// See [`rewrite::Next::LinkTooSmall`].
        LinkTooSmall => drop "link-mtu-below-minimum",
    }
}

/// The arcs of a family.
pub const fn arcs_of<F: Family>() -> &'static [ArcSpec] {
    rewrite::with_limit_of::<F>(Next::arcs::<F>(), Next::LinkTooSmall as usize)
}

const _: () = {
    assert!(Next::Output as u16 == rewrite::Next::Output as u16);
    assert!(Next::Resolve as u16 == rewrite::Next::Resolve as u16);
    assert!(Next::TooBig as u16 == rewrite::Next::TooBig as u16);
    assert!(Next::Expired as u16 == rewrite::Next::Expired as u16);
    assert!(Next::CannotFragment as u16 == rewrite::Next::CannotFragment as u16);
    assert!(Next::NoBuffers as u16 == rewrite::Next::NoBuffers as u16);
};

/// The node; of each pair, the first is of the packets' family, and the second of the other.
pub struct Crossing<F: Family> {
    /// The groups of next hops, by number.
    pub ways: (Snapshot<Paged<u32>>, Snapshot<Paged<u32>>),
    /// Buckets of groups.
    pub rows: (Snapshot<GroupRows>, Snapshot<GroupRows>),
    /// The adjacencies of the other family.
    pub adjacencies: Snapshot<AdjacencyTable<F::Other>>,
    /// Path MTUs of hosts.
    pub ingress: Snapshot<Ingress<F>>,
    /// MTUs by interface.
    pub mtus: (Snapshot<Paged<u16>>, Snapshot<Paged<u16>>),
    /// This worker's counters of packets by adjacency.
    pub sent: Arc<Row>,
    /// Key of the metadata by which fragments have the ports of the packet.
    pub upper: MetadataKey<Upper>,
}

impl<F: Family> Node for Crossing<F> {
    fn process(&mut self, cx: &mut Context, frame: &mut Frame) {
        // In this order: a group's row was there before the group was published.
        let ways = (self.ways.0.read(cx.guard), self.ways.1.read(cx.guard));
        let rows = (self.rows.0.read(cx.guard), self.rows.1.read(cx.guard));
        let table = self.adjacencies.read(cx.guard);
        let mtus = (self.mtus.0.read(cx.guard), self.mtus.1.read(cx.guard));
        let ingress = self.ingress.read(cx.guard);
        for i in 0..frame.len() {
            let flows = ingress.table(ingress.word(frame.rx[i])).map(|table| table.flows).unwrap_or_default();
            let hash = flows.hash_of::<F>(frame.bytes(cx.pool, i));
            let end = follow(frame.hop[i], hash, (ways.0, ways.1), (&rows.0[..], &rows.1[..]));
            let next = match end {
                End::Own(hop) => {
                    frame.hop[i] = hop;
                    if hop >= hop::FIRST_ADJACENCY { Next::Rewrite } else { fate(hop) }
                }
                End::Other(hop) if hop >= hop::FIRST_ADJACENCY => {
                    frame.hop[i] = hop;
                    // Whatever its length, it is rewritten as those are that may be too long.
                    if table.row(hop).is_complete() { Next::TooBig } else { Next::Resolve }
                }
                End::Other(hop) => fate(hop),
            };
            frame.next[i] = next.into();
        }
        let row = |pool: &Pool, frame: &Frame, i| {
            too_big::to_host(ingress, carrying::<F>(*table.row(frame.hop[i]), mtus), pool, frame, i)
        };
        let cutting = Cutting { sent: &self.sent, upper: self.upper, link_too_small: Next::LinkTooSmall.into() };
        too_big::process::<F>(cx, frame, row, &cutting);
    }
}

/// A neighbour's row with a header that says that the frame carries a packet of the family, which has what its link takes of the
/// family: the other's MTU counts only where the way to the neighbour takes less than the link.
fn carrying<F: Family>(mut row: AdjacencyRow, mtus: (&Paged<u16>, &Paged<u16>)) -> AdjacencyRow {
    row.set_ethertype(F::ETHERTYPE);
    let of_link = |mtus: &Paged<u16>| mtus.get(row.tx() as usize).copied().filter(|mtu| *mtu != 0);
    if let (Some(own), Some(other)) = (of_link(mtus.0), of_link(mtus.1)) {
        row.set_mtu(if row.mtu() < other { own.min(row.mtu()) } else { own });
    }
    row
}

fn fate(hop: u32) -> Next {
    if hop == hop::DROP { Next::Drop } else { Next::Unresolved }
}

/// Result of a resolution: a hop of the packet's own family or of the other.
enum End {
    Own(u32),
    Other(u32),
}

/// Follows ways from family to family, as many as there may be one after the other. A packet that waited for a neighbour of the
/// other family has its hop already.
fn follow(hop: u32, hash: u32, ways: (&Paged<u32>, &Paged<u32>), rows: (&[GroupRow], &[GroupRow])) -> End {
    // Where the hop at hand is of.
    let (mut hop, mut is_own) = (hop, true);
    if Continuation::of(hop).is_none() {
        return End::Other(hop);
    }
    for _ in 0..LOOKUPS_MAX {
        let Some(Continuation::Crossing(number)) = Continuation::of(hop) else { break };
        let (ways, rows) = if is_own { (ways.0, rows.1) } else { (ways.1, rows.0) };
        let group = ways.get(number.into()).copied().filter(|group| *group != 0);
        hop = group.and_then(|group| rows.get(group as usize)).map_or(hop::UNRESOLVED, |row| row.hop(hash));
        is_own = !is_own;
    }
    match Continuation::of(hop) {
        // It means the same in both families.
        Some(Continuation::Kind(of_kind)) if of_kind.is_inside() => End::Own(hop),
        // Ways in a circle; or tables and interfaces of the other family, which mean nothing to the packet.
        Some(Continuation::Crossing(_)) => End::Own(hop::UNRESOLVED),
        Some(_) if !is_own => End::Other(hop::UNRESOLVED),
        _ if is_own => End::Own(hop),
        _ => End::Other(hop),
    }
}
