//! `ip4-input`: lets pass what a router must accept (RFC 1812, 5.2.2), without the padding of short Ethernet frames.
//!
//! Packets come with their start at the IP header, from any link layer. They go onto the feature arc `ip4-unicast`, which
//! ends at `ip4-lookup`, or, for a group of hosts, onto `ip4-multicast`; those with options go to `ip4-options`, which makes
//! the same checks one by one.

use std::sync::Arc;

use quiver_engine::{
    ArcSpec, Body, Columns, Context, Counter, Flags, Frame, Guard, Isa, Node, PacketLanes, Row, Snapshot, Stage,
    StageNode, arcs,
};

use crate::fields::{self, BACK};
use crate::ingress::{ENABLED, Ingress};

arcs! {
    /// Where packets go from `ip4-input`.
    pub enum Next {
        Unicast => features "ip4-unicast",
        Options => node "ip4-options",
        NotEnabled => drop "ip4-not-enabled",
        BadHeader => drop "bad-header",
        BadLength => drop "bad-length",
        BadChecksum => drop "bad-checksum",
        Broadcast => drop "broadcast",
        Multicast => features "ip4-multicast",
        Martian => drop "martian-address",
    }
}

/// The stage.
#[derive(Clone)]
pub struct Ip4Input {
    /// Which interfaces take IPv4.
    pub ingress: Snapshot<Ingress>,
    /// This worker's counters of IPv4 packets by receiving interface.
    pub received: Arc<Row<Counter>>,
}

/// The node. It counts what leaves the stage by another arc as well.
pub struct Ip4InputNode(pub StageNode<Ip4Input>);

impl Node for Ip4InputNode {
    fn process(&mut self, cx: &mut Context, frame: &mut Frame) {
        self.0.process(cx, frame);
        for i in 0..frame.len() {
            if frame.next[i] != u16::from(Next::Unicast) {
                self.0.0.received.add(frame.rx[i].into(), 1);
            }
        }
    }
}

/// The stage at work.
pub struct InputBody<'f> {
    ingress: &'f Ingress,
    received: &'f Row<Counter>,
}

impl Stage for Ip4Input {
    const NAME: &'static str = "ip4-input";
    const ARCS: &'static [ArcSpec] = Next::ARCS;
    type Body<'f> = InputBody<'f>;
    #[inline(always)]
    fn enter<'f>(&'f mut self, guard: Guard<'f>) -> InputBody<'f> {
        InputBody { ingress: self.ingress.read(guard), received: &self.received }
    }
}

impl Body for InputBody<'_> {
    const BACK: u32 = BACK;
    const WRITES: Columns = Columns::OFFSET;

    #[inline(always)]
    fn step<I: Isa>(&self, p: &mut PacketLanes<I>) {
        let word = p.rx.map_uniform(|rx| self.ingress.word(rx));
        let (version_ihl, total) = (p.header.get(fields::VERSION_IHL), p.header.get(fields::TOTAL_LENGTH));
        // RFC 1071: the halves of the words that bytes 14..34 of the window lie in.
        let mut sum = (p.header.word(12) & 0xffff) + (p.header.word(32) >> 16);
        for at in [16, 20, 24, 28] {
            sum = sum + (p.header.word(at) >> 16) + (p.header.word(at) & 0xffff);
        }
        sum = (sum & 0xffff) + (sum >> 16);
        sum = (sum & 0xffff) + (sum >> 16);
        let options = version_ihl.gt(0x45) & version_ihl.lt(0x50);
        let (source, destination) = (p.header.get(fields::SOURCE), p.header.get(fields::DESTINATION));
        // RFC 1812, 5.3.7: this network, loopback, groups and what is reserved.
        let (from, to) = (source >> 24, destination >> 24);
        let martian = from.eq(0) | from.eq(127) | from.gt(223) | to.eq(0) | to.eq(127) | to.gt(239);

        p.leave((word & ENABLED).eq(0), Next::NotEnabled);
        p.leave(p.length.lt(20) | (version_ihl.ne(0x45) & !options), Next::BadHeader);
        p.leave(total.lt(20) | total.gt(p.length), Next::BadLength);
        p.leave(options, Next::Options);
        p.leave(sum.ne(0xffff), Next::BadChecksum);
        p.leave(destination.eq(!0), Next::Broadcast);
        p.leave(to.gt(223) & to.lt(240), Next::Multicast);
        p.leave(martian, Next::Martian);
        // The length of a chain lies in its buffers too; no link that pads makes one.
        let single = (p.flags & u32::from(Flags::CHAINED.0)).eq(0);
        p.length = p.length.replace(p.live & single, total);
    }
    #[inline(always)]
    fn commit<I: Isa>(&mut self, p: &mut PacketLanes<I>) {
        self.received.add_lanes(p.live, p.rx);
    }
}
