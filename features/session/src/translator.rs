//! Searches of rooms that translate, for all packets of a frame at once; and where a packet of a known session goes.
//!
//! This is the fast way, for packets of TCP and UDP over IPv4 whose session belongs to this worker. Each hash is computed once, and the
//! misses of a frame are under way together: [`Translator::first`] or [`Translator::second`] fetches the directory's lines,
//! [`Translator::approach`] the session's, and [`Translator::found`] compares keys. Other packets, and those that it does not find, are
//! looked for by [`translation`](crate::translation), one after the other.

use quiver_engine::isa::prefetch;
use quiver_table::directory::Home;
use quiver_table::{Cells, Reference};
use quiver_wire::IpProtocol;

use crate::key::{Ends4, Format, kind, ports_word};
use crate::node::pass::{Known, Packet, Work};
use crate::record::{Direction, Records};
use crate::second::{INSIDE_HIGH, Line, Seconds};
use crate::sessions::{Mark, Sessions};

/// The index of no record.
const NOWHERE: u32 = u32::MAX;

/// Tables of a worker's sessions that have second keys.
pub struct Translator<'a> {
    sessions: &'a Sessions,
    seconds: &'a Seconds,
    records: &'a Records,
    lines: &'a Cells<Line>,
    worker: u8,
}

/// The key of a packet that is searched for.
#[derive(Clone, Copy)]
pub struct Search {
    /// Addresses, ports with context, and protocol with format, as records and seconds have them.
    words: [u64; 3],
    home: Home,
    /// Index of the session that most likely has the key.
    candidate: u32,
    is_second: bool,
    is_from_high: bool,
}

impl Search {
    /// Finds nothing.
    pub const NONE: Search =
        Search { words: [0; 3], home: Home::NONE, candidate: NOWHERE, is_second: false, is_from_high: false };

    /// IP protocol number.
    #[inline(always)]
    pub fn protocol(&self) -> u8 {
        self.words[2] as u8
    }
    /// Whether the packet comes from the side of first keys.
    #[inline(always)]
    pub fn is_from_inside(&self) -> bool {
        !self.is_second
    }
}

/// A packet's translation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Translation {
    /// Its ends afterwards.
    pub ends: Ends4,
    /// Flags of the session's second.
    pub flags: u16,
    /// Note of the session's second.
    pub note: u32,
    /// Whether the packet comes from the side of the first key.
    pub is_from_inside: bool,
    /// Whether the session was begun from that side.
    pub is_outbound: bool,
}

impl<'a> Work<'a> {
    /// The tables of this worker; None until a room translates.
    pub fn translator(&self) -> Option<Translator<'a>> {
        let (sessions, worker) = (self.sessions, self.worker);
        let seconds = sessions.seconds.get()?;
        let lines = seconds.lines_of(worker)?;
        Some(Translator { sessions, seconds, records: &self.owned.records, lines, worker: worker as u8 })
    }
}

impl<'a> Translator<'a> {
    /// Begins the search for a packet from the inside: by the first key.
    #[inline(always)]
    pub fn first(&self, ends: Ends4, context: u32, (protocol, format): (IpProtocol, Format)) -> Search {
        let (ends, is_from_high) = ends.in_order();
        let words = [ends.addresses, ports_word(ends.ports, context), kind(protocol.0, format)];
        let home = self.sessions.prefetch(self.sessions.hash_of(&words));
        Search { words, home, candidate: NOWHERE, is_second: false, is_from_high }
    }
    /// Begins the search for a packet from the outside: by the second key.
    #[inline(always)]
    pub fn second(&self, ends: Ends4, context: u32, protocol: IpProtocol) -> Search {
        let words = [ends.addresses, ports_word(ends.ports, context), protocol.0.into()];
        let home = self.seconds.prefetch_words(&words);
        Search { words, home, candidate: NOWHERE, is_second: true, is_from_high: false }
    }
    /// Goes on once the directory is near: fetches record and second.
    #[inline(always)]
    pub fn approach(&self, search: &mut Search) {
        let candidate = match search.is_second {
            true => self.seconds.candidate(&search.home),
            false => self.sessions.candidate_of(&search.home),
        };
        let Some(Reference { index, .. }) = candidate.filter(|candidate| candidate.owner == self.worker) else {
            return;
        };
        if let (Some(record), Some(line)) = (self.records.get(index), self.lines.get(index as usize)) {
            prefetch(record);
            prefetch(line);
            search.candidate = index;
        }
    }
    /// The session of a packet. None if it is elsewhere, if there is none, or if the packet comes from the wrong side.
    #[inline(always)]
    pub fn found(&self, search: &Search) -> Option<Known<'a>> {
        let Search { words, candidate: index, is_second, is_from_high, .. } = search;
        let (record, line) = (self.records.get(*index)?, self.lines.get(*index as usize)?);
        let (identity, rest) = (record.identity(), line.rest());
        let is_inside_high = rest.has(INSIDE_HIGH);
        let is_found = match is_second {
            true => line.has_words(words) && identity.is_live(),
            false => record.has_words(words) && rest.is_live() && *is_from_high == is_inside_high,
        };
        let mark = Mark::of(*index, identity, is_inside_high != *is_second);
        is_found.then_some(Known { record, mark })
    }
    /// The translation of a packet. None if its session has no second, or no first key of IPv4.
    #[inline(always)]
    pub fn translation(&self, packet: &Packet<'_>) -> Option<Translation> {
        let (identity, line) = (packet.record.identity(), self.lines.get(packet.mark.index() as usize)?);
        let rest = line.rest();
        if !rest.is_live() || !identity.format()?.is_ip4() {
            return None;
        }
        let is_inside_high = rest.has(INSIDE_HIGH);
        let is_outbound = identity.is_from_high() == is_inside_high;
        let is_from_inside = (packet.mark.direction() == Direction::Forward) == is_outbound;
        // A second key is that of packets from the outside. The host is the higher end of a first one, or the lower.
        let ends = match is_from_inside {
            true => line.ends().exchanged_if(true),
            false => packet.record.ends4().exchanged_if(!is_inside_high),
        };
        Some(Translation { ends, flags: rest.flags(), note: rest.note(), is_from_inside, is_outbound })
    }
}
