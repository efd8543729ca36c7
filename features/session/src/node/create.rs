//! `sfdp-create`: sessions of tenants whose policy comes first begin here, behind the services that judge their first packets.
//!
//! Then the packet passes the chain from its first service on, as each later one. The node is no service that people name.

use quiver_engine::channel::Outbox;
use quiver_engine::{Context, Frame, Node, arcs};
use quiver_session_events::Reason;

use super::begin::{Sought, begin, go_on, refused, rehearse, takes_slow_path};
use super::owner;
use super::pass::{Reads, Work};
use crate::policy::Judged;

arcs! {
    /// Where packets go from here, besides services.
    pub enum Next {
        Owner => node "sfdp-handoff",
        Full => drop "session-table-full",
        Quota => drop "session-quota",
        SourceQuota => drop "session-source-quota",
        NoSession => drop "no-session",
    }
}

const _: () = assert!(Next::Owner as u16 == owner::ARC);

impl From<Reason> for Next {
    fn from(reason: Reason) -> Next {
        refused(reason, [Next::Full, Next::Quota, Next::SourceQuota])
    }
}

/// The node's name.
pub const NAME: &str = "sfdp-create";

/// The node.
pub struct Create {
    reads: Reads,
    /// Hears of the first session.
    begun: Outbox<()>,
}

impl Create {
    /// The node; tells of the first session.
    pub(crate) fn new(reads: Reads, begun: Outbox<()>) -> Create {
        Create { reads, begun }
    }
    /// Begins the session of a row, and passes the row on.
    ///
    /// # Errors
    /// The arc by which it leaves, if there is no session.
    fn create(&self, work: &Work<'_>, (cx, frame, i): (&mut Context<'_>, &mut Frame, usize)) -> Result<(), Next> {
        let judged = frame.metadata(cx.pool, i, work.mark).and_then(Judged::of).ok_or(Next::NoSession)?;
        let tenant = work.rows.get(usize::from(judged.slot)).filter(|tenant| tenant.is_there).ok_or(Next::NoSession)?;
        if judged.revision != tenant.revision && !tenant.judges.is_empty() {
            // The judges have changed meanwhile.
            work.begin_judging((cx, frame, i), (judged.slot, judged.format), tenant);
            return Ok(());
        }
        if cx.is_rehearsal() {
            rehearse(work, (cx, frame, i));
            return Ok(());
        }
        let (key, is_from_high) = work.judged_key(cx, (frame, i), judged).ok_or(Next::NoSession)?;
        let sought = Sought { key: &key, hash: work.sessions.hash(&key), is_from_high, is_error: false };
        // An earlier packet of the frame may have begun it.
        let place = match work.sessions.find(sought.key, sought.hash) {
            Some(there) => (there, false),
            None => match begin(work, cx, sought, (judged.slot, tenant), &self.begun) {
                Err(reason) if takes_slow_path(work, (frame, i), (judged.slot, judged.format), reason) => return Ok(()),
                begun => begun?,
            },
        };
        if judged.has_cookie && place.1 && !work.begin_proxy((cx, frame, i), place.0) {
            return Err(Next::Full);
        }
        // Another worker that has begun it in the same moment may not keep up.
        go_on(work, (cx, frame, i), sought, place).then_some(()).ok_or(Next::NoSession)
    }
}

impl Node for Create {
    fn process(&mut self, cx: &mut Context, frame: &mut Frame) {
        let work = self.reads.begin(cx, Next::ARCS.len());
        for i in 0..frame.len() {
            let created = match &work {
                Some(work) => self.create(work, (cx, frame, i)),
                None => Err(Next::NoSession),
            };
            if let Err(next) = created {
                frame.next[i] = next.into();
            }
        }
    }
}
