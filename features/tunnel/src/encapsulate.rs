//! `vxlan4-encap` and the like, features of tunnels on `interface-output`, the last ones there: what a tunnel is to send becomes the payload of
//! a datagram. That is our own, and goes on at the rewrite of its family by the way to the other end, which flows are spread over
//! like those of a route; one for a group leaves by one interface.
//!
//! Drops: `interface-down`; `unresolved-tunnel`, where there is no way to the other end; `too-long` for a datagram; `no-headroom` for
//! one more header in front; `not-completed`, where an offload cannot be carried out, or buffers are missing;
//! `not-ip`, of tunnels without Ethernet headers.

use std::marker::PhantomData;
use std::sync::Arc;

use quiver_engine::{
    ArcSpec, Body, Columns, Context, Flags, Frame, Guard, Isa, LANES, LaneRow, Mask8, PacketLanes, Paged, Quarters,
    Row, Rows, SlowPath, Snapshot, Stage, Windows, arcs,
};
use quiver_ip::family::BACK;
use quiver_ip::family::v4::{fields, flow as flow_of_ip4};
use quiver_ip::fib::hop;
use quiver_ip::fib::rows::{GroupRow, GroupRows};
use quiver_wire::{EtherType, EthernetHeader, Header, IpFamily, UdpHeader, V4, flow};

use crate::ecn;
use crate::ends::Ends;
use crate::kind::Kind;
use crate::outer::Outer;
use crate::put::{Inner, Putter, Unfit, Way, flow_port};
use crate::underlay::Underlay;

arcs! {
    /// Where datagrams go from here.
    pub enum Next of F: Underlay {
        Rewrite => node (F::NAMES.rewrite),
        Multicast => node (F::REWRITE),
        Down => drop "interface-down",
        Unresolved => drop "unresolved-tunnel",
        TooLong => drop "too-long",
        NoHeadroom => drop "no-headroom",
        NotCompleted => drop "not-completed",
        NotIp => drop "not-ip",
    }
}

/// A tunnel as workers read it.
#[derive(Clone, Debug)]
pub struct Tunnel {
    /// Both ends.
    pub ends: Ends,
    /// The headers of its datagrams.
    pub outer: Outer,
    /// What the way to the other end comes to, of its family.
    pub group: u32,
    /// Whether it is up.
    pub up: bool,
    /// Whether its packets need no second look: it leads to a host, they have Ethernet headers, and no checksum covers them.
    pub is_ordinary: bool,
    /// Where packets go without an Ethernet header: the headers of datagrams with packets of IPv6, in place of those.
    pub layer3: Option<Arc<Outer>>,
}

/// Tunnels by the numbers of their interfaces.
pub type TunnelRows = Paged<Option<Tunnel>>;

/// The stage: frames that need nothing but headers in front of them.
pub struct Encapsulate<K: Kind, F: Underlay> {
    rows: Snapshot<TunnelRows>,
    groups: Snapshot<GroupRows>,
    sent: Arc<Row>,
    putter: Putter,
    kind: PhantomData<fn() -> (K, F)>,
}

impl<K: Kind, F: Underlay> Clone for Encapsulate<K, F> {
    fn clone(&self) -> Encapsulate<K, F> {
        let Encapsulate { rows, groups, sent, putter, kind } = self;
        let (rows, groups, sent) = (rows.clone(), groups.clone(), sent.clone());
        Encapsulate { rows, groups, sent, putter: putter.clone(), kind: *kind }
    }
}

impl<K: Kind, F: Underlay> Encapsulate<K, F> {
    /// The stage, with the tunnels, the groups of the family, and this worker's counters of sent packets by interface.
    pub(crate) fn new(
        rows: Snapshot<TunnelRows>,
        groups: Snapshot<GroupRows>,
        sent: Arc<Row>,
        worker: usize,
    ) -> Encapsulate<K, F> {
        Encapsulate { rows, groups, sent, putter: Putter::new(worker), kind: PhantomData }
    }
    #[inline(always)]
    fn put(
        &self,
        rows: &TunnelRows,
        groups: &GroupRows,
        cx: &mut Context,
        frame: &mut Frame,
        i: usize,
    ) -> Result<(), Next> {
        let tx = frame.tx[i];
        let tunnel = rows.get(tx as usize).and_then(Option::as_ref).filter(|tunnel| tunnel.up).ok_or(Next::Down)?;
        let bytes = frame.bytes(cx.pool, i);
        let hash = flow::hash(bytes, false);
        let hop = groups.get(tunnel.group as usize).map_or(hop::DROP, |row| row.hop(hash));
        let next = match tunnel.ends.is_multicast() {
            // The link to which a group's datagrams go is there, or is not.
            true if hop != hop::DROP => Next::Multicast,
            false if hop >= hop::FIRST_ADJACENCY => Next::Rewrite,
            _ => return Err(Next::Unresolved),
        };
        let ecn = ecn::of(Inner::Frame, bytes);
        let (mut inner, mut outer, length) = (Inner::Frame, &tunnel.outer, frame.length[i]);
        if let Some(of_ip6) = &tunnel.layer3 {
            let ethertype = EthernetHeader::parse(bytes).map(|(link, _)| link.ethertype);
            match ethertype {
                Some(EtherType::IP4) => {}
                Some(EtherType::IP6) => outer = of_ip6,
                _ => return Err(Next::NotIp),
            }
            inner = ethertype.map_or(Inner::Frame, Inner::Packet);
            frame.advance(cx.pool, i, EthernetHeader::LENGTH as isize);
        }
        let way = Way { inner, outer, source_port: flow_port(hash), ecn, hop, next: next.into() };
        self.putter.put(cx, frame, i, &way).map_err(|unfit| match unfit {
            Unfit::TooLong => Next::TooLong,
            Unfit::NoHeadroom => Next::NoHeadroom,
            Unfit::NotCompleted => Next::NotCompleted,
        })?;
        self.sent.add(tx, 1, length.into());
        Ok(())
    }
}

impl<K: Kind, F: Underlay> Stage for Encapsulate<K, F> {
    const NAME: &'static str = K::ENCAPSULATE[F::PLACE];
    const ARCS: &'static [ArcSpec] = Next::arcs::<F>();
    type Body<'f> = EncapsulateBody<'f, K, F>;
    #[inline(always)]
    fn enter<'f>(&'f mut self, guard: Guard<'f>) -> EncapsulateBody<'f, K, F> {
        // In this order: a group's row was there before the tunnel was published.
        let (rows, groups) = (self.rows.read(guard), self.groups.read(guard));
        EncapsulateBody { rows, groups, sent: self.sent.of_lanes(), putter: &self.putter, one: None, kind: PhantomData }
    }
}

/// The stage at work.
pub struct EncapsulateBody<'f, K: Kind, F: Underlay> {
    rows: &'f TunnelRows,
    groups: &'f GroupRows,
    sent: LaneRow<'f>,
    putter: &'f Putter,
    /// The tunnel that is to send the whole frame, if one is.
    one: Option<Ready<'f>>,
    kind: PhantomData<fn() -> (K, F)>,
}

/// An ordinary tunnel that is up.
#[derive(Clone, Copy)]
struct Ready<'f> {
    outer: &'f Outer,
    hops: &'f GroupRow,
}

/// Bytes in front of the IP header of a frame without tags: such a frame's window is that of layer 3.
const LINK: u32 = BACK;
/// The word from the EtherType on, without its last byte, of a frame that holds IPv4 without tags and options.
const TYPE_AND_VERSION: u32 = 0x08_0045;

impl<'f, K: Kind, F: Underlay> EncapsulateBody<'f, K, F> {
    /// Bytes of the headers in front of frames.
    const HEADERS: u32 = (F::HEADER_LENGTH + size_of::<UdpHeader>() + K::HEADER_LENGTH) as u32;

    #[inline(always)]
    fn ready(&self, tx: u32) -> Option<Ready<'f>> {
        let tunnel = self.rows.get(tx as usize)?.as_ref()?;
        let hops = self.groups.get(tunnel.group as usize)?;
        (tunnel.up && tunnel.is_ordinary).then_some(Ready { outer: &tunnel.outer, hops })
    }
}

impl<K: Kind, F: Underlay> Body for EncapsulateBody<'_, K, F> {
    const WRITES: Columns = Columns::OFFSET.and(Columns::HOP).and(Columns::FLAGS);
    const READS: Quarters = Quarters::of(0, fields::PORTS.at() + 4);
    const MOVES: Option<i32> = Some(-(Self::HEADERS as i32));
    #[inline(always)]
    fn begin(&mut self, _: Option<u32>, tx: Option<u32>) {
        self.one = tx.and_then(|tx| self.ready(tx));
    }
    #[inline(always)]
    fn step<I: Isa>(&mut self, p: &mut PacketLanes<I>, windows: &mut Windows<'_>) {
        // Where packets are emitted, all have to be, so that none overtakes them.
        let whole = p.length.gt(u32::from(u16::MAX) - Self::HEADERS) | p.offset.lt(Self::HEADERS + LINK);
        p.leave(if p.any.has(Flags::OFFLOAD) { p.live } else { whole }, SLOW);
        let word = p.header.word(12);
        let is_ip4 = (word >> 8).eq(TYPE_AND_VERSION) & p.length.gt(LINK + V4::HEADER_LENGTH as u32 - 1);
        let (source, destination) = (p.header.get(fields::SOURCE).each(), p.header.get(fields::DESTINATION).each());
        let protocol = p.header.get(fields::PROTOCOL).each();
        let ports = flow_of_ip4::ports(p, p.length - LINK).each();
        let (ecn, is_ip4) = ((word & 3).each(), is_ip4.bits());
        let (tx, offsets, lengths) = (p.tx.array(), p.offset.array(), p.length.array());
        let (mut hops, mut odd) = ([0; LANES], Mask8(0));
        for lane in p.live.bits() {
            let ready = if p.has_one_tx() { self.one } else { self.ready(tx[lane]) };
            let this = Mask8(1 << lane);
            let Some(ready) = ready else {
                odd = odd | this;
                continue;
            };
            let (hash, ecn) = match (is_ip4 & this).0 != 0 {
                true => {
                    let protocol = protocol.at(lane) as u8;
                    let hash = flow::hash_of_ip4(source.at(lane), destination.at(lane), ports.at(lane), protocol);
                    (hash, ecn.at(lane) as u8)
                }
                false => looked_at(windows, p, lane),
            };
            hops[lane] = ready.hops.hop(hash);
            if hops[lane] < hop::FIRST_ADJACENCY {
                odd = odd | this;
                continue;
            }
            let datagram = self.putter.datagram(flow_port(hash), ecn, lengths[lane] as usize);
            let window = windows.at(lane, offsets[lane].wrapping_sub(Self::HEADERS));
            ready.outer.fill(&mut window[..Self::HEADERS as usize], &datagram, |sum| sum);
        }
        p.leave(p.live.with(odd), SLOW);
        self.sent.add(p.live, p.tx, p.length);
        p.hop = p.hop.replace(p.live, p.hop.with(&hops));
        p.unflag(Flags::LINK_GROUP);
        p.flag(p.live, Flags::LOCAL);
        p.advance(p.live, Self::HEADERS.wrapping_neg());
    }
}

/// The hash of a frame's flow and its ECN field, where it takes more than the words of the window to say them.
#[cold]
#[inline(never)]
fn looked_at<I: Isa>(windows: &Windows<'_>, p: &PacketLanes<I>, lane: usize) -> (u32, u8) {
    let bytes = windows.packet(p, lane);
    (flow::hash(bytes, false), ecn::of(Inner::Frame, bytes))
}

/// The arc of packets that take the slow path.
const SLOW: Next = Next::NotCompleted;

impl<K: Kind, F: Underlay> SlowPath for Encapsulate<K, F> {
    const SLOW: u16 = SLOW as u16;
    fn treat(&mut self, cx: &mut Context, frame: &mut Frame, rows: Rows) {
        let (tunnels, groups) = (self.rows.read(cx.guard), self.groups.read(cx.guard));
        self.putter.begin();
        for i in rows {
            if let Err(dropped) = self.put(tunnels, groups, cx, frame, i) {
                frame.next[i] = dropped.into();
            }
        }
    }
}
