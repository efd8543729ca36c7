//! A run: all connections of a generator, which its two queues share.

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::Relaxed};

use quiver_engine::thread::FineClock;

use crate::count::{Counts, Times};
use crate::list::{ToSend, Waiting};
use crate::load::{Load, Order, Side};
use crate::pace::Pace;
use crate::plan::{Places, Shuffle, Tuple};
use crate::profile::Transport;
use crate::record::{ACK, ACK_ALONE, AGAIN, FIN_SENT, FREE, OPEN, OPENING, PEER_FIN, QUEUED, Record, TIMED};
use crate::replay::Replay;
use crate::template::Template;
use crate::tuples::{Key, Tuples};

/// Timeouts are counted in 2^20 ns.
pub(crate) const TICK: u32 = 20;

/// Looks at all connections that wait.
#[derive(Debug, Default)]
struct Sweep {
    /// Connections that are still to be looked at.
    left: AtomicU32,
    /// When the next one begins.
    at: AtomicU64,
}

/// All connections of a generator. One worker changes it.
#[derive(Debug)]
pub struct Run {
    /// The order that it carries out.
    pub load: Load,
    /// The connections.
    pub records: Box<[Record]>,
    /// Its counts.
    pub counts: Counts,
    /// How long connections took.
    pub times: Times,
    pub(crate) places: Places,
    pub(crate) tuples: Option<Tuples>,
    pub(crate) template: Template,
    /// Flows of a capture that its connections are.
    pub(crate) replay: Option<Replay>,
    pub(crate) to_send: ToSend,
    pub(crate) waiting: Waiting,
    sweep: Sweep,
    pub(crate) pace: Pace,
    pub(crate) shuffle: Option<Shuffle>,
    pub(crate) open_max: u64,
    /// When the first connection was due, in nanoseconds of the engine's clock; `u64::MAX` before.
    pub(crate) start: AtomicU64,
    /// Number of the next attempt, modulo the connections there are.
    pub(crate) attempt: AtomicU32,
    /// Whether connections are still opened.
    pub(crate) is_opening: AtomicBool,
    clock: AtomicU64,
}

impl Run {
    /// A run over these records, which are as many as the plan has connections and new. Connections are flows of a capture if there
    /// is one.
    pub fn new(load: Load, records: Box<[Record]>, replay: Option<Replay>) -> Run {
        let places = Places::new(&load.plan);
        let count = places.count();
        let is_client = load.side == Side::Client;
        Run {
            tuples: (load.any_client && !is_client).then(|| Tuples::new(count)),
            template: Template::new(&load),
            pace: Pace { rate: load.rate, ramp: load.ramp, limit: load.limit },
            shuffle: (load.order == Order::Random).then(|| Shuffle::new(count, load.seed)),
            open_max: load.open_max(),
            counts: Counts::default(),
            times: Times::new(),
            places,
            replay,
            to_send: ToSend::default(),
            waiting: Waiting::default(),
            sweep: Sweep::default(),
            start: AtomicU64::new(u64::MAX),
            attempt: AtomicU32::new(0),
            is_opening: AtomicBool::new(is_client),
            clock: AtomicU64::new(0),
            records,
            load,
        }
    }
    /// Sets the clock of its worker.
    pub fn set_clock(&self, clock: FineClock) {
        self.clock.store(clock.to_bits(), Relaxed);
    }
    /// The moment in nanoseconds; `now` is that of the engine's clock.
    #[inline(always)]
    pub(crate) fn moment(&self, now: u64) -> u64 {
        FineClock::from_bits(self.clock.load(Relaxed)).read(now)
    }
    /// Opens no more connections; those that are open go on.
    pub fn stop(&self) {
        self.is_opening.store(false, Relaxed);
    }
    /// Whether connections are still opened.
    pub fn is_opening(&self) -> bool {
        self.is_opening.load(Relaxed)
    }
    /// Attempts that were due and not made.
    pub fn unsent(&self) -> u64 {
        self.counts.due.get().saturating_sub(self.counts.attempted.get())
    }
    #[inline(always)]
    pub(crate) fn is_client(&self) -> bool {
        self.load.side == Side::Client
    }
    #[inline(always)]
    pub(crate) fn has_tcp_headers(&self) -> bool {
        self.load.profile.transport == Transport::Tcp
    }
    /// Whether connections are of TCP and not flows of a capture, whatever their packets are.
    #[inline(always)]
    pub(crate) fn is_tcp(&self) -> bool {
        self.has_tcp_headers() && self.replay.is_none()
    }
    #[inline(always)]
    pub(crate) fn record(&self, id: u32) -> Option<&Record> {
        self.records.get(id as usize)
    }
    /// The tuple of packets that are sent.
    #[inline(always)]
    pub(crate) fn tuple(&self, id: u32, record: &Record) -> Tuple {
        match &self.tuples {
            None if self.is_client() => self.places.tuple(id),
            None => self.places.tuple(id).turned(),
            Some(_) => self.places.translated(record.address(), record.port(), record.host()).turned(),
        }
    }
    /// The connection that a received packet belongs to. A packet that `opens` one gets a new one where it has none.
    #[inline(always)]
    pub(crate) fn find(&self, tuple: &Tuple, opens: bool, now: u64) -> Option<u32> {
        let Some(tuples) = &self.tuples else {
            return self.places.find(&if self.is_client() { tuple.turned() } else { *tuple });
        };
        let host = self.places.server(tuple)?;
        let key = Key { address: tuple.source, port: tuple.source_port, host };
        let found = tuples.find(&self.records, &key);
        if found.is_some() || !opens { found } else { tuples.take(&self.records, &key, now) }
    }
    /// The initial sequence number of a connection: each time it is opened one that is higher.
    #[inline(always)]
    pub(crate) fn first(&self, id: u32, record: &Record) -> u32 {
        match self.is_tcp() {
            true => id.wrapping_mul(0x9e37_79b1).wrapping_add(u32::from(record.incarnation()) << 24),
            false => 0,
        }
    }
    /// Bytes of payload that have arrived, each once.
    #[inline(always)]
    pub(crate) fn received(&self, record: &Record) -> u32 {
        let fin = u32::from(record.has(PEER_FIN));
        record.expected().wrapping_sub(record.peer_first()).wrapping_sub(1 + fin)
    }
    /// Bytes of payload that are sent in all, as far as that is known by what has arrived.
    #[inline(always)]
    pub(crate) fn written(&self, record: &Record) -> u32 {
        let profile = &self.load.profile;
        let (asked, whole) = match self.is_client() {
            true => (profile.request, profile.response),
            false => (profile.response, profile.request),
        };
        if asked == 0 {
            return 0;
        }
        let rounds = match self.is_client() {
            _ if whole == 0 => profile.rounds,
            true if profile.rounds == 1 => 1,
            true => (self.received(record) / whole + 1).min(profile.rounds),
            false => (self.received(record) / whole).min(profile.rounds),
        };
        rounds * asked
    }
    /// Whether all that was asked for has arrived.
    #[inline(always)]
    pub(crate) fn is_answered(&self, record: &Record) -> bool {
        let profile = &self.load.profile;
        let whole = if self.is_client() { profile.response } else { profile.request };
        self.received(record) >= whole * profile.rounds
    }
    /// Whether the end may send its FIN, once all is written.
    #[inline(always)]
    pub(crate) fn may_close(&self, record: &Record) -> bool {
        if record.has(PEER_FIN) {
            return true;
        }
        let closes = self.is_client() && !self.load.stay && !self.load.profile.until_close;
        closes && self.is_answered(record)
    }

    /// Begins a connection in a record that has none.
    #[inline(always)]
    pub(crate) fn begin(&self, id: u32, record: &Record, now: u64) {
        let is_tcp = self.is_tcp();
        record.set_flags(record.flags() & (QUEUED | TIMED));
        record.set_incarnation(record.incarnation().wrapping_add(1));
        record.set_state(if is_tcp { OPENING } else { OPEN });
        record.set_tries(0);
        let first = self.first(id, record);
        // UDP has no numbers: these count bytes, from 1 on as behind a SYN.
        let next = if is_tcp { first } else { 1 };
        record.set_next(next);
        record.set_unacknowledged(next);
        record.set_peer_first(0);
        record.set_expected(if is_tcp { 0 } else { 1 });
        record.begin(now, record.host());
        if self.load.digest {
            record.set_checksum(0);
            record.set_blank(0);
        }
        let counts = &self.counts;
        counts.attempted.add(1);
        counts.open.add(1);
        if !is_tcp {
            counts.established.add(1);
        }
        if counts.first_at.get() == 0 {
            counts.first_at.set(now.max(1));
        }
    }
    /// Ends a connection: `has_closed` says whether as it should. Its numbers stay, for late packets.
    #[inline(always)]
    pub(crate) fn end(&self, record: &Record, now: u64, has_closed: bool) {
        record.set_state(FREE);
        self.counts.open.less();
        if has_closed {
            self.counts.closed.add(1);
            self.counts.last_at.set(now);
            self.times.completion.record(record.age(now));
        } else {
            self.counts.failed.add(1);
        }
    }
    /// Ends a connection if both ends have closed and nothing more is to be sent.
    #[inline(always)]
    pub(crate) fn end_if_over(&self, id: u32, record: &Record, now: u64) {
        if record.state() != OPEN || record.flags() & (ACK_ALONE | ACK) != 0 {
            return;
        }
        let profile = &self.load.profile;
        let is_over = match self.is_tcp() {
            true => record.has(FIN_SENT | PEER_FIN) && record.unacknowledged() == record.next(),
            false if self.replay.is_some() => {
                self.replay.as_ref().is_some_and(|replay| self.is_flow_over(replay, id, record))
            }
            false => {
                let sent = record.next().wrapping_sub(1);
                let all = if self.is_client() { profile.request } else { profile.response };
                !self.load.stay && sent == all * profile.rounds && self.is_answered(record)
            }
        };
        if is_over {
            self.end(record, now, true);
        }
    }
    /// Sets the moment at which the connection has waited long enough.
    #[inline(always)]
    pub(crate) fn wait(&self, id: u32, record: &Record, now: u64) {
        let timeout = ((u64::from(self.load.timeout) * 1_000_000) >> TICK).max(1) << record.tries().min(16);
        // A client over UDP waits longer than its server, so that no old connection of the server meets its next.
        let timeout = if self.is_tcp() || !self.is_client() { timeout } else { timeout * 4 };
        record.set_deadline(((now >> TICK) + timeout) as u32);
        self.waiting.push(&self.records, id);
    }
    /// Looks at connections that wait, a few at a time: at all of them once in half a timeout.
    pub(crate) fn look_at_waiting(&self, now: u64) {
        const AT_A_TIME: u32 = 256;
        let sweep = &self.sweep;
        if sweep.left.load(Relaxed) == 0 {
            if now < sweep.at.load(Relaxed) {
                return;
            }
            sweep.left.store(self.waiting.len(), Relaxed);
            sweep.at.store(now + u64::from(self.load.timeout) * 500_000, Relaxed);
        }
        let tick = (now >> TICK) as u32;
        let looks = sweep.left.load(Relaxed).min(AT_A_TIME);
        sweep.left.store(sweep.left.load(Relaxed) - looks, Relaxed);
        for _ in 0..looks {
            let Some(id) = self.waiting.pop(&self.records) else { return };
            let Some(record) = self.record(id).filter(|record| record.state() != FREE) else { continue };
            match record.deadline().wrapping_sub(tick) as i32 <= 0 {
                true => self.time_out(id, record, now),
                false if self.may_sleep(record) => {}
                false => self.waiting.push(&self.records, id),
            }
        }
    }
    /// The next time at which connections that wait are looked at.
    pub(crate) fn look_at(&self) -> u64 {
        match self.waiting.first() {
            Some(_) if self.sweep.left.load(Relaxed) > 0 => 0,
            Some(_) => self.sweep.at.load(Relaxed),
            None => u64::MAX,
        }
    }
    /// Whether nothing is awaited of a connection that is to stay open.
    fn may_sleep(&self, record: &Record) -> bool {
        self.load.stay && record.state() == OPEN && record.unacknowledged() == record.next() && self.is_answered(record)
    }
    fn time_out(&self, id: u32, record: &Record, now: u64) {
        if self.may_sleep(record) {
            return;
        }
        let tries = record.tries().saturating_add(1);
        let most = if self.is_tcp() { self.load.retries } else { 0 };
        if u32::from(tries) > most {
            return self.end(record, now, false);
        }
        record.set_tries(tries);
        // A server does not repeat its SYN-ACK: the client repeats its SYN, which each one answers.
        let is_again = record.unacknowledged() != record.next() && (self.is_client() || record.state() == OPEN);
        if is_again {
            record.clear(FIN_SENT);
            record.set(AGAIN);
            record.set_next(record.unacknowledged());
            self.to_send.push(&self.records, id);
        }
        self.wait(id, record, now);
    }
}
