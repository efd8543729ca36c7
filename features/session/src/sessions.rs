//! All sessions: the directory, in which every worker finds them, and the records of each worker.

use std::fmt;
use std::io;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use atomic_refcell::AtomicRefCell;
use quiver_engine::{Counter, Metadata, Row};
use quiver_table::directory::Home;
use quiver_table::{Cells, Directory, KeyedHash, Reference};

use quiver_session_events::{Kind, Reason};

use crate::cookies::proxy::Proxies;
use crate::events::{Ended, Subject};
use crate::key::Key;
use crate::metrics;
use crate::pressure::Left;
use crate::record::{Direction, Identity, OWNED_MAX, Record, Records, State};
use crate::second::{Seconds, reference};
use crate::shard::Shard;
use crate::sources::{Source, Sources};
use crate::tenant::{TenantCounters, TenantRow};
use crate::windows::Windows;

mod begin;

/// Ticks of a second.
pub const TICKS: u32 = 100;
/// Nanoseconds of a tick.
const TICK_NS: u64 = 1_000_000_000 / TICKS as u64;

/// The mark of a packet: the session that it belongs to, and the next service of its chain. A word: the index of the record on the worker
/// that owns the session, which processes the packet, 24 bits; direction 1, position 4, whether the session began with the packet 1, whether the packet is
/// an ICMP error about one of the session 1, from bit 24 on; the generation of the record 32 bits.
///
/// PERF: the word is what packets carry, so that each service reads the parts that it needs.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Mark(u64);

/// The lowest bits of the mark's parts.
const DIRECTION: u32 = 24;
const POSITION: u32 = 25;
const FIRST: u64 = 1 << 29;
const ERROR: u64 = 1 << 30;
/// Positions there are.
const POSITIONS: u64 = 0xf;

impl Mark {
    /// The mark of a packet at the beginning of its chain.
    #[inline(always)]
    pub(crate) fn new(index: u32, generation: u32, direction: Direction) -> Mark {
        let index = index & (OWNED_MAX as u32 - 1);
        Mark(u64::from(index) | u64::from(direction as u8) << DIRECTION | u64::from(generation) << 32)
    }
    /// The mark of a packet of a session with this record, by whether the packet's source is the higher end.
    #[inline(always)]
    pub(crate) fn of(index: u32, identity: Identity, is_from_high: bool) -> Mark {
        Mark::new(index, identity.generation(), Direction::reverse(is_from_high != identity.is_from_high()))
    }
    /// The same of the packet that its session began with, or not.
    #[inline(always)]
    pub(crate) fn first(self, is_first: bool) -> Mark {
        self.with(FIRST, is_first)
    }
    /// The same of an ICMP error, or not.
    #[inline(always)]
    pub(crate) fn error(self, is_error: bool) -> Mark {
        self.with(ERROR, is_error)
    }
    #[inline(always)]
    fn with(self, bit: u64, is_set: bool) -> Mark {
        Mark(self.0 & !bit | if is_set { bit } else { 0 })
    }
    /// The same at a position of the chain, or at the last one there is.
    #[inline(always)]
    pub(crate) fn at(self, position: u8) -> Mark {
        let position = u64::from(position).min(POSITIONS);
        Mark(self.0 & !(POSITIONS << POSITION) | position << POSITION)
    }
    /// The same one position further on, if there is one.
    #[inline(always)]
    pub(crate) fn passed(self) -> Mark {
        let last = POSITIONS << POSITION;
        if self.0 & last == last { self } else { Mark(self.0 + (1 << POSITION)) }
    }
    /// Index of the record.
    #[inline(always)]
    pub fn index(self) -> u32 {
        self.0 as u32 & (OWNED_MAX as u32 - 1)
    }
    /// Generation of the record.
    #[inline(always)]
    pub fn generation(self) -> u32 {
        (self.0 >> 32) as u32
    }
    /// Direction of the packet.
    #[inline(always)]
    pub fn direction(self) -> Direction {
        Direction::reverse(self.0 >> DIRECTION & 1 != 0)
    }
    /// Position of the next service in the chain.
    #[inline(always)]
    pub fn position(self) -> u8 {
        (self.0 >> POSITION & POSITIONS) as u8
    }
    /// Whether the session began with the packet.
    #[inline(always)]
    pub fn is_first(self) -> bool {
        self.0 & FIRST != 0
    }
    /// Whether the packet is an ICMP error about a packet of the session.
    #[inline(always)]
    pub fn is_error(self) -> bool {
        self.0 & ERROR != 0
    }
}

impl fmt::Debug for Mark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Mark")
            .field("index", &self.index())
            .field("generation", &self.generation())
            .field("direction", &self.direction())
            .field("position", &self.position())
            .field("is_first", &self.is_first())
            .field("is_error", &self.is_error())
            .finish()
    }
}

impl Metadata for Mark {
    #[inline(always)]
    fn to_word(self) -> u64 {
        self.0
    }
    #[inline(always)]
    fn of_word(word: u64) -> Mark {
        Mark(word)
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
    /// Its sessions by state, and denials.
    pub(crate) metrics: metrics::Own,
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
    /// There are as many sessions as there may be, of all, of the tenant or of the source.
    Refused(Reason),
}

/// All sessions.
pub struct Sessions {
    directory: Directory,
    hash: KeyedHash,
    owned: Box<[Owned]>,
    counters: TenantCounters,
    /// Second keys, once a room translates.
    pub(crate) seconds: OnceLock<Seconds>,
    /// Sessions by their sources, once a tenant limits them.
    sources: OnceLock<Sources>,
    /// Windows of TCP connections by worker and record, once a tenant's checks are strict.
    windows: OnceLock<Box<[Cells<Windows>]>>,
    /// Connections behind SYN cookies, once a tenant sends any.
    pub(crate) proxies: OnceLock<Proxies>,
    /// Sessions there may be.
    most: usize,
    /// Sessions that the table keeps room for: with less, each new session makes one give way.
    margin: AtomicUsize,
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
                metrics: counters.metrics.of(worker),
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
            sources: OnceLock::new(),
            windows: OnceLock::new(),
            proxies: OnceLock::new(),
            most,
            margin: AtomicUsize::new(0),
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
    /// Sets how many sessions the table keeps room for.
    pub(crate) fn set_margin(&self, margin: usize) {
        self.margin.store(margin, Relaxed);
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
        let sources = self.sources.get().map_or(0, Sources::bytes);
        let windows = self.windows.get().map_or(0, |all| all.iter().map(Cells::bytes).sum());
        let proxies = self.proxies.get().map_or(0, Proxies::bytes);
        let records: usize = self.owned.iter().map(|owned| owned.records.bytes()).sum();
        self.directory.bytes() + records + seconds + sources + windows + proxies
    }
    /// Makes the table of windows, unless it is there.
    ///
    /// # Errors
    /// If the system refuses its address space.
    pub(crate) fn keep_windows(&self) -> io::Result<()> {
        if self.windows.get().is_none() {
            let most = (self.most * 2).min(OWNED_MAX);
            let windows = (0..self.workers()).map(|_| Cells::reserve(most, true)).collect::<io::Result<_>>()?;
            self.windows.get_or_init(|| windows);
        }
        Ok(())
    }
    /// The windows of a session of a worker: for this worker. None if no tenant's checks are strict, or the system has no memory.
    pub(crate) fn windows(&self, worker: usize, index: u32) -> Option<&Windows> {
        self.windows.get()?.get(worker)?.obtain(index as usize)
    }
    /// Makes the table of connections behind SYN cookies, unless it is there.
    ///
    /// # Errors
    /// If the system refuses its address space.
    pub(crate) fn keep_proxies(&self) -> io::Result<()> {
        if self.proxies.get().is_none() {
            let proxies = Proxies::new((self.workers(), self.most))?;
            self.proxies.get_or_init(|| proxies);
        }
        Ok(())
    }
    /// Sessions of the tenant in a slot that have no answer, roughly while workers change them.
    pub(crate) fn unanswered(&self, slot: u16) -> u64 {
        self.counters.metrics.live_in(slot, State::Embryonic)
    }
    /// Makes the table of sources, unless it is there.
    ///
    /// # Errors
    /// If the system refuses its address space.
    pub(crate) fn count_sources(&self, secret: [u64; 4]) -> io::Result<()> {
        if self.sources.get().is_none() {
            let sources = Sources::new((self.workers(), self.most), secret)?;
            self.sources.get_or_init(|| sources);
        }
        Ok(())
    }
    /// Shares of a tenant's timeouts that the present number of sessions leaves.
    #[inline(always)]
    pub(crate) fn left(&self, tenant: &TenantRow) -> Left {
        if tenant.watermarks.are_off() { Left::ALL } else { tenant.watermarks.left(self.len(), self.most) }
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
    /// Fetches the record of a session.
    #[inline(always)]
    pub(crate) fn prefetch_record(&self, reference: Reference) {
        self.record(reference).into_iter().for_each(quiver_engine::isa::prefetch);
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
        let slot = record.identity().tenant();
        owned.removed.add(slot.into(), 1);
        owned.metrics.ended(slot, record.status().state);
        self.directory.remove(self.hash(&key), reference(worker, index));
        let identity = record.identity();
        if let Some(sources) = self.sources.get().filter(|_| identity.is_counted()) {
            let source = Source::of(&key, (identity.tenant(), identity.is_from_high()));
            sources.leave((worker, &mut shard.sources), &source);
        }
        if let Some(seconds) = self.seconds.get() {
            seconds.end((worker, index), &key);
        }
        record.end();
        shard.ended(index);
    }
}

/// Ticks without packets after which a session ends; half of those that come round at most.
pub(crate) fn timeout_ticks(timeout: u8, tenant: &TenantRow) -> u32 {
    tenant.seconds(timeout).saturating_mul(TICKS).min(i32::MAX as u32)
}

/// Ticks since the last packet of a session.
pub(crate) fn idle(record: &Record, ticks: u32) -> u32 {
    let passed = ticks.wrapping_sub(record.last_seen());
    // A packet may have come since the time was read.
    if passed > i32::MAX as u32 { 0 } else { passed }
}

/// Ticks until a session ends if no packet comes, with what pressure leaves of its timeout; None if its time has passed.
pub(crate) fn remaining(record: &Record, (tenant, left): (&TenantRow, Left), ticks: u32) -> Option<u32> {
    let number = record.status().timeout;
    let timeout = left.of(number, timeout_ticks(number, tenant));
    timeout.checked_sub(idle(record, ticks)).filter(|left| *left > 0)
}

/// The sessions, once an interface has any; workers read it.
pub type Shared = Option<Arc<Sessions>>;
