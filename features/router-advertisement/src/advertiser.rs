//! State of the interfaces that advertise, on the control thread.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use quiver_control::{Signal, Time};
use quiver_engine::Publisher;
use quiver_engine::graph::NodeId;
use quiver_interface::InterfaceId;

use crate::config::{AdvertisedPrefix, RouterAdvertisements};

/// Between two advertisements to all, and between two answers: MIN_DELAY_BETWEEN_RAS of RFC 4861, 10.
pub(crate) const APART: Duration = Duration::from_secs(3);

/// An interface that advertises, or may.
#[derive(Clone, Debug, Default)]
pub struct Advertiser {
    /// The configuration; none disables advertisements.
    pub config: Option<RouterAdvertisements>,
    /// Its prefixes, in the order in which they came.
    pub prefixes: Vec<AdvertisedPrefix>,
    /// The configuration that hosts were told last; none while we are no router to them.
    pub told: Option<RouterAdvertisements>,
    /// When all are told next.
    pub next: Option<Time>,
    /// When all were told last.
    pub last_multicast: Option<Time>,
    /// When a solicitation was answered last, since something was configured.
    pub last_answer: Option<Time>,
    /// Advertisements sent.
    pub sent: u32,
    /// Solicitations received.
    pub solicited: u32,
    /// Solicitations dropped because they came too soon after another one.
    pub dropped: u32,
    /// Number of initial advertisements still to send at the short interval.
    pub(crate) initial: u8,
}

impl Advertiser {
    /// Earliest time of the next multicast advertisement that is not before `at`.
    pub(crate) fn allowed(&self, at: Time) -> Time {
        self.last_multicast.map_or(at, |last| at.max(last + APART))
    }
}

/// All of them.
pub struct Advertisers {
    all: BTreeMap<InterfaceId, Advertiser>,
    due: BTreeSet<(Time, InterfaceId)>,
    /// Notified when something is due earlier.
    pub(crate) sooner: Signal,
    /// The node by which messages are sent.
    pub(crate) node: NodeId,
    advertising: Publisher<Vec<bool>>,
    /// Number of random times drawn.
    draws: u64,
}

impl Advertisers {
    pub(crate) fn new(node: NodeId, advertising: Publisher<Vec<bool>>) -> Advertisers {
        let (all, due, sooner) = (BTreeMap::new(), BTreeSet::new(), Signal::new());
        Advertisers { all, due, sooner, node, advertising, draws: 0 }
    }
    /// State of an interface.
    pub fn get(&self, id: InterfaceId) -> Option<&Advertiser> {
        self.all.get(&id)
    }
    /// The interfaces of which something is known.
    pub(crate) fn ids(&self) -> Vec<InterfaceId> {
        self.all.keys().copied().collect()
    }
    /// The same, to change.
    pub(crate) fn of(&mut self, id: InterfaceId) -> &mut Advertiser {
        self.all.entry(id).or_default()
    }
    /// Forgets an interface that is gone.
    pub(crate) fn forget(&mut self, id: InterfaceId) {
        self.schedule(id, None);
        self.all.remove(&id);
        self.publish();
    }
    /// Tells all on a link then, and not when that was to be before.
    pub(crate) fn schedule(&mut self, id: InterfaceId, at: Option<Time>) {
        let Some(own) = self.all.get_mut(&id) else { return };
        if let Some(before) = std::mem::replace(&mut own.next, at) {
            self.due.remove(&(before, id));
        }
        if let Some(at) = at {
            self.due.insert((at, id));
            self.sooner.notify();
        }
    }
    /// The first interface whose advertisement is due, and when.
    pub(crate) fn first(&self) -> Option<(Time, InterfaceId)> {
        self.due.first().copied()
    }
    /// Publishes the advertising interfaces.
    pub(crate) fn publish(&mut self) {
        let last = self.all.keys().next_back().map_or(0, |last| last.index() + 1);
        let mut advertising = vec![false; last];
        self.all.iter().for_each(|(id, own)| advertising[id.index()] = own.told.is_some());
        self.advertising.publish(advertising);
    }
    /// Some time between two, so that the routers on a link do not advertise in step (RFC 4861, 6.2.4). They need not be
    /// secret, but others than those of a router with another `seed`.
    pub(crate) fn draw(&mut self, seed: u64, (low, high): (Duration, Duration)) -> Duration {
        self.draws += 1;
        // SplitMix64.
        let mut x = seed.wrapping_add(self.draws.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        x = (x ^ x >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x = (x ^ x >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        let part = (x ^ x >> 31) as f64 / u64::MAX as f64;
        low + high.saturating_sub(low).mul_f64(part)
    }
}
