//! Admission: sessions that let packets pass, of rooms such as access lists.
//!
//! Their packets keep their way: no service follows, and none is handed over. A worker that finds a packet's session lets it pass, notes
//! its time and, of TCP, the flags that it has seen, whichever worker owns the session. What only an owner may write, counters and
//! timers, is written where the packet comes to the owner.
//!
//! A room has a slot of its own ([`Tenants::add_own`](crate::tenant::Tenants::add_own)) and a format of keys of its own, so that no other
//! session meets its packets. Nodes search for the keys of a frame in three steps, so that the misses of all are under way together:
//! [`Sessions::search`], [`Sessions::approach`], [`Work::admits`].

use std::io;

use quiver_control::Control;
use quiver_engine::Context;
use quiver_engine::channel::Outbox;
use quiver_table::Reference;
use quiver_table::directory::Home;
use quiver_wire::IpProtocol;

use crate::expiry::begin;
use crate::key::Key;
use crate::node::pass::Work;
use crate::record::{Direction, Record, State, Status};
use crate::sessions::{Found, Sessions};
use crate::tcp::watched;
use crate::timeouts::ESTABLISHED;

/// Makes the table of sessions, unless it is there.
///
/// # Errors
/// If the system refuses the address space of the table.
pub fn enable(control: &Control) -> io::Result<()> {
    begin(control)
}

/// The key of a packet that is searched for.
#[derive(Clone, Copy)]
pub struct Search {
    key: Key,
    hash: u64,
    home: Home,
    /// The session that the key most likely has.
    candidate: Option<Reference>,
    is_from_high: bool,
}

/// The part of a packet that its session notes.
#[derive(Clone, Copy, Debug)]
pub struct Observed {
    /// Flags of TCP.
    pub tcp_flags: u8,
    /// Bytes.
    pub length: u32,
}

impl Sessions {
    /// Begins the search for a key; the packet's source is its higher end or not.
    #[inline(always)]
    pub fn search(&self, (key, is_from_high): (Key, bool)) -> Search {
        let hash = self.hash(&key);
        Search { key, hash, home: self.prefetch(hash), candidate: None, is_from_high }
    }
    /// Goes on once the directory is near: prefetches the record.
    #[inline(always)]
    pub fn approach(&self, search: &mut Search) {
        search.candidate = self.candidate_of(&search.home);
        search.candidate.into_iter().for_each(|candidate| self.prefetch_record(candidate));
    }
    fn found(&self, search: &Search) -> Option<(Reference, &Record)> {
        let Search { key, hash, candidate, .. } = search;
        let likely = candidate.and_then(|at| Some((at, self.record(at)?))).filter(|(_, record)| record.is(key, *hash));
        likely.or_else(|| self.find(key, *hash).and_then(|at| Some((at, self.record(at)?))))
    }
}

impl Work<'_> {
    /// Whether the packet of a search belongs to a session, which notes it.
    #[inline(always)]
    pub fn admits(&self, cx: &Context<'_>, search: &Search, packet: Observed) -> bool {
        let Some(session) = self.sessions.found(search) else { return false };
        if !cx.is_rehearsal() {
            self.note(cx, session, (search, false), packet);
        }
        true
    }
    /// Begins a session of this worker, of the tenant of a slot, by the packet of a search; `begun` hears of the worker's first one. False
    /// if there are as many sessions as there may be.
    pub fn begin_admission(
        &self,
        (cx, begun): (&Context<'_>, &Outbox<()>),
        search: &Search,
        slot: u16,
        packet: Observed,
    ) -> bool {
        let Some(tenant) = self.rows.get(usize::from(slot)) else { return false };
        let key = (&search.key, search.hash);
        // Another worker may have begun it in this moment.
        let found = self.sessions.begin(cx, key, (slot, tenant), search.is_from_high, begun);
        let (at, is_first) = match found {
            Found::Here(index) => (self.sessions.at(cx.worker, index), true),
            Found::There(at) => (at, false),
            Found::Refused(reason) => {
                self.denied(cx, (&search.key, search.is_from_high), slot, reason);
                return false;
            }
        };
        if let Some(record) = self.sessions.record(at) {
            self.note(cx, (at, record), (search, is_first), packet);
        }
        true
    }
    /// Notes a packet of a session, which has begun with it or before.
    #[inline(always)]
    fn note(
        &self,
        cx: &Context<'_>,
        (at, record): (Reference, &Record),
        (search, is_first): (&Search, bool),
        packet: Observed,
    ) {
        let (identity, is_own) = (record.identity(), usize::from(at.owner) == cx.worker);
        let direction = Direction::reverse(search.is_from_high != identity.is_from_high());
        match is_own {
            true => record.touch(direction, packet.length, self.ticks(cx)),
            false => record.prolong(self.ticks(cx)),
        }
        let is_tcp = search.key.protocol() == IpProtocol::TCP.0;
        let change = |status: Status| match is_tcp {
            true => watched(status, (direction, is_first), packet.tcp_flags),
            false if direction == Direction::Reverse => Status { state: State::Established, ..status },
            false => Status { timeout: ESTABLISHED, ..status },
        };
        let Some(before) = record.change(change).filter(|_| is_own) else { return };
        let Some(tenant) = self.rows.get(usize::from(identity.tenant())) else { return };
        // Another worker may have shortened its time before, and did not plan a look.
        if record.status().state == State::TimeWait {
            self.owned.shard().look_soon(at.index);
        }
        self.status_changed_at(at.index, tenant, (before, record.status()));
    }
}
