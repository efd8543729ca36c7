//! `ip4-input`: lets pass what a router must accept (RFC 1812, 5.2.2), without the padding of short Ethernet frames.
//!
//! Packets come with their start at the IP header, from any link layer. They go onto the feature arc `ip4-unicast`, which
//! ends at `ip4-lookup`, or, for a group of hosts, onto `ip4-multicast`; those with options go to `ip4-options`, which makes
//! the same checks one by one.

use quiver_engine::{ArcSpec, Body, Columns, Flags, Guard, Isa, PacketLanes, Snapshot, Stage, arcs};

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
}

/// The stage at work.
pub struct InputBody<'f>(&'f Ingress);

impl Stage for Ip4Input {
    const NAME: &'static str = "ip4-input";
    const ARCS: &'static [ArcSpec] = Next::ARCS;
    type Body<'f> = InputBody<'f>;
    #[inline(always)]
    fn enter<'f>(&'f mut self, guard: Guard<'f>) -> InputBody<'f> {
        InputBody(self.ingress.read(guard))
    }
}

impl Body for InputBody<'_> {
    const BACK: u32 = BACK;
    const WRITES: Columns = Columns::OFFSET;

    #[inline(always)]
    fn step<I: Isa>(&self, p: &mut PacketLanes<I>) {
        let word = p.rx.map_uniform(|rx| self.0.word(rx));
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
}
