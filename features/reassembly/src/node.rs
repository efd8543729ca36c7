//! `ip4-reassembly`, `ip6-reassembly`: keep the fragments of packets for us until they are whole, and let these go to `ip4-local`
//! again. `ip4-full-reassembly-feature`, `ip6-full-reassembly-feature`: the same of all that an interface receives, where that is
//! enabled; whole packets go on there as if they had come so.
//!
//! The parts of a packet come together at one worker, to which the others hand them over. What it keeps is bounded in packets,
//! parts and bytes; at a limit new packets are dropped, and those that have begun go on.

use std::collections::HashMap;

use quiver_engine::{ArcSpec, Context, Flags, Frame, arcs};
use quiver_ip::{Family, Fault};

use crate::assembly::{Assembly, LONGEST, Refused};
use crate::family::{Part, Reassembled};
use crate::keeper::{Desk, Parts, Time};
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

/// Bytes of all parts that a worker keeps at most.
const BYTES_MAX: usize = 4 << 20;

/// Bytes of a packet's first part that are kept as they came, for who is told that the rest is missing: as many as the longest
/// message quotes (RFC 4443, 2.4 (c)).
const QUOTED_MAX: usize = 1280;

/// A packet that is not whole yet.
struct Begun {
    assembly: Assembly,
    /// What is in front of the payload, and the first part as it came.
    head: Option<Vec<u8>>,
    first: Vec<u8>,
    /// The interface that received the part that came first.
    rx: u16,
    /// Whether a part came in a frame for many.
    link_group: bool,
    /// When the first came, in nanoseconds.
    since: u64,
}

/// A whole packet.
struct Whole {
    bytes: Vec<u8>,
    rx: u16,
    link_group: bool,
}

/// What a fragment is, and where it came in.
struct Came<'a, F: Reassembled> {
    key: Key<F>,
    part: Part<'a>,
    packet: &'a [u8],
    rx: u16,
    link_group: bool,
}

/// The packets of a place that are not whole.
pub struct Reassembly<P: Place> {
    begun: HashMap<Key<P::Family>, Begun>,
    bytes: usize,
}

impl<P: Place> Default for Reassembly<P> {
    fn default() -> Reassembly<P> {
        Reassembly { begun: HashMap::new(), bytes: 0 }
    }
}

impl<P: Place> Reassembly<P> {
    /// Ends the wait for a packet: its sender is told if the first part has come (RFC 792; RFC 8200, 4.5). Of a packet of IPv4 for
    /// somebody else only the host that it is for speaks.
    fn give_one_up(&mut self, cx: &mut Context, key: Key<P::Family>) {
        let Some(begun) = self.begun.remove(&key) else { return };
        self.bytes -= begun.assembly.bytes();
        if begun.assembly.is_given_up() {
            return;
        }
        let Some(mut packet) = cx.pool.packet(&begun.first) else { return };
        packet.rx = begun.rx;
        packet.hop = Fault::REASSEMBLY.0;
        if begun.link_group {
            packet.set_link_group();
        }
        let is_told = begun.head.is_some() && (P::IS_LOCAL || P::Family::TELLS_FOR_OTHERS);
        cx.emit(if is_told { Next::Error } else { Next::TimedOut }, packet);
    }
    /// Where a fragment goes, and why its sender is told; the whole packet, if it is the last that was missing.
    fn take(&mut self, desk: &Desk<'_, P::Family>, came: Came<'_, P::Family>) -> (Next, Fault, Option<Whole>) {
        let settings = desk.settings;
        let nothing = Fault(0);
        let Came { key, ref part, packet, rx, link_group } = came;
        let Part { offset, more, ref head, bytes, pointers, .. } = *part;
        let wrong = |next, pointer| match P::Family::problem(pointer) {
            Some(fault) => (Next::Error, fault, None),
            None => (next, nothing, None),
        };
        // RFC 6946: the only fragment of a packet is the whole packet, whatever others of its number there are.
        if offset == 0 && !more {
            return match P::Family::whole(head, bytes) {
                Some(bytes) => (Next::Kept, nothing, Some(Whole { bytes, rx, link_group })),
                None => (Next::BadLength, nothing, None),
            };
        }
        if bytes.is_empty() {
            return (Next::BadLength, nothing, None);
        }
        // RFC 8200, 4.5: all but the last are whole units of eight bytes.
        if more && bytes.len() % 8 != 0 {
            return wrong(Next::BadLength, pointers.0);
        }
        if head.len() + offset + bytes.len() > LONGEST {
            return wrong(Next::TooLong, pointers.1);
        }
        if let Some(fault) = P::Family::incomplete(part) {
            return (Next::Error, fault, None);
        }
        let is_new = !self.begun.contains_key(&key);
        if self.bytes + bytes.len() > BYTES_MAX || (is_new && self.begun.len() >= settings.packets) {
            return (Next::Full, nothing, None);
        }
        if self.begun.is_empty() {
            desk.say_that_something_waits();
        }
        let quoted = || packet[..packet.len().min(QUOTED_MAX)].to_vec();
        let begun = self.begun.entry(key).or_insert_with(|| Begun {
            assembly: Assembly::default(),
            head: None,
            first: quoted(),
            rx,
            link_group,
            since: desk.time.now,
        });
        if offset == 0 {
            (begun.head, begun.first) = (Some(head.clone()), quoted());
        }
        begun.link_group |= link_group;
        let before = begun.assembly.bytes();
        let added = begun.assembly.add(offset, more, bytes, settings.fragments);
        self.bytes = self.bytes + begun.assembly.bytes() - before;
        match added {
            Ok(None) => (Next::Kept, nothing, None),
            Err(Refused::Overlap) => (Next::Overlap, nothing, None),
            Err(Refused::TooMany) => (Next::TooMany, nothing, None),
            Ok(Some(payload)) => {
                let whole = begun.head.as_ref().and_then(|head| P::Family::whole(head, &payload));
                let whole = whole.map(|bytes| Whole { bytes, rx: begun.rx, link_group: begun.link_group });
                self.bytes -= begun.assembly.bytes();
                self.begun.remove(&key);
                match whole {
                    Some(whole) => (Next::Kept, nothing, Some(whole)),
                    None => wrong(Next::TooLong, pointers.1),
                }
            }
        }
    }
}

impl<P: Place> Parts for Reassembly<P> {
    type Family = P::Family;
    type Next = Next;
    const HANDED: (Next, Next) = (Next::Here, Next::Busy);

    fn follow(&mut self, desk: &Desk<'_, P::Family>, cx: &mut Context, frame: &mut Frame, i: usize) -> Option<Next> {
        let packet: Vec<u8> = frame.segments(cx.pool, i).flatten().copied().collect();
        let Some(part) = P::Family::part(&packet) else {
            return Some(if P::IS_LOCAL { Next::BadLength } else { Next::Whole });
        };
        if P::IS_LOCAL && !desk.settings.local {
            return Some(Next::Full);
        }
        let (rx, link_group) = (frame.rx[i], frame.flags(i).has(Flags::LINK_GROUP));
        let key = desk.key(rx, &packet, &part)?;
        if let Some(handed) = desk.hand_over::<Self>(cx, frame, i, &key) {
            return handed;
        }
        if self.begun.get(&key).is_some_and(|begun| desk.time.is_over(begun.since)) {
            self.give_one_up(cx, key);
        }
        let (next, fault, whole) = self.take(desk, Came { key, part, packet: &packet, rx, link_group });
        frame.hop[i] = fault.0;
        let Some(whole) = whole else { return Some(next) };
        let Some(mut packet) = cx.pool.packet(&whole.bytes) else { return Some(Next::NoBuffers) };
        packet.rx = whole.rx;
        if whole.link_group {
            packet.set_link_group();
        }
        cx.emit(Next::Whole, packet);
        Some(next)
    }
    fn give_up(&mut self, cx: &mut Context, time: &Time) {
        // In an order that does not depend on the table's secret: the same packets give the same events.
        let over = self.begun.iter().filter(|(_, begun)| time.is_over(begun.since)).map(|(key, _)| *key);
        let mut over: Vec<Key<P::Family>> = over.collect();
        over.sort_unstable();
        over.into_iter().for_each(|key| self.give_one_up(cx, key));
    }
    fn len(&self) -> usize {
        self.begun.len()
    }
}
