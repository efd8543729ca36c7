//! `ip4-rewrite`, `ip6-rewrite`: the neighbour's header, one hop less to live, out by its interface: onto the feature arc
//! `ip4-output`, whose features see packets from the link layer's header on.
//!
//! A packet whose neighbour is not known yet goes to `ip4-resolve`, one that is to be looked up again to `ip4-lookup-again`; when its time is up, its sender is told by ICMP.
//! This file has the stage. Whether a packet that is too long or has an offload fits after all, is fragmented or reported, the
//! node decides behind it ([`crate::node::rewrite_node`]), so that all packets leave in the order in which they came.

use std::sync::Arc;

use crate::adjacency::{AdjacencyRow, AdjacencyRows, AdjacencyTable};
use crate::family::{BACK, Family};
use crate::fault::Fault;
use quiver_engine::{
    ArcSpec, Body, Columns, Flags, Guard, Isa, LANES, LaneRow, Lanes, PacketLanes, Picked, Quarters, Row, Slots,
    Snapshot, Stage, Windows, arcs, unlikely,
};

arcs! {
    /// Where packets go from `ip4-rewrite`.
    pub enum Next of F: Family {
        Output => features (F::NAMES.output),
        Resolve => node (F::NAMES.resolve),
        /// By which the stage lets go of what is too long or has an offload; by which those leave that must not be fragmented.
        TooBig => node (F::NAMES.error),
        /// The hops have run out, or the sender's address means nothing on the next link.
        Expired => node (F::NAMES.error),
        CannotFragment => drop "cannot-be-fragmented",
        NoBuffers => drop "no-buffers",
        Continuation => node (F::NAMES.again),
        /// It is longer than a link takes that is too small for the family. Families without such a limit have no such arc.
        LinkTooSmall => drop "link-mtu-below-minimum",
    }
}

/// The arcs of a family.
pub const fn arcs_of<F: Family>() -> &'static [ArcSpec] {
    with_limit_of::<F>(Next::arcs::<F>(), Next::LinkTooSmall as usize)
}

/// The arcs of a node, the last of which, of this number, is for packets that a link below the family's least MTU does not take. A
/// family without a least MTU has no such arc.
pub(super) const fn with_limit_of<F: Family>(all: &'static [ArcSpec], link_too_small: usize) -> &'static [ArcSpec] {
    if F::LINK_MTU_MIN > 0 { all } else { all.split_at(link_too_small).0 }
}

/// The stage.
#[derive(Clone)]
pub struct Rewrite<F: Family> {
    pub(super) adjacencies: Snapshot<AdjacencyTable<F>>,
    pub(super) sent: Arc<Row>,
}

impl<F: Family> Rewrite<F> {
    /// The stage with the neighbours, and this worker's counters of packets by neighbour.
    pub fn new(adjacencies: Snapshot<AdjacencyTable<F>>, sent: Arc<Row>) -> Rewrite<F> {
        Rewrite { adjacencies, sent }
    }
}

/// The stage at work.
pub struct RewriteBody<'f, F: Family> {
    rows: AdjacencyRows<'f, F>,
    sent: LaneRow<'f>,
}

impl<F: Family> Stage for Rewrite<F> {
    const NAME: &'static str = F::NAMES.rewrite;
    const ARCS: &'static [ArcSpec] = arcs_of::<F>();
    type Body<'f> = RewriteBody<'f, F>;
    #[inline(always)]
    fn enter<'f>(&'f mut self, guard: Guard<'f>) -> RewriteBody<'f, F> {
        RewriteBody { rows: AdjacencyRows::new(self.adjacencies.read(guard)), sent: self.sent.of_lanes() }
    }
}

/// Bytes of the header in front of packets.
const LINK: usize = BACK as usize;
/// Bytes of the word that holds the hop limit.
const HOPS_WORD: usize = 4;

impl<F: Family> RewriteBody<'_, F> {
    /// Sending words of eight adjacencies: the interface, and above it the largest packet length that skips the
    /// slow-path check.
    #[inline(always)]
    fn sending<I: Isa>(like: Lanes<I>, rows: &Picked<'_, AdjacencyRow, I>) -> Lanes<I> {
        let mut sending = [0; LANES];
        for lane in 0..LANES {
            sending[lane] = rows.row(lane).sending();
        }
        like.with(&sending)
    }
    /// Works on eight packets that go by these adjacencies.
    #[inline(always)]
    fn rewrite<I: Isa>(&self, p: &mut PacketLanes<I>, windows: &mut Windows<'_>, rows: &Picked<'_, AdjacencyRow, I>) {
        let sending = Self::sending(p.hop, rows);
        // Packets of our own making have not come a hop.
        let ours = p.flagged(Flags::LOCAL);
        let hops = p.hop.same(1).replace(ours, 0);
        let spent = (F::hop_limit(p).lt(2) | F::of_link(p)).without(ours);
        let too_big = F::length(p).gt(sending >> AdjacencyRow::TX_BITS) | p.flagged(Flags::OFFLOAD);
        p.tx = sending & AdjacencyRow::TX;
        if ((spent | too_big) & p.live).any() {
            unlikely();
            self.part(p, rows, hops);
        }
        let word = F::take_hops(p.header.get(F::HOPS), hops).to_be().each();
        for lane in p.live.bits() {
            put::<F>(windows, lane, rows.row(lane), word.at(lane));
        }
        p.advance(p.live, BACK.wrapping_neg());
        self.sent.add(p.live, p.hop, p.length);
    }
    /// Lets those packets leave that cannot go on.
    #[inline(always)]
    fn part<I: Isa>(&self, p: &mut PacketLanes<I>, rows: &Picked<'_, AdjacencyRow, I>, hops: Lanes<I>) {
        let (mut complete, mut sending) = ([0; LANES], [0; LANES]);
        for lane in 0..LANES {
            (complete[lane], sending[lane]) = (rows.row(lane).is_complete().into(), rows.row(lane).sending());
        }
        let forwarded = hops.ne(0) & p.live;
        let (expired, of_link) = (F::hop_limit(p).lt(2) & forwarded, F::of_link(p) & forwarded);
        p.hop = p.hop.replace(of_link, Fault::BEYOND_SCOPE.0).replace(expired, Fault::TIME_EXCEEDED.0);
        p.leave(expired | of_link, Next::Expired);
        // An adjacency that is no more is for `ip4-resolve` to judge, too.
        p.leave(hops.with(&complete).eq(0), Next::Resolve);
        // Whether the segments of a packet fit only its buffer says.
        p.leave(
            F::length(p).gt(hops.with(&sending) >> AdjacencyRow::TX_BITS) | p.flagged(Flags::OFFLOAD),
            Next::TooBig,
        );
    }
    #[cold]
    #[inline(never)]
    fn rows_of_several(&self, hops: &[u32; LANES]) -> [AdjacencyRow; LANES] {
        hops.map(|hop| *self.rows.table().row(hop))
    }
}

/// Writes the header in front of a packet, and its word of hops, whose bytes are in network order.
#[inline(always)]
fn put<F: Family>(windows: &mut Windows<'_>, lane: usize, row: &AdjacencyRow, word: u32) {
    let window = windows.of(lane);
    window[..LINK].copy_from_slice(&row.0[..LINK]);
    window[F::HOPS.at()..F::HOPS.at() + HOPS_WORD].copy_from_slice(&word.to_ne_bytes());
}

/// The lanes' numbers.
const NUMBERS: [u32; LANES] = [0, 1, 2, 3, 4, 5, 6, 7];

impl<F: Family> Body for RewriteBody<'_, F> {
    const BACK: u32 = BACK;
    const WRITES: Columns = Columns::TX.and(Columns::HOP).and(Columns::OFFSET);
    const READS: Quarters = F::HEADER;
    const MOVES: Option<i32> = Some(-(BACK as i32));
    const REWRITES: Quarters = Quarters::of(0, 32);
    const HAS_ORDINARY: bool = true;

    #[inline(always)]
    fn ordinary<I: Isa>(&mut self, p: &mut PacketLanes<I>, windows: &mut Windows<'_>) -> bool {
        let Some(rows) = self.rows.pick(p.hop) else { return false };
        let sending = Self::sending(p.hop, &rows);
        let odd = F::hop_limit(p).lt(2) | F::of_link(p) | F::length(p).gt(sending >> AdjacencyRow::TX_BITS);
        if odd.any() || p.any.has(Flags::OFFLOAD) {
            return false;
        }
        p.tx = sending & AdjacencyRow::TX;
        // Packets of our own making have not come a hop.
        let hops = match p.any.has(Flags::LOCAL) {
            true => p.hop.same(1).replace(p.flagged(Flags::LOCAL), 0),
            false => p.hop.same(1),
        };
        let word = F::take_hops(p.header.get(F::HOPS), hops).to_be().each();
        for lane in 0..LANES {
            put::<F>(windows, lane, rows.row(lane), word.at(lane));
        }
        p.length = p.length + BACK;
        self.sent.add(p.live, p.hop, p.length);
        true
    }
    #[inline(always)]
    fn step<I: Isa>(&mut self, p: &mut PacketLanes<I>, windows: &mut Windows<'_>) {
        let hops = p.hop.array();
        let rows = self.rows_of_several(&hops);
        self.rewrite(p, windows, &p.hop.with(&NUMBERS).pick(Slots::of(&rows)));
    }
}
