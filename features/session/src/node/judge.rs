//! The way of packets without a session along the services that judge them ([`policy`](crate::policy)).

use quiver_engine::{Context, Frame};
use quiver_session_events::Reason;

use super::pass::Work;
use crate::key::{Format, Key};
use crate::policy::{Judged, Judgment};
use crate::service::{CREATE, DROP};
use crate::tenant::TenantRow;

impl Work<'_> {
    /// Sends a row without a session to the first service that judges it.
    #[cold]
    pub(crate) fn begin_judging(
        &self,
        (cx, frame, i): (&mut Context<'_>, &mut Frame, usize),
        (slot, format): (u16, Format),
        tenant: &TenantRow,
    ) {
        let judged = Judged { slot, format, revision: tenant.revision, has_cookie: false };
        self.send_judged((cx, frame, i), (judged, 0), tenant);
    }
    /// Sends a row without a session to the service that judges it next.
    pub(crate) fn send_judged(
        &self,
        (cx, frame, i): (&mut Context<'_>, &mut Frame, usize),
        (judged, position): (Judged, u8),
        tenant: &TenantRow,
    ) {
        // A tenant whose sessions come first now has no judges any more.
        let service = if tenant.judges.is_empty() { CREATE } else { tenant.judges.service(position) };
        if service == DROP {
            self.refused((cx, frame, i), judged, Reason::Policy);
        }
        self.send(cx, frame, i, (judged.mark(position), service));
    }
    /// Has a service judge a row without a session, and sends it on if it passes. False if the row is none.
    #[cold]
    pub(crate) fn judge(
        &self,
        (cx, frame, i): (&mut Context<'_>, &mut Frame, usize),
        judge: &mut impl FnMut(&Context<'_>, &Frame, (usize, u16)) -> Judgment,
    ) -> bool {
        let Some(mark) = frame.metadata(cx.pool, i, self.mark) else { return false };
        let Some(judged) = Judged::of(mark) else { return false };
        let Some(tenant) = self.rows.get(usize::from(judged.slot)) else { return false };
        match judge(cx, frame, (i, judged.slot)) {
            Some((arc, reason)) => {
                self.refused((cx, frame, i), judged, reason);
                frame.next[i] = arc;
            }
            None => self.send_judged((cx, frame, i), (judged, mark.position()), tenant),
        }
        true
    }
    /// In a rehearsal, has a service judge a row whose session would begin before. False if it passes, or if there is none.
    #[cold]
    pub(crate) fn foresee(
        &self,
        (cx, frame, i): (&mut Context<'_>, &mut Frame, usize),
        judge: &mut impl FnMut(&Context<'_>, &Frame, (usize, u16)) -> Judgment,
    ) -> bool {
        let slot = frame.hop[i] as u16;
        let is_first = cx.is_rehearsal() && frame.metadata(cx.pool, i, self.mark).is_some();
        let is_judged = is_first && self.tenant(slot).is_some_and(|tenant| tenant.judges.is_empty());
        let refused = is_judged.then(|| judge(cx, frame, (i, slot))).flatten();
        refused.into_iter().for_each(|(arc, _)| frame.next[i] = arc);
        refused.is_some()
    }
    /// The key of a row that is judged, and whether its source is the higher end.
    pub(crate) fn judged_key(
        &self,
        cx: &Context<'_>,
        (frame, i): (&Frame, usize),
        judged: Judged,
    ) -> Option<(Key, bool)> {
        let context = self.rows.get(usize::from(judged.slot))?.context;
        let flow = self.parsers.get(judged.format)?(frame, cx.pool, i, self.upper).ok()?;
        Some(Key::new(flow.ends, context, (flow.protocol, judged.format)))
    }
    /// Tells that no session begins with a row.
    fn refused(&self, (cx, frame, i): (&Context<'_>, &Frame, usize), judged: Judged, reason: Reason) {
        if cx.is_rehearsal() {
            return;
        }
        if let Some((key, is_from_high)) = self.judged_key(cx, (frame, i), judged) {
            self.denied(cx, (&key, is_from_high), judged.slot, reason);
        }
    }
}
