//! `ip4-local`, `ip6-local`: packets for us, by protocol.
//!
//! A room that speaks a protocol claims it for its node ([`crate::claim`]). Senders of others are told that the protocol is
//! unreachable (RFC 1122, 3.2.2.1; RFC 4443, 3.4). Packets that name us as their sender and come from elsewhere are
//! dropped, and so are those of senders to whom no route leads back: nobody could answer them.

use quiver_engine::{
    ArcSpec, Body, Columns, Context, Flags, Frame, Guard, Isa, LANES, Mask8, PacketLanes, Quarters, Rows, SlowPath,
    Snapshot, Stage, Windows, arcs, unlikely,
};
use quiver_interface::InterfaceId;
use quiver_wire::{Header, IpHeader};

use crate::family::{BACK, Family, Refusal};
use crate::fault::Fault;
use crate::fib::hop;
use crate::fib::rows::GroupRows;
use crate::ingress::Ingress;
use crate::node::lookup::first_hop;

arcs! {
    /// Where packets go from `ip4-local`; behind these arcs, of which a family may not have the last ones, come those of the nodes that
    /// claim protocols.
    pub enum Next of F: Family {
        UnknownProtocol => node (F::NAMES.error),
        Punt => features (F::NAMES.punt),
        Fragment => node (F::NAMES.reassembly),
        Spoofed => drop "spoofed-local-packets",
        Unrouted => drop "no-route-to-sender",
        /// Of IPv6 alone, and what is for an address that is not to be used.
        UnknownOption => drop "unknown-option",
        Withheld => drop "unusable-address",
    }
}

/// The arcs by which packets of each protocol leave.
pub type Protocols = [u16; 256];

/// The protocols while no room speaks any.
pub const UNCLAIMED: Protocols = [Next::UnknownProtocol as u16; 256];

/// The stage: whole packets of others, without options, of protocols that rooms speak.
#[derive(Clone)]
pub struct Local<F: Family> {
    /// The arcs of protocols.
    pub protocols: Snapshot<Protocols>,
    /// The tables, and which one is an interface's.
    pub ingress: Snapshot<Ingress<F>>,
    /// The groups that leaves lead to.
    pub groups: Snapshot<GroupRows>,
}

impl<F: Family> Stage for Local<F> {
    const NAME: &'static str = F::NAMES.local;
    const ARCS: &'static [ArcSpec] = Next::arcs::<F>().split_at(F::LOCAL_ARCS).0;
    type Body<'f> = LocalBody<'f, F>;
    #[inline(always)]
    fn enter<'f>(&'f mut self, guard: Guard<'f>) -> LocalBody<'f, F> {
        let protocols = self.protocols.read(guard);
        LocalBody { protocols, senders: self.senders(guard) }
    }
}

impl<F: Family> Local<F> {
    fn senders<'f>(&'f self, guard: Guard<'f>) -> Senders<'f, F> {
        // In this order: a group's row was there before a leaf led to it.
        let ingress = self.ingress.read(guard);
        // No interface has this number.
        let before = Sender { rx: !0, sender: F::Bits::default(), hop: hop::NO_ROUTE };
        Senders { ingress, groups: self.groups.read(guard), guard, before }
    }
}

/// Whether senders can be answered.
struct Senders<'f, F: Family> {
    ingress: &'f Ingress<F>,
    groups: &'f GroupRows,
    guard: Guard<'f>,
    /// The sender of the packet before.
    ///
    /// PERF: the next one is often of the same: the other end of tunnels, for instance.
    before: Sender<F>,
}

/// A sender as an interface sees it, and by which hop packets would go there.
#[derive(Clone, Copy)]
struct Sender<F: Family> {
    rx: u32,
    sender: F::Bits,
    hop: u32,
}

impl<F: Family> Senders<'_, F> {
    /// By which hop packets would go to a sender.
    #[inline(always)]
    fn hop(&mut self, rx: u32, sender: F::Bits) -> u32 {
        match self.before {
            Sender { rx: same, sender: as_before, hop } if same == rx && as_before == sender => hop,
            _ => self.look_up(rx, sender),
        }
    }
    fn look_up(&mut self, rx: u32, sender: F::Bits) -> u32 {
        let interface = self.ingress.interfaces.get(rx as usize);
        let is_own = interface.is_some_and(|interface| interface.own().any(|own| F::bits(own) == sender));
        let hop = if is_own { hop::LOCAL } else { first_hop(self.ingress, self.groups, self.guard, rx, sender) };
        self.before = Sender { rx, sender, hop };
        hop
    }
}

/// Whether an address is one of ours, by which we may be spoken to, where an interface looks up its packets.
pub fn is_ours<F: Family>(
    ingress: &Ingress<F>,
    groups: &GroupRows,
    guard: Guard<'_>,
    rx: InterfaceId,
    address: F::Address,
) -> bool {
    // Those of the link are in no table.
    let is_own = || ingress.is_own(rx, address);
    let is_local = || first_hop(ingress, groups, guard, rx.0, F::bits(address)) == hop::LOCAL;
    (is_own() || is_local()) && !ingress.is_withheld(rx, address)
}

/// Whether a packet is taken to whose sender packets would go by this hop.
#[inline(always)]
fn is_answered(hop: u32) -> bool {
    hop >= hop::LINK_LOCAL
}

/// The stage at work.
pub struct LocalBody<'f, F: Family> {
    protocols: &'f Protocols,
    senders: Senders<'f, F>,
}

impl<F: Family> LocalBody<'_, F> {
    /// Those of some packets whose senders cannot be answered.
    #[cold]
    #[inline(never)]
    fn unanswered(&mut self, lanes: Mask8, rx: &[u32; LANES], senders: &[F::Bits; LANES]) -> Mask8 {
        let mut unanswered = Mask8(0);
        for lane in lanes {
            if !is_answered(self.senders.hop(rx[lane], senders[lane])) {
                unanswered = unanswered | Mask8(1 << lane);
            }
        }
        unanswered
    }
}

impl<F: Family> Body for LocalBody<'_, F> {
    const BACK: u32 = BACK;
    const WRITES: Columns = Columns::NONE;
    const READS: Quarters = F::HEADER;

    #[inline(always)]
    fn step<I: Isa>(&mut self, p: &mut PacketLanes<I>, _: &mut Windows<'_>) {
        let arcs = F::protocol(p).map_uniform(|protocol| self.protocols[usize::from(protocol as u8)].into());
        let short = p.length.lt(F::HEADER_LENGTH as u32);
        let unclaimed = arcs.eq(SLOW as u32);
        let odd = short | unclaimed | !(F::is_plain(p) & F::is_whole(p)) | p.flagged(Flags::LOCAL);
        p.leave(if self.senders.ingress.unusable.is_empty() { odd } else { p.live }, SLOW);
        let known = self.senders.before;
        let as_before = F::are_from(p, known.sender) & p.rx.eq(known.rx) & p.live;
        let (others, mut unanswered) = (p.live.without(as_before), p.live.with(Mask8(0)));
        if !is_answered(known.hop) {
            unanswered = as_before;
        }
        if others.any() {
            unlikely();
            let found = self.unanswered(others.bits(), &p.rx.array(), &F::sources(p));
            unanswered = unanswered | p.live.with(found);
        }
        p.leave(unanswered, SLOW);
        p.leave_each(p.live, arcs);
    }
}

/// The arc of packets that take the slow path.
const SLOW: Next = Next::UnknownProtocol;

impl<F: Family> SlowPath for Local<F> {
    const SLOW: u16 = SLOW as u16;
    fn treat(&mut self, cx: &mut Context, frame: &mut Frame, rows: Rows) {
        let protocols = self.protocols.read(cx.guard);
        let mut senders = self.senders(cx.guard);
        let ingress = senders.ingress;
        for i in rows {
            let bytes = frame.bytes(cx.pool, i);
            let header = F::Header::parse(bytes).map(|(header, _)| header);
            let payload = F::payload(bytes);
            // What we have sent ourselves needs no way back.
            let foreign = header.filter(|_| !frame.flags(i).has(Flags::LOCAL));
            let from = foreign.map(|header| senders.hop(frame.rx[i], F::bits(header.source())));
            let next = match header.zip(payload) {
                // `icmp4-error` and `icmp6-error` look again, and tell nobody about what is malformed.
                None => Ok(Next::UnknownProtocol.into()),
                // RFC 1122, 3.2.1.3: our addresses are sources of ours alone, and nobody else is to be answered there.
                Some(_) if from == Some(hop::LOCAL) && !F::is_discovery(bytes) => Err(Next::Spoofed),
                // RFC 4862, 5.4: what is for an address that may be another's is not for us.
                Some((header, _))
                    if !ingress.unusable.is_empty()
                        && ingress.is_withheld(InterfaceId(frame.rx[i]), header.destination()) =>
                {
                    Err(Next::Withheld)
                }
                // It comes here again when it is whole.
                Some((_, payload)) if payload.fragment.is_some() => Err(Next::Fragment),
                Some((header, payload))
                    if from.is_some_and(|from| !is_answered(from) && from != hop::LOCAL)
                        && F::needs_way_back(header, &payload) =>
                {
                    Err(Next::Unrouted)
                }
                Some((_, payload)) => Ok(protocols[usize::from(payload.protocol.0)]),
            };
            let mut fault = None;
            let next = match (next, F::refusal(bytes)) {
                (Err(next), _) => next.into(),
                (Ok(_), Some(Refusal::Silent)) => Next::UnknownOption.into(),
                (Ok(_), Some(Refusal::Told(told))) => {
                    fault = Some(told);
                    Next::UnknownProtocol.into()
                }
                (Ok(arc), None) => {
                    let pointer = payload.map_or(0, |payload| payload.pointer);
                    fault = (arc == Next::UnknownProtocol as u16).then(|| Fault::protocol(pointer));
                    arc
                }
            };
            fault.into_iter().for_each(|fault| frame.hop[i] = fault.0);
            // What we answer is our own, whoever made the question.
            frame.clear_flag(i, Flags::LOCAL);
            frame.next[i] = next;
        }
    }
}
