//! Admission: sessions that let packets pass, of rooms such as access lists.
//!
//! Their packets keep their way: no service follows, and none is handed over. A worker that finds a packet's session lets it pass, notes
//! its time and, of TCP, the flags that it has seen, whichever worker owns the session. What only an owner may write, counters and
//! timers, is written where the packet comes to the owner.
//!
//! A room has a slot of its own ([`Tenants::add_own`](crate::tenant::Tenants::add_own)) and a format of keys of its own, so that no other
//! session meets its packets. Nodes search for the keys of a frame in three steps, so that the misses of all are under way together:
//! [`Sessions::search`], [`Sessions::approach`], [`Work::admits`]. For plain packets of IPv4, whose session belongs to the worker, there is a
//! shorter way: [`Work::search_plain`], [`Work::approach_plain`], [`Work::admits_plain`].

use std::io;

use quiver_control::Control;
use quiver_engine::Context;
use quiver_engine::channel::Outbox;
use quiver_table::Reference;
use quiver_table::directory::Home;
use quiver_wire::IpProtocol;

use crate::expiry::begin;
use crate::key::{Ends4, Format, Key, kind, ports_word};
use crate::node::pass::Work;
use crate::record::{Direction, Record, State, Status};
use crate::second::reference;
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

/// The index of no record.
const NOWHERE: u32 = u32::MAX;

/// A plain packet of IPv4 whose session is searched for among those of this worker.
#[derive(Clone, Copy)]
pub struct PlainSearch {
    /// As records have them: addresses, ports with context, kind.
    words: [u64; 3],
    home: Home,
    /// Index of the session that most likely has the key.
    candidate: u32,
    is_from_high: bool,
}

impl PlainSearch {
    /// Finds nothing.
    pub const NONE: PlainSearch =
        PlainSearch { words: [0; 3], home: Home::NONE, candidate: NOWHERE, is_from_high: false };
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
            let is_tcp = search.key.protocol() == IpProtocol::TCP.0;
            self.note((cx, self.ticks(cx)), session, (search.is_from_high, is_tcp, false), packet);
        }
        true
    }
    /// Begins the search for the session of a plain packet, by its ends in their order and whether the source is the higher one. The
    /// directory's lines are fetched.
    #[inline(always)]
    pub fn search_plain(
        &self,
        (ends, is_from_high): (Ends4, bool),
        context: u32,
        (protocol, format): (IpProtocol, Format),
    ) -> PlainSearch {
        let words = [ends.addresses, ports_word(ends.ports, context), kind(protocol.0, format)];
        let home = self.sessions.prefetch(self.sessions.hash_of(&words));
        PlainSearch { words, home, candidate: NOWHERE, is_from_high }
    }
    /// Goes on once the directory is near: fetches the record.
    #[inline(always)]
    pub fn approach_plain(&self, search: &mut PlainSearch) {
        let candidate = self.sessions.candidate_of(&search.home);
        let Some(own) = candidate.filter(|candidate| usize::from(candidate.owner) == self.worker) else { return };
        if let Some(record) = self.owned.records.get(own.index) {
            quiver_engine::isa::prefetch(record);
            search.candidate = own.index;
        }
    }
    /// Whether the packet of a search belongs to a session of this worker, which notes it. The time is that of [`Work::ticks`].
    #[inline(always)]
    pub fn admits_plain(&self, (cx, now): (&Context<'_>, u32), search: &PlainSearch, packet: Observed) -> bool {
        let PlainSearch { words, candidate: index, is_from_high, .. } = search;
        let found = self.owned.records.get(*index).filter(|record| record.has_words(words));
        let Some(record) = found else { return false };
        if !cx.is_rehearsal() {
            let is_tcp = words[2] as u8 == IpProtocol::TCP.0;
            let at = reference(self.worker, *index);
            self.note((cx, now), (at, record), (*is_from_high, is_tcp, false), packet);
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
            let is_tcp = search.key.protocol() == IpProtocol::TCP.0;
            self.note((cx, self.ticks(cx)), (at, record), (search.is_from_high, is_tcp, is_first), packet);
        }
        true
    }
    /// Notes a packet of a session, which has begun with it or before.
    #[inline(always)]
    fn note(
        &self,
        (cx, now): (&Context<'_>, u32),
        (at, record): (Reference, &Record),
        (is_from_high, is_tcp, is_first): (bool, bool, bool),
        packet: Observed,
    ) {
        let (identity, is_own) = (record.identity(), usize::from(at.owner) == cx.worker);
        let direction = Direction::reverse(is_from_high != identity.is_from_high());
        match is_own {
            true => record.touch(direction, packet.length, now),
            false => record.prolong(now),
        }
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
