//! `sfdp-acl`: asks the lists of a session's tenant about the session.
//!
//! Where policy comes first, the lists judge a packet without a session, so that nothing is stored of what they do not permit. A session keeps
//! the verdict: its other packets, and its replies, cost no search. With `recheck`, a verdict of lists that have changed counts no more.
//!
//! Drops: `denied`, by the first matching rule, or because no rule matches; `no-lists`, of a tenant that has none; `no-session`.

use std::net::IpAddr;

use quiver_engine::{Context, Frame, MetadataKey, Node, Snapshot, arcs};
use quiver_ip::upper::Upper;
use quiver_session::Reason;
use quiver_session::node::pass::{Packet, Reads, Work};
use quiver_session::policy::{Judges, Judgment};
use quiver_session::record::{Direction, REFUSED, State, Status};
use quiver_session::sessions::Mark;
use quiver_session::timeouts::{EMBRYONIC, NOW, SECURITY};
use quiver_wire::{IpProtocol, V4, V6};

use super::verdict::{Verdict, Verdicts};
use crate::lists::{Lists, TenantLists};
use crate::look::ListsOf;
use crate::rule::{Action, Fields};

arcs! {
    /// Where packets go from here, besides services.
    pub enum Next {
        NoSession => drop "no-session",
        Denied => drop "denied",
        NoLists => drop "no-lists",
    }
}

/// The node's name.
pub const NAME: &str = "sfdp-acl";

/// The node.
pub struct Judge {
    reads: Reads,
    lists: Snapshot<Lists>,
    upper: MetadataKey<Upper>,
    verdicts: Verdicts,
}

impl Judge {
    /// The node, with all lists, the key of the ports of later fragments, and the verdicts of sessions.
    pub fn new(reads: Reads, lists: Snapshot<Lists>, upper: MetadataKey<Upper>, verdicts: Verdicts) -> Judge {
        Judge { reads, lists, upper, verdicts }
    }
    /// The verdict that a session has, unless the lists are to be asked.
    #[inline(always)]
    fn known(&self, of: &TenantLists, status: Status) -> Option<Verdict> {
        let (verdict, revision) = self.verdicts.of(status)?;
        let is_current = revision == of.revision || !of.rechecks;
        // A session that was refused after it had been permitted is about to end.
        let is_final = verdict == Verdict::Denied && status.timeout != SECURITY;
        (is_current || is_final).then_some(verdict)
    }
    /// Asks the lists about a session by one of its packets, and has the session keep the verdict.
    #[cold]
    fn ask(
        &self,
        work: &Work<'_>,
        (cx, frame, i): (&Context<'_>, &Frame, usize),
        packet: Packet<'_>,
        (lists, of): (&Lists, &TenantLists),
    ) -> Verdict {
        let noted = frame.metadata(cx.pool, i, self.upper);
        let fields = first_fields(frame.bytes(cx.pool, i), noted, packet.mark);
        let counts = lists.are_counted && !cx.is_rehearsal();
        let action = decide((lists, of), fields, (counts, cx.worker, frame.length[i]));
        let verdict = if action.permits() { Verdict::Permitted } else { Verdict::Denied };
        if !cx.is_rehearsal() {
            let status = packet.record.status();
            let was_permitted = self.verdicts.of(status).is_some_and(|(before, _)| before == Verdict::Permitted);
            let kept = self.verdicts.set(status, (verdict, of.revision));
            work.set_status(packet, follow(kept, verdict, was_permitted));
        }
        verdict
    }
}

/// The status of a session with a verdict. Packets of a denied one do not prolong it: it ends by the timeout `security`, or at once if packets
/// have passed before.
fn follow(status: Status, verdict: Verdict, was_permitted: bool) -> Status {
    let is_refused = status.flags & REFUSED != 0;
    match verdict {
        Verdict::Permitted if is_refused => Status { timeout: EMBRYONIC, flags: status.flags & !REFUSED, ..status },
        Verdict::Permitted => status,
        Verdict::Denied => {
            let ends = was_permitted || status.state != State::Embryonic;
            Status { timeout: if ends { NOW } else { SECURITY }, flags: status.flags | REFUSED, ..status }
        }
    }
}

/// The action of a tenant's lists for a packet. Counts the packet for the rule that decides, if matches are counted: on a worker, with its
/// length.
fn decide(
    (lists, of): (&Lists, &TenantLists),
    fields: Option<Fields>,
    (counts, worker, length): (bool, usize, u32),
) -> Action {
    // A truncated packet matches no rule.
    let Some(fields) = fields else { return Action::Deny };
    let all = ListsOf::new(&of.lists, lists);
    all.decide(&fields, |rule| {
        if counts {
            all.count(worker, rule, length);
        }
    })
}

/// Flag of TCP (RFC 9293, 3.1).
const SYN: u8 = 2;
/// Types of ICMP echoes, of requests and of replies (RFC 792; RFC 4443, 4).
const ECHO4: [u16; 2] = [8, 0];
const ECHO6: [u16; 2] = [128, 129];

/// The fields of a packet; `noted` has those of a later fragment. None of a truncated one.
fn fields(packet: &[u8], noted: Option<Upper>) -> Option<Fields> {
    let is_ip6 = packet.first()? >> 4 == 6;
    let fields = if is_ip6 { Fields::of::<V6>(packet) } else { Fields::of::<V4>(packet) };
    Some(fields?.or(noted))
}

/// The fields of the first packet of a session, as far as one of its packets has them: from initiator to responder, of TCP with the flag SYN. The
/// first packet itself has its own fields. None of a truncated packet.
pub(crate) fn first_fields(packet: &[u8], noted: Option<Upper>, mark: Mark) -> Option<Fields> {
    let fields = fields(packet, noted)?;
    if mark.is_first() {
        return Some(fields);
    }
    let Fields { source, destination, protocol, upper } = fields;
    let is_reply = mark.direction() == Direction::Reverse;
    let (source, destination) = if is_reply { (destination, source) } else { (source, destination) };
    let upper = upper.map(|upper| first_upper(upper, is_reply, (IpProtocol(protocol), source)));
    Some(Fields { source, destination, protocol, upper })
}

/// The same of ports and flags.
fn first_upper(upper: Upper, is_reply: bool, (protocol, address): (IpProtocol, IpAddr)) -> Upper {
    let Upper { source, destination, tcp_flags } = upper;
    let [request, reply] = if address.is_ipv6() { ECHO6 } else { ECHO4 };
    match protocol {
        IpProtocol::TCP | IpProtocol::UDP => {
            let tcp_flags = if protocol == IpProtocol::TCP { SYN } else { tcp_flags };
            let (source, destination) = if is_reply { (destination, source) } else { (source, destination) };
            Upper { source, destination, tcp_flags }
        }
        IpProtocol::ICMP4 | IpProtocol::ICMP6 if is_reply => {
            let kind = match source {
                kind if kind == request => reply,
                kind if kind == reply => request,
                kind => kind,
            };
            Upper { source: kind, ..upper }
        }
        _ => upper,
    }
}

impl Node for Judge {
    fn process(&mut self, cx: &mut Context, frame: &mut Frame) {
        let lists = self.lists.read(cx.guard);
        let judge = |cx: &Context<'_>, frame: &Frame, (i, slot): (usize, u16)| -> Judgment {
            let Some(of) = lists.of_tenant(slot) else { return Some((Next::NoLists.into(), Reason::Policy)) };
            let fields = fields(frame.bytes(cx.pool, i), frame.metadata(cx.pool, i, self.upper));
            // Of a packet that is permitted, the session that it begins counts the match.
            let action = decide((lists, of), fields, (false, 0, 0));
            if action.permits() {
                return None;
            }
            if lists.are_counted && !cx.is_rehearsal() {
                decide((lists, of), fields, (true, cx.worker, frame.length[i]));
            }
            Some((Next::Denied.into(), Reason::AccessList))
        };
        self.reads.each_judged(
            (cx, frame),
            (Next::ARCS.len(), Next::NoSession),
            (Judges::First, judge),
            |work, cx, frame, i, packet| {
                let Some(of) = lists.of_tenant(packet.record.identity().tenant()) else {
                    frame.next[i] = Next::NoLists.into();
                    return;
                };
                let status = packet.record.status();
                let verdict = match self.known(of, status) {
                    Some(verdict) => verdict,
                    None => self.ask(work, (cx, frame, i), packet, (lists, of)),
                };
                match verdict {
                    Verdict::Permitted => work.pass(cx, frame, i, packet),
                    Verdict::Denied => {
                        // A SYN that opens the connection anew has cleared the flag.
                        let status = packet.record.status();
                        if status.flags & REFUSED == 0 && !cx.is_rehearsal() {
                            work.set_status(packet, follow(status, verdict, false));
                        }
                        frame.next[i] = Next::Denied.into();
                    }
                }
            },
        );
    }
}
