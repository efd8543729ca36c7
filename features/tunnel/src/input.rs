//! `vxlan4-input` and the like: local datagrams, with `offset` at their IP headers, whose ports a kind of tunnels has
//! claimed. The payload continues as if the tunnel's interface had received it. A datagram to a group belongs to the
//! unicast tunnel to its sender, if the interface has a tunnel to the group, too (RFC 7348, 4.2).
//!
//! Drops: `malformed-tunnel-header`, `wrong-udp-checksum`, `no-such-tunnel`, `interface-down`, `tunnel-drops` if
//! configured so, and `congestion-unnoticed` for packets with a congestion mark that the inner transport does not
//! understand (RFC 6040, 4.2). Of headers with options: `wrong-options-length`, `unknown-critical-option`.

use std::marker::PhantomData;
use std::sync::Arc;

use quiver_engine::{
    Ahead, ArcSpec, Body, Columns, Context, Counter, Field, Flags, Frame, Guard, Isa, LANES, LaneRow, Node,
    PacketLanes, Paged, Quarters, Row, Rows, SlowPath, Snapshot, Stage, To, Windows, arcs,
};
use quiver_ip::family::BACK;
use quiver_ip::fib::Forwarding;
use quiver_ip::ingress::Ingress;
use quiver_wire::{EtherType, Header, IpHeader, IpProtocol, UdpHeader, UdpPort};

use crate::directory::{self, Key, Reader, TunnelMatch, View};
use crate::ecn;
use crate::encapsulate::TunnelRows;
use crate::kind::{Kind, Malformed};
use crate::put::Inner;
use crate::underlay::{Underlay, tunnel_header};

arcs! {
    /// Where packets go from here. The first ones are those that a tunnel can choose.
    pub enum Next {
        Device => features "device-input",
        Bridge => features "l2-input",
        Ethernet => node "ethernet-input",
        Ip4 => node "ip4-input",
        Ip6 => node "ip6-input",
        Chosen => drop "tunnel-drops",
        Malformed => drop "malformed-tunnel-header",
        Checksum => drop "wrong-udp-checksum",
        NoTunnel => drop "no-such-tunnel",
        Down => drop "interface-down",
        Congestion => drop "congestion-unnoticed",
        // Of kinds whose headers have options.
        Options => drop "wrong-options-length",
        Critical => drop "unknown-critical-option",
    }
}

/// In place of an arc: IPv4 or IPv6, as the packet says.
pub const BY_VERSION: u16 = 0x7f;

/// Finds the tunnels of datagrams.
pub struct Finder<K: Kind, F: Underlay> {
    pub(crate) reader: Reader,
    pub(crate) rows: Snapshot<TunnelRows>,
    pub(crate) ingress: Snapshot<Ingress<F>>,
    pub(crate) kind: PhantomData<fn() -> K>,
}

impl<K: Kind, F: Underlay> Clone for Finder<K, F> {
    fn clone(&self) -> Finder<K, F> {
        let Finder { reader, rows, ingress, kind } = self;
        Finder { reader: reader.clone(), rows: rows.clone(), ingress: ingress.clone(), kind: *kind }
    }
}

/// A [`Finder`] during a frame.
pub(crate) struct Finding<'f, K: Kind, F: Underlay> {
    view: View<'f>,
    rows: &'f TunnelRows,
    ingress: &'f Ingress<F>,
    kind: PhantomData<fn() -> K>,
}

/// A datagram, taken apart.
pub(crate) struct Opened {
    /// Its tunnel.
    pub found: TunnelMatch,
    /// Offset of the inner packet, from the IP header on.
    pub inside: usize,
    /// Where UDP's header begins, and how many bytes there are from there on.
    udp: (usize, usize),
    /// Whether UDP has a checksum.
    has_checksum: bool,
    /// The ECN field of the outer header.
    ecn: u8,
    /// Whether the tunnel's header has options.
    has_options: bool,
    /// Ethertype of the payload, if the tunnel's header has one.
    protocol: Option<EtherType>,
}

impl<K: Kind, F: Underlay> Finder<K, F> {
    pub(crate) fn enter<'f>(&'f self, guard: Guard<'f>) -> Finding<'f, K, F> {
        let (view, rows, ingress) = (self.reader.view(guard), self.rows.read(guard), self.ingress.read(guard));
        Finding { view, rows, ingress, kind: PhantomData }
    }
}

impl<K: Kind, F: Underlay> Finding<'_, K, F> {
    /// Finds the tunnel of a datagram that this interface has received, of so many bytes, of which these are in its first buffer.
    #[inline(always)]
    pub fn open(&self, bytes: &[u8], length: usize, rx: usize) -> Result<Opened, Next> {
        let (header, _) = F::Header::parse(bytes).ok_or(Next::Malformed)?;
        let payload = F::payload(bytes).filter(|payload| payload.protocol == IpProtocol::UDP);
        let at = payload.filter(|payload| payload.fragment.is_none()).ok_or(Next::Malformed)?.offset;
        let (udp, datagram) = UdpHeader::parse_at(bytes, at).ok_or(Next::Malformed)?;
        let udp_length = usize::from(udp.length.get());
        let own = K::parse(datagram).map_err(|malformed| match malformed {
            Malformed::Header => Next::Malformed,
            Malformed::Options => Next::Options,
            Malformed::CriticalOption => Next::Critical,
        })?;
        let (vni, before) = (own.vni, UdpHeader::LENGTH + own.length);
        if udp_length < before || at + udp_length > length {
            return Err(Next::Malformed);
        }
        let slot = self.ingress.slot(rx as u32) as u16;
        let (remote, local) = (header.source(), header.destination());
        let key = Key { remote, local, port: UdpPort(udp.destination_port.get()), vni, slot };
        let found = match F::is_group(local) {
            false => self.view.get::<F>(&key),
            true => self.of_group(key),
        };
        Ok(Opened {
            found: found.ok_or(Next::NoTunnel)?,
            inside: at + before,
            udp: (at, udp_length),
            has_checksum: udp.checksum.get() != 0,
            ecn: F::ecn(header),
            has_options: own.has_options,
            protocol: own.protocol,
        })
    }
    /// The tunnel to the sender of a datagram for a group, from where the tunnel to the group has its end.
    #[cold]
    fn of_group(&self, key: Key<F::Address>) -> Option<TunnelMatch> {
        let to_group = self.view.get::<F>(&Key { remote: key.local, local: F::UNSPECIFIED, ..key })?;
        let ends = self.rows.get(to_group.interface() as usize)?.as_ref()?.ends;
        let (local, _) = F::ends(&ends)?;
        self.view.get::<F>(&Key { local, ..key })
    }
}

/// The stage: whole datagrams without a checksum, and frames without options inside.
pub struct Input<K: Kind, F: Underlay> {
    finder: Finder<K, F>,
    received: Arc<Row>,
    /// Packets with options, by interface.
    with_options: Option<Arc<Row<Counter>>>,
}

impl<K: Kind, F: Underlay> Clone for Input<K, F> {
    fn clone(&self) -> Input<K, F> {
        let Input { finder, received, with_options } = self;
        Input { finder: finder.clone(), received: received.clone(), with_options: with_options.clone() }
    }
}

impl<K: Kind, F: Underlay> Input<K, F> {
    pub(crate) fn new(
        finder: Finder<K, F>,
        received: Arc<Row>,
        with_options: Option<Arc<Row<Counter>>>,
    ) -> Input<K, F> {
        Input { finder, received, with_options }
    }
    /// Takes row `i` out of its datagram.
    #[inline(always)]
    fn take_out(
        &self,
        finding: &Finding<'_, K, F>,
        cx: &mut Context,
        frame: &mut Frame,
        i: usize,
    ) -> Result<u16, Next> {
        let length = frame.length[i] as usize;
        let opened = finding.open(frame.bytes(cx.pool, i), length, frame.rx[i] as usize)?;
        let (at, udp_length) = opened.udp;
        // What a driver vouches for, it may not have written yet.
        if opened.has_checksum && !frame.flags(i).has(Flags::OFFLOAD) && !is_right::<F>(cx, frame, i, opened.udp) {
            return Err(Next::Checksum);
        }
        let found = opened.found;
        if !found.is_up() {
            return Err(Next::Down);
        }
        if at + udp_length < length {
            frame.truncate(i, (at + udp_length) as u32);
        }
        frame.advance(cx.pool, i, opened.inside as isize);
        // What a driver left undone of the packet inside stays to be done; its places are those of the buffer.
        if frame.offload(cx.pool, i).is_none_or(|offload| offload.checksum_start < frame.offset[i]) {
            frame.clear_flag(i, Flags::OFFLOAD);
        }
        frame.clear_flag(i, Flags::LINK_GROUP);
        let by_version = || match frame.bytes(cx.pool, i).first().map(|byte| byte >> 4) {
            Some(4) => Ok((Next::Ip4, Inner::Packet(EtherType::IP4))),
            Some(6) => Ok((Next::Ip6, Inner::Packet(EtherType::IP6))),
            _ => Err(Next::Malformed),
        };
        let (arc, inner) = match found.arc() {
            BY_VERSION => by_version().map(|(next, inner)| (next.into(), inner))?,
            chosen => (chosen, Inner::Frame),
        };
        let is_as_said = opened.protocol.is_none_or(|protocol| match inner {
            Inner::Frame => protocol == EtherType::TRANSPARENT_BRIDGING,
            Inner::Packet(ethertype) => protocol == ethertype,
        });
        if !is_as_said {
            return Err(Next::Malformed);
        }
        if opened.ecn != 0 && !ecn::combine(inner, frame.bytes_mut(cx.pool, i), opened.ecn) {
            return Err(Next::Congestion);
        }
        frame.rx[i] = found.interface();
        self.received.add(found.interface(), 1, frame.length[i].into());
        if opened.has_options {
            self.with_options.iter().for_each(|row| row.add(found.interface(), 1));
        }
        Ok(arc)
    }
}

/// Whether UDP's checksum is right.
#[cold]
fn is_right<F: Underlay>(cx: &Context, frame: &Frame, i: usize, (at, length): (usize, usize)) -> bool {
    let Some((header, _)) = F::Header::parse(frame.bytes(cx.pool, i)) else { return false };
    let mut sum = F::pseudo_header(header.source(), header.destination(), IpProtocol::UDP, length as u32);
    let (mut skip, mut left) = (at, length);
    for part in frame.segments(cx.pool, i) {
        let part = part.get(skip..).unwrap_or_default();
        skip = 0;
        let part = &part[..part.len().min(left)];
        left -= part.len();
        sum = sum.add_bytes(part);
    }
    sum.is_right()
}

impl<K: Kind, F: Underlay> Stage for Input<K, F> {
    const NAME: &'static str = K::INPUT[F::PLACE];
    const ARCS: &'static [ArcSpec] =
        if K::HAS_OPTIONS { Next::ARCS } else { Next::ARCS.split_at(Next::Options as usize).0 };
    type Body<'f> = InputBody<'f, K, F>;
    #[inline(always)]
    fn enter<'f>(&'f mut self, guard: Guard<'f>) -> InputBody<'f, K, F> {
        let Finding { view, ingress, .. } = self.finder.enter(guard);
        // No network has this number.
        let (remote, local) = Default::default();
        let before = Before { remote, local, port: 0, vni: !0, slot: 0, found: 0 };
        InputBody { view, ingress, received: self.received.of_lanes(), slot: 0, before, kind: PhantomData }
    }
}

/// The stage at work.
pub struct InputBody<'f, K: Kind, F: Underlay> {
    view: View<'f>,
    ingress: &'f Ingress<F>,
    received: LaneRow<'f>,
    /// The slot of the table of the interface that received all of the frame.
    slot: u32,
    /// The tunnel of the packet before.
    ///
    /// PERF: the next one is often of the same.
    before: Before<F>,
    kind: PhantomData<fn() -> K>,
}

/// Key of the last datagram, and its tunnel's word; 0 if there is no tunnel.
#[derive(Clone, Copy)]
struct Before<F: Forwarding> {
    remote: F::Bits,
    local: F::Bits,
    port: u32,
    vni: u32,
    slot: u32,
    found: u32,
}

impl<K: Kind, F: Underlay> InputBody<'_, K, F> {
    /// Bytes of the headers in front of frames.
    const HEADERS: u32 = (F::HEADER_LENGTH + UdpHeader::LENGTH + K::HEADER_LENGTH) as u32;

    /// The word of a tunnel; 0 if there is none.
    #[inline(always)]
    fn find(&mut self, remote: F::Bits, local: F::Bits, [port, vni, slot]: [u32; 3]) -> u32 {
        let lower = directory::lower(vni, port as u16, slot as u16);
        let found = self.view.find::<F>(remote, local, lower).map_or(0, TunnelMatch::word);
        self.before = Before { remote, local, port, vni, slot, found };
        found
    }
}

impl<K: Kind, F: Underlay> Body for InputBody<'_, K, F> {
    const BACK: u32 = BACK;
    const WRITES: Columns = Columns::OFFSET.and(Columns::RX).and(Columns::FLAGS);
    const READS: Quarters = F::OUTER;

    #[inline(always)]
    fn begin(&mut self, rx: Option<u32>, _: Option<u32>) {
        self.slot = rx.map_or(0, |rx| self.ingress.slot(rx));
    }
    #[inline(always)]
    fn step<I: Isa>(&mut self, p: &mut PacketLanes<I>, windows: &mut Windows<'_>) {
        let length_and_checksum = p.header.get(const { Field::new(F::PORTS.at() + 4, 32) });
        let is_whole = (length_and_checksum >> 16).eq(p.length - F::HEADER_LENGTH as u32) & F::is_whole(p);
        let is_udp = F::protocol(p).eq(u32::from(IpProtocol::UDP.0)) & F::is_plain(p);
        let (is_plain, vni) = K::of_words(F::tunnel_header(p, windows));
        // Of 0 and 2 nothing changes what is inside.
        let plain = is_whole & is_udp & is_plain & (F::ecn_of(p) & 1).eq(0) & (length_and_checksum & 0xffff).eq(0);
        let odd = !plain | p.length.lt(Self::HEADERS) | p.flagged(Flags::CHAINED) | p.flagged(Flags::OFFLOAD);
        p.leave(odd, SLOW);
        let (port, slot) = (p.header.get(F::PORTS) & 0xffff, p.of_rx(self.slot, |rx| self.ingress.slot(rx)));
        let before = self.before;
        let as_before = F::are_from(p, before.remote) & F::are_for(p, before.local);
        let others = p.live.without(as_before & port.eq(before.port) & vni.eq(before.vni) & slot.eq(before.slot));
        let mut found = p.rx.same(before.found);
        if others.any() {
            let (remotes, locals, mut each) = (F::sources(p), F::destinations(p), [0; LANES]);
            let (port, vni, slot) = (port.each(), vni.each(), slot.each());
            for lane in others.bits() {
                each[lane] = self.find(remotes[lane], locals[lane], [port.at(lane), vni.at(lane), slot.at(lane)]);
            }
            found = found.replace(others, found.with(&each));
        }
        let arcs = found >> TunnelMatch::ARC;
        p.leave((found & TunnelMatch::UP).eq(0) | arcs.eq(u32::from(BY_VERSION)), SLOW);
        p.rx = p.rx.replace(p.live, found & (TunnelMatch::UP - 1));
        p.unflag(Flags::LINK_GROUP);
        p.advance(p.live, Self::HEADERS);
        self.received.add(p.live, p.rx, p.length);
        p.leave_each(p.live, arcs);
    }
    #[inline(always)]
    fn ahead(&mut self, windows: Ahead<'_>, rx: u32) {
        // A hint only: the window of IPv6 does not reach as far as the network.
        let at = tunnel_header::<F>() + 4;
        if at + 4 > 64 || !self.view.is_large() {
            return;
        }
        let slot = self.ingress.slot(rx) as u16;
        for i in 0..windows.len() {
            let window = windows.window(i);
            let half = |at: usize| u16::from_be_bytes([window[at % 64], window[(at + 1) % 64]]);
            let vni = u32::from(half(at)) << 8 | u32::from(window[(at + 2) % 64]);
            let lower = directory::lower(vni, half(F::PORTS.at() + 2), slot);
            self.view.prefetch::<F>(F::source_in(window), F::destination_in(window), lower);
        }
    }
}

/// The arc of packets that take the slow path.
const SLOW: Next = Next::Malformed;

impl<K: Kind, F: Underlay> SlowPath for Input<K, F> {
    const SLOW: u16 = SLOW as u16;
    fn treat(&mut self, cx: &mut Context, frame: &mut Frame, rows: Rows) {
        let finding = self.finder.enter(cx.guard);
        for i in rows {
            frame.next[i] = self.take_out(&finding, cx, frame, i).unwrap_or_else(u16::from);
        }
    }
}

/// `ip4-vxlan-bypass` and the like, features of `ip4-unicast` and `ip6-unicast`: datagrams of tunnels go to these at once, without a lookup of
/// their destination. All others go on.
pub struct Bypass<K: Kind, F: Underlay> {
    finder: Finder<K, F>,
    ports: Snapshot<Paged<bool>>,
}

/// The arcs of [`Bypass`].
#[repr(u16)]
enum BypassNext {
    Feature,
    Input,
}

impl<K: Kind, F: Underlay> Bypass<K, F> {
    pub(crate) const ARCS: &'static [ArcSpec] =
        &[ArcSpec { name: "next-feature", to: To::NextFeature }, ArcSpec::to_node(K::INPUT[F::PLACE])];
    pub(crate) fn new(finder: Finder<K, F>, ports: Snapshot<Paged<bool>>) -> Bypass<K, F> {
        Bypass { finder, ports }
    }
    fn is_tunnelled(
        &self,
        finding: &Finding<'_, K, F>,
        ports: &Paged<bool>,
        bytes: &[u8],
        length: usize,
        rx: usize,
    ) -> bool {
        let port = || {
            let payload = F::payload(bytes).filter(|payload| payload.protocol == IpProtocol::UDP)?;
            let (udp, _) = UdpHeader::parse_at(bytes, payload.offset)?;
            ports.get(udp.destination_port.get().into()).copied()
        };
        port() == Some(true) && finding.open(bytes, length, rx).is_ok()
    }
}

impl<K: Kind, F: Underlay> Node for Bypass<K, F> {
    fn process(&mut self, cx: &mut Context, frame: &mut Frame) {
        let (finding, ports) = (self.finder.enter(cx.guard), self.ports.read(cx.guard));
        for i in 0..frame.len() {
            let bytes = frame.bytes(cx.pool, i);
            let is_tunnelled =
                self.is_tunnelled(&finding, ports, bytes, frame.length[i] as usize, frame.rx[i] as usize);
            frame.next[i] = if is_tunnelled { BypassNext::Input } else { BypassNext::Feature } as u16;
        }
    }
}
