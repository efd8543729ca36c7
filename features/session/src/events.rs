//! Events of sessions, as workers write them: into a ring that exporters read ([`quiver_session_events`]).
//!
//! Without events, a session's begin and end cost a branch each. Only `exporters` makes rings.

use std::sync::Arc;

use quiver_engine::stats::memory::Memory;
use quiver_engine::{Counter, Row};
use quiver_session_events::ring::{Size, Writer};
use quiver_session_events::{self as events, Event, Kind, Reason};

use crate::key::{End, Key};
use crate::record::{Direction, OWNED_MAX, Record};
use crate::second::{INSIDE_HIGH, Second};

/// A ring of all workers.
pub(crate) struct Ring {
    /// Its memory.
    pub memory: Memory,
    /// Its size.
    pub size: Size,
    /// Its number.
    pub instance: u64,
    /// Ticks between updates of a session; None for no updates.
    pub update: Option<u32>,
}

/// Counters of events: index 0 of each worker's row.
#[derive(Clone)]
pub(crate) struct Written {
    /// Events.
    pub events: Arc<Row<Counter>>,
    /// Denials that were left out.
    pub left_out: Arc<Row<Counter>>,
}

/// Where a worker writes its events.
pub(crate) struct Log {
    ring: Arc<Ring>,
    worker: usize,
    writer: Writer,
    /// Numbers of tenants, by slot.
    tenants: Vec<u32>,
    /// The last tick with a denial, and the denials of that tick.
    denied: (u32, u32),
    written: Written,
}

/// The end of a session: reason, and ticks of its worker's clock.
pub(crate) type Ended = (Reason, u32);

/// A session of a worker, for its event.
#[derive(Clone, Copy)]
pub(crate) struct Subject<'a> {
    /// Index of its record.
    pub index: u32,
    /// Its record.
    pub record: &'a Record,
    /// Its second.
    pub second: Option<Second>,
}

impl Log {
    /// A worker's log, with the numbers of the tenants that there are, by slot.
    pub fn new(ring: Arc<Ring>, worker: usize, tenants: Vec<u32>, written: Written) -> Log {
        let writer = Writer::new(ring.size, worker);
        Log { ring, worker, writer, tenants, denied: (0, 0), written }
    }
    /// Number of the worker.
    pub fn worker(&self) -> usize {
        self.worker
    }
    /// Notes the date in milliseconds since 1970, and the worker's ticks then.
    pub fn set_time(&mut self, time: (u64, u32)) {
        self.writer.set_time(self.ring.memory.words(), time);
    }
    fn write(&mut self, event: &Event) {
        self.writer.write(self.ring.memory.words(), event);
        self.written.events.add(0, 1);
    }
    fn tenant(&self, slot: u16) -> u32 {
        self.tenants.get(usize::from(slot)).copied().unwrap_or_default()
    }
    /// A session has begun, of the tenant with this number.
    pub fn created(&mut self, subject: Subject<'_>, tenant: u32) {
        let slot = usize::from(subject.record.identity().tenant());
        if self.tenants.len() <= slot {
            self.tenants.resize(slot + 1, 0);
        }
        self.tenants[slot] = tenant;
        self.tell(Kind::Created, subject, (Reason::None, subject.record.begun()));
    }
    /// Tells of a session's traffic if updates are told and one is due. Returns the ticks until the next one.
    pub fn update(&mut self, subject: Subject<'_>, ticks: u32) -> Option<u32> {
        let period = self.ring.update?;
        let (record, since) = (subject.record, subject.record.since_told(ticks));
        if since < period {
            return Some(period - since);
        }
        record.set_told(ticks);
        self.tell(Kind::Updated, subject, (Reason::None, ticks));
        Some(period)
    }
    /// Tells of a session.
    pub fn tell(&mut self, kind: Kind, subject: Subject<'_>, (reason, time): Ended) {
        let Subject { index, record, second } = subject;
        let Some(key) = record.key() else { return };
        let identity = record.identity();
        let number = (self.worker * OWNED_MAX) as u64 | u64::from(index);
        let traffic = Direction::ALL.map(|direction| record.traffic(direction));
        let event = Event {
            kind,
            reason,
            session: u64::from(identity.generation()) << 32 | number,
            tenant: self.tenant(identity.tenant()),
            time,
            begun: record.begun(),
            last: record.last_seen(),
            packets: traffic.map(|(packets, _)| packets),
            bytes: traffic.map(|(_, bytes)| bytes),
            translation: second.map(|second| translation(&second, identity.is_from_high())),
            ..of_key(&key, identity.is_from_high())
        };
        self.write(&event);
    }
    /// A packet with this key began no session.
    pub fn denied(&mut self, (key, is_from_high): (&Key, bool), tenant: u32, (reason, time): Ended) {
        /// Denials of a worker in a tick, that is 1,000 in a second: a flood would overwrite all other events.
        const DENIALS: u32 = 10;
        let so_far = if self.denied.0 == time { self.denied.1 } else { 0 };
        self.denied = (time, so_far.saturating_add(1));
        if so_far >= DENIALS {
            self.written.left_out.add(0, 1);
            return;
        }
        let event =
            Event { kind: Kind::Denied, reason, tenant, time, begun: time, last: time, ..of_key(key, is_from_high) };
        self.write(&event);
    }
}

/// An event with what a key has.
fn of_key(key: &Key, is_from_high: bool) -> Event {
    let end = |end: End| events::End { address: end.address, port: end.port };
    let (low, high) = (end(key.low()), end(key.high()));
    Event {
        kind: Kind::Created,
        reason: Reason::None,
        session: 0,
        tenant: 0,
        context: key.context(),
        protocol: key.protocol(),
        is_ip6: key.is_ip6(),
        ends: if is_from_high { [high, low] } else { [low, high] },
        time: 0,
        begun: 0,
        last: 0,
        packets: [0; 2],
        bytes: [0; 2],
        translation: None,
    }
}

fn translation(second: &Second, is_from_high: bool) -> events::Translation {
    let end = |end: crate::second::Ip4End| events::event::Ip4End { address: end.address.into(), port: end.port };
    events::Translation {
        is_outbound: is_from_high == (second.flags & INSIDE_HIGH != 0),
        outside: end(second.key.near),
        peer: end(second.key.far),
    }
}
