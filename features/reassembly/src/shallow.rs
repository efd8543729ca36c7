//! `ip4-sv-reassembly-feature`, `ip6-sv-reassembly-feature`: shallow reassembly. Fragments go on as they are, but with a note of
//! the ports that their first one says, so that whoever chooses by ports behind this node treats them alike.
//!
//! Parts that come before the first wait for it. What is remembered of a packet ends a while after its last part. At the limit
//! of packets the one that was quiet for longest is forgotten: nobody can tell that all parts of a packet went through. Parts of
//! protocols that have no ports wait for nothing.
//!
//! A part that overlaps the first one is dropped: what was decided by the ports in that one would not hold of what the receiver puts
//! together (RFC 3128; RFC 5722, 4).
//!
//! Extended, all parts wait until the first and the last one have come: of a packet that has no end nothing goes on.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use quiver_engine::{Context, Counter, Flags, Frame, MetadataKey, Packet, Row, arcs};
use quiver_ip::upper::Upper;

use crate::config::Settings;
use crate::family::Reassembled;
use crate::keeper::{Desk, Keeper, Parts, Time};
use crate::owner::Key;

arcs! {
    /// Where packets go from here.
    pub enum Next of F: Reassembled {
        Pass => next_feature,
        Here => node (F::SHALLOW),
        TooMany => drop "too-many-fragments",
        Full => drop "reassembly-full",
        TimedOut => drop "reassembly-timeout",
        Busy => drop "handoff-full",
        Cut => drop "bad-fragment-length",
        Overlap => drop "overlapping-fragments",
    }
}

/// A packet of which parts have come.
struct Known {
    /// Ports of its first fragment, once that has arrived.
    upper: Option<Upper>,
    /// Bytes of the payload in the first fragment; 0 until that has arrived.
    reach: usize,
    /// Whether its last fragment has arrived.
    ended: bool,
    /// Whether a fragment was dropped because too many waited.
    is_too_long: bool,
    /// The waiting fragments, each with its offset in the payload.
    waiting: Vec<(usize, Packet)>,
    /// Time in nanoseconds when a fragment last arrived, and the packet's place in the order of all.
    heard: u64,
    place: u64,
}

/// The packets that are known.
pub struct Shallow<F: Reassembled> {
    /// Parts that wait at most.
    most: usize,
    /// By which ports are kept with parts.
    upper: MetadataKey<Upper>,
    known: HashMap<Key<F>, Known>,
    /// Which of them was heard last: the latest at the end.
    order: BTreeMap<u64, Key<F>>,
    /// Parts that wait, and the next place in the order.
    waiting: usize,
    next: u64,
    /// Packets of which too many parts waited.
    too_many: Arc<Row<Counter>>,
}

/// Verdict on a fragment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    /// It is forwarded with these ports.
    Goes(Upper),
    /// It waits for another fragment.
    Waits,
    /// It cannot wait, for want of room.
    Leaves(Next),
}

/// Content of fragments, as far as it decides.
#[derive(Clone, Copy)]
struct Said {
    /// Ports of the first fragment, if it has arrived.
    upper: Option<Upper>,
    /// Bytes of the payload in the first fragment; 0 if it has not arrived.
    reach: usize,
    /// Whether the last fragment has arrived.
    ended: bool,
}
impl Said {
    /// Merges with the known state.
    fn with(self, known: &Known) -> Said {
        let upper = self.upper.or(known.upper);
        Said { upper, reach: self.reach.max(known.reach), ended: self.ended || known.ended }
    }
}

/// Whether a part at this place of the payload, if it is not the first one, begins within that one.
fn overlaps(offset: usize, reach: usize) -> bool {
    offset > 0 && offset < reach
}

impl<F: Reassembled> Shallow<F> {
    /// Nothing is known yet; `most` parts wait at most, and have ports by this key when they go on. Counts packets of too many parts.
    pub fn new(most: usize, upper: MetadataKey<Upper>, too_many: Arc<Row<Counter>>) -> Shallow<F> {
        Shallow { most, upper, known: HashMap::new(), order: BTreeMap::new(), waiting: 0, next: 0, too_many }
    }
    /// Verdict on a fragment of a packet, by its offset in the payload.
    fn judge(&self, key: &Key<F>, (offset, said): (usize, Said), settings: &Settings, time: &Time) -> Verdict {
        if settings.packets == 0 {
            return Verdict::Leaves(Next::Full);
        }
        // What has been quiet for too long is forgotten before.
        let (known, gone) = match self.known.get(key) {
            Some(known) if time.is_over(known.heard) => (None, known.waiting.len()),
            known => (known, 0),
        };
        let said = known.map_or(said, |known| said.with(known));
        if overlaps(offset, said.reach) {
            return Verdict::Leaves(Next::Overlap);
        }
        match said.upper.filter(|_| said.ended || !settings.extended) {
            Some(upper) => Verdict::Goes(upper),
            None if known.map_or(0, |known| known.waiting.len()) >= settings.fragments => {
                Verdict::Leaves(Next::TooMany)
            }
            None if self.waiting - gone >= self.most => Verdict::Leaves(Next::Full),
            None => Verdict::Waits,
        }
    }
    /// The same. A rehearsal, which knows nothing, asks the worker.
    fn ask(&self, desk: &Desk<'_, F>, cx: &mut Context, key: Key<F>, part: (usize, Said)) -> Verdict {
        let settings = *desk.settings;
        let told = cx.recall(move |keeper: &mut Keeper<Shallow<F>>, now| {
            let (shallow, time) = keeper.look(now, &settings);
            shallow.judge(&key, part, &settings, &time)
        });
        told.unwrap_or_else(|| self.judge(&key, part, desk.settings, &desk.time))
    }
    /// Forgets a packet; what waited for its first part is dropped.
    fn forget(&mut self, cx: &mut Context, key: Key<F>, reason: Next) {
        let Some(known) = self.known.remove(&key) else { return };
        self.order.remove(&known.place);
        self.waiting -= known.waiting.len();
        known.waiting.into_iter().for_each(|(_, packet)| cx.emit(reason, packet));
    }
    /// State of a packet of which another fragment has arrived.
    fn hear(&mut self, cx: &mut Context, key: Key<F>, desk: &Desk<'_, F>) -> Option<&mut Known> {
        let most = desk.settings.packets;
        if most == 0 {
            return None;
        }
        let (now, place) = (desk.time.now, self.next);
        self.next += 1;
        if !self.known.contains_key(&key) {
            while self.known.len() >= most {
                let (_, eldest) = self.order.first_key_value()?;
                self.forget(cx, *eldest, Next::Full);
            }
            if self.known.is_empty() {
                desk.say_that_something_waits();
            }
        }
        let new = Known { upper: None, reach: 0, ended: false, is_too_long: false, waiting: vec![], heard: now, place };
        let known = self.known.entry(key).or_insert(new);
        self.order.remove(&known.place);
        (known.heard, known.place) = (now, place);
        self.order.insert(place, key);
        Some(known)
    }
}

impl<F: Reassembled> Parts for Shallow<F> {
    type Family = F;
    type Next = Next;
    const HANDED: (Next, Next) = (Next::Here, Next::Busy);

    #[inline(always)]
    fn passes(&self, packet: &[u8]) -> Option<Next> {
        F::is_no_fragment(packet).then_some(Next::Pass)
    }
    fn follow(&mut self, desk: &Desk<'_, F>, cx: &mut Context, frame: &mut Frame, i: usize) -> Option<Next> {
        let bytes: Cow<'_, [u8]> = match frame.flags(i).has(Flags::CHAINED) {
            true => {
                let mut whole = vec![];
                frame.gather(cx.pool, i, &mut whole);
                whole.into()
            }
            false => frame.bytes(cx.pool, i).into(),
        };
        let Some(part) = F::part(&bytes).filter(|part| part.more || part.offset > 0) else { return Some(Next::Pass) };
        if !F::may_have_ports(part.payload) {
            return Some(Next::Pass);
        }
        let (offset, is_first, is_last) = (part.offset, part.offset == 0, !part.more);
        let reach = if is_first { part.bytes.len() } else { 0 };
        let upper = if is_first { Upper::of::<F>(&bytes) } else { None };
        if is_first && upper.is_none() {
            // RFC 8200, 4.5: the first one says what there is to say.
            return Some(Next::Cut);
        }
        let Some(key) = desk.key(frame.rx[i], &bytes, &part) else { return Some(Next::Pass) };
        if let Some(handed) = desk.hand_over::<Self>(cx, frame, i, &key) {
            return handed;
        }
        let said = Said { upper, reach, ended: is_last };
        let verdict = self.ask(desk, cx, key, (offset, said));
        if self.known.get(&key).is_some_and(|known| desk.time.is_over(known.heard)) {
            self.forget(cx, key, Next::TimedOut);
        }
        let Some(known) = self.hear(cx, key, desk) else { return Some(Next::Full) };
        let said = said.with(known);
        // What a part says that is dropped is not said.
        if !matches!(verdict, Verdict::Leaves(_)) {
            (known.upper, known.reach, known.ended) = (said.upper, said.reach, said.ended);
        }
        match verdict {
            Verdict::Goes(upper) => {
                let ready = std::mem::take(&mut known.waiting);
                self.waiting -= ready.len();
                for (offset, mut packet) in ready {
                    packet.set_metadata(cx.pool, self.upper, upper);
                    cx.emit(if overlaps(offset, said.reach) { Next::Overlap } else { Next::Pass }, packet);
                }
                if !is_first {
                    frame.set_metadata(cx.pool, i, self.upper, upper);
                }
                // Behind those that came before it, as they came.
                leave(cx, frame, i)
            }
            Verdict::Leaves(next) => {
                if next == Next::TooMany && !std::mem::replace(&mut known.is_too_long, true) {
                    self.too_many.add(0, 1);
                }
                Some(next)
            }
            Verdict::Waits => {
                known.waiting.extend(frame.take(cx.pool, i).map(|packet| (offset, packet)));
                self.waiting += 1;
                None
            }
        }
    }
    fn give_up(&mut self, cx: &mut Context, time: &Time) {
        while let Some((_, key)) = self.order.first_key_value() {
            let (key, heard) = (*key, self.known.get(key).map_or(0, |known| known.heard));
            if !time.is_over(heard) {
                return;
            }
            self.forget(cx, key, Next::TimedOut);
        }
    }
    fn len(&self) -> usize {
        self.known.len()
    }
}

/// Lets a row go on behind what was let go before it: emitted packets come behind the rows of a frame.
fn leave(cx: &mut Context, frame: &mut Frame, i: usize) -> Option<Next> {
    if let Some(packet) = frame.take(cx.pool, i) {
        cx.emit(Next::Pass, packet);
    }
    None
}
