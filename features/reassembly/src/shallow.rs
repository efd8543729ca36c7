//! `ip4-sv-reassembly-feature`, `ip6-sv-reassembly-feature`: shallow reassembly. Fragments go on as they are, but with a note of
//! the ports that their first one says, so that whoever chooses by ports behind this node treats them alike.
//!
//! Parts that come before the first wait for it. What is remembered of a packet ends a while after its last part. At the limit
//! of packets the one that was quiet for longest is forgotten: nobody can tell that all parts of a packet went through. Parts of
//! protocols that have no ports wait for nothing.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};

use quiver_engine::channel::Outbox;
use quiver_engine::{Context, Flags, Frame, Node, Packet, Snapshot, arcs};
use quiver_ip::Ingress;
use quiver_ip::upper::Upper;

use crate::config::Settings;
use crate::family::Reassembled;
use crate::owner::{Key, key, owner};
use crate::patience::{Ahead, Ends, Gauge};

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
    }
}

/// A packet of which parts have come.
struct Known {
    /// What its first part says, once it has come.
    upper: Option<Upper>,
    /// The parts that wait for it.
    waiting: Vec<Packet>,
    /// When the last part came, in nanoseconds, and its place in the order of all.
    heard: u64,
    place: u64,
}

/// The node.
pub struct Shallow<F: Reassembled> {
    ingress: Snapshot<Ingress<F>>,
    settings: Snapshot<Settings>,
    /// Workers that may have parts.
    workers: usize,
    /// Parts that wait at most.
    most: usize,
    waits: Outbox<()>,
    known: HashMap<Key<F>, Known>,
    /// Which of them was heard last: the latest at the end.
    order: BTreeMap<u64, Key<F>>,
    /// Parts that wait, and the next place in the order.
    waiting: usize,
    next: u64,
    count: Gauge,
    ahead: Ahead,
}

impl<F: Reassembled> Ends for Shallow<F> {
    fn end(&mut self, now: u64) -> bool {
        self.ahead.say(now);
        !self.known.is_empty()
    }
}

impl<F: Reassembled> Shallow<F> {
    /// A node that knows nothing yet; `most` parts wait at most.
    pub fn new(
        (ingress, settings): (Snapshot<Ingress<F>>, Snapshot<Settings>),
        (workers, most): (usize, usize),
        waits: Outbox<()>,
        count: Gauge,
    ) -> Shallow<F> {
        let (known, order) = (HashMap::new(), BTreeMap::new());
        Shallow {
            ingress,
            settings,
            workers,
            most,
            waits,
            known,
            order,
            waiting: 0,
            next: 0,
            count,
            ahead: Ahead::default(),
        }
    }
    /// Forgets a packet; what waited for its first part is dropped.
    fn forget(&mut self, cx: &mut Context, key: Key<F>, reason: Next) {
        let Some(known) = self.known.remove(&key) else { return };
        self.order.remove(&known.place);
        self.waiting -= known.waiting.len();
        known.waiting.into_iter().for_each(|packet| cx.emit(reason, packet));
    }
    /// The packets that were quiet for too long.
    fn give_up(&mut self, cx: &mut Context, patience: u64) {
        let now = self.ahead.now(cx.now);
        while let Some((_, key)) = self.order.first_key_value() {
            let (key, heard) = (*key, self.known.get(key).map_or(0, |known| known.heard));
            if now.saturating_sub(heard) < patience {
                return;
            }
            self.forget(cx, key, Next::TimedOut);
        }
    }
    /// What is known of a packet, of which another part has come.
    fn hear(&mut self, cx: &mut Context, key: Key<F>, settings: &Settings) -> Option<&mut Known> {
        if settings.packets == 0 {
            return None;
        }
        let (now, place) = (self.ahead.now(cx.now), self.next);
        self.next += 1;
        if !self.known.contains_key(&key) {
            while self.known.len() >= settings.packets {
                let (_, eldest) = self.order.first_key_value()?;
                self.forget(cx, *eldest, Next::Full);
            }
            if self.known.is_empty() {
                // Where control has no room, it has been told already.
                self.waits.send(());
            }
        }
        let known = self.known.entry(key).or_insert(Known { upper: None, waiting: vec![], heard: now, place });
        self.order.remove(&known.place);
        (known.heard, known.place) = (now, place);
        self.order.insert(place, key);
        Some(known)
    }
    /// Where the packet of a row goes; None if it waits, or another worker has it now.
    fn follow(&mut self, cx: &mut Context, frame: &mut Frame, i: usize, settings: &Settings) -> Option<Next> {
        let bytes: Cow<'_, [u8]> = match frame.flags(i).has(Flags::CHAINED) {
            true => frame.segments(cx.pool, i).flatten().copied().collect(),
            false => frame.bytes(cx.pool, i).into(),
        };
        let Some(part) = F::part(&bytes).filter(|part| part.more || part.offset > 0) else { return Some(Next::Pass) };
        if !F::may_have_ports(part.payload) {
            return Some(Next::Pass);
        }
        let is_first = part.offset == 0;
        let upper = if is_first { Upper::of::<F>(&bytes) } else { None };
        if is_first && upper.is_none() {
            // RFC 8200, 4.5: the first one says what there is to say.
            return Some(Next::Cut);
        }
        let Some(key) = key(self.ingress.read(cx.guard), frame.rx[i], &bytes, &part) else { return Some(Next::Pass) };
        let owner = owner::<F>(&key, self.workers);
        if owner != cx.worker && settings.connected {
            return if cx.hand_off(frame, i, owner, Next::Here) { None } else { Some(Next::Busy) };
        }
        let patience = settings.patience.as_nanos() as u64;
        let now = self.ahead.now(cx.now);
        if self.known.get(&key).is_some_and(|known| now.saturating_sub(known.heard) >= patience) {
            self.forget(cx, key, Next::TimedOut);
        }
        let (most, waiting) = (self.most, self.waiting);
        let Some(known) = self.hear(cx, key, settings) else { return Some(Next::Full) };
        if is_first {
            known.upper = upper;
            let ready = std::mem::take(&mut known.waiting);
            self.waiting -= ready.len();
            let Some(note) = upper.map(Upper::to_note) else { return Some(Next::Pass) };
            for mut packet in ready {
                packet.set_note(cx.pool, note);
                cx.emit(Next::Pass, packet);
            }
            // Behind those that came before it, as they came.
            return leave(cx, frame, i);
        }
        match known.upper {
            Some(upper) => {
                frame.set_note(cx.pool, i, upper.to_note());
                leave(cx, frame, i)
            }
            None if known.waiting.len() >= settings.fragments => Some(Next::TooMany),
            None if waiting >= most => Some(Next::Full),
            None => {
                known.waiting.extend(frame.take(cx.pool, i));
                self.waiting += 1;
                None
            }
        }
    }
}

/// Lets a row go on behind what was let go before it: emitted packets come behind the rows of a frame.
fn leave(cx: &mut Context, frame: &mut Frame, i: usize) -> Option<Next> {
    if let Some(packet) = frame.take(cx.pool, i) {
        cx.emit(Next::Pass, packet);
    }
    None
}

impl<F: Reassembled> Node for Shallow<F> {
    fn process(&mut self, cx: &mut Context, frame: &mut Frame) {
        let settings = self.settings.clone();
        let settings = settings.read(cx.guard);
        if self.ahead.hears(cx.now) {
            self.give_up(cx, settings.patience.as_nanos() as u64);
        }
        for i in 0..frame.len() {
            if let Some(next) = self.follow(cx, frame, i, settings) {
                frame.next[i] = next.into();
            }
        }
        self.count.set(self.known.len());
    }
}
