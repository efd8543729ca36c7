//! `vxlan4-encap` and the like, the last features on `interface-output` of tunnels: a packet becomes the payload of a
//! datagram. The datagram is local and continues at the rewrite of its family, by the paths to the remote end, over
//! which flows are spread like those of a route. One to a group leaves by the configured interface.
//!
//! Drops: `interface-down`; `unresolved-tunnel`, where there is no way to the other end; `too-long` for a datagram; `no-headroom` for
//! one more header in front; `not-completed`, where an offload cannot be carried out, or buffers are missing;
//! `not-ip`, of tunnels without Ethernet headers.

use std::marker::PhantomData;
use std::sync::Arc;

use quiver_engine::{
    ArcSpec, Body, Columns, Context, Flags, Frame, Guard, Isa, LANES, LaneRow, Lanes, Mask8, PacketLanes, Paged,
    Quarters, Row, Rows, SlowPath, Snapshot, Stage, Windows, arcs, unlikely,
};
use quiver_ip::family::BACK;
use quiver_ip::family::v4::{fields, flow as flow_of_ip4};
use quiver_ip::fib::hop;
use quiver_ip::fib::rows::{GroupRow, GroupRows};
use quiver_wire::{EtherType, EthernetHeader, Header, IpFamily, UdpHeader, V4};

use crate::ecn;
use crate::ends::Ends;
use crate::kind::Kind;
use crate::outer::Outer;
use crate::put::{Inner, NextStep, Putter, Unfit, flow_hash, flow_port, flow_ports};
use crate::template::{Differing, Template, WORDS};
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
    /// Path group to the remote end, of the family of the ends.
    pub group: u32,
    /// Whether it is up.
    pub up: bool,
    /// Whether its packets need no second look: it leads to a host, they have Ethernet headers, and no checksum covers them.
    pub is_ordinary: bool,
    /// Where packets go without an Ethernet header: the headers of datagrams with packets of IPv6, in place of those.
    pub layer3: Option<Arc<Outer>>,
}

/// Tunnels by the numbers of their interfaces. They are large, so that pages have few.
pub type TunnelRows = Paged<Option<Tunnel>, 16>;

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
        let hash = flow_hash(bytes);
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
        let way = NextStep { inner, outer, source_port: flow_port(hash), ecn, hop, next: next.into() };
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
    /// The headers and hops of eight frames that several tunnels send.
    #[cold]
    #[inline(never)]
    fn several(&self, lanes: Mask8, tx: &[u32; LANES], hashes: &[u32; LANES]) -> Several<'f> {
        let mut all =
            Several { words: [[0; LANES]; WORDS], sum: [0; LANES], hops: [0; LANES], outers: [&Outer::EMPTY; LANES] };
        for lane in lanes {
            // Lanes without an ordinary tunnel have no hop, and take the slow path.
            let Some(Ready { outer, hops }) = self.ready(tx[lane]) else { continue };
            let Template { words, sum } = outer.template();
            all.words.iter_mut().zip(words).for_each(|(column, word)| column[lane] = *word);
            (all.sum[lane], all.hops[lane], all.outers[lane]) = (*sum, hops.hop(hashes[lane]), outer);
        }
        all
    }
}

/// The headers of eight tunnels by their words, and the ways to the other ends.
struct Several<'f> {
    words: [[u32; LANES]; WORDS],
    sum: [u32; LANES],
    hops: [u32; LANES],
    outers: [&'f Outer; LANES],
}

impl Ready<'_> {
    /// The ways of flows to the other end.
    #[inline(always)]
    fn hops<I: Isa>(&self, hashes: Lanes<I>) -> Lanes<I> {
        let first = self.hops.first();
        if first & hop::MANY == 0 {
            return hashes.same(first);
        }
        let (each, mut hops) = (hashes.each(), [0; LANES]);
        for lane in 0..LANES {
            hops[lane] = self.hops.hop(each.at(lane));
        }
        hashes.with(&hops)
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
        let (mut hashes, mut ecn) = (flow_of_ip4::hash_within(p, p.length - LINK), word & 3);
        let others = p.live.without(is_ip4);
        if others.any() {
            unlikely();
            let (hash, field) = looked_at(windows, p, others.bits());
            (hashes, ecn) = (hashes.replace(others, hashes.with(&hash)), ecn.replace(others, ecn.with(&field)));
        }
        let (common, hops, outers) = match self.one.filter(|_| p.has_one_tx()) {
            Some(ready) => {
                let Template { words: [a, b, c, d, e], sum } = *ready.outer.template();
                let same = |word| p.tx.same(word);
                let words = [same(a), same(b), same(c), same(d), same(e)];
                (Template { words, sum: same(sum) }, ready.hops(hashes), [ready.outer; LANES])
            }
            None => {
                unlikely();
                let Several { words: [a, b, c, d, e], sum, hops, outers } =
                    self.several(p.live.bits(), &p.tx.array(), &hashes.array());
                let column = |words: &_| p.tx.with(words);
                let words = [column(&a), column(&b), column(&c), column(&d), column(&e)];
                (Template { words, sum: column(&sum) }, column(&hops), outers)
            }
        };
        p.leave(hop::others(hops), SLOW);
        let headed = p.length + Self::HEADERS;
        let identification = p.tx.with(&self.putter.identifications(p.live.bits()));
        let datagrams = Differing { source_port: flow_ports(hashes), identification, ecn };
        let [a, b, c, d, e] = F::fill(&common, headed, &datagrams);
        let words = [a.to_be().each(), b.to_be().each(), c.to_be().each(), d.to_be().each(), e.to_be().each()];
        let offsets = (p.offset - Self::HEADERS).each();
        for lane in p.live.bits() {
            let window = windows.at(lane, offsets.at(lane));
            // PERF: the length is a constant, and so no copy is a call.
            let headers = Self::HEADERS as usize;
            window[..headers].copy_from_slice(&outers[lane].common()[..headers]);
            for (word, at) in words.iter().zip(F::WORDS) {
                window[at..at + 4].copy_from_slice(&word.at(lane).to_ne_bytes());
            }
        }
        self.sent.add(p.live, p.tx, p.length);
        p.hop = p.hop.replace(p.live, hops);
        p.unflag(Flags::LINK_GROUP);
        p.flag(p.live, Flags::LOCAL);
        p.advance(p.live, Self::HEADERS.wrapping_neg());
    }
}

/// The hashes of frames' flows and their ECN fields, where it takes more than the words of the window to say them.
#[cold]
#[inline(never)]
fn looked_at<I: Isa>(windows: &Windows<'_>, p: &PacketLanes<I>, lanes: Mask8) -> ([u32; LANES], [u32; LANES]) {
    let mut all = ([0; LANES], [0; LANES]);
    for lane in lanes {
        let bytes = windows.packet(p, lane);
        (all.0[lane], all.1[lane]) = (flow_hash(bytes), ecn::of(Inner::Frame, bytes).into());
    }
    all
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
