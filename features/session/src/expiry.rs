//! The end of sessions: rounds, in which every worker looks at those of its sessions whose time may have passed; and sessions that
//! control ends.
//!
//! A round is a letter to each worker, with a limit on the work. While sessions are left that are due, or records rest, the next round
//! follows soon. Without sessions there are no rounds, and workers sleep.

use std::io;
use std::sync::Arc;
use std::time::{Duration, UNIX_EPOCH};

use quiver_control::Control;
use quiver_engine::channel::Inbox;
use quiver_engine::{Dataplane, Paged, Worker};
use quiver_interface::Events;
use quiver_session_events::Reason;

use crate::key::Key;
use crate::record::{Identity, REFUSED, Record, State};
use crate::room::{Room, secret};
use crate::second::Second;
use crate::sessions::{Owned, Sessions, Time, remaining};
use crate::shard::Shard;
use crate::tcp::CLOSING;
use crate::tenant::{TenantRow, Tenants};

/// Sessions that a worker looks at in a turn: less than 1 ms of its time.
const LOOKS: u32 = 1024;
/// Interval of rounds while records rest.
const SOON: Duration = Duration::from_millis(50);

/// Report of a worker about a round.
#[derive(Clone, Copy, Debug, Default)]
struct Report {
    /// Sessions are left that are due.
    is_behind: bool,
    /// Records rest.
    rests: bool,
    /// Sessions.
    live: usize,
}

impl Report {
    fn and(self, other: Report) -> Report {
        Report {
            is_behind: self.is_behind | other.is_behind,
            rests: self.rests | other.rests,
            live: self.live + other.live,
        }
    }
}

/// Milliseconds since 1970.
pub(crate) fn date(control: &Control) -> u64 {
    control.date().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis() as u64)
}

/// Notes the date, in milliseconds since 1970, for times of events.
pub(crate) fn set_date(owned: &Owned, shard: &mut Shard, now: u64, date: u64) {
    if let Some(events) = &mut shard.events {
        events.set_time((date, owned.time(now).ticks()));
    }
}

/// Why a session ends whose time has passed.
fn reason(record: &Record) -> Reason {
    let status = record.status();
    let is_finished = status.state == State::TimeWait || status.flags & CLOSING != 0;
    match status.flags & REFUSED != 0 {
        true => Reason::Policy,
        false if is_finished => Reason::Finished,
        false => Reason::Timeout,
    }
}

/// Tenants, as a round sees them.
#[derive(Clone)]
struct Rules {
    rows: Paged<TenantRow>,
    /// Share of the table, in percent, from which on timeouts of some tenant shrink.
    adaptive_from: Option<u32>,
}

impl Rules {
    /// The tenant of a session.
    fn row(&self, record: &Record) -> TenantRow {
        self.rows.get(usize::from(record.identity().tenant())).copied().unwrap_or_default()
    }
    /// Whether timeouts of a tenant may be shorter now than they were when a session's next look was planned.
    fn have_pressure(&self, sessions: &Sessions) -> bool {
        let share = sessions.len() as u64 * 100;
        self.adaptive_from.is_some_and(|from| share > u64::from(from) * sessions.capacity() as u64)
    }
}

/// A worker's part of a round: ends those of its sessions whose time has passed, by these tenants' timeouts. Control's clock says `said`
/// and this date.
fn round(worker: &mut Worker, sessions: &Sessions, number: usize, rules: &Rules, (said, date): (u64, u64)) -> Report {
    let Some(owned) = sessions.of(number) else { return Report::default() };
    let mut shard = owned.shard();
    shard.lead.say(said);
    shard.lead.hears(worker.now());
    owned.set_lead(shard.lead.nanoseconds(), (worker.now(), said));
    set_date(owned, &mut shard, worker.now(), date);
    let (time, length) = (owned.time(worker.now()), sessions.interval());
    shard.begin_round();
    let mut looks = 0;
    while looks < LOOKS {
        looks += 1;
        let index = match shard.due(time.interval(length)) {
            Some(Some(index)) => index,
            Some(None) => continue,
            None => break,
        };
        let Some(record) = owned.records.get(index).filter(|record| record.identity().is_live()) else { continue };
        let row = rules.row(record);
        match remaining(record, (&row, sessions.left(&row)), time.ticks()) {
            Some(left) => {
                let mut within = left;
                if let Some(events) = &mut shard.events {
                    let next = events.update(sessions.subject(record, (number, index)), time.ticks());
                    within = next.map_or(left, |next| left.min(next));
                }
                shard.look_at(index, time.interval_after(within, length));
            }
            None => sessions.end(owned, &mut shard, (number, index), (reason(record), time.ticks())),
        }
    }
    if rules.have_pressure(sessions) {
        let used = shard.used();
        shard.sweep.begin(time.interval(length), used);
    }
    while looks < LOOKS
        && let Some(index) = shard.sweep.next()
    {
        looks += 1;
        let Some(record) = owned.records.get(index).filter(|record| record.identity().is_live()) else { continue };
        let row = rules.row(record);
        if remaining(record, (&row, sessions.left(&row)), time.ticks()).is_none() {
            sessions.end(owned, &mut shard, (number, index), (reason(record), time.ticks()));
        }
    }
    Report { is_behind: looks == LOOKS, rests: shard.rests(), live: shard.live() }
}

/// Has a worker do something with what it owns; the answer is None if the worker has ended.
async fn ask<T: Send + 'static>(
    control: &Control,
    sessions: &Arc<Sessions>,
    number: usize,
    work: impl FnOnce(&mut Worker, &Sessions) -> T + Send + 'static,
) -> Option<T> {
    let sessions = sessions.clone();
    let answer = control.room::<Dataplane>().ask(number, move |worker| work(worker, &sessions));
    answer.await.ok()
}

/// Makes the table of sessions and starts the rounds, unless that has been done.
///
/// # Errors
/// If the system refuses the address space of the table.
pub(crate) fn begin(control: &Control) -> io::Result<()> {
    let workers = {
        let mut dataplane = control.room_mut::<Dataplane>();
        // A session belongs to the worker of its first packet, and other workers hand its packets over.
        dataplane.connect_workers();
        dataplane.workers()
    };
    let counters = control.room::<Tenants>().counters().clone();
    let begun = control.room_mut::<Room>().make(workers, &counters)?;
    let sessions = control.room::<Room>().sessions();
    if let Some(sessions) = sessions {
        let tenants = control.room::<Tenants>();
        if tenants.limit_sources() {
            sessions.count_sources(secret())?;
        }
        if tenants.are_strict() {
            sessions.keep_windows()?;
        }
        if tenants.have_cookies() {
            sessions.keep_proxies()?;
        }
    }
    if let Some(begun) = begun {
        control.spawn("sessions", rounds(control.clone(), begun));
    }
    Ok(())
}

/// Ends sessions in rounds, as long as there are any. `begun` hears of the first session of a worker.
async fn rounds(control: Control, begun: Inbox<()>) {
    let mut last = Report::default();
    loop {
        let changed = control.room::<Events>().signal.changed();
        let sessions = control.room::<Room>().sessions();
        let has_begun = begun.waiting().count() > 0;
        let Some(sessions) = sessions.filter(|_| has_begun || last.live > 0 || last.rests) else {
            changed.await;
            continue;
        };
        last = Report::default();
        let rules = {
            let tenants = control.room::<Tenants>();
            Rules { rows: tenants.rows(), adaptive_from: tenants.adaptive_from() }
        };
        for number in 0..sessions.workers() {
            let (rules, said) = (rules.clone(), (control.now().0, date(&control)));
            let report =
                ask(&control, &sessions, number, move |worker, all| round(worker, all, number, &rules, said)).await;
            last = last.and(report.unwrap_or_default());
        }
        if last.is_behind {
            control.yield_now().await;
            continue;
        }
        // Sessions are due at the beginning of an interval.
        let time = sessions.of(0).map(|owned| owned.time_of_control(control.now().0));
        let interval = time.map_or(SOON, |time| time.until_next(sessions.interval()));
        let pause = if last.rests { interval.min(SOON) } else { interval };
        let woken = control.room::<Room>().changed.changed();
        _ = control.timeout(pause, woken).await;
    }
}

/// Which sessions control ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Which {
    /// All.
    All,
    /// Those of a tenant, by its slot.
    OfTenant(u16),
}

/// A visit to all sessions, or to those of a tenant. It ends all of them; or, after a change of the tenant, only sessions with another context and sessions
/// that have expired by the new timeouts; others are counted at their sources if the tenant limits these.
#[derive(Clone, Copy)]
struct Visit {
    which: Which,
    changed: Option<TenantRow>,
    reason: Reason,
}

impl Visit {
    fn concerns(&self, record: &Record) -> bool {
        match self.which {
            Which::All => true,
            Which::OfTenant(slot) => slot == record.identity().tenant(),
        }
    }
    /// Ticks that are left to a session; None if it ends.
    fn remaining(&self, sessions: &Sessions, record: &Record, time: Time) -> Option<u32> {
        let row = self.changed?;
        record.key().filter(|key| key.context() == row.context)?;
        remaining(record, (&row, sessions.left(&row)), time.ticks())
    }
    /// Why a session ends that has no time left.
    fn why(&self, record: &Record) -> Reason {
        let has_tenant = self.changed.is_some_and(|row| record.key().is_some_and(|key| key.context() == row.context));
        if has_tenant { reason(record) } else { self.reason }
    }
}

/// Visits the sessions of a worker whose records are from `first` on; returns the record to go on with.
fn visit_some(worker: &Worker, sessions: &Sessions, (number, first): (usize, u32), visit: Visit) -> Option<u32> {
    let owned = sessions.of(number)?;
    let (mut shard, time) = (owned.shard(), owned.time(worker.now()));
    let end = first.saturating_add(LOOKS).min(shard.used());
    for index in first..end {
        let Some(record) = owned.records.get(index).filter(|record| record.identity().is_live()) else { continue };
        if !visit.concerns(record) {
            continue;
        }
        match visit.remaining(sessions, record, time) {
            Some(left) => {
                shard.look_at(index, time.interval_after(left, sessions.interval()));
                if visit.changed.is_some_and(|row| row.source_sessions_max > 0) {
                    sessions.count_source(&mut shard, number, record);
                }
            }
            None => sessions.end(owned, &mut shard, (number, index), (visit.why(record), time.ticks())),
        }
    }
    (end < shard.used()).then_some(end)
}

/// Visits sessions, some of each worker's in a turn.
async fn visit(control: &Control, visit: Visit) {
    let Some(sessions) = control.room::<Room>().sessions() else { return };
    for number in 0..sessions.workers() {
        let mut next = Some(0);
        while let Some(first) = next {
            let some = move |worker: &mut Worker, all: &Sessions| visit_some(worker, all, (number, first), visit);
            next = ask(control, &sessions, number, some).await.flatten();
        }
    }
    control.room::<Room>().changed.notify();
}

/// Ends sessions, some of each worker's in a turn; done when they have ended.
pub async fn end_sessions(control: Control, which: Which) {
    visit(&control, Visit { which, changed: None, reason: Reason::Cleared }).await;
}

/// Ends the sessions with a second that `is` says, some of each worker's in a turn; done when they have ended.
pub async fn end_translated(control: Control, is: impl Fn(&Key, &Second) -> bool + Clone + Send + 'static) {
    let is = move |sessions: &Sessions, (number, index)| {
        let session = sessions.translated(sessions.at(number, index));
        session.is_some_and(|session| is(&session.key, &session.second))
    };
    end_each(control, is).await;
}

/// Ends those sessions of a tenant, by its slot, that `is` says, some of each worker's in a turn; done when they have ended.
pub async fn end_sessions_if(
    control: Control,
    slot: u16,
    is: impl Fn(&Key, Identity) -> bool + Clone + Send + 'static,
) {
    let is = move |sessions: &Sessions, (number, index)| {
        let record = sessions.of(number).and_then(|owned| owned.records.get(index));
        let record = record.filter(|record| record.identity().tenant() == slot);
        record.and_then(|record| Some(is(&record.key()?, record.identity()))).unwrap_or_default()
    };
    end_each(control, is).await;
}

/// Ends the sessions that `is` says, by worker and record, some of each worker's in a turn.
async fn end_each(control: Control, is: impl Fn(&Sessions, (usize, u32)) -> bool + Clone + Send + 'static) {
    let Some(sessions) = control.room::<Room>().sessions() else { return };
    for number in 0..sessions.workers() {
        let mut next = Some(0);
        while let Some(first) = next {
            let is = is.clone();
            let some = move |worker: &mut Worker, all: &Sessions| end_some(worker, all, (number, first), is);
            next = ask(&control, &sessions, number, some).await.flatten();
        }
    }
    control.room::<Room>().changed.notify();
}

/// Ends those sessions of a worker whose records are from `first` on; returns the record to go on with.
fn end_some(
    worker: &Worker,
    sessions: &Sessions,
    (number, first): (usize, u32),
    is: impl Fn(&Sessions, (usize, u32)) -> bool,
) -> Option<u32> {
    let owned = sessions.of(number)?;
    let (mut shard, ended) = (owned.shard(), (Reason::Cleared, owned.time(worker.now()).ticks()));
    let end = first.saturating_add(LOOKS).min(shard.used());
    for index in first..end {
        if is(sessions, (number, index)) {
            sessions.end(owned, &mut shard, (number, index), ended);
        }
    }
    (end < shard.used()).then_some(end)
}

/// Ends one session, by the worker that owns it and the index of its record; false if there is none.
pub async fn end_session(control: Control, number: usize, index: u32) -> bool {
    let Some(sessions) = control.room::<Room>().sessions() else { return false };
    let end = move |worker: &mut Worker, all: &Sessions| {
        let Some(owned) = all.of(number) else { return false };
        let is_live = owned.records.get(index).is_some_and(|record| record.identity().is_live());
        if is_live {
            let ended = (Reason::Cleared, owned.time(worker.now()).ticks());
            all.end(owned, &mut owned.shard(), (number, index), ended);
        }
        is_live
    };
    let has_ended = ask(&control, &sessions, number, end).await.unwrap_or_default();
    control.room::<Room>().changed.notify();
    has_ended
}

/// Ends the sessions of a slot, whose tenant is gone; then another tenant may have it.
pub(crate) fn end_sessions_of(control: &Control, slot: u16) {
    when_settled(control, "sessions of a deleted tenant", async move |control| {
        let visited = Visit { which: Which::OfTenant(slot), changed: None, reason: Reason::Tenant };
        visit(&control, visited).await;
        control.room_mut::<Tenants>().ended(slot);
    });
}

/// Ends the sessions of a slot whose tenant has changed, if they are not the tenant's any more, or if their time has passed by its
/// timeouts.
pub(crate) fn review_sessions_of(control: &Control, slot: u16) {
    when_settled(control, "sessions of a changed tenant", async move |control| {
        // It may have changed again.
        let row = control.room::<Tenants>().row(slot);
        if row.is_there {
            let visited = Visit { which: Which::OfTenant(slot), changed: Some(row), reason: Reason::Tenant };
            visit(&control, visited).await;
        }
    });
}

/// Starts a task when all workers have the tenants as they are now: until then packets that they had looked up may begin sessions.
fn when_settled(control: &Control, name: &'static str, task: impl AsyncFnOnce(Control) + 'static) {
    let later = control.clone();
    control.spawn(name, async move {
        let settled = later.room::<Dataplane>().settled();
        settled.await;
        task(later).await;
    });
}
