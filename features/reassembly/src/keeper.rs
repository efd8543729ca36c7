//! The node around either kind of reassembly: which worker has the parts of a packet, for how long it waits for others, and
//! how many it has.

use quiver_engine::channel::Outbox;
use quiver_engine::{Context, Frame, Lead, Node, Snapshot};
use quiver_ip::Ingress;

use crate::config::Settings;
use crate::counted::Gauge;
use crate::family::{Part, Reassembled};
use crate::owner::{Key, key, owner};

/// A worker's state of packets whose fragments are arriving.
pub(crate) trait Parts: Send + 'static {
    /// Their family.
    type Family: Reassembled;
    /// Arcs of the node.
    type Next: Into<u16>;
    /// Arc back to this node on another worker, and drop arc for fragments that do not fit into that worker's queue.
    const HANDED: (Self::Next, Self::Next);
    /// The arc of a packet whose first bytes show that it is no fragment; None for packets that need [`follow`](Self::follow).
    #[inline(always)]
    fn passes(&self, _: &[u8]) -> Option<Self::Next> {
        None
    }
    /// Handles the packet of a row and returns its arc; None if it is kept, or handed to another worker.
    fn follow(
        &mut self,
        desk: &Desk<'_, Self::Family>,
        cx: &mut Context,
        frame: &mut Frame,
        i: usize,
    ) -> Option<Self::Next>;
    /// In a rehearsal, takes over the needed state of a worker for the frame's packets; returns the number of further
    /// packets it has.
    fn recall(&mut self, _: &Desk<'_, Self::Family>, _: &mut Context, _: &Frame) -> usize {
        0
    }
    /// Ends reassembly of expired packets.
    fn give_up(&mut self, cx: &mut Context, time: &Time);
    /// Number of packets in the state.
    fn len(&self) -> usize;
}

/// The time, and the timeout.
pub(crate) struct Time {
    /// In nanoseconds.
    pub now: u64,
    patience: u64,
}

impl Time {
    /// Whether the timeout has passed since a time.
    pub fn is_over(&self, since: u64) -> bool {
        self.now.saturating_sub(since) >= self.patience
    }
}

/// Context for handling the fragments of a frame.
pub(crate) struct Desk<'a, F: Reassembled> {
    ingress: &'a Ingress<F>,
    workers: usize,
    waits: &'a Outbox<()>,
    pub settings: &'a Settings,
    pub time: Time,
}

impl<F: Reassembled> Desk<'_, F> {
    /// The key of a fragment that an interface received.
    pub fn key(&self, rx: u32, packet: &[u8], part: &Part<'_>) -> Option<Key<F>> {
        key(self.ingress, rx, packet, part)
    }
    /// The worker that has the parts of a packet, if they are not where they are received.
    pub fn other_owner(&self, cx: &Context, key: &Key<F>) -> Option<usize> {
        let owner = owner::<F>(key, self.workers);
        (owner != cx.worker && self.settings.connected).then_some(owner)
    }
    /// Hands a row over to the worker that has the parts of its packet, if that is another one: then it is taken, or goes by an
    /// arc.
    pub fn hand_over<P: Parts<Family = F>>(
        &self,
        cx: &mut Context,
        frame: &mut Frame,
        i: usize,
        key: &Key<F>,
    ) -> Option<Option<P::Next>> {
        let owner = self.other_owner(cx, key)?;
        let (here, busy) = P::HANDED;
        Some(if cx.hand_off(frame, i, owner, here) { None } else { Some(busy) })
    }
    /// Tells control that something waits here, where nothing did. Where it has no room, it has been told already.
    pub fn say_that_something_waits(&self) {
        self.waits.send(());
    }
}

/// The node.
pub struct Keeper<P: Parts> {
    ingress: Snapshot<Ingress<P::Family>>,
    settings: Snapshot<Settings>,
    /// Workers that may have parts.
    workers: usize,
    waits: Outbox<()>,
    count: Gauge,
    lead: Lead,
    parts: P,
}

impl<P: Parts> Keeper<P> {
    /// A node that keeps nothing yet.
    pub(crate) fn new(
        (ingress, settings): (Snapshot<Ingress<P::Family>>, Snapshot<Settings>),
        workers: usize,
        waits: Outbox<()>,
        count: Gauge,
        parts: P,
    ) -> Keeper<P> {
        Keeper { ingress, settings, workers, waits, count, lead: Lead::default(), parts }
    }
    /// A worker's state, and the time there when its engine's clock says `now`.
    pub(crate) fn look(&self, now: u64, settings: &Settings) -> (&P, Time) {
        (&self.parts, self.time(now, settings))
    }
    fn time(&self, now: u64, settings: &Settings) -> Time {
        Time { now: self.lead.now(now), patience: settings.patience.as_nanos() as u64 }
    }
    /// Ends the wait of expired packets in this turn; control's clock says `now`. Returns false if no packet waits any
    /// more.
    pub(crate) fn end(&mut self, now: u64) -> bool {
        self.lead.say(now);
        self.parts.len() > 0
    }
}

impl<P: Parts> Node for Keeper<P> {
    fn process(&mut self, cx: &mut Context, frame: &mut Frame) {
        let settings = self.settings.read(cx.guard);
        let is_asked = self.lead.hears(cx.now);
        let time = self.time(cx.now, settings);
        let (ingress, workers, waits) = (self.ingress.read(cx.guard), self.workers, &self.waits);
        let desk = Desk { ingress, workers, waits, settings, time };
        if is_asked {
            self.parts.give_up(cx, &desk.time);
        }
        // A rehearsal's limits are what the worker's other packets leave of them.
        let left;
        let desk = match cx.is_rehearsal() {
            true => {
                let others = self.parts.recall(&desk, cx, frame);
                left = Settings { packets: settings.packets.saturating_sub(others), ..*settings };
                Desk { settings: &left, ..desk }
            }
            false => desk,
        };
        for i in 0..frame.len() {
            let passes = self.parts.passes(frame.bytes(cx.pool, i));
            if let Some(next) = passes.or_else(|| self.parts.follow(&desk, cx, frame, i)) {
                frame.next[i] = next.into();
            }
        }
        self.count.set(self.parts.len());
    }
}
