//! `nat44-ed-output`: packets that leave by an interface which translates then (VPP's output feature); and `nat44-ed-output-end`, the end of
//! their chains, from which they go on to the interface.

use quiver_engine::{Context, Frame, Node, arcs};
use quiver_interface::interfaces::LOCAL;
use quiver_ip::family::BACK;
use quiver_session::key::{NoFlow, flow_of};
use quiver_session::node::pass::{Reads, Work};
use quiver_session::translation::Session;
use quiver_wire::V4;

use super::begin::{Beginning, Place, Refused};
use super::rows::{rewrite_row, rewrite_row_error};
use super::session::{direction, flag, has};
use super::tables::{Own, Tables, context};
use crate::counters::Path;
use crate::decide::{Decision, output};
use crate::egress::Egress;
use crate::rules::Rules;
use crate::tuple::Tuple;

arcs! {
    /// Where packets go from here, besides services.
    pub enum Next {
        Pass => next_feature,
        OutOfPorts => drop "out-of-ports",
        Limit => drop "session-limit",
        Fragment => drop "fragment",
        Protocol => drop "unknown-protocol",
        IcmpError => drop "icmp-error",
        Malformed => drop "malformed",
        Full => drop "session-table-full",
    }
}

/// The node's name.
pub const NAME: &str = "nat44-ed-output";
/// The end of chains.
pub const END: &str = "nat44-ed-output-end";
/// Bytes in front of the IP header.
const AHEAD: isize = BACK as isize;

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
            Refused::Ports | Refused::Known | Refused::Gone => Next::OutOfPorts,
            Refused::Limit => Next::Limit,
            Refused::Full => Next::Full,
        }
    }
}

/// The node.
pub struct Output {
    /// Tables that it reads.
    pub tables: Tables,
    /// The worker's own part.
    pub own: Own,
}

/// A row goes on to the interface, or to services.
enum Turn {
    /// To the interface, as it is now.
    Leaves(Next),
    /// To a service, which its arc says.
    Serves,
}

impl Node for Output {
    fn process(&mut self, cx: &mut Context, frame: &mut Frame) {
        let Some(work) = self.tables.reads.begin(cx, Next::ARCS.len()) else { return };
        let rules = self.tables.rules.read(cx.guard);
        for i in 0..frame.len() {
            // What we say ourselves has our addresses.
            if frame.rx[i] == LOCAL.0 || !frame.advance(cx.pool, i, AHEAD) {
                continue;
            }
            if let Turn::Leaves(next) = self.row(cx, (frame, i), (&work, rules)) {
                if next != Next::Pass && !cx.is_rehearsal() {
                    self.own.counters.drop(true, Path::Slow, frame.rx[i]);
                }
                frame.next[i] = next.into();
                frame.advance(cx.pool, i, -AHEAD);
            }
        }
    }
}

impl Output {
    fn row(&self, cx: &mut Context<'_>, (frame, i): (&mut Frame, usize), (work, rules): (&Work<'_>, &Rules)) -> Turn {
        let flow = match flow_of::<V4>(frame, cx.pool, i, self.tables.upper) {
            Ok(flow) => flow,
            Err(why) => return Turn::Leaves(self.without_session(why.into(), rules)),
        };
        let (ingress, tuple) = (self.tables.routes.ingress.read(cx.guard), Tuple::of(&flow));
        let (received, leaves) = (ingress.slot(frame.rx[i]), ingress.slot(frame.tx[i]));
        let (key, is_high) = tuple.key(context(received, true), self.tables.format);
        let found = work.sessions.find_first(&key).and_then(|at| work.sessions.translated(at));
        let found = found.filter(|session| is_high == has(&session.second, flag::INSIDE_HIGH));
        let (session, is_first) = match found {
            Some(session) if flow.is_error => {
                let is_right = has(&session.second, flag::FORWARDED) || rewrite_row_error(cx, frame, i, &session, true);
                self.count(cx, frame, i, (Path::Fast, &tuple));
                return Turn::Leaves(if is_right { Next::Pass } else { Next::Malformed });
            }
            Some(session) => (session, false),
            None if rules.is_outside(tuple.source.address) => return Turn::Leaves(Next::Pass),
            // What we answer in place seems received.
            None if self.is_ours(cx, received, tuple.source.address) => return Turn::Leaves(Next::Pass),
            None if flow.is_error => return Turn::Leaves(self.without_session(Next::IcmpError, rules)),
            None => {
                let plan = match output(rules, &tuple, received) {
                    Decision::Begin(plan) => plan,
                    Decision::Pass => return Turn::Leaves(Next::Pass),
                    Decision::NoTranslation => return Turn::Leaves(Next::OutOfPorts),
                };
                let place = Place { received, leaves, is_output: true };
                let beginning = Beginning { tables: &self.tables, own: &self.own, work, rules };
                let begun = match cx.is_rehearsal() {
                    true => beginning.rehearse(cx, plan, &tuple, place),
                    false => beginning.begin(cx, plan, &tuple, place),
                };
                match begun {
                    Ok(session) => (session, true),
                    Err(why) => return Turn::Leaves(why.into()),
                }
            }
        };
        self.count(cx, frame, i, (if is_first { Path::Slow } else { Path::Fast }, &tuple));
        self.enter(cx, (frame, i), (work, &session), is_first)
    }
    fn is_ours(&self, cx: &Context<'_>, table: u32, address: u32) -> bool {
        self.tables.routes.egress(cx.guard, table, address) == Egress::Local
    }
    /// Without a pool to translate to, and with forwarding, rows of no session go on as they are.
    fn without_session(&self, why: Next, rules: &Rules) -> Next {
        if rules.forwards { Next::Pass } else { why }
    }
    fn count(&self, cx: &Context<'_>, frame: &Frame, i: usize, (path, tuple): (Path, &Tuple)) {
        if !cx.is_rehearsal() {
            self.own.counters.count((true, path), tuple.protocol, frame.rx[i]);
        }
    }
    fn enter(
        &self,
        cx: &mut Context<'_>,
        (frame, i): (&mut Frame, usize),
        (work, session): (&Work<'_>, &Session),
        is_first: bool,
    ) -> Turn {
        // A packet that is handed over loses where it was to leave. So another worker's session is translated here; the packets from the
        // outside, which its owner gets, prolong it.
        if usize::from(session.at.owner) != cx.worker || (is_first && cx.is_rehearsal()) {
            rewrite_row(cx, frame, i, session, true);
            return Turn::Leaves(Next::Pass);
        }
        let at = work.sessions.at(cx.worker, session.at.index);
        let packet = work.packet_at((at, direction(session, true)), (is_first, false));
        let Some(packet) = packet else { return Turn::Leaves(Next::OutOfPorts) };
        if !cx.is_rehearsal() {
            work.touch(cx, &packet, frame.length[i]);
        }
        work.pass(cx, frame, i, packet);
        Turn::Serves
    }
}

arcs! {
    /// Where packets go from the end of chains.
    pub enum EndNext {
        Pass => next_feature,
    }
}

/// `nat44-ed-output-end`.
pub struct OutputEnd(pub Reads);

impl Node for OutputEnd {
    fn process(&mut self, cx: &mut Context, frame: &mut Frame) {
        let Some(work) = self.0.begin(cx, EndNext::ARCS.len()) else { return };
        for i in 0..frame.len() {
            // As a feature it is also met by packets that no service had, which begin with the link's header.
            if self.is_served((cx, &work), frame, i) {
                frame.advance(cx.pool, i, -AHEAD);
            }
        }
    }
}

impl OutputEnd {
    /// Whether a row comes from the services of a session that is translated here.
    fn is_served(&self, (cx, work): (&Context<'_>, &Work<'_>), frame: &Frame, i: usize) -> bool {
        let Some(mark) = self.0.mark_of(cx, frame, i) else { return false };
        let session = work.sessions.translated(work.sessions.at(cx.worker, mark.index()));
        let session = session.filter(|session| has(&session.second, flag::OUTPUT));
        session.is_some_and(|session| mark.direction() == direction(&session, true))
    }
}
