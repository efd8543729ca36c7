//! `nat44-ed-input`: received packets find their session, or begin one, and pass its services. Packets that are not translated go on as
//! without NAT.
//!
//! ICMP errors are rewritten here, because services follow packets of the ends, and not what routers say of them.

use quiver_engine::{Context, Frame, Node, arcs};
use quiver_ip::fault::Fault;
use quiver_session::key::{NoFlow, flow_of};
use quiver_session::node::pass::Work;
use quiver_session::second::Ip4End;
use quiver_session::translation::Session;
use quiver_wire::{Header, Ip4Header, V4};

use super::begin::{Beginning, Place, Refused};
use super::known::{KnownRows, ttl};
use super::rows::{rewrite_row, rewrite_row_error};
use super::session::{self, direction, flag, has, is_outbound};
use super::tables::{Own, Received, Tables, context};
use crate::counters::Path;
use crate::decide::{Decision, inbound, outbound};
use crate::egress::Egress;
use crate::rules::Rules;
use crate::sides::{INSIDE, OUTPUT, OUTSIDE};
use crate::tuple::Tuple;

mod errors;

arcs! {
    /// Where packets go from here, besides services.
    pub enum Next {
        Pass => next_feature,
        Owner => node "sfdp-handoff",
        Again => node "ip4-lookup-again",
        Hairpin => node "nat44-ed-input",
        /// Senders are told that the hops ran out, or that the packet is too long.
        Expired => node "icmp4-error",
        NoTranslation => drop "no-translation",
        OutOfPorts => drop "out-of-ports",
        InUse => drop "tuple-in-use",
        Limit => drop "session-limit",
        Fragment => drop "fragment",
        Protocol => drop "unknown-protocol",
        IcmpError => drop "icmp-error",
        Malformed => drop "malformed",
        Full => drop "session-table-full",
        Busy => drop "handoff-full",
    }
}

/// The node's name.
pub const NAME: &str = "nat44-ed-input";

impl From<NoFlow> for Next {
    fn from(why: NoFlow) -> Next {
        match why {
            NoFlow::Fragment => Next::Fragment,
            NoFlow::Protocol => Next::Protocol,
            NoFlow::IcmpError => Next::IcmpError,
            NoFlow::Malformed => Next::Malformed,
        }
    }
}

impl From<Refused> for Next {
    fn from(why: Refused) -> Next {
        match why {
            Refused::Ports => Next::OutOfPorts,
            Refused::Known => Next::InUse,
            Refused::Limit => Next::Limit,
            Refused::Full => Next::Full,
            Refused::Gone => Next::NoTranslation,
        }
    }
}

/// The node.
pub struct Input {
    /// Tables that it reads.
    pub tables: Tables,
    /// The worker's own part.
    pub own: Own,
    known: KnownRows,
}

impl Input {
    /// The node.
    pub fn new(tables: Tables, own: Own) -> Input {
        Input { tables, own, known: KnownRows::default() }
    }
}

/// A row whose flow is known.
#[derive(Clone, Copy)]
struct Keyed {
    tuple: Tuple,
    /// Sides of the interface, and the slot of its table.
    sides: u32,
    slot: u32,
    is_from_inside: bool,
    is_error: bool,
}

impl Node for Input {
    fn process(&mut self, cx: &mut Context, frame: &mut Frame) {
        let Some(work) = self.tables.reads.begin(cx, Next::ARCS.len()) else { return };
        let rules = self.tables.rules.read(cx.guard);
        let arcs = [Next::Hairpin, Next::Again].map(u16::from);
        for i in self.known.pass_on(cx, frame, (&self.tables, &self.own, arcs), (&work, rules)) {
            let found = self.keyed(cx, frame, i, (&work, rules));
            match found.and_then(|row| Ok((row, self.find(&work, &row)?))) {
                Ok((row, Some(session))) if row.is_error => self.error((cx, &work), frame, i, (&session, row)),
                Ok((row, Some(session))) => self.found(cx, (frame, i), (&work, &session), row),
                Ok((row, None)) if row.is_error => match self.hairpinned(&work, rules, row) {
                    Some((session, row)) => self.error((cx, &work), frame, i, (&session, row)),
                    None => {
                        let next = self.without_session(cx, frame, (i, Next::IcmpError), rules);
                        self.leave(cx, frame, i, next);
                    }
                },
                Ok((row, None)) => self.unknown(cx, (frame, i), (&work, rules), row),
                Err(next) => self.leave(cx, frame, i, next),
            }
        }
    }
}

impl Input {
    fn key(&self, row: &Keyed) -> (quiver_session::key::Key, bool) {
        row.tuple.key(context(row.slot, false), self.tables.format)
    }
    /// The flow of a row and where it comes from.
    fn keyed(
        &self,
        cx: &Context<'_>,
        frame: &Frame,
        i: usize,
        (work, rules): (&Work<'_>, &Rules),
    ) -> Result<Keyed, Next> {
        let received = self.tables.received(cx.guard, frame.rx[i]);
        let flow = match flow_of::<V4>(frame, cx.pool, i, self.tables.upper) {
            Ok(flow) => flow,
            Err(why) => return Err(self.without_session(cx, frame, (i, why.into()), rules)),
        };
        let (tuple, Received { sides, slot, .. }) = (Tuple::of(&flow), received);
        let is_from_inside = received.is_from_inside(rules, tuple.destination.address);
        let is_from_inside = is_from_inside && !self.is_hairpin((cx, work), frame, i);
        Ok(Keyed { tuple, sides, slot, is_from_inside, is_error: flow.is_error })
    }
    /// Whether a row was translated on its way from the inside, and comes back to it.
    fn is_hairpin(&self, (cx, work): (&Context<'_>, &Work<'_>), frame: &Frame, i: usize) -> bool {
        let Some(mark) = self.tables.reads.mark_of(cx, frame, i) else { return false };
        let at = work.sessions.at(cx.worker, mark.index());
        let session = work.sessions.translated(at).filter(|session| has(&session.second, flag::HAIRPIN));
        session.is_some_and(|session| mark.direction() == direction(&session, true))
    }
    /// The session of a row; None if it begins one.
    ///
    /// # Errors
    /// If it is of a session, but comes from the wrong side.
    fn find(&self, work: &Work<'_>, row: &Keyed) -> Result<Option<Session>, Next> {
        if !row.is_from_inside {
            let at = work.sessions.find_second(&row.tuple.second(row.slot));
            return Ok(at.and_then(|at| work.sessions.translated(at)));
        }
        let (key, is_high) = self.key(row);
        let Some(session) = work.sessions.find_first(&key).and_then(|at| work.sessions.translated(at)) else {
            return Ok(None);
        };
        if is_high == has(&session.second, flag::INSIDE_HIGH) { Ok(Some(session)) } else { Err(Next::NoTranslation) }
    }
    /// A row of no flow, or an ICMP error about no session, goes on if it is for us, or would not be translated.
    #[cold]
    fn without_session(&self, cx: &Context<'_>, frame: &Frame, (i, why): (usize, Next), rules: &Rules) -> Next {
        let Some((header, _)) = Ip4Header::parse(frame.bytes(cx.pool, i)) else { return why };
        let (to, slot) = (header.destination().to_bits(), self.tables.routes.ingress.read(cx.guard).slot(frame.rx[i]));
        let sides = |interface| self.tables.sides_of(cx.guard, interface);
        match self.tables.routes.egress(cx.guard, slot, to) {
            Egress::Local => Next::Pass,
            Egress::Interface(interface) => {
                let is_inside = sides(frame.rx[i]) & INSIDE != 0 && sides(interface) & OUTSIDE == 0;
                if is_inside || (rules.forwards && !rules.is_outside(to)) { Next::Pass } else { why }
            }
            Egress::Other => why,
        }
    }
    /// Lets a row leave, and counts it if it is dropped.
    fn leave(&self, cx: &Context<'_>, frame: &mut Frame, i: usize, next: Next) {
        if next as u16 >= Next::NoTranslation as u16 && !cx.is_rehearsal() {
            let is_inside = self.tables.sides_of(cx.guard, frame.rx[i]) & INSIDE != 0;
            self.own.counters.drop(is_inside, Path::Slow, frame.rx[i]);
        }
        frame.next[i] = next.into();
    }
    /// Rewrites an ICMP error about a packet of a session, which may belong to another worker.
    fn error(
        &self,
        (cx, work): (&mut Context<'_>, &Work<'_>),
        frame: &mut Frame,
        i: usize,
        (session, row): (&Session, Keyed),
    ) {
        if !has(&session.second, flag::FORWARDED) && !rewrite_row_error(cx, frame, i, session, row.is_from_inside) {
            return self.leave(cx, frame, i, Next::Malformed);
        }
        self.count(cx, frame, i, (Path::Fast, &row));
        self.look_up(work, (frame, i), (session, row));
    }
    /// Sends a translated row to the lookup.
    fn look_up(&self, work: &Work<'_>, (frame, i): (&mut Frame, usize), (session, row): (&Session, Keyed)) {
        let way = session::way_of(session, row.is_from_inside, row.slot);
        if !way.turns(frame, i, [Next::Hairpin, Next::Again]) {
            frame.next[i] = work.arc(self.tables.lookup);
        }
    }
    fn count(&self, cx: &Context<'_>, frame: &Frame, i: usize, (path, row): (Path, &Keyed)) {
        if !cx.is_rehearsal() {
            self.own.counters.count((row.is_from_inside, path), row.tuple.protocol, frame.rx[i]);
        }
    }
    /// A packet of a session.
    fn found(
        &self,
        cx: &mut Context<'_>,
        (frame, i): (&mut Frame, usize),
        (work, session): (&Work<'_>, &Session),
        row: Keyed,
    ) {
        if ttl(frame.bytes(cx.pool, i)) <= 1 {
            return self.expired(frame, i);
        }
        self.count(cx, frame, i, (Path::Fast, &row));
        self.enter(cx, (frame, i), (work, session), (row, false));
    }
    /// Senders learn of their own packet, not of a translated one.
    fn expired(&self, frame: &mut Frame, i: usize) {
        frame.hop[i] = Fault::TIME_EXCEEDED.0;
        frame.next[i] = Next::Expired.into();
    }
    /// Sends a row to the first service of its session.
    fn enter(
        &self,
        cx: &mut Context<'_>,
        (frame, i): (&mut Frame, usize),
        (work, session): (&Work<'_>, &Session),
        (row, is_first): (Keyed, bool),
    ) {
        let (reads, direction) = (&self.tables.reads, direction(session, row.is_from_inside));
        let is_long = frame.length[i] > self.tables.rules.read(cx.guard).mtu_least;
        if is_long && let Some(fault) = self.too_long(cx, (&*frame, i), session, &row) {
            frame.hop[i] = fault.0;
            frame.next[i] = Next::Expired.into();
            return;
        }
        if usize::from(session.at.owner) != cx.worker {
            if !reads.hand_over((cx, frame, i), work.sessions, (session.at, direction), Next::Owner) {
                self.leave(cx, frame, i, Next::Busy);
            }
            return;
        }
        let at = work.sessions.at(cx.worker, session.at.index);
        let Some(packet) = work.packet_at((at, direction), (is_first, false)) else {
            return self.leave(cx, frame, i, Next::NoTranslation);
        };
        if !cx.is_rehearsal() {
            work.touch(cx, &packet, frame.length[i]);
        }
        work.pass(cx, frame, i, packet);
    }
    /// A packet that belongs to no session yet.
    #[cold]
    fn unknown(
        &self,
        cx: &mut Context<'_>,
        (frame, i): (&mut Frame, usize),
        (work, rules): (&Work<'_>, &Rules),
        row: Keyed,
    ) {
        let (routes, guard) = (&self.tables.routes, cx.guard);
        let egress = |end: Ip4End| routes.egress(guard, row.slot, end.address);
        let mut leaves = row.slot;
        let decision = if row.is_from_inside {
            let egress = egress(row.tuple.destination);
            let mut sides = 0;
            if let Egress::Interface(interface) = egress {
                sides = self.tables.sides_of(guard, interface);
                leaves = routes.ingress.read(guard).slot(interface);
            }
            let Tuple { destination, protocol, .. } = row.tuple;
            let of_outside = || self.tables.ports.get()?.mappings.of_outside(destination, protocol);
            outbound(rules, &row.tuple, row.slot, ((egress, sides), || of_outside().is_some()))
        } else {
            let Tuple { source, destination, protocol } = row.tuple;
            let mapped = || self.tables.ports.get()?.mappings.to(destination, protocol, source.address);
            inbound(rules, &row.tuple, row.slot, (|| egress(destination), mapped))
        };
        let is_output = !row.is_from_inside && row.sides & OUTPUT != 0;
        let place = Place { received: row.slot, leaves, is_output };
        let beginning = Beginning { tables: &self.tables, own: &self.own, work, rules };
        let plan = match decision {
            Decision::Pass => return self.leave(cx, frame, i, Next::Pass),
            Decision::NoTranslation if row.is_from_inside => {
                if !cx.is_rehearsal() {
                    beginning.refused(cx, &row.tuple, place, Refused::Ports);
                }
                return self.leave(cx, frame, i, Next::OutOfPorts);
            }
            Decision::NoTranslation => return self.leave(cx, frame, i, Next::NoTranslation),
            Decision::Begin(plan) => plan,
        };
        if ttl(frame.bytes(cx.pool, i)) <= 1 {
            return self.expired(frame, i);
        }
        let begun = match cx.is_rehearsal() {
            true => beginning.rehearse(cx, plan, &row.tuple, place),
            false => beginning.begin(cx, plan, &row.tuple, place),
        };
        match begun {
            Err(why) => self.leave(cx, frame, i, why.into()),
            Ok(session) if cx.is_rehearsal() => {
                rewrite_row(cx, frame, i, &session, row.is_from_inside);
                self.look_up(work, (frame, i), (&session, row));
            }
            Ok(session) => {
                debug_assert_eq!(is_outbound(&session), row.is_from_inside);
                self.count(cx, frame, i, (Path::Slow, &row));
                self.enter(cx, (frame, i), (work, &session), (row, true));
            }
        }
    }
}
