//! `ip4-reassembly`, `ip6-reassembly`: keep the fragments of packets for us until they are whole, and let these go to `ip4-local`
//! again. `ip4-full-reassembly-feature`, `ip6-full-reassembly-feature`: the same of all that an interface receives, where that is
//! enabled; whole packets go on there as if they had come so.
//!
//! The parts of a packet come together at one worker, to which the others hand them over. What it keeps is bounded in packets,
//! parts and bytes; at a limit new packets are dropped, and those that have begun go on.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;

use quiver_engine::{ArcSpec, Context, Counter, Flags, Frame, Packet, Row, arcs};
use quiver_ip::{Family, Fault};

use crate::assembly::{Assembly, LONGEST, Refused};
use crate::family::{Part, Reassembled};
use crate::keeper::{Desk, Keeper, Parts, Time};
use crate::owner::Key;
use crate::place::Place;

arcs! {
    /// Where packets go from here.
    pub enum Next of P: Place {
        Whole => arc (P::WHOLE),
        Kept => done "kept",
        Here => node (P::NODE),
        Error => node (<P::Family as Family>::NAMES.error),
        Overlap => drop "overlapping-fragments",
        TooMany => drop "too-many-fragments",
        Full => drop "reassembly-full",
        TimedOut => drop "reassembly-timeout",
        NoBuffers => drop "no-buffers",
        Busy => drop "handoff-full",
        BadLength => drop "bad-fragment-length",
        TooLong => drop "reassembled-too-long",
    }
}

/// The arcs of a place: of IPv6 senders are told of what is too long.
pub(crate) const fn arcs_of<P: Place>() -> &'static [ArcSpec] {
    Next::arcs::<P>().split_at(P::Family::ARCS).0
}

/// Bytes of all parts that a worker keeps at most, with what it keeps of the headers in front of them.
const BYTES_MAX: usize = 4 << 20;

/// As many as this let no other packet begin: what is left is for those that have, so that nobody who begins many keeps them from
/// becoming whole.
const BYTES_FOR_NEW: usize = 3 << 20;

/// Bytes of a packet's first part that are kept as they came, for who is told that the rest is missing: as many as the longest
/// message quotes (RFC 4443, 2.4 (c)).
const QUOTED_MAX: usize = 1280;

/// A packet that is not whole yet.
#[derive(Clone)]
struct Begun {
    assembly: Assembly,
    /// The first part, or until that has come the one that came before all others: its place, and what is in front of it.
    place: usize,
    front: Vec<u8>,
    /// As [`Part::pointer`].
    pointer: usize,
    /// The interface that received the part that came first.
    rx: u32,
    /// Whether a part came in a frame for many.
    link_group: bool,
    /// When the first came, in nanoseconds.
    since: u64,
}

impl Begun {
    /// Bytes that are kept.
    fn bytes(&self) -> usize {
        self.front.len() + self.assembly.bytes()
    }
    /// Whether a part at this place comes in front of the one whose front is kept.
    fn begins_with(&self, offset: usize) -> bool {
        offset == 0 && self.place != 0
    }
}

/// A fragment, and the row in which it arrived.
struct Came<'a, F: Reassembled> {
    key: Key<F>,
    part: Part<'a>,
    frame: &'a Frame,
    i: usize,
}

impl<F: Reassembled> Came<'_, F> {
    fn rx(&self) -> u32 {
        self.frame.rx[self.i]
    }
    fn link_group(&self) -> bool {
        self.frame.flags(self.i).has(Flags::LINK_GROUP)
    }
    /// Sends the whole packet on, if there were buffers for it; what becomes of this fragment, its last one.
    fn emit(&self, cx: &mut Context, whole: Option<Packet>) -> Next {
        let Some(mut whole) = whole else { return Next::NoBuffers };
        self.frame.trace_on(cx.pool, self.i, &mut whole);
        cx.emit(Next::Whole, whole);
        Next::Kept
    }
}

/// A worker's state of a packet, for a rehearsal.
#[derive(Clone)]
struct Recalled {
    begun: Option<Begun>,
    /// Number of other packets, and the bytes of all.
    others: usize,
    bytes: usize,
}

/// The packets of a place that are not whole.
pub struct Reassembly<P: Place> {
    begun: HashMap<Key<P::Family>, Begun>,
    bytes: usize,
    /// Memory for the fragment at hand.
    fragment: Vec<u8>,
    /// Packets that were given up for their many parts.
    too_many: Arc<Row<Counter>>,
}

impl<P: Place> Reassembly<P> {
    /// Nothing has begun yet; counts packets of too many parts.
    pub fn new(too_many: Arc<Row<Counter>>) -> Reassembly<P> {
        Reassembly { begun: HashMap::new(), bytes: 0, fragment: vec![], too_many }
    }
    /// State of a packet at the arrival of another fragment, and of the others beside it. Expired state is left out.
    fn recalled(&self, key: &Key<P::Family>, time: &Time) -> Recalled {
        let known = self.begun.get(key);
        let (others, bytes) = (self.begun.len() - usize::from(known.is_some()), self.bytes);
        match known {
            Some(late) if time.is_over(late.since) => Recalled { begun: None, others, bytes: bytes - late.bytes() },
            known => Recalled { begun: known.cloned(), others, bytes },
        }
    }
    /// Ends the wait for a packet. Its sender gets an ICMP error if the first fragment has arrived (RFC 792; RFC 8200,
    /// 4.5). For forwarded IPv4 only the destination reports a reassembly timeout.
    fn give_one_up(&mut self, cx: &mut Context, begun: &Begun) {
        self.bytes -= begun.bytes();
        if begun.assembly.is_given_up() {
            return;
        }
        let front = begun.front.get(..QUOTED_MAX).unwrap_or(&begun.front);
        let bytes = begun.assembly.part_at(begun.place).unwrap_or_default();
        let bytes = bytes.get(..QUOTED_MAX - front.len()).unwrap_or(bytes);
        let Some(packet) = cx.pool.packet_of(&[front, bytes]) else { return };
        let mut packet = received(packet, begun.rx, begun.link_group);
        packet.hop = Fault::REASSEMBLY.0;
        let is_told = begun.place == 0 && (P::IS_LOCAL || P::Family::TELLS_FOR_OTHERS);
        cx.emit(if is_told { Next::Error } else { Next::TimedOut }, packet);
    }
    /// Where the packet of a row goes, whose bytes these are; None if another worker has it now.
    fn follow_bytes(
        &mut self,
        desk: &Desk<'_, P::Family>,
        cx: &mut Context,
        frame: &mut Frame,
        i: usize,
        packet: &[u8],
    ) -> Option<Next> {
        let Some(part) = P::Family::part(packet) else {
            return Some(if P::IS_LOCAL { Next::BadLength } else { Next::Whole });
        };
        if P::IS_LOCAL && !desk.settings.local {
            return Some(Next::Full);
        }
        let key = desk.key(frame.rx[i], packet, &part)?;
        if let Some(handed) = desk.hand_over::<Self>(cx, frame, i, &key) {
            return handed;
        }
        let (next, hop) = self.take(desk, cx, &Came { key, part, frame, i });
        frame.hop[i] = hop;
        Some(next)
    }
    /// Where a fragment goes, and why its sender is told; of one that is kept, how many parts are there with it, or 0 if the packet
    /// is whole. Emits the whole packet, if it is the last that was missing.
    fn take(&mut self, desk: &Desk<'_, P::Family>, cx: &mut Context, came: &Came<'_, P::Family>) -> (Next, u32) {
        let (settings, nothing) = (desk.settings, 0);
        let Came { key, part, .. } = came;
        let Part { offset, more, front, pointer, bytes, pointers, .. } = *part;
        let wrong = |next, pointer| match P::Family::problem(pointer) {
            Some(fault) => (Next::Error, fault.0),
            None => (next, nothing),
        };
        // RFC 6946: the only fragment of a packet is the whole packet, whatever others of its number there are.
        if offset == 0 && !more {
            let mut front = front.to_vec();
            if P::Family::complete(&mut front, pointer, bytes.len()).is_none() {
                return (Next::BadLength, nothing);
            }
            let whole = cx.pool.packet_of(&[&front, bytes]);
            let whole = whole.map(|whole| received(whole, came.rx(), came.link_group()));
            return (came.emit(cx, whole), nothing);
        }
        if bytes.is_empty() {
            return (Next::BadLength, nothing);
        }
        // RFC 8200, 4.5: all but the last are whole units of eight bytes.
        if more && bytes.len() % 8 != 0 {
            return wrong(Next::BadLength, pointers.0);
        }
        if front.len() - P::Family::UNCOUNTED + offset + bytes.len() > LONGEST {
            return wrong(Next::TooLong, pointers.1);
        }
        if let Some(fault) = P::Family::incomplete(part) {
            return (Next::Error, fault.0);
        }
        let mut others = self.begun.len();
        let known = match self.begun.entry(*key) {
            Entry::Occupied(late) if desk.time.is_over(late.get().since) => {
                let late = late.remove();
                self.give_one_up(cx, &late);
                others -= 1;
                self.begun.entry(*key)
            }
            known => known,
        };
        // What would be kept of its headers, and what they would take the place of.
        let (most, headers, others_headers) = match &known {
            Entry::Vacant(_) => (BYTES_FOR_NEW, front.len(), 0),
            Entry::Occupied(known) if known.get().begins_with(offset) => {
                (BYTES_MAX, front.len(), known.get().front.len())
            }
            Entry::Occupied(_) => (BYTES_MAX, 0, 0),
        };
        if self.bytes - others_headers + headers + bytes.len() > most {
            return (Next::Full, nothing);
        }
        let mut known = match known {
            Entry::Occupied(known) => known,
            Entry::Vacant(_) if others >= settings.packets => return (Next::Full, nothing),
            Entry::Vacant(new) => {
                if others == 0 {
                    desk.say_that_something_waits();
                }
                self.bytes += front.len();
                new.insert_entry(Begun {
                    assembly: Assembly::default(),
                    place: offset,
                    front: front.to_vec(),
                    pointer,
                    rx: came.rx(),
                    link_group: came.link_group(),
                    since: desk.time.now,
                })
            }
        };
        let begun = known.get_mut();
        let (before, was_given_up) = (begun.bytes(), begun.assembly.is_given_up());
        if begun.begins_with(offset) {
            (begun.place, begun.front, begun.pointer) = (0, front.to_vec(), pointer);
        }
        begun.link_group |= came.link_group();
        let added = begun.assembly.add(offset, more, bytes, settings.fragments);
        if added.is_err() {
            // Of what is given up nobody is told, so nothing is quoted.
            begun.front = vec![];
        }
        self.bytes = self.bytes + begun.bytes() - before;
        match added {
            Ok(None) => (Next::Kept, begun.assembly.parts() as u32),
            Err(Refused::Overlap) => (Next::Overlap, nothing),
            Err(Refused::TooMany) => {
                if !was_given_up {
                    self.too_many.add(0, 1);
                }
                (Next::TooMany, nothing)
            }
            Ok(Some(place)) => {
                let mut begun = known.remove();
                self.bytes -= begun.bytes();
                let total = begun.assembly.total().unwrap_or_default();
                if P::Family::complete(&mut begun.front, begun.pointer, total).is_none() {
                    return wrong(Next::TooLong, pointers.1);
                }
                let stretches = begun.assembly.stretches(place, bytes);
                let stretches: Vec<&[u8]> = [&begun.front[..]].into_iter().chain(stretches).collect();
                let whole = cx.pool.packet_of(&stretches).map(|whole| received(whole, begun.rx, begun.link_group));
                (came.emit(cx, whole), nothing)
            }
        }
    }
}

/// Has a packet be one that an interface received.
fn received(mut packet: Packet, rx: u32, link_group: bool) -> Packet {
    packet.rx = rx;
    if link_group {
        packet.set_link_group();
    }
    packet
}

impl<P: Place> Parts for Reassembly<P> {
    type Family = P::Family;
    type Next = Next;
    const HANDED: (Next, Next) = (Next::Here, Next::Busy);

    fn follow(&mut self, desk: &Desk<'_, P::Family>, cx: &mut Context, frame: &mut Frame, i: usize) -> Option<Next> {
        let mut packet = std::mem::take(&mut self.fragment);
        frame.gather(cx.pool, i, &mut packet);
        let next = self.follow_bytes(desk, cx, frame, i, &packet);
        self.fragment = packet;
        next
    }
    fn recall(&mut self, desk: &Desk<'_, P::Family>, cx: &mut Context, frame: &Frame) -> usize {
        let (mut packet, mut others) = (vec![], 0);
        for i in 0..frame.len() {
            frame.gather(cx.pool, i, &mut packet);
            let key = P::Family::part(&packet).and_then(|part| desk.key(frame.rx[i], &packet, &part));
            // What another worker has is asked for there.
            let Some(key) = key.filter(|key| desk.other_owner(cx, key).is_none()) else { continue };
            let settings = *desk.settings;
            let told = cx.recall(move |keeper: &mut Keeper<Reassembly<P>>, now| {
                let (this, time) = keeper.look(now, &settings);
                this.recalled(&key, &time)
            });
            let Some(told) = told else { continue };
            (others, self.bytes) = (told.others, told.bytes);
            // It is not over there, so it is not here, whatever this clock says.
            self.begun.extend(told.begun.map(|begun| (key, Begun { since: desk.time.now, ..begun })));
        }
        others
    }
    fn give_up(&mut self, cx: &mut Context, time: &Time) {
        // In an order that does not depend on the table's secret: the same packets give the same events.
        let over = self.begun.iter().filter(|(_, begun)| time.is_over(begun.since)).map(|(key, _)| *key);
        let mut over: Vec<Key<P::Family>> = over.collect();
        over.sort_unstable();
        for key in over {
            if let Some(begun) = self.begun.remove(&key) {
                self.give_one_up(cx, &begun);
            }
        }
    }
    fn len(&self) -> usize {
        self.begun.len()
    }
}
