//! Routers known on each link, and the interfaces that solicit them.

use std::collections::BTreeMap;
use std::net::Ipv6Addr;
use std::rc::Rc;
use std::time::Duration;

use quiver_control::{Signal, Time, behind};
use quiver_engine::{Publisher, Snapshot};
use quiver_interface::InterfaceId;
use quiver_neighbor::Timers;
use quiver_wire::{InterfaceAddress, V6};

use crate::api::event::Listeners;
use crate::input::Listening;

/// Timing of an interface's solicitations. A limit of zero is no limit.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pace {
    /// Interval between the first two solicitations. Later intervals grow.
    pub first: Duration,
    /// Longest interval.
    pub longest: Duration,
    /// Largest number of solicitations.
    pub count: u32,
    /// Longest duration of all solicitations.
    pub duration: Duration,
}

/// RFC 7559, 2.
pub(crate) const PATIENT: Pace =
    Pace { first: Duration::from_secs(4), longest: Duration::from_secs(3600), count: 0, duration: Duration::ZERO };

/// An interface that sends solicitations.
#[derive(Debug)]
pub(crate) struct Solicitor {
    pub pace: Pace,
    pub next: Time,
    pub wait: Duration,
    pub sent: u32,
    pub since: Time,
}

/// State that an interface has learned.
#[derive(Clone, Debug, Default)]
pub struct Learned {
    /// Whether its routers are default routers.
    pub default_route: bool,
    /// Its addresses, and until when they are valid, if not for ever.
    pub addresses: BTreeMap<InterfaceAddress<V6>, Option<Time>>,
    /// End of their preferred lifetimes, if finite: no new flow uses a deprecated address while there is another one
    /// (RFC 4862, 5.5.4).
    pub preferred: BTreeMap<InterfaceAddress<V6>, Option<Time>>,
    /// Neighbor timers, and the link's MTU, from advertisements.
    pub timers: Timers,
    /// See above.
    pub mtu: Option<u16>,
    /// Its default routers, and until when they are that.
    pub routers: BTreeMap<Ipv6Addr, Time>,
}

/// All that is known of routers.
pub struct Routers {
    pub(crate) all: BTreeMap<InterfaceId, Learned>,
    pub(crate) solicitors: BTreeMap<InterfaceId, Solicitor>,
    /// Notified when something is due earlier.
    pub(crate) sooner: Signal,
    listening: Publisher<Listening>,
    /// Clients that are told of advertisements.
    pub(crate) listeners: Option<Rc<Listeners>>,
}

impl Routers {
    pub(crate) fn new(listening: Publisher<Listening>) -> Routers {
        let (all, solicitors) = (BTreeMap::new(), BTreeMap::new());
        Routers { all, solicitors, sooner: Signal::new(), listening, listeners: None }
    }
    /// Learned state of each interface that learns.
    pub fn behind(&self, last: Option<&InterfaceId>) -> Option<(&InterfaceId, &Learned)> {
        behind(&self.all, last)
    }
    pub(crate) fn listening(&self) -> Snapshot<Listening> {
        self.listening.snapshot()
    }
    /// Publishes whose advertisements are wanted.
    pub(crate) fn publish(&mut self) {
        let ids = || self.all.keys().chain(self.solicitors.keys());
        let mut interfaces = vec![false; ids().map(|id| id.index() + 1).max().unwrap_or(0)];
        ids().for_each(|id| interfaces[id.index()] = true);
        let all = self.listeners.as_ref().is_some_and(|listeners| !listeners.is_empty());
        let listening = Listening { all, interfaces };
        if *self.listening.current() != listening {
            self.listening.publish(listening);
        }
    }
    /// When something is due next.
    pub(crate) fn next(&self) -> Option<Time> {
        let asked = self.solicitors.values().map(|solicitor| solicitor.next);
        let ends = |of: &Learned| {
            let addresses = of.addresses.values().chain(of.preferred.values()).flatten();
            addresses.chain(of.routers.values()).copied().min()
        };
        asked.chain(self.all.values().filter_map(ends)).min()
    }
}
