//! The way of packets along the chain of their session, for the nodes of services.

use std::sync::Arc;

use quiver_engine::{Context, Flags, Frame, MetadataKey, Paged, Snapshot};
use quiver_ip::upper::Upper;
use quiver_session_events::{Kind, Reason};

use crate::effect::Effect;
use crate::key::Key;
use crate::policy::{Judges, Judgment, Parsers};
use crate::record::{BLOCKED, Direction, PROXIED, REFUSED, Record, State, Status};
use crate::service::{Chain, DROP, PROXY};
use crate::sessions::{Mark, Owned, Sessions, Shared};
use crate::slow_path::OddPackets;
use crate::tenant::TenantRow;

/// Tables that nodes of services read.
#[derive(Clone)]
pub struct Reads {
    pub(crate) shared: Snapshot<Shared>,
    pub(crate) rows: Snapshot<Paged<TenantRow>>,
    pub(crate) mark: MetadataKey<Mark>,
    pub(crate) upper: MetadataKey<Upper>,
    pub(crate) parsers: Arc<Parsers>,
}

/// A packet's session, of this worker.
#[derive(Clone, Copy)]
pub struct Known<'a> {
    pub(crate) record: &'a Record,
    pub(crate) mark: Mark,
}

/// The tenant of the last packet.
///
/// PERF: most frames have packets of one tenant.
#[derive(Clone, Copy)]
pub struct Latest<'a> {
    slot: u32,
    tenant: Option<&'a TenantRow>,
}

impl Default for Latest<'_> {
    fn default() -> Self {
        Latest { slot: u32::MAX, tenant: None }
    }
}

impl<'a> Latest<'a> {
    /// The tenant in a slot.
    #[inline(always)]
    fn tenant(&mut self, work: &Work<'a>, slot: u16) -> Option<&'a TenantRow> {
        if self.slot != u32::from(slot) {
            *self = Latest { slot: slot.into(), tenant: work.tenant(slot) };
        }
        self.tenant
    }
}

/// A packet of a session of this worker.
#[derive(Clone, Copy)]
pub struct Packet<'a> {
    /// The session.
    pub record: &'a Record,
    /// Its tenant.
    pub tenant: &'a TenantRow,
    /// Mark of the packet.
    pub mark: Mark,
}

impl<'a> Packet<'a> {
    /// The packet of a mark, if its session still exists. `tenant` has the tenant in a slot.
    #[inline(always)]
    pub(crate) fn of(
        owned: &'a Owned,
        tenant: impl FnOnce(u16) -> Option<&'a TenantRow>,
        mark: Mark,
    ) -> Option<Packet<'a>> {
        let record = owned.records.get(mark.index())?;
        let identity = record.identity();
        if !identity.is_live_of(mark.generation()) {
            return None;
        }
        Some(Packet { record, tenant: tenant(identity.tenant())?, mark })
    }
    /// The chain of its direction.
    #[inline(always)]
    fn chain(&self) -> &'a Chain {
        &self.tenant.chains[self.mark.direction() as usize]
    }
    /// Whether a service is at its place of the chain.
    #[inline(always)]
    pub fn is_at(&self, service: u8) -> bool {
        self.chain().service(self.mark.position()) == service
    }
    /// The packet behind the service at its place of the chain.
    #[inline(always)]
    #[must_use]
    pub fn passed(self) -> Packet<'a> {
        Packet { mark: self.mark.passed(), ..self }
    }
    /// The number of the next service.
    #[inline(always)]
    pub(crate) fn service(&self) -> u8 {
        // PERF: packets of other sessions pay for one test of all flags.
        if self.record.is_odd()
            && let Some(service) = self.odd_service()
        {
            return service;
        }
        // Services follow the packets of the ends, and not what routers say of them.
        if self.mark.is_error() { self.service_of_error() } else { self.chain().service(self.mark.position()) }
    }
    /// The number of the next service if it is none of the chain.
    #[cold]
    fn odd_service(&self) -> Option<u8> {
        let flags = self.record.status().flags;
        // No service of the chain sees errors, so none drops those about a session that it refuses.
        if flags & BLOCKED != 0 || flags & REFUSED != 0 && self.mark.is_error() {
            return Some(DROP);
        }
        if flags & PROXIED == 0 {
            return None;
        }
        // Services see the numbers of the server's half: those of the client change before the first service, and behind the last one.
        let (direction, position, is_error) = (self.mark.direction(), self.mark.position(), self.mark.is_error());
        let is_at_client = match direction {
            Direction::Forward => position == 0,
            Direction::Reverse => usize::from(position) + 1 == self.tenant.chains[1].services().len(),
        };
        (is_at_client || is_error).then_some(PROXY)
    }
    /// The number of the service of an ICMP error.
    #[cold]
    pub(crate) fn service_of_error(&self) -> u8 {
        let packets = self.record.identity().format().and_then(OddPackets::session_error);
        let service = packets.and_then(|packets| self.tenant.slow_paths.service(packets));
        service.unwrap_or_else(|| self.chain().last())
    }
    /// Counts the packet of a row, and notes its time. An error prolongs no session, and belongs to no end.
    #[inline(always)]
    pub(crate) fn touch(&self, length: u32, now: u32) {
        if !self.mark.is_error() {
            self.record.touch(self.mark.direction(), length, now);
        }
    }
}

/// A service at work on a frame.
pub struct Work<'a> {
    /// All sessions.
    pub sessions: &'a Sessions,
    /// Records and timers of this worker.
    pub owned: &'a Owned,
    pub(crate) rows: &'a Paged<TenantRow>,
    pub(crate) mark: MetadataKey<Mark>,
    pub(crate) upper: MetadataKey<Upper>,
    pub(crate) parsers: &'a Parsers,
    pub(crate) worker: usize,
    /// The node's own arcs, behind which are those to services.
    arcs: u16,
}

impl Reads {
    /// Does the work of a service that does not judge, as [`Reads::each_judged`].
    #[inline(always)]
    pub fn each(
        &self,
        (cx, frame): (&mut Context<'_>, &mut Frame),
        (arcs, no_session): (usize, impl Into<u16>),
        serve: impl FnMut(&Work<'_>, &mut Context<'_>, &mut Frame, usize, Packet<'_>),
    ) {
        self.each_judged((cx, frame), (arcs, no_session), (Judges::WithoutSession, |_, _, _| None), serve);
    }
    /// Does a service's work on each packet of a frame whose session exists, and judges packets without one, of tenants whose policy comes
    /// first: they pass on, or leave by an arc for a reason. `judge` is told the row, and the slot of its tenant. In a rehearsal, packets whose
    /// session would begin now pass on, unless the service judges these as well; others leave by the arc `no_session`. The node has
    /// so many arcs of its own.
    #[inline(always)]
    pub fn each_judged(
        &self,
        (cx, frame): (&mut Context<'_>, &mut Frame),
        (arcs, no_session): (usize, impl Into<u16>),
        judge: (Judges, impl FnMut(&Context<'_>, &Frame, (usize, u16)) -> Judgment),
        serve: impl FnMut(&Work<'_>, &mut Context<'_>, &mut Frame, usize, Packet<'_>),
    ) {
        let no_session = no_session.into();
        match self.begin(cx, arcs) {
            Some(work) => work.each_judged((cx, frame), no_session, judge, serve),
            None => (0..frame.len()).for_each(|i| frame.next[i] = no_session),
        }
    }
    /// Begins the work of a node with so many arcs of its own on a frame. None if there are no sessions.
    pub fn begin<'a>(&'a self, cx: &Context<'a>, arcs: usize) -> Option<Work<'a>> {
        let sessions = self.shared.read(cx.guard).as_deref()?;
        let owned = sessions.of(cx.worker)?;
        let (rows, parsers, arcs) = (self.rows.read(cx.guard), &*self.parsers, arcs as u16);
        Some(Work { sessions, owned, rows, mark: self.mark, upper: self.upper, parsers, worker: cx.worker, arcs })
    }
}

impl<'a> Work<'a> {
    /// Does a service's work on each packet of a frame, as [`Reads::each`].
    #[inline(always)]
    pub fn each(
        &self,
        (cx, frame): (&mut Context<'_>, &mut Frame),
        no_session: impl Into<u16>,
        serve: impl FnMut(&Work<'_>, &mut Context<'_>, &mut Frame, usize, Packet<'_>),
    ) {
        self.each_judged((cx, frame), no_session.into(), (Judges::WithoutSession, |_, _, _| None), serve);
    }
    /// Does a service's work on each packet of a frame, as [`Reads::each_judged`].
    #[inline(always)]
    fn each_judged(
        &self,
        (cx, frame): (&mut Context<'_>, &mut Frame),
        no_session: u16,
        (judges, mut judge): (Judges, impl FnMut(&Context<'_>, &Frame, (usize, u16)) -> Judgment),
        mut serve: impl FnMut(&Work<'_>, &mut Context<'_>, &mut Frame, usize, Packet<'_>),
    ) {
        let mut latest = Latest::default();
        for i in 0..frame.len() {
            let mark = frame.metadata(cx.pool, i, self.mark);
            match mark.and_then(|mark| Packet::of(self.owned, |slot| latest.tenant(self, slot), mark)) {
                Some(packet) => serve(self, cx, frame, i, packet),
                None if self.judge((cx, frame, i), &mut judge) => {}
                None if judges == Judges::First && self.foresee((cx, frame, i), &mut judge) => {}
                None if self.rehearse(cx, frame, i) => {}
                None => frame.next[i] = no_session,
            }
        }
    }
    /// Counts a packet whose session has been found, and passes it on to the first service that it does not bypass.
    #[inline(always)]
    pub fn arrive(
        &self,
        (cx, frame, i): (&mut Context<'_>, &mut Frame, usize),
        (known, effect): (Known<'a>, Effect),
        (now, latest): (u32, &mut Latest<'a>),
    ) {
        match self.arrived((cx, frame, i), (known, effect), (now, latest)) {
            Some((packet, None)) => self.pass_settled(cx, frame, i, packet),
            Some((packet, Some(service))) => self.send(cx, frame, i, (packet.mark, service)),
            None => {}
        }
    }
    /// The same without passing it on: the packet, and the number of that service if it is not the one at the packet's place in the chain,
    /// to which [`Work::pass_settled`] passes it.
    #[inline(always)]
    pub fn arrived(
        &self,
        (cx, frame, i): (&Context<'_>, &Frame, usize),
        (Known { record, mark }, effect): (Known<'a>, Effect),
        (now, latest): (u32, &mut Latest<'a>),
    ) -> Option<(Packet<'a>, Option<u8>)> {
        let tenant = latest.tenant(self, record.identity().tenant())?;
        let packet = Packet { record, tenant, mark };
        if !cx.is_rehearsal() {
            packet.touch(frame.length[i], now);
        }
        if !effect.leaves_state(record, mark.direction()) {
            return Some((packet, Some(packet.service())));
        }
        Some((Packet { mark: mark.at(packet.chain().bypassed()), ..packet }, None))
    }
    /// Passes a row on to the service at its packet's place of the chain: of a packet that has no effect on its session.
    #[inline(always)]
    pub fn pass_settled(&self, cx: &mut Context<'_>, frame: &mut Frame, i: usize, packet: Packet<'_>) {
        let (chain, position) = (packet.chain(), packet.mark.position());
        let service = chain.service(position);
        // PERF: but for services nothing reads marks.
        if chain.is_unmarked(position) && !frame.flags(i).has(Flags::METADATA) {
            frame.next[i] = self.arc(service);
        } else {
            self.send(cx, frame, i, (packet.mark, service));
        }
    }
    /// The tenant in a slot.
    #[inline(always)]
    pub(crate) fn tenant(&self, slot: u16) -> Option<&'a TenantRow> {
        self.rows.get(usize::from(slot))
    }
    /// The packet of a row; None if its session is gone, or if it has none.
    #[inline(always)]
    pub fn packet(&self, cx: &Context<'_>, frame: &Frame, i: usize) -> Option<Packet<'a>> {
        Packet::of(self.owned, |slot| self.tenant(slot), frame.metadata(cx.pool, i, self.mark)?)
    }
    /// Passes a row on to the next service of its chain.
    #[inline(always)]
    pub fn pass(&self, cx: &mut Context<'_>, frame: &mut Frame, i: usize, packet: Packet<'_>) {
        self.send(cx, frame, i, (packet.mark, packet.service()));
    }
    /// The arc to a service.
    pub fn arc(&self, service: u8) -> u16 {
        self.arcs + u16::from(service)
    }
    /// Marks a row as a packet of a session.
    #[inline(always)]
    pub fn mark(&self, cx: &mut Context<'_>, frame: &mut Frame, i: usize, packet: Packet<'_>) {
        frame.set_metadata(cx.pool, i, self.mark, packet.mark);
    }
    /// Sends a row to a service, and notes that the next one has its turn then.
    #[inline(always)]
    pub fn send(&self, cx: &mut Context<'_>, frame: &mut Frame, i: usize, (mark, service): (Mark, u8)) {
        frame.next[i] = self.arcs + u16::from(service);
        frame.set_metadata(cx.pool, i, self.mark, mark.passed());
    }
    /// The arc of packets that belong to no session, of the tenant in a slot, if they are not dropped.
    #[cold]
    pub(crate) fn slow_path(&self, slot: u32, packets: Option<OddPackets>) -> Option<u16> {
        let service = self.rows.get(slot as usize)?.slow_paths.service(packets?)?;
        Some(self.arcs + u16::from(service)).filter(|_| service != DROP)
    }
    /// In a rehearsal, passes on a row whose session would begin now; false if it is none.
    #[cold]
    pub fn rehearse(&self, cx: &mut Context<'_>, frame: &mut Frame, i: usize) -> bool {
        let mark = frame.metadata(cx.pool, i, self.mark).filter(|_| cx.is_rehearsal());
        let (Some(mark), Some(tenant)) = (mark, self.rows.get(frame.hop[i] as usize)) else { return false };
        let service = tenant.chains[mark.direction() as usize].service(mark.position());
        self.send(cx, frame, i, (mark, service));
        true
    }
    /// Changes state, timeout and flags of a packet's session. If its time is shorter now, the session is looked at in the next round.
    pub fn set_status(&self, packet: Packet<'_>, status: Status) {
        let before = packet.record.status();
        packet.record.set_status(status);
        self.status_changed(packet, before);
    }
    /// Has a session looked at in the next round if its time is shorter than by the timeout that applied before. Tells that it is established
    /// if it was not.
    #[inline(always)]
    pub(crate) fn status_changed(&self, packet: Packet<'_>, before: Status) {
        self.status_changed_at(packet.mark.index(), packet.tenant, (before, packet.record.status()));
    }
    /// The same of a session by the index of its record: the status before and now.
    #[inline(always)]
    pub(crate) fn status_changed_at(&self, index: u32, tenant: &TenantRow, (before, now): (Status, Status)) {
        let time = |status: Status| tenant.seconds(status.timeout);
        if now.timeout != before.timeout && time(now) < time(before) {
            self.owned.shard().look_soon(index);
        }
        if now.state != before.state {
            self.state_changed(index, (before.state, now.state));
        }
    }
    /// Counts a session in its state. Tells if it is established.
    #[cold]
    fn state_changed(&self, index: u32, (before, now): (State, State)) {
        if let Some(record) = self.owned.records.get(index) {
            self.owned.metrics.changed(record.identity().tenant(), (before, now));
        }
        if now == State::Established {
            self.tell(index, Kind::Established);
        }
    }
    /// Tells of a session, with the time of its last packet.
    #[cold]
    pub(crate) fn tell(&self, index: u32, kind: Kind) {
        let mut shard = self.owned.shard();
        let (Some(events), Some(record)) = (&mut shard.events, self.owned.records.get(index)) else { return };
        let subject = self.sessions.subject(record, (events.worker(), index));
        events.tell(kind, subject, (Reason::None, record.last_seen()));
    }
    /// Counts a packet that would have begun a session of the tenant in a slot, and tells of it. The key comes with whether the packet's source is its
    /// higher end.
    #[cold]
    pub fn denied(&self, cx: &Context<'_>, key: (&Key, bool), slot: u16, reason: Reason) {
        self.owned.metrics.denied(slot, reason);
        let mut shard = self.owned.shard();
        let (Some(events), Some(tenant)) = (&mut shard.events, self.rows.get(usize::from(slot))) else { return };
        events.denied(key, tenant.id, (reason, self.ticks(cx)));
    }
    /// The worker's time in ticks.
    #[inline(always)]
    pub fn ticks(&self, cx: &Context<'_>) -> u32 {
        self.owned.time(cx.now).ticks()
    }
}
