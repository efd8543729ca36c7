//! Translation: what rooms that translate packets, such as NAT, call.
//!
//! A room calls [`enable`] once. Its nodes find sessions by first and second keys, begin them, and pass packets on along their chains.

use std::io;

use quiver_control::Control;
use quiver_engine::channel::Outbox;
use quiver_engine::{Context, Frame};

use quiver_session_events::{Kind, Reason};

use crate::Parts;
use crate::expiry::begin;
use crate::key::Key;
use crate::node::pass::{Packet, Reads, Work};
use crate::record::{Direction, OWNED_MAX};
use crate::room::{Room, secret};
use crate::second::{Reference, Second, SecondKey, Seconds, reference};
use crate::sessions::{Found, Mark, Sessions, TICKS, idle};

/// Makes the tables of sessions and of their second keys, unless they are there. `ended` hears of sessions that end.
///
/// # Errors
/// If the system refuses the address space of the tables.
pub fn enable(control: &Control, ended: impl Fn(usize, &Key, &Second) + Send + Sync + 'static) -> io::Result<()> {
    begin(control)?;
    let sessions = control.room::<Room>().sessions();
    if let Some(sessions) = sessions {
        let limits = (sessions.workers(), sessions.capacity());
        if sessions.seconds.get().is_none() {
            let seconds = Seconds::new(limits, secret(), Box::new(ended))?;
            sessions.seconds.get_or_init(|| seconds);
        }
    }
    Ok(())
}

/// By this, a node tells that a worker's first session has begun.
pub fn begun(control: &Control) -> Outbox<()> {
    control.room::<Parts>().begun.clone()
}

/// A session that [`Work::begin_session`] has begun, or that was there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Begun {
    /// A new one, of this worker.
    New(Reference),
    /// Another one has the key.
    Known(Reference),
    /// There are as many sessions as there may be.
    Full,
}

/// A session by its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Session {
    /// Its place.
    pub at: Reference,
    /// Its key.
    pub key: Key,
    /// Whether its initiator is the higher end.
    pub is_from_high: bool,
    /// Its second.
    pub second: Second,
}

impl Sessions {
    /// The place of a worker's session.
    #[inline(always)]
    pub fn at(&self, worker: usize, index: u32) -> Reference {
        reference(worker, index)
    }
    /// A place where no session is: of those that would begin in a rehearsal.
    pub fn nowhere(&self, worker: usize) -> Reference {
        reference(worker, OWNED_MAX as u32 - 1)
    }
    /// Seconds since the last packet of a session, and its worker's time then in seconds; control's clock says `now`.
    pub fn idle(&self, now: u64, worker: usize, index: u32) -> Option<(u32, u32)> {
        let owned = self.of(worker)?;
        let record = owned.records.get(index)?;
        Some((idle(record, owned.time_of_control(now).ticks()) / TICKS, record.last_seen() / TICKS))
    }
    /// The second of a session, by the number of its worker and the index of its record; None of sessions without one.
    #[inline(always)]
    pub fn second(&self, worker: usize, index: u32) -> Option<Second> {
        self.seconds.get()?.get(worker, index)
    }
    /// The session of a second key.
    #[inline(always)]
    pub fn find_second(&self, key: &SecondKey) -> Option<Reference> {
        self.seconds.get()?.find(key)
    }
    /// Prefetches where the directory has a second key.
    #[inline(always)]
    pub fn prefetch_second(&self, key: &SecondKey) {
        if let Some(seconds) = self.seconds.get() {
            seconds.prefetch(key);
        }
    }
    /// The session of a first key.
    #[inline(always)]
    pub fn find_first(&self, key: &Key) -> Option<Reference> {
        self.find(key, self.hash(key))
    }
    /// Prefetches where the directory has a first key.
    #[inline(always)]
    pub fn prefetch_first(&self, key: &Key) {
        let _ = self.prefetch(self.hash(key));
    }
    /// The session at a place, if it has a second. It may belong to another worker.
    #[inline(always)]
    pub fn translated(&self, at: Reference) -> Option<Session> {
        let record = self.of(usize::from(at.owner))?.records.get(at.index)?;
        let (key, second) = (record.key()?, self.second(usize::from(at.owner), at.index)?);
        Some(Session { at, key, is_from_high: record.identity().is_from_high(), second })
    }
}

/// The mark of a packet of a session, by its direction. None if the session has ended.
#[inline(always)]
fn mark_at(sessions: &Sessions, at: Reference, direction: Direction) -> Option<Mark> {
    let identity = sessions.record(at)?.identity();
    identity.is_live().then(|| Mark::new(at.index, identity.generation(), direction))
}

impl Reads {
    /// Hands the packet of a row over to the worker of its session, where it leaves by `arc`, which leads to `sfdp-handoff`. False, and
    /// the row stays, if that worker does not keep up.
    pub fn hand_over(
        &self,
        (cx, frame, i): (&mut Context<'_>, &mut Frame, usize),
        sessions: &Sessions,
        (at, direction): (Reference, Direction),
        arc: impl Into<u16>,
    ) -> bool {
        let Some(mark) = mark_at(sessions, at, direction) else { return false };
        frame.set_metadata(cx.pool, i, self.mark, mark);
        cx.hand_off(frame, i, usize::from(at.owner), arc)
    }
    /// The mark of a row, if a node has given it one.
    #[inline(always)]
    pub fn mark_of(&self, cx: &Context<'_>, frame: &Frame, i: usize) -> Option<Mark> {
        frame.metadata(cx.pool, i, self.mark)
    }
}

impl<'a> Work<'a> {
    /// The packet of a row that belongs to a session of this worker.
    #[inline(always)]
    pub fn packet_at(
        &self,
        (at, direction): (Reference, Direction),
        (is_first, is_error): (bool, bool),
    ) -> Option<Packet<'a>> {
        let mark = mark_at(self.sessions, at, direction)?.first(is_first).error(is_error);
        Packet::of(self.owned, |slot| self.tenant(slot), mark)
    }
    /// Counts a packet, and notes its time.
    #[inline(always)]
    pub fn touch(&self, cx: &Context<'_>, packet: &Packet<'_>, length: u32) {
        packet.touch(length, self.ticks(cx));
    }
    /// Begins a session of this worker, of the tenant of a slot; `begun` hears of its first one.
    pub fn begin_session(
        &self,
        (cx, begun): (&Context<'_>, &Outbox<()>),
        (key, is_from_high): (&Key, bool),
        slot: u16,
    ) -> Begun {
        let Some(tenant) = self.rows.get(usize::from(slot)) else { return Begun::Full };
        let hash = self.sessions.hash(key);
        if let Some(known) = self.sessions.find(key, hash) {
            return Begun::Known(known);
        }
        match self.sessions.begin(cx, (key, hash), (slot, tenant), is_from_high, begun) {
            Found::Here(index) => Begun::New(reference(cx.worker, index)),
            Found::There(known) => Begun::Known(known),
            Found::Refused(_) => Begun::Full,
        }
    }
    /// Gives a session of this worker, which has none, a second. The session of another that has its key is the answer.
    ///
    /// # Errors
    /// None if there is no room.
    pub fn set_second(&self, at: Reference, second: &Second) -> Result<(), Option<Reference>> {
        self.sessions.seconds.get().ok_or(None)?.insert(at, second)?;
        self.tell(at.index, Kind::Translated);
        Ok(())
    }
    /// Ends a session of this worker that could not be completed.
    pub fn end_session(&self, at: Reference) {
        let time = self.owned.records.get(at.index).map_or(0, |record| record.last_seen());
        let place = (usize::from(at.owner), at.index);
        self.sessions.end(self.owned, &mut self.owned.shard(), place, (Reason::Incomplete, time));
    }
}
