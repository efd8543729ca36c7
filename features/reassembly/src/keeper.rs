//! The node around either kind of reassembly: which worker has the parts of a packet, for how long it waits for others, and
//! how many it has.

use quiver_engine::channel::Outbox;
use quiver_engine::{Context, Frame, Node, Snapshot};
use quiver_ip::Ingress;

use crate::ahead::Ahead;
use crate::config::Settings;
use crate::counted::Gauge;
use crate::family::{Part, Reassembled};
use crate::owner::{Key, key, owner};

/// What a worker keeps of packets of which parts have come.
pub(crate) trait Parts: Send + 'static {
    /// The packets'.
    type Family: Reassembled;
    /// Where this node's arcs lead.
    type Next: Into<u16>;
    /// The arc back to this node, at another worker; and that of what has no room on the way there.
    const HANDED: (Self::Next, Self::Next);
    /// Where the packet of a row goes; None if it is kept, or another worker has it now.
    fn follow(
        &mut self,
        desk: &Desk<'_, Self::Family>,
        cx: &mut Context,
        frame: &mut Frame,
        i: usize,
    ) -> Option<Self::Next>;
    /// In a rehearsal, takes over what a worker has of the packets that are worked on, as far as that is needed; how many more
    /// packets it has.
    fn recall(&mut self, _: &Desk<'_, Self::Family>, _: &mut Context, _: &Frame) -> usize {
        0
    }
    /// Ends what has waited for too long.
    fn give_up(&mut self, cx: &mut Context, time: &Time);
    /// Packets of which it has something.
    fn len(&self) -> usize;
}

/// The time, and how long is waited.
pub(crate) struct Time {
    /// In nanoseconds.
    pub now: u64,
    patience: u64,
}

impl Time {
    /// Whether what was so at a time has been so for too long.
    pub fn is_over(&self, since: u64) -> bool {
        self.now.saturating_sub(since) >= self.patience
    }
}

/// What the parts of a frame are looked at with.
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
    ahead: Ahead,
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
        Keeper { ingress, settings, workers, waits, count, ahead: Ahead::default(), parts }
    }
    /// What a worker keeps, and the time there when its engine's clock says `now`.
    pub(crate) fn look(&self, now: u64, settings: &Settings) -> (&P, Time) {
        (&self.parts, self.time(now, settings))
    }
    fn time(&self, now: u64, settings: &Settings) -> Time {
        Time { now: self.ahead.now(now), patience: settings.patience.as_nanos() as u64 }
    }
    /// Ends the wait of what has waited for too long, in this turn; control's clock says `now`. False if nothing waits any more.
    pub(crate) fn end(&mut self, now: u64) -> bool {
        self.ahead.say(now);
        self.parts.len() > 0
    }
}

impl<P: Parts> Node for Keeper<P> {
    fn process(&mut self, cx: &mut Context, frame: &mut Frame) {
        let settings = self.settings.read(cx.guard);
        let is_asked = self.ahead.hears(cx.now);
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
            if let Some(next) = self.parts.follow(&desk, cx, frame, i) {
                frame.next[i] = next.into();
            }
        }
        self.count.set(self.parts.len());
    }
}
