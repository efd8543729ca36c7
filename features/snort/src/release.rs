//! `snort-deq`: takes packets from inspectors that have judged them, and those that an inspector held when it went.

use quiver_engine::{Context, Frame, Generations, Node, Snapshot, VECTOR, arcs};
use quiver_session::node::pass::{Packet, Reads, Work};
use quiver_session::sessions::Mark;

use crate::decision::Decisions;
use crate::instance::{Instance, Instances};
use crate::offered::OfferedBy;
use crate::origin::Origin;
use crate::pair::{Held, Judged, Pair, add};
use crate::verdict::Verdict;

/// The node's name.
pub(crate) const NAME: &str = "snort-deq";

arcs! {
    /// Where packets go from `snort-deq`.
    pub enum Next {
        Ip4Input => node "snort-ip4-input-next",
        Ip6Input => node "snort-ip6-input-next",
        Ip4Output => node "snort-ip4-output-next",
        Ip6Output => node "snort-ip6-output-next",
        Session => node "sfdp-inspect-next",
        Verdict => drop "verdict-drop",
        BadVerdict => drop "bad-verdict",
        Lost => drop "inspector-lost",
        Late => drop "interface-gone",
        SessionGone => drop "session-gone",
    }
}

impl From<OfferedBy> for Next {
    fn from(by: OfferedBy) -> Next {
        match by {
            OfferedBy::Feature(Origin::Ip4Input, _) => Next::Ip4Input,
            OfferedBy::Feature(Origin::Ip6Input, _) => Next::Ip6Input,
            OfferedBy::Feature(Origin::Ip4Output, _) => Next::Ip4Output,
            OfferedBy::Feature(Origin::Ip6Output, _) => Next::Ip6Output,
            OfferedBy::Session(_) => Next::Session,
        }
    }
}

/// The session of a packet that an inspector had, unless it has ended meanwhile.
fn session<'a>(work: &Work<'a>, worker: usize, mark: Mark) -> Option<Packet<'a>> {
    let at = work.sessions.at(worker, mark.index());
    let packet = work.packet_at((at, mark.direction()), (mark.is_first(), mark.is_error()))?;
    Some(packet).filter(|packet| packet.mark.generation() == mark.generation())
}

/// Where a packet goes by its verdict.
fn judge(instance: &Instance, pair: &Pair, judged: &Judged, generations: &Generations) -> Next {
    match judged.verdict {
        _ if !judged.held.is_current(generations) => {
            add(&pair.counts.late, 1);
            Next::Late
        }
        None => Next::BadVerdict,
        Some(verdict) if instance.drops(verdict) => Next::Verdict,
        Some(_) => judged.held.by.into(),
    }
}

/// Where a packet goes that an inspector held when it went.
pub(crate) fn of_lost(instance: &Instance, pair: &Pair, held: &Held, generations: &Generations) -> Next {
    add(&pair.counts.lost, 1);
    match (held.is_current(generations), instance.passes()) {
        (false, _) => Next::Late,
        (true, true) => held.by.into(),
        (true, false) => Next::Lost,
    }
}

/// The node.
pub(crate) struct Release {
    instances: Snapshot<Instances>,
    generations: Generations,
    reads: Reads,
    decisions: Decisions,
    judged: Vec<Judged>,
}

impl Release {
    pub fn new(
        instances: Snapshot<Instances>,
        generations: Generations,
        reads: Reads,
        decisions: Decisions,
    ) -> Release {
        Release { instances, generations, reads, decisions, judged: vec![] }
    }
}

impl Node for Release {
    fn process(&mut self, cx: &mut Context, _: &mut Frame) {
        if cx.is_rehearsal() {
            return;
        }
        let Release { instances, generations, reads, decisions, judged } = self;
        let work = reads.begin(cx, 0);
        for instance in instances.read(cx.guard).iter().flatten() {
            for pair in instance.of_worker(cx.worker) {
                let mut own = pair.own();
                if own.is_attached() {
                    pair.judged(&mut own, cx.pool, VECTOR, judged);
                }
                let attachment = own.attachment();
                drop(own);
                for judged in judged.drain(..) {
                    let mut next = judge(instance, pair, &judged, generations);
                    if let OfferedBy::Session(mark) = judged.held.by {
                        let found = work.as_ref().and_then(|work| Some((work, session(work, cx.worker, mark)?)));
                        match (found, judged.verdict.and_then(Verdict::of_flow)) {
                            (None, _) if next != Next::Late => {
                                add(&pair.counts.late, 1);
                                next = Next::SessionGone;
                            }
                            (Some((work, packet)), Some(passes)) => {
                                let status = packet.record.status();
                                work.set_status(packet, decisions.set(status, (passes, attachment)));
                            }
                            _ => {}
                        }
                    }
                    cx.emit(next, judged.held.packet);
                }
            }
        }
    }
}
