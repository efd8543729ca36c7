//! Begins sessions within the limits of the table, of tenants and of sources. Ends old sessions when the table is full.

use std::sync::atomic::Ordering::Relaxed;

use quiver_engine::Context;
use quiver_engine::channel::Outbox;
use quiver_session_events::Reason;
use quiver_table::Inserted;

use crate::events::Subject;
use crate::key::Key;
use crate::record::{OWNED_MAX, Record, State, Status};
use crate::second::reference;
use crate::sessions::{Found, Owned, Sessions, Time, timeout_ticks};
use crate::shard::Shard;
use crate::sources::Source;
use crate::tenant::TenantRow;
use crate::timeouts::EMBRYONIC;

/// There are as many sessions as there may be, and none gives way.
const FULL: Found = Found::Refused(Reason::TableFull);

/// A session that begins.
struct New<'a> {
    key: &'a Key,
    hash: u64,
    slot: u16,
    tenant: &'a TenantRow,
    is_from_high: bool,
    /// Its source counts it.
    is_counted: bool,
}

impl Sessions {
    /// Begins a session on a worker, unless another worker begins it in the same moment. `begun` hears of the only session of a worker.
    pub(crate) fn begin(
        &self,
        cx: &Context<'_>,
        (key, hash): (&Key, u64),
        (slot, tenant): (u16, &TenantRow),
        is_from_high: bool,
        begun: &Outbox<()>,
    ) -> Found {
        let Some(owned) = self.of(cx.worker) else { return FULL };
        let mut shard = owned.shard();
        if tenant.sessions_max != 0 && self.counters.live(slot) >= tenant.sessions_max.into() {
            return Found::Refused(Reason::Quota);
        }
        let source = Source::of(key, (slot, is_from_high));
        let most = tenant.source_sessions_max;
        let sources = self.sources.get().filter(|_| most != 0);
        if let Some(refused) = sources.and_then(|all| all.enter((cx.worker, &mut shard.sources), &source, most).err()) {
            return Found::Refused(refused);
        }
        let new = New { key, hash, slot, tenant, is_from_high, is_counted: sources.is_some() };
        let (found, has_begun) = self.begin_new(cx, (&mut shard, owned), &new);
        if has_begun && shard.live() == 1 {
            begun.send(());
        }
        if let Some(sources) = sources.filter(|_| !has_begun) {
            sources.leave((cx.worker, &mut shard.sources), &source);
        }
        found
    }
    /// The same, of a session that its tenant may have; and whether it is a new one.
    fn begin_new(&self, cx: &Context<'_>, (shard, owned): (&mut Shard, &Owned), new: &New<'_>) -> (Found, bool) {
        let New { key, hash, slot, tenant, is_from_high, is_counted } = *new;
        let now = owned.time(cx.now);
        if !self.has_room(shard, (cx.worker, owned), (hash, now)) {
            return (FULL, false);
        }
        let Some(index) = shard.take((self.capacity() * 2).min(OWNED_MAX) as u32) else { return (FULL, false) };
        let Some(record) = owned.records.allocate(index) else {
            shard.put_back(index);
            return (FULL, false);
        };
        record.begin(key, hash, (slot, is_from_high), now.ticks());
        record.set_status(Status::NEW);
        if is_counted {
            record.set_counted();
        }
        let new = reference(cx.worker, index);
        let is_same = |other| self.record(other).is_some_and(|other| other.is(key, hash));
        match self.directory.insert(hash, new, is_same) {
            Inserted::New => {
                let timeout = self.left(tenant).of(EMBRYONIC, timeout_ticks(EMBRYONIC, tenant));
                shard.begun(index, now.interval_after(timeout, self.interval));
                owned.created.add(slot.into(), 1);
                owned.metrics.begun(slot);
                if let Some(events) = &mut shard.events {
                    events.created(Subject { index, record, second: None }, tenant.id);
                }
                (Found::Here(index), true)
            }
            known => {
                record.end();
                shard.put_back(index);
                let found = match known {
                    Inserted::Known(other) if usize::from(other.owner) == cx.worker => Found::Here(other.index),
                    Inserted::Known(other) => Found::There(other),
                    _ => FULL,
                };
                (found, false)
            }
        }
    }
    /// Counts a session of a worker at its source, which has begun before its tenant limited sources: for this worker.
    pub(crate) fn count_source(&self, shard: &mut Shard, worker: usize, record: &Record) {
        let Some((sources, key)) = self.sources.get().zip(record.key()) else { return };
        let identity = record.identity();
        let source = Source::of(&key, (identity.tenant(), identity.is_from_high()));
        if !identity.is_counted() && sources.enter((worker, &mut shard.sources), &source, u32::MAX).is_ok() {
            record.set_counted();
        }
    }
    /// Whether another session may begin on a worker. In a full table an unanswered or closed session is evicted for it: a flood shortens
    /// the life of unanswered sessions, and established sessions stay.
    ///
    /// Workers that begin sessions at the same time may exceed the limit by one session each. Workers below their share may exceed it by a
    /// 64th in total, until other workers have ended as many sessions.
    fn has_room(&self, shard: &mut Shard, owner: (usize, &Owned), (hash, now): (u64, Time)) -> bool {
        let live = self.len();
        if live + self.margin.load(Relaxed) < self.most {
            return true;
        }
        let is_given_way = self.give_way(shard, owner, hash, now);
        if live > self.most && is_given_way {
            // The owner of more than its share makes up for others.
            self.give_way(shard, owner, hash.rotate_left(32), now);
        }
        let may_exceed = shard.live() < self.most / self.owned.len() && live < self.most + self.most / 64;
        is_given_way || live < self.most || may_exceed
    }
    /// Ends the longest unused one among some sessions of a worker that may give way. False if it found none.
    fn give_way(&self, shard: &mut Shard, (worker, owned): (usize, &Owned), hash: u64, now: Time) -> bool {
        /// Records that are looked at, until some of a group may give way.
        const GROUPS: u64 = 4;
        const LOOKS: u64 = 16;
        /// 2^64 by the golden ratio. Looks this far apart are spread evenly over all records (Knuth, The Art of Computer Programming,
        /// volume 3, section 6.4).
        const STEP: u64 = 0x9e37_79b9_7f4a_7c15;
        let used = u64::from(shard.used());
        let age = |index: u32| {
            let record = owned.records.get(index).filter(|record| record.identity().is_live())?;
            let gives_way = record.status().state != State::Established && !record.is_blocked();
            gives_way.then(|| (now.ticks().wrapping_sub(record.last_seen()), index))
        };
        // PERF: the looks depend on the keyed hash of the new session only, and the misses of all are under way together.
        let index = |look: u64| (((hash.wrapping_add(look.wrapping_mul(STEP)) >> 32) * used) >> 32) as u32;
        let mut oldest = (0..GROUPS).map(|group| (group * LOOKS..(group + 1) * LOOKS).map(index).filter_map(age).max());
        let Some((_, index)) = oldest.find_map(|found| found) else { return false };
        if let Some(record) = owned.records.get(index) {
            owned.evicted.add(record.identity().tenant().into(), 1);
        }
        self.end(owned, shard, (worker, index), (Reason::Evicted, now.ticks()));
        true
    }
}
