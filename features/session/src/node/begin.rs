//! The begin of sessions, for the nodes at which they begin: lookups, and `sfdp-create` behind the services that judge.

use quiver_engine::channel::Outbox;
use quiver_engine::{Context, Frame};
use quiver_session_events::Reason;
use quiver_table::Reference;

use super::owner;
use super::pass::{Known, Latest, Work};
use crate::effect::Effect;
use crate::key::{Format, Key};
use crate::record::{Direction, OWNED_MAX};
use crate::sessions::{Found, Mark};
use crate::slow_path::OddPackets;
use crate::tenant::TenantRow;

/// A packet whose key is known.
#[derive(Clone, Copy)]
pub(super) struct Sought<'a> {
    pub key: &'a Key,
    pub hash: u64,
    pub is_from_high: bool,
    pub is_error: bool,
}

/// The place of a packet's session, and whether it began with the packet.
pub(super) type Place = (Reference, bool);

/// The arc of a packet that began no session: of a full table, of its tenant's quota, or of its source's.
pub(super) fn refused<N>(reason: Reason, [full, quota, source_quota]: [N; 3]) -> N {
    match reason {
        Reason::Quota => quota,
        Reason::SourceQuota => source_quota,
        _ => full,
    }
}

/// Begins a session of this worker by a packet, unless another worker begins it in the same moment. `begun` hears of the only session of a
/// worker.
///
/// # Errors
/// Why there is none.
pub(super) fn begin(
    work: &Work<'_>,
    cx: &Context<'_>,
    sought: Sought<'_>,
    (slot, tenant): (u16, &TenantRow),
    begun: &Outbox<()>,
) -> Result<Place, Reason> {
    let Sought { key, hash, is_from_high, .. } = sought;
    match work.sessions.begin(cx, (key, hash), (slot, tenant), is_from_high, begun) {
        Found::Here(index) => Ok((work.sessions.at(cx.worker, index), true)),
        Found::There(there) => Ok((there, false)),
        Found::Refused(reason) => {
            work.denied(cx, (key, is_from_high), slot, reason);
            Err(reason)
        }
    }
}

/// Sends a row that began no session, because the table is full, to the node that its tenant has for such packets. False if it is dropped.
#[cold]
pub(super) fn takes_slow_path(
    work: &Work<'_>,
    (frame, i): (&mut Frame, usize),
    (slot, format): (u16, Format),
    reason: Reason,
) -> bool {
    let odd = OddPackets::table_full(format).filter(|_| reason == Reason::TableFull);
    let arc = work.slow_path(slot.into(), odd);
    arc.into_iter().for_each(|arc| frame.next[i] = arc);
    arc.is_some()
}

/// Passes a row on along the chain of its session, or hands it over to the worker that owns that. False if this one does not keep up.
pub(super) fn go_on(
    work: &Work<'_>,
    (cx, frame, i): (&mut Context<'_>, &mut Frame, usize),
    sought: Sought<'_>,
    (reference, is_first): Place,
) -> bool {
    let Some(record) = work.sessions.record(reference) else { return false };
    let mark = Mark::of(reference.index, record.identity(), sought.is_from_high);
    let mark = mark.error(sought.is_error).first(is_first);
    if usize::from(reference.owner) == cx.worker {
        let now = work.ticks(cx);
        let known = Known { record, mark };
        work.arrive((cx, frame, i), (known, Effect::Any), (now, &mut Latest::default()));
        return true;
    }
    frame.set_metadata(cx.pool, i, work.mark, mark);
    cx.hand_off(frame, i, usize::from(reference.owner), owner::ARC)
}

/// In a rehearsal nothing begins: the packet passes the services that it would pass.
pub(super) fn rehearse(work: &Work<'_>, (cx, frame, i): (&mut Context<'_>, &mut Frame, usize)) {
    let mark = Mark::new(OWNED_MAX as u32 - 1, 0, Direction::Forward).first(true);
    frame.set_metadata(cx.pool, i, work.mark, mark);
    work.rehearse(cx, frame, i);
}
