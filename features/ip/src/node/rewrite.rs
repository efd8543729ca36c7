//! `ip4-rewrite`: the neighbour's header, one hop less to live, out by its interface: onto the feature arc `ip4-output`,
//! whose features see packets from the link layer's header on.
//!
//! A packet whose neighbour is not known yet goes to `ip4-resolve`, one that is too long or has an offload to `ip4-too-big`;
//! when its time is up, its sender is told by `icmp4-error`.

use std::sync::Arc;

use quiver_engine::{ArcSpec, Body, Columns, Flags, Guard, Isa, Mask16, PacketLanes, Row, Snapshot, Stage, arcs};
use quiver_wire::V4;

use crate::adjacency::{AdjacencyTable, State};
use crate::fault::Fault;
use crate::fields::{self, BACK};

arcs! {
    /// Where packets go from `ip4-rewrite`.
    pub enum Next {
        Output => features "ip4-output",
        Resolve => node "ip4-resolve",
        TooBig => node "ip4-too-big",
        TimeExceeded => node "icmp4-error",
    }
}

/// The stage.
#[derive(Clone)]
pub struct Ip4Rewrite {
    /// The neighbours.
    pub adjacencies: Snapshot<AdjacencyTable<V4>>,
    /// This worker's counters of packets by neighbour.
    pub sent: Arc<Row>,
}

/// The stage at work.
pub struct RewriteBody<'f> {
    table: &'f AdjacencyTable<V4>,
    sent: &'f Row,
}

impl Stage for Ip4Rewrite {
    const NAME: &'static str = "ip4-rewrite";
    const ARCS: &'static [ArcSpec] = Next::ARCS;
    type Body<'f> = RewriteBody<'f>;
    #[inline(always)]
    fn enter<'f>(&'f mut self, guard: Guard<'f>) -> RewriteBody<'f> {
        RewriteBody { table: self.adjacencies.read(guard), sent: &self.sent }
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
        // Of a flow with segmentation offload some packets are too long and others are not: by two ways they would overtake
        // each other.
        let offload = (p.flags & u32::from(Flags::OFFLOAD.0)).ne(0);
        p.leave(total.gt(tx_mtu & 0xffff) | offload, Next::TooBig);

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
    fn commit<I: Isa>(&mut self, p: &PacketLanes<I>) {
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
