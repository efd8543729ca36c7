//! `ip4-udp-lookup`, `ip6-udp-lookup`: UDP packets for us, with `offset` at the IP header, go to the node that has claimed their
//! destination port ([`crate::claim`]). Senders of the others are told that nobody listens (RFC 1122, 4.1.3.1; RFC 4443, 3.1),
//! unless a room takes those that are left.

use std::marker::PhantomData;

use quiver_engine::{
    ArcSpec, Body, Columns, Context, Flags, Frame, Guard, Isa, PacketLanes, Paged, Quarters, Rows, SlowPath, Snapshot,
    Stage, Windows, arcs,
};
use quiver_ip::Fault;
use quiver_ip::family::BACK;
use quiver_wire::{Header, IpProtocol, UdpHeader};

use crate::family::Udp;

arcs! {
    /// Where packets go that nobody has claimed; behind this arc come those of the nodes that claim ports.
    pub enum Next of F: Udp {
        Unclaimed => node (F::NAMES.error),
    }
}

/// The stage: whole packets without options whose ports rooms have claimed.
pub struct Lookup<F: Udp> {
    /// Arcs by port; 0, [`Next::Unclaimed`], is that of ports that nobody takes.
    taken: Snapshot<Paged<u16>>,
    family: PhantomData<F>,
}

impl<F: Udp> Clone for Lookup<F> {
    fn clone(&self) -> Lookup<F> {
        Lookup::new(self.taken.clone())
    }
}

impl<F: Udp> Lookup<F> {
    pub(crate) fn new(taken: Snapshot<Paged<u16>>) -> Lookup<F> {
        Lookup { taken, family: PhantomData }
    }
}

/// The destination port of a packet, which begins with its IP header.
fn port<F: Udp>(packet: &[u8]) -> Option<u16> {
    let (header, _) = UdpHeader::parse(packet.get(F::payload(packet)?.offset..)?)?;
    Some(header.destination_port.get())
}

impl<F: Udp> Stage for Lookup<F> {
    const NAME: &'static str = F::NODE;
    const ARCS: &'static [ArcSpec] = Next::arcs::<F>();
    type Body<'f> = LookupBody<'f, F>;
    #[inline(always)]
    fn enter<'f>(&'f mut self, guard: Guard<'f>) -> LookupBody<'f, F> {
        LookupBody { taken: self.taken.read(guard), family: PhantomData }
    }
}

/// The stage at work.
pub struct LookupBody<'f, F: Udp> {
    taken: &'f Paged<u16>,
    family: PhantomData<F>,
}

impl<F: Udp> Body for LookupBody<'_, F> {
    const BACK: u32 = BACK;
    const WRITES: Columns = Columns::NONE;
    const READS: Quarters = Quarters::of(BACK as usize, F::PORTS.at() + 4);

    #[inline(always)]
    fn step<I: Isa>(&mut self, p: &mut PacketLanes<I>, _: &mut Windows<'_>) {
        let short = p.length.lt((F::HEADER_LENGTH + UdpHeader::LENGTH) as u32);
        let is_udp = F::protocol(p).eq(u32::from(IpProtocol::UDP.0));
        let ports = p.header.get(F::PORTS) & 0xffff;
        let arcs = ports.map_uniform(|port| self.taken.get(port as usize).copied().unwrap_or_default().into());
        let odd = short | !(F::is_plain(p) & is_udp) | p.flagged(Flags::CHAINED) | arcs.eq(Next::Unclaimed as u32);
        p.leave(odd, Next::Unclaimed);
        p.leave_each(p.live, arcs);
    }
}

impl<F: Udp> SlowPath for Lookup<F> {
    const SLOW: u16 = Next::Unclaimed as u16;
    fn treat(&mut self, cx: &mut Context, frame: &mut Frame, rows: Rows) {
        let taken = self.taken.read(cx.guard);
        for i in rows {
            let port = port::<F>(frame.bytes(cx.pool, i));
            let arc = port.and_then(|port| taken.get(port.into())).copied().unwrap_or_default();
            if arc == Next::Unclaimed as u16 {
                frame.hop[i] = Fault::PORT.0;
            }
            frame.next[i] = arc;
        }
    }
}
