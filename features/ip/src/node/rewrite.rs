//! `ip4-rewrite`, `ip6-rewrite`: the neighbour's header, one hop less to live, out by its interface: onto the feature arc
//! `ip4-output`, whose features see packets from the link layer's header on.
//!
//! A packet whose neighbour is not known yet goes to `ip4-resolve`, one that is to be looked up again to `ip4-lookup-again`; when its time is up, its sender is told by ICMP.
//! Whether one that is too long or has an offload fits after all, is fragmented or reported, the node decides behind its
//! stage ([`too_big`]), so that all packets leave in the order in which they came.

use std::sync::Arc;

use super::too_big;
use crate::adjacency::{AdjacencyRow, AdjacencyTable, State};
use crate::family::{BACK, Family};
use crate::fault::Fault;
use crate::fib::hop::Again;
use crate::ingress::Ingress;
use quiver_engine::{
    ArcSpec, Body, Columns, Context, Flags, Frame, Guard, Isa, Lanes, Node, PacketLanes, Pool, Row, Snapshot, Stage,
    StageNode, arcs,
};
use quiver_table::PAGE;

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
        Again => node (F::NAMES.again),
    }
}

/// The stage.
#[derive(Clone)]
pub struct Rewrite<F: Family> {
    adjacencies: Snapshot<AdjacencyTable<F>>,
    sent: Arc<Row>,
}

impl<F: Family> Rewrite<F> {
    /// The stage with the neighbours, and this worker's counters of packets by neighbour.
    pub fn new(adjacencies: Snapshot<AdjacencyTable<F>>, sent: Arc<Row>) -> Rewrite<F> {
        Rewrite { adjacencies, sent }
    }
}

/// The node.
pub struct RewriteNode<F: Family> {
    stage: StageNode<Rewrite<F>>,
    /// How long packets for hosts are at most.
    ingress: Snapshot<Ingress<F>>,
}

impl<F: Family> RewriteNode<F> {
    /// The node around its stage.
    pub fn new(stage: Rewrite<F>, ingress: Snapshot<Ingress<F>>) -> RewriteNode<F> {
        RewriteNode { stage: StageNode(stage), ingress }
    }
}

impl<F: Family> Node for RewriteNode<F> {
    fn process(&mut self, cx: &mut Context, frame: &mut Frame) {
        self.stage.process(cx, frame);
        let stage = &mut self.stage.0;
        // PERF: asked of the frame, since what the stage notes of it products would note, too.
        let others = frame.next[..frame.len()].iter().fold(0, |others, next| others | (next ^ Next::Output as u16));
        if others != 0 {
            for i in 0..frame.len() {
                if frame.next[i] == Next::Resolve as u16 && Again::of(frame.hop[i]).is_some() {
                    frame.next[i] = Next::Again.into();
                }
            }
            let table = stage.adjacencies.read(cx.guard);
            let ingress = self.ingress.read(cx.guard);
            let row =
                |pool: &Pool, frame: &Frame, i| too_big::to_host(ingress, *table.row(frame.hop[i]), pool, frame, i);
            too_big::process::<F>(cx, frame, row, &stage.sent);
        }
    }
}

/// The stage at work.
pub struct RewriteBody<'f, F: Family> {
    table: &'f AdjacencyTable<F>,
    sent: &'f Row,
}

impl<F: Family> Stage for Rewrite<F> {
    const NAME: &'static str = F::NAMES.rewrite;
    const ARCS: &'static [ArcSpec] = Next::arcs::<F>();
    type Body<'f> = RewriteBody<'f, F>;
    #[inline(always)]
    fn enter<'f>(&'f mut self, guard: Guard<'f>) -> RewriteBody<'f, F> {
        RewriteBody { table: self.adjacencies.read(guard), sent: &self.sent }
    }
}

impl<F: Family> RewriteBody<'_, F> {
    /// The words of sixteen packets' rows.
    ///
    /// PERF: there are few neighbours mostly, whose rows are in one page: then it is found once.
    #[inline(always)]
    fn rows<I: Isa>(&self, hops: Lanes<I>) -> [Lanes<I>; 8] {
        let first = hops.array()[0];
        match self.table.page(first) {
            Some(page) if (hops >> PAGE.ilog2()).eq(first >> PAGE.ilog2()).all() => {
                hops.map_rows(|hop| &page[hop as usize % PAGE].0)
            }
            _ => {
                let rows = self.rows_of_several(&hops.array());
                hops.with(&LANES).map_rows(|lane| &rows[lane as usize % 16].0)
            }
        }
    }
    #[cold]
    #[inline(never)]
    fn rows_of_several(&self, hops: &[u32; 16]) -> [AdjacencyRow; 16] {
        hops.map(|hop| *self.table.row(hop))
    }
}

/// The lanes' numbers.
const LANES: [u32; 16] = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15];

impl<F: Family> Body for RewriteBody<'_, F> {
    const BACK: u32 = BACK;
    const WRITES: Columns = Columns::TX.and(Columns::HOP).and(Columns::OFFSET).and(Columns::HEADER);

    #[inline(always)]
    fn step<I: Isa>(&self, p: &mut PacketLanes<I>) {
        let [mac0, mac4, mac8, last, tx_mtu, ..] = self.rows(p.hop);
        let state = last >> 8 & 0xff;
        // Packets of our own making have not come a hop.
        let hops = (p.flags >> Flags::LOCAL.0.trailing_zeros() & 1) ^ 1;
        let forwarded = hops.ne(0) & p.live;
        let (expired, of_link) = (F::hop_limit(p).lt(2) & forwarded, F::of_link(p) & forwarded);

        p.hop = p.hop.replace(of_link, Fault::BEYOND_SCOPE.0).replace(expired, Fault::TIME_EXCEEDED.0);
        p.leave(expired | of_link, Next::Expired);
        // An adjacency that is no more is for `ip4-resolve` to judge, too.
        p.leave(state.ne(State::Complete as u32), Next::Resolve);
        // Whether the segments of a packet fit only its buffer says.
        p.leave(F::length(p).gt(tx_mtu & 0xffff) | p.flagged(Flags::OFFLOAD), Next::TooBig);

        p.tx = tx_mtu >> 16;
        p.header.set_word(0, mac0);
        p.header.set_word(4, mac4);
        p.header.set_word(8, mac8);
        p.header.set_word(12, last & 0xffff_0000 | p.header.word(12) & 0xffff);
        F::take_hops(p, hops);
        p.advance(p.live, BACK.wrapping_neg());
    }
    #[inline(always)]
    fn commit<I: Isa>(&mut self, p: &mut PacketLanes<I>) {
        let (hops, lengths) = (p.hop.array(), p.length.array());
        if (p.hop.eq(hops[0]) & p.live).all() {
            let mut bytes = 0;
            for lane in 0..16 {
                bytes += u64::from(lengths[lane]);
            }
            return self.sent.add(hops[0], 16, bytes);
        }
        self.sent.add_lanes(p.live.bits(), &hops, &lengths);
    }
}
