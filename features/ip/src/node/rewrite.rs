//! `ip4-rewrite`: the neighbour's header, one hop less to live, out by its interface: onto the feature arc `ip4-output`,
//! whose features see packets from the link layer's header on.
//!
//! A packet whose neighbour is not known yet goes to `ip4-resolve`; when its time is up, its sender is told by `icmp4-error`.
//! Whether one that is too long or has an offload fits after all, is fragmented or reported, the node decides behind its
//! stage ([`too_big`]), so that all packets leave in the order in which they came.

use std::sync::Arc;

use quiver_engine::{
    ArcSpec, Body, Columns, Context, Flags, Frame, Guard, Isa, Mask16, Node, PacketLanes, Row, Snapshot, Stage,
    StageNode, arcs,
};
use quiver_wire::V4;

use super::too_big;

use crate::adjacency::{AdjacencyTable, State};
use crate::fault::Fault;
use crate::fields::{self, BACK};

arcs! {
    /// Where packets go from `ip4-rewrite`.
    pub enum Next {
        Output => features "ip4-output",
        Resolve => node "ip4-resolve",
        /// By which the stage lets go of what is too long or has an offload; by which those leave that must not be fragmented.
        TooBig => node "icmp4-error",
        TimeExceeded => node "icmp4-error",
        CannotFragment => drop "cannot-be-fragmented",
        NoBuffers => drop "no-buffers",
    }
}

/// The stage.
#[derive(Clone)]
pub struct Ip4Rewrite {
    adjacencies: Snapshot<AdjacencyTable<V4>>,
    sent: Arc<Row>,
    /// Whether a lane has left as too big.
    too_big: bool,
}

impl Ip4Rewrite {
    /// The stage with the neighbours, and this worker's counters of packets by neighbour.
    pub fn new(adjacencies: Snapshot<AdjacencyTable<V4>>, sent: Arc<Row>) -> Ip4Rewrite {
        Ip4Rewrite { adjacencies, sent, too_big: false }
    }
}

/// The node.
pub struct Ip4RewriteNode(StageNode<Ip4Rewrite>);

impl Ip4RewriteNode {
    /// The node around its stage.
    pub fn new(stage: Ip4Rewrite) -> Ip4RewriteNode {
        Ip4RewriteNode(StageNode(stage))
    }
}

impl Node for Ip4RewriteNode {
    fn process(&mut self, cx: &mut Context, frame: &mut Frame) {
        self.0.process(cx, frame);
        let stage = &mut self.0.0;
        if std::mem::take(&mut stage.too_big) {
            too_big::process(cx, frame, stage.adjacencies.read(cx.guard), &stage.sent);
        }
    }
}

/// The stage at work.
pub struct RewriteBody<'f> {
    table: &'f AdjacencyTable<V4>,
    sent: &'f Row,
    too_big: &'f mut bool,
}

impl Stage for Ip4Rewrite {
    const NAME: &'static str = "ip4-rewrite";
    const ARCS: &'static [ArcSpec] = Next::ARCS;
    type Body<'f> = RewriteBody<'f>;
    #[inline(always)]
    fn enter<'f>(&'f mut self, guard: Guard<'f>) -> RewriteBody<'f> {
        RewriteBody { table: self.adjacencies.read(guard), sent: &self.sent, too_big: &mut self.too_big }
    }
}

impl Body for RewriteBody<'_> {
    const BACK: u32 = BACK;
    const WRITES: Columns = Columns::TX.and(Columns::HOP).and(Columns::OFFSET).and(Columns::HEADER);

    #[inline(always)]
    fn step<I: Isa>(&self, p: &mut PacketLanes<I>) {
        let [mac0, mac4, mac8, last, tx_mtu, ..] = p.hop.map_rows(|hop| &self.table.row(hop).0);
        let state = last >> 8 & 0xff;
        let (ttl, total) = (p.header.get(fields::TTL), p.header.get(fields::TOTAL_LENGTH));
        // Packets of our own making have not come a hop.
        let hops = (p.flags >> Flags::LOCAL.0.trailing_zeros() & 1) ^ 1;
        let expired = ttl.lt(2) & hops.ne(0) & p.live;

        p.hop = p.hop.replace(expired, Fault::TIME_EXCEEDED.0);
        p.leave(expired, Next::TimeExceeded);
        // An adjacency that is no more is for `ip4-resolve` to judge, too.
        p.leave(state.ne(State::Complete as u32), Next::Resolve);
        // Whether the segments of a packet fit only its buffer says.
        p.leave(total.gt(tx_mtu & 0xffff) | p.flagged(Flags::OFFLOAD), Next::TooBig);

        p.tx = tx_mtu >> 16;
        p.header.set_word(0, mac0);
        p.header.set_word(4, mac4);
        p.header.set_word(8, mac8);
        p.header.set_word(12, last & 0xffff_0000 | p.header.word(12) & 0xffff);
        p.header.set(fields::TTL, ttl - hops);
        // RFC 1624: the TTL is the high byte of its word, so the sum grows by 0x0100, end-around.
        let sum = p.header.get(fields::CHECKSUM) + (hops << 8);
        p.header.set(fields::CHECKSUM, (sum + ((sum + hops) >> 16)) & 0xffff);
        p.advance(p.live, BACK.wrapping_neg());
    }
    #[inline(always)]
    fn commit<I: Isa>(&mut self, p: &mut PacketLanes<I>) {
        *self.too_big |= p.next.eq(Next::TooBig as u32) != Mask16(0);
        let (hops, lengths) = (p.hop.array(), p.length.array());
        if p.live == Mask16::ALL && p.hop.eq(hops[0]) == Mask16::ALL {
            let mut bytes = 0;
            for lane in 0..16 {
                bytes += u64::from(lengths[lane]);
            }
            return self.sent.add(hops[0], 16, bytes);
        }
        self.sent.add_lanes(p.live, &hops, &lengths);
    }
}
