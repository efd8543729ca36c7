//! `sfdp-syn-cookie`: answers SYNs by cookies, and knows returned ones.
//!
//! The node has two turns among the services that judge packets without a session ([`policy`](crate::policy)). The first one makes a SYN again
//! of a segment that returns a cookie, so that policy is asked as of any other. The last one is behind all others: it answers SYNs while
//! their tenant has too many sessions without an answer.

use std::sync::Arc;

use quiver_control::Control;
use quiver_engine::{Context, Frame, Node, arcs};

use super::compose::{Outgoing, SynOptions, compose};
use super::cookie::{Cookies, Offer, Opening, SLOT_SECONDS};
use super::proxy::OWN_SCALE;
use crate::key::Format;
use crate::metrics::Cookie;
use crate::node::pass::{Reads, Work};
use crate::policy::Judged;
use crate::record::Direction;
use crate::room::secret;
use crate::segment::{ACK, FIN, RST, SYN, Segment, is_fragment, place, segment};
use crate::sessions::TICKS;
use crate::tenant::{CookieRules, TenantRow};

arcs! {
    /// Where packets go from here, besides services.
    pub enum Next {
        NoSession => drop "no-session",
        NoBuffers => drop "no-buffers",
    }
}

/// The node's name.
pub const NAME: &str = "sfdp-syn-cookie";

/// Cookies of this daemon: a room of the control side.
#[derive(Default)]
pub(crate) struct CookieRoom(pub Arc<Cookies>);

/// Makes the secret of cookies, unless there is one. In tests and simulations, which are to be the same each time, it is a fixed one.
pub(crate) fn set_secret(control: &Control) {
    control.room::<CookieRoom>().0.set_secret(|| match control.identity() {
        Some(_) => {
            let [first, second, ..] = secret();
            [first, second]
        }
        None => [1, 2],
    });
}

/// The node.
pub struct Challenge {
    reads: Reads,
    cookies: Arc<Cookies>,
}

/// The position behind the node's first turn.
const FIRST_TURN: u8 = 1;

/// Sequence and acknowledgment number in a TCP header, and flags (RFC 9293, 3.1).
const NUMBERS: std::ops::Range<usize> = 4..12;
const FLAGS: usize = 13;

impl Challenge {
    /// The node, with the daemon's cookies.
    pub(crate) fn new(reads: Reads, cookies: Arc<Cookies>) -> Challenge {
        Challenge { reads, cookies }
    }
    /// Has a row take its turn.
    ///
    /// # Errors
    /// The arc by which it leaves, if it is dropped.
    fn turn(&self, work: &Work<'_>, (cx, frame, i): (&mut Context<'_>, &mut Frame, usize)) -> Result<(), Next> {
        let mark = frame.metadata(cx.pool, i, work.mark).ok_or(Next::NoSession)?;
        let mut judged = Judged::of(mark).ok_or(Next::NoSession)?;
        let tenant = work.tenant(judged.slot).ok_or(Next::NoSession)?;
        // Keys of other formats do not say between which addresses an answer goes. In a rehearsal packets take the way that they take without a
        // flood.
        let is_plain = [Format::IP4, Format::IP6].contains(&judged.format);
        let rules = tenant.cookies.filter(|_| is_plain && !cx.is_rehearsal());
        if let Some((rules, segment)) = rules.and_then(|rules| Some((rules, whole_segment(cx, frame, i)?))) {
            if mark.position() == FIRST_TURN {
                judged.has_cookie = self.recall(work, (cx, frame, i), judged, segment);
            } else if !judged.has_cookie
                && segment.opens()
                && work.sessions.unanswered(judged.slot) >= rules.watermark.into()
            {
                return self.answer(work, (cx, frame, i), (judged, tenant, rules), segment);
            }
        }
        work.send_judged((cx, frame, i), (judged, mark.position()), tenant);
        Ok(())
    }
    fn slot(work: &Work<'_>, cx: &Context<'_>) -> u32 {
        work.ticks(cx) / (SLOT_SECONDS * TICKS)
    }
    /// Makes the SYN of a row again if it returns a cookie, with the cookie where a SYN has no acknowledgment; whether it does.
    fn recall(
        &self,
        work: &Work<'_>,
        (cx, frame, i): (&mut Context<'_>, &mut Frame, usize),
        judged: Judged,
        segment: Segment,
    ) -> bool {
        let slot = Challenge::slot(work, cx);
        if segment.flags & (SYN | ACK | FIN | RST) != ACK || !self.cookies.may_come(slot) {
            return false;
        }
        let Some((key, is_from_high)) = work.judged_key(cx, (frame, i), judged) else { return false };
        let cookie = segment.acknowledgment.wrapping_sub(1);
        // RFC 9293, 3.8.6.1: the window of our answer is closed, and stacks probe it with the number before the next one, too.
        let initials = [segment.sequence.wrapping_sub(1), segment.sequence];
        let initial = initials.into_iter().find(|initial| {
            let opening = Opening { key: &key, is_from_high, initial: *initial };
            self.cookies.check(&opening, slot, cookie).is_some()
        });
        let count = if initial.is_some() { Cookie::Valid } else { Cookie::Invalid };
        work.owned.metrics.cookie(judged.slot, count);
        let Some(initial) = initial else { return false };
        let bytes = frame.bytes_mut(cx.pool, i);
        let Some(tcp) = place(bytes).and_then(|at| bytes.get_mut(at..)) else { return false };
        let numbers = u64::from(initial) << 32 | u64::from(cookie);
        tcp.get_mut(NUMBERS).into_iter().for_each(|place| place.copy_from_slice(&numbers.to_be_bytes()));
        tcp.get_mut(FLAGS).into_iter().for_each(|flags| *flags = SYN);
        true
    }
    /// Puts the answer with a cookie in a SYN's place.
    ///
    /// # Errors
    /// There is no buffer for it.
    fn answer(
        &self,
        work: &Work<'_>,
        (cx, frame, i): (&mut Context<'_>, &mut Frame, usize),
        (judged, tenant, rules): (Judged, &TenantRow, CookieRules),
        segment: Segment,
    ) -> Result<(), Next> {
        let (key, is_from_high) = work.judged_key(cx, (frame, i), judged).ok_or(Next::NoSession)?;
        let bytes = frame.bytes(cx.pool, i);
        let tcp = place(bytes).and_then(|at| bytes.get(at..)).ok_or(Next::NoSession)?;
        let words = usize::from(tcp.get(12).copied().unwrap_or_default() >> 4);
        let offer = Offer::of(tcp.get(20..words * 4).unwrap_or_default(), key.is_ip6());
        let opening = Opening { key: &key, is_from_high, initial: segment.sequence };
        let cookie = self.cookies.make(&opening, Challenge::slot(work, cx), offer).ok_or(Next::NoSession)?;
        let scale = offer.scale.map(|_| OWN_SCALE);
        let answer = Outgoing {
            is_from_high: !is_from_high,
            flags: SYN | ACK,
            sequence: cookie,
            acknowledgment: segment.sequence.wrapping_add(1),
            // Closed until the server has answered, so that the client sends nothing before.
            window: 0,
            options: Some(SynOptions { mss: rules.mss, scale, sack: offer.sack }),
        };
        let composed = compose(&key, &answer);
        let mut packet = cx.pool.packet(composed.bytes()).ok_or(Next::NoBuffers)?;
        packet.rx = frame.rx[i];
        packet.set_local();
        frame.trace_on(cx.pool, i, &mut packet);
        frame.replace(cx.pool, i, packet);
        frame.next[i] = work.arc(tenant.chains[Direction::Reverse as usize].last());
        work.owned.metrics.cookie(judged.slot, Cookie::Sent);
        Ok(())
    }
}

/// The segment of a row; None of other packets, and of fragments.
fn whole_segment(cx: &Context<'_>, frame: &Frame, i: usize) -> Option<Segment> {
    let packet = frame.bytes(cx.pool, i);
    segment(packet, frame.length[i]).filter(|_| !is_fragment(packet))
}

impl Node for Challenge {
    fn process(&mut self, cx: &mut Context, frame: &mut Frame) {
        let work = self.reads.begin(cx, Next::ARCS.len());
        for i in 0..frame.len() {
            let turn = match &work {
                Some(work) => self.turn(work, (cx, frame, i)),
                None => Err(Next::NoSession),
            };
            if let Err(next) = turn {
                frame.next[i] = next.into();
            }
        }
    }
}
