//! All sessions: the directory, in which every worker finds them, and the records of each worker.

use std::io;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use atomic_refcell::AtomicRefCell;
use quiver_engine::channel::Outbox;
use quiver_engine::{Context, Counter, Metadata, Row};
use quiver_table::directory::Home;
use quiver_table::{Directory, Inserted, KeyedHash, Reference};

use quiver_session_events::{Kind, Reason};

use crate::events::{Ended, Subject};
use crate::key::Key;
use crate::record::{Direction, Identity, OWNED_MAX, Record, Records, State, Status};
use crate::second::{Seconds, reference};
use crate::shard::Shard;
use crate::tenant::{TenantCounters, TenantRow};
use crate::timeouts::{EMBRYONIC, seconds};

/// Ticks of a second.
pub const TICKS: u32 = 100;
/// Nanoseconds of a tick.
const TICK_NS: u64 = 1_000_000_000 / TICKS as u64;

/// The mark of a packet: the session that it belongs to, and the next service of its chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mark {
    /// Index of the record on the worker that owns the session, which processes the packet.
    pub index: u32,
    /// Generation of the record.
    pub generation: u32,
    /// Direction of the packet.
    pub direction: Direction,
    /// Position of the next service in the chain.
    pub position: u8,
    /// Whether the packet is an ICMP error about a packet of the session.
    pub is_error: bool,
    /// Whether the session began with this packet.
    pub is_first: bool,
}

impl Mark {
    /// The mark of a packet of a session with this record, by whether the packet's source is the higher end.
    #[inline(always)]
    pub(crate) fn of(index: u32, identity: Identity, is_from_high: bool) -> Mark {
        let direction = Direction::reverse(is_from_high != identity.is_from_high());
        let generation = identity.generation();
        Mark { index, generation, direction, position: 0, is_first: false, is_error: false }
    }
}

/// The bit of [`Mark::is_first`].
const FIRST: u64 = 1 << 29;
/// The bit of [`Mark::is_error`].
const ERROR: u64 = 1 << 30;

impl Metadata for Mark {
    #[inline(always)]
    fn to_word(self) -> u64 {
        let Mark { index, generation, direction, position, is_first, is_error } = self;
        let lower = u64::from(index) | u64::from(direction as u8) << 24 | u64::from(position) << 25;
        let flags = if is_first { FIRST } else { 0 } | if is_error { ERROR } else { 0 };
        lower | flags | u64::from(generation) << 32
    }
    #[inline(always)]
    fn of_word(word: u64) -> Mark {
        let direction = Direction::reverse(word & 1 << 24 != 0);
        Mark {
            index: word as u32 & (OWNED_MAX as u32 - 1),
            generation: (word >> 32) as u32,
            direction,
            position: (word >> 25) as u8 & 0xf,
            is_first: word & FIRST != 0,
            is_error: word & ERROR != 0,
        }
    }
}

/// Records and timers of a worker.
#[repr(align(128))]
pub struct Owned {
    /// Records of its sessions.
    pub records: Records,
    /// For this worker alone.
    shard: AtomicRefCell<Shard>,
    /// Sessions that have begun, that have ended, and that of these gave way to others, by the slot of their tenant.
    created: Arc<Row<Counter>>,
    removed: Arc<Row<Counter>>,
    evicted: Arc<Row<Counter>>,
    /// Nanoseconds by which control's clock is ahead of the worker's: that of a test, for instance.
    lead: AtomicU64,
    /// Nanoseconds by which the worker's time is ahead of control's clock.
    difference: AtomicU64,
}

impl Owned {
    /// The part that only the worker itself touches.
    ///
    /// # Panics
    /// If it is borrowed already: a programming error.
    pub(crate) fn shard(&self) -> atomic_refcell::AtomicRefMut<'_, Shard> {
        self.shard.borrow_mut()
    }
    /// Sets how far control's clock is ahead of the worker's since the first round, and by which number of nanoseconds both differ, when
    /// they say `now` and `said`.
    pub(crate) fn set_lead(&self, lead: u64, (now, said): (u64, u64)) {
        self.lead.store(lead, Relaxed);
        self.difference.store(now.wrapping_add(lead).wrapping_sub(said), Relaxed);
    }
    /// The worker's time, when control's clock says `now`.
    pub(crate) fn time_of_control(&self, now: u64) -> Time {
        Time(now.wrapping_add(self.difference.load(Relaxed)) / TICK_NS)
    }
    /// The worker's time, when its engine's clock says `now`.
    #[inline(always)]
    pub(crate) fn time(&self, now: u64) -> Time {
        Time(now.wrapping_add(self.lead.load(Relaxed)) / TICK_NS)
    }
}

/// A worker's time in ticks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Time(u64);

impl Time {
    /// Its lower 32 bits: a time that comes round after 497 days.
    #[inline(always)]
    pub fn ticks(self) -> u32 {
        self.0 as u32
    }
    /// The interval of this length in ticks that it is in.
    pub fn interval(self, length: u32) -> u32 {
        (self.0 / u64::from(length)) as u32
    }
    /// How long it takes until the next interval begins.
    pub fn until_next(self, length: u32) -> Duration {
        Duration::from_nanos((u64::from(length) - self.0 % u64::from(length)) * TICK_NS)
    }
    /// The interval that begins after a number of ticks.
    pub fn interval_after(self, ticks: u32, length: u32) -> u32 {
        (self.0 + u64::from(ticks)).div_ceil(u64::from(length)) as u32
    }
}

/// Where a packet's session is, or why there is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Found {
    /// On this worker: a session that was there, or a new one.
    Here(u32),
    /// Another worker owns it.
    There(Reference),
    /// There are as many sessions as there may be, and none gives way.
    Full,
    /// The tenant has as many as it may have.
    Quota,
}

impl Found {
    /// Why a packet is denied that found no session.
    pub(crate) fn reason(self) -> Reason {
        if self == Found::Quota { Reason::Quota } else { Reason::TableFull }
    }
}

/// All sessions.
pub struct Sessions {
    directory: Directory,
    hash: KeyedHash,
    owned: Box<[Owned]>,
    counters: TenantCounters,
    /// Second keys, once a room translates.
    pub(crate) seconds: OnceLock<Seconds>,
    /// Sessions there may be.
    most: usize,
    /// Ticks of an interval of the wheels.
    interval: u32,
}

impl Sessions {
    /// No sessions yet, and at most `most`, which are looked at in intervals of so many ticks. The secret keeps others from choosing
    /// addresses that share a bucket.
    ///
    /// # Errors
    /// If the system refuses the address space of the table.
    pub(crate) fn new(
        workers: usize,
        (most, interval): (usize, u32),
        secret: [u64; 4],
        counters: &TenantCounters,
    ) -> io::Result<Sessions> {
        let owned = |worker| {
            Ok(Owned {
                created: counters.created.row(worker),
                removed: counters.removed.row(worker),
                evicted: counters.evicted.row(worker),
                // Records rest for a while when sessions have ended.
                records: Records::new(most * 2)?,
                shard: AtomicRefCell::default(),
                lead: AtomicU64::new(0),
                difference: AtomicU64::new(0),
            })
        };
        Ok(Sessions {
            owned: (0..workers).map(owned).collect::<io::Result<_>>()?,
            directory: Directory::new(most)?,
            hash: KeyedHash::new(secret),
            counters: counters.clone(),
            seconds: OnceLock::new(),
            most,
            interval: interval.max(1),
        })
    }
    /// Records and timers of a worker.
    #[inline(always)]
    pub fn of(&self, worker: usize) -> Option<&Owned> {
        self.owned.get(worker)
    }
    /// Workers that can own sessions.
    pub fn workers(&self) -> usize {
        self.owned.len()
    }
    /// Sessions there may be.
    pub fn capacity(&self) -> usize {
        self.most
    }
    /// Sessions there are, roughly while workers change them.
    pub fn len(&self) -> usize {
        self.directory.len_of(self.owned.len())
    }
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
    /// Bytes of the directory and of all records.
    pub fn bytes(&self) -> usize {
        let seconds = self.seconds.get().map_or(0, Seconds::bytes);
        self.directory.bytes() + self.owned.iter().map(|owned| owned.records.bytes()).sum::<usize>() + seconds
    }
    /// Ticks of an interval of the wheels.
    pub fn interval(&self) -> u32 {
        self.interval
    }
    /// The hash of a key.
    #[inline(always)]
    pub(crate) fn hash(&self, key: &Key) -> u64 {
        key.hash(&self.hash)
    }
    /// The hash of a key of IPv4, by its words: addresses, ports with context, kind.
    #[inline(always)]
    pub(crate) fn hash_of(&self, words: &[u64; 3]) -> u64 {
        self.hash.hash(words)
    }
    /// The places that the directory has for a key, which are fetched.
    #[inline(always)]
    pub(crate) fn prefetch(&self, hash: u64) -> Home {
        self.directory.prefetch(hash)
    }
    /// The session that a key most likely has.
    #[inline(always)]
    pub(crate) fn candidate_of(&self, home: &Home) -> Option<Reference> {
        self.directory.candidate(home)
    }
    /// The same, whose record is fetched.
    #[inline(always)]
    pub(crate) fn candidate(&self, home: &Home) -> Option<Reference> {
        let candidate = self.candidate_of(home)?;
        quiver_engine::isa::prefetch(self.record(candidate)?);
        Some(candidate)
    }
    /// The record of a session.
    #[inline(always)]
    pub(crate) fn record(&self, reference: Reference) -> Option<&Record> {
        self.owned.get(usize::from(reference.owner))?.records.get(reference.index)
    }
    /// The session of a key, if there is one.
    pub(crate) fn find(&self, key: &Key, hash: u64) -> Option<Reference> {
        self.directory.find(hash, |reference| self.record(reference).is_some_and(|record| record.is(key, hash)))
    }
    /// Begins a session on a worker, unless another worker begins it in the same moment. `begun` hears of the only session of a worker.
    pub(crate) fn begin(
        &self,
        cx: &Context<'_>,
        (key, hash): (&Key, u64),
        (slot, tenant): (u16, &TenantRow),
        is_from_high: bool,
        begun: &Outbox<()>,
    ) -> Found {
        let Some(owned) = self.of(cx.worker) else { return Found::Full };
        let (mut shard, now) = (owned.shard(), owned.time(cx.now));
        if tenant.sessions_max != 0 && self.counters.live(slot) >= tenant.sessions_max.into() {
            return Found::Quota;
        }
        if !self.has_room(&mut shard, (cx.worker, owned), (hash, now)) {
            return Found::Full;
        }
        let Some(index) = shard.take((self.capacity() * 2).min(OWNED_MAX) as u32) else { return Found::Full };
        let Some(record) = owned.records.allocate(index) else {
            shard.put_back(index);
            return Found::Full;
        };
        record.begin(key, hash, (slot, is_from_high), now.ticks());
        record.set_status(Status { state: State::Embryonic, timeout: EMBRYONIC, flags: 0 });
        let new = reference(cx.worker, index);
        let is_same = |other| self.record(other).is_some_and(|other| other.is(key, hash));
        match self.directory.insert(hash, new, is_same) {
            Inserted::New => {
                let timeout = timeout_ticks(EMBRYONIC, tenant);
                shard.begun(index, now.interval_after(timeout, self.interval));
                owned.created.add(slot.into(), 1);
                if let Some(events) = &mut shard.events {
                    events.created(Subject { index, record, second: None }, tenant.id);
                }
                if shard.live() == 1 {
                    begun.send(());
                }
                Found::Here(index)
            }
            known => {
                record.end();
                shard.put_back(index);
                match known {
                    Inserted::Known(other) if usize::from(other.owner) == cx.worker => Found::Here(other.index),
                    Inserted::Known(other) => Found::There(other),
                    _ => Found::Full,
                }
            }
        }
    }
    /// Whether another session may begin on a worker. Where there are as many as there may be, one that has no answer yet, or whose
    /// connection is closed, gives way to it: under a flood, sessions that nobody answers live only as long as the table has room, and
    /// those that are established stay.
    ///
    /// Workers that begin sessions in the same moment may exceed the number by one each; and by a 64th in all those that have less than
    /// their share, until others have ended as many of theirs.
    fn has_room(&self, shard: &mut Shard, owner: (usize, &Owned), (hash, now): (u64, Time)) -> bool {
        let live = self.len();
        if live < self.most {
            return true;
        }
        let is_given_way = self.give_way(shard, owner, hash, now);
        if live > self.most && is_given_way {
            // The owner of more than its share makes up for others.
            self.give_way(shard, owner, hash.rotate_left(32), now);
        }
        let may_exceed = shard.live() < self.most / self.owned.len() && live < self.most + self.most / 64;
        is_given_way || may_exceed
    }
    /// Ends the longest unused one among some sessions of a worker that may give way. False if it found none.
    fn give_way(&self, shard: &mut Shard, (worker, owned): (usize, &Owned), hash: u64, now: Time) -> bool {
        /// Records that are looked at, until some of a group may give way.
        const GROUPS: u64 = 4;
        const LOOKS: u64 = 16;
        let used = u64::from(shard.used());
        let age = |index: u32| {
            let record = owned.records.get(index).filter(|record| record.identity().is_live())?;
            let gives_way = record.status().state != State::Established && !record.is_blocked();
            gives_way.then(|| (now.ticks().wrapping_sub(record.last_seen()), index))
        };
        // PERF: the keyed hash of the new session is random enough, and the misses of all looks are under way together.
        let index = |look: u64| (((hash.wrapping_mul(2 * look + 1) >> 32) * used) >> 32) as u32;
        let mut oldest = (0..GROUPS).map(|group| (group * LOOKS..(group + 1) * LOOKS).map(index).filter_map(age).max());
        let Some((_, index)) = oldest.find_map(|found| found) else { return false };
        if let Some(record) = owned.records.get(index) {
            owned.evicted.add(record.identity().tenant().into(), 1);
        }
        self.end(owned, shard, (worker, index), (Reason::Evicted, now.ticks()));
        true
    }
    /// A session of a worker, for its event.
    pub(crate) fn subject<'a>(&self, record: &'a Record, (worker, index): (usize, u32)) -> Subject<'a> {
        let second = self.seconds.get().and_then(|seconds| seconds.get(worker, index));
        Subject { index, record, second }
    }
    /// Ends a session of a worker: for this worker.
    pub(crate) fn end(&self, owned: &Owned, shard: &mut Shard, (worker, index): (usize, u32), ended: Ended) {
        let Some(record) = owned.records.get(index) else { return };
        let Some(key) = record.key() else { return };
        if let Some(events) = &mut shard.events {
            events.tell(Kind::Closed, self.subject(record, (worker, index)), ended);
        }
        owned.removed.add(record.identity().tenant().into(), 1);
        self.directory.remove(self.hash(&key), reference(worker, index));
        if let Some(seconds) = self.seconds.get() {
            seconds.end((worker, index), &key);
        }
        record.end();
        shard.ended(index);
    }
}

/// Ticks without packets after which a session ends; half of those that come round at most.
fn timeout_ticks(timeout: u8, tenant: &TenantRow) -> u32 {
    seconds(timeout, &tenant.timeouts).saturating_mul(TICKS).min(i32::MAX as u32)
}

/// Ticks since the last packet of a session.
pub(crate) fn idle(record: &Record, ticks: u32) -> u32 {
    let passed = ticks.wrapping_sub(record.last_seen());
    // A packet may have come since the time was read.
    if passed > i32::MAX as u32 { 0 } else { passed }
}

/// Ticks until a session ends if no packet comes; None if its time has passed.
pub(crate) fn remaining(record: &Record, tenant: &TenantRow, ticks: u32) -> Option<u32> {
    let timeout = timeout_ticks(record.status().timeout, tenant);
    timeout.checked_sub(idle(record, ticks)).filter(|left| *left > 0)
}

/// The sessions, once an interface has any; workers read it.
pub type Shared = Option<Arc<Sessions>>;
