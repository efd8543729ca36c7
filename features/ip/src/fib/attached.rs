//! Which routes lead to a link of an interface that looks up in another table, and which neighbors have a route because of that.
//! `routes` keeps them up to date.

use std::collections::{BTreeMap, BTreeSet};

use quiver_interface::InterfaceId;
use quiver_wire::Prefix;

use super::path::TableId;
use super::trie::Forwarding;

/// Routes and neighbors attached to links.
pub(super) struct Attached<F: Forwarding> {
    /// Active routes to links, other than those of interfaces' addresses.
    pub routes: BTreeMap<(TableId, Prefix<F>), Vec<InterfaceId>>,
    /// Neighbors with a host route because of one of these.
    pub hosts: BTreeMap<(TableId, F::Address), InterfaceId>,
}

impl<F: Forwarding> Default for Attached<F> {
    fn default() -> Attached<F> {
        Attached { routes: BTreeMap::new(), hosts: BTreeMap::new() }
    }
}

impl<F: Forwarding> Attached<F> {
    /// Whether nothing is.
    pub fn is_empty(&self) -> bool {
        self.routes.is_empty() && self.hosts.is_empty()
    }
    /// A table is gone with all its routes.
    pub fn forget(&mut self, gone: TableId) {
        self.routes.retain(|(table, _), _| *table != gone);
        self.hosts.retain(|(table, _), _| *table != gone);
    }
    /// The routes of a table that cover a prefix or lie within it, and their links.
    pub fn around(&self, table: TableId, prefix: Prefix<F>) -> BTreeSet<InterfaceId> {
        let above = (0..prefix.length()).filter_map(|length| Prefix::new(prefix.address(), length).ok());
        let above = above.filter_map(|above| self.routes.get(&(table, above)));
        let within = self.routes.range((table, prefix)..=(table, Prefix::host(prefix.last_address())));
        above.chain(within.map(|(_, links)| links)).flatten().copied().collect()
    }
}
