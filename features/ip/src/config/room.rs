//! The state of a family: the FIB, the configuration of interfaces and tables, and the snapshots that workers read.

use std::collections::BTreeSet;

use quiver_control::Signal;
use quiver_engine::{Counter, Counters, Domain, Publisher, Snapshot};
use quiver_interface::InterfaceId;
use quiver_table::ExactError;
use quiver_wire::{InterfaceAddress as Address, V4, V6};

use super::configured::{Configured, ConfiguredInterfaces, ConfiguredTables};
use crate::family::Family;
use crate::fib::{Fib, Shared, TableId};
use crate::ingress::Ingress;
use crate::near::Near;
use crate::node::again::{self, KindArcs};
use crate::node::local::{self, Protocols};

/// A family's state.
pub struct Ip<F: Family> {
    /// Routes, groups and adjacencies.
    pub fib: Fib<F>,
    /// Neighbors without routes.
    pub near: Near<F>,
    /// The family's packets by receiving interface.
    pub received: Counters<Counter>,
    pub(super) interfaces: ConfiguredInterfaces<F>,
    pub(super) tables: ConfiguredTables<F>,
    pub(super) usability: Usability<F>,
    pub(super) published: Published<F>,
    /// Whether changes are rehearsed here, and no packets come.
    pub(super) is_rehearsed: bool,
}

/// IPv4's state.
pub type Ip4 = Ip<V4>;
/// IPv6's state.
pub type Ip6 = Ip<V6>;

/// Addresses of interfaces that are not to be used (RFC 4862, 5.4), or not for anything new (RFC 4862, 5.5.4).
pub(super) struct Usability<F: Family> {
    /// Addresses that are not to be used.
    pub unusable: BTreeSet<(InterfaceId, F::Address)>,
    /// Addresses with which nothing new is to begin.
    pub deprecated: BTreeSet<(InterfaceId, F::Address)>,
    /// Notifies of changes of `unusable`.
    pub changed: Signal,
}

/// The snapshots that workers read.
pub(super) struct Published<F: Family> {
    /// Interfaces and tables.
    pub ingress: Publisher<Ingress<F>>,
    /// The arcs of protocols that rooms claim.
    pub protocols: Publisher<Protocols>,
    /// The arcs of kinds of next hops.
    pub kind_arcs: Publisher<KindArcs>,
}

impl<F: Family> Ip<F> {
    /// A family without tables and interfaces. `received` counts the family's packets by receiving interface.
    pub(super) fn new(domain: &Domain, shared: &Shared, received: Counters<Counter>) -> Result<Ip<F>, ExactError> {
        Ok(Ip {
            fib: Fib::<F>::sharing(domain, shared),
            near: Near::new(domain)?,
            received,
            interfaces: ConfiguredInterfaces::default(),
            tables: ConfiguredTables::default(),
            usability: Usability { unusable: BTreeSet::new(), deprecated: BTreeSet::new(), changed: Signal::new() },
            is_rehearsed: false,
            published: Published {
                ingress: Publisher::new(domain, Ingress::default()),
                protocols: Publisher::new(domain, local::UNCLAIMED),
                kind_arcs: Publisher::new(domain, again::OWN_KINDS),
            },
        })
    }
    /// State of all interfaces that workers read.
    pub fn ingress(&self) -> Snapshot<Ingress<F>> {
        self.published.ingress.snapshot()
    }
    /// The same, as it was published last.
    pub fn current(&self) -> &Ingress<F> {
        self.published.ingress.current()
    }
    /// Configuration of an interface.
    pub(crate) fn configured(&self, id: InterfaceId) -> Option<&Configured<F>> {
        self.interfaces.get(id)
    }
    /// The table of an interface.
    pub fn table_of(&self, interface: InterfaceId) -> TableId {
        self.interfaces.table_of(interface)
    }
    /// The interface whose address this is in a table.
    pub fn owner(&self, table: TableId, address: F::Address) -> Option<InterfaceId> {
        self.interfaces.owner(table, address)
    }
    /// The addresses of an interface.
    pub fn addresses(&self, interface: InterfaceId) -> &[Address<F>] {
        self.interfaces.addresses(interface)
    }
    /// The interface on whose subnet an address is.
    pub fn subnet_of(&self, table: TableId, address: F::Address) -> Option<InterfaceId> {
        self.interfaces.subnet_of(table, address)
    }
    /// Whether an interface speaks the family.
    pub fn speaks(&self, id: InterfaceId) -> bool {
        self.interfaces.get(id).is_some_and(Configured::speaks)
    }
    /// The address that an interface has for its link.
    pub fn link_local(&self, id: InterfaceId) -> Option<F::Address> {
        self.current().interfaces.get(id.index())?.link_local
    }
    /// The same, if it may be used.
    pub fn usable_link_local(&self, id: InterfaceId) -> Option<F::Address> {
        self.link_local(id).filter(|own| self.current().is_usable(id, *own))
    }
    /// Tells that an address may be used now, or may not any more.
    pub fn usability(&self) -> &Signal {
        &self.usability.changed
    }
}
