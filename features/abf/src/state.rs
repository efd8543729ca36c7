//! State for workers: the policies of each interface in their order, and the path groups behind them.

use std::collections::BTreeMap;
use std::marker::PhantomData;
use std::sync::Arc;

use quiver_engine::{Domain, Publisher, Snapshot};
use quiver_interface::InterfaceId;

use crate::family::Forwarded;

/// A policy as workers meet it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Attached {
    /// Its number.
    pub policy: u32,
    /// The number of its list.
    pub acl: u32,
    /// The group of its paths.
    pub group: u32,
}

/// Policies by interface.
pub type AttachedTo = Vec<Arc<[Attached]>>;

/// A family's policies, and where they hold.
pub(crate) struct Policies<F: Forwarded> {
    known: BTreeMap<u32, Attached>,
    /// Interfaces, with priorities by policy.
    holding: BTreeMap<InterfaceId, BTreeMap<u32, u32>>,
    published: Publisher<AttachedTo>,
    family: PhantomData<F>,
}

impl<F: Forwarded> Policies<F> {
    pub fn new(domain: &Domain) -> Policies<F> {
        let published = Publisher::new(domain, vec![]);
        Policies { known: BTreeMap::new(), holding: BTreeMap::new(), published, family: PhantomData }
    }
    /// Snapshot for workers.
    pub fn attached(&self) -> Snapshot<AttachedTo> {
        self.published.snapshot()
    }
    /// The policies of an interface, in their order.
    pub fn of(&self, interface: InterfaceId) -> &[Attached] {
        self.published.current().get(interface.index()).map_or(&[], |attached| attached)
    }
    /// The group of a policy's paths.
    pub fn group(&self, policy: u32) -> Option<u32> {
        self.known.get(&policy).map(|known| known.group)
    }
    /// Gives a policy its list and group, or takes it away; the group that it had.
    pub fn set(&mut self, policy: u32, known: Option<(u32, u32)>) -> Option<u32> {
        let old = match known {
            Some((acl, group)) => self.known.insert(policy, Attached { policy, acl, group }),
            None => self.known.remove(&policy),
        };
        self.publish();
        old.map(|old| old.group)
    }
    /// Attaches a policy to an interface with a priority, or detaches it. Returns whether the interface has any policy
    /// then.
    pub fn attach(&mut self, interface: InterfaceId, policy: u32, priority: Option<u32>) -> bool {
        let here = self.holding.entry(interface).or_default();
        match priority {
            Some(priority) => drop(here.insert(policy, priority)),
            None => drop(here.remove(&policy)),
        }
        let any = !here.is_empty();
        if !any {
            self.holding.remove(&interface);
        }
        self.publish();
        any
    }
    fn publish(&mut self) {
        let last = self.holding.keys().next_back().map_or(0, |last| last.index() + 1);
        let none: Arc<[Attached]> = Arc::new([]);
        let mut attached: AttachedTo = vec![none; last];
        for (interface, policies) in &self.holding {
            let mut order: Vec<(u32, u32)> = policies.iter().map(|(policy, priority)| (*priority, *policy)).collect();
            order.sort_unstable();
            let of = |(_, policy): &(u32, u32)| self.known.get(policy).copied();
            attached[interface.index()] = order.iter().filter_map(of).collect();
        }
        self.published.publish(attached);
    }
}
