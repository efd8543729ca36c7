//! Adding and removing routes of a [`Fib`], and what follows from that for neighbors on links of other tables.
//!
//! A route may lead to a link of an interface that looks up in another table. The neighbors on this link have their routes in the
//! interface's own table only. So each of them that the route covers gets a route beside it, of [`Source::Attached`]. Without it,
//! packets by the route would meet the link as a whole instead of an adjacency.

use std::collections::BTreeSet;

use quiver_interface::InterfaceId;
use quiver_wire::Prefix;

use super::path::{self, Path, Source, TableId, Target};
use super::rows::BUCKETS;
use super::table::Entry;
use super::trie::Forwarding;
use super::{Fib, FibError};

impl<F: Forwarding> Fib<F> {
    /// Adds a source's route for a prefix, or replaces the one that the source had.
    pub fn insert(
        &mut self,
        table: TableId,
        prefix: Prefix<F>,
        source: Source,
        paths: Vec<Path<F>>,
    ) -> Result<(), FibError> {
        match paths.len() {
            0 => return Err(FibError::NoPath(prefix.to_string())),
            1..=BUCKETS => {}
            given => return Err(FibError::TooManyPaths { route: prefix.to_string(), given }),
        }
        let (address, length) = (prefix.address(), prefix.length());
        let entry = self.tables.get(&table).ok_or(FibError::NoTable(table))?.entries.get(address, length);
        let old = entry.and_then(|entry| entry.of(source));
        let counts = entry.is_none_or(|entry| source <= entry.source);
        let paths = self.place(prefix, source, old, paths);
        let is_attached = paths.iter().any(|path| matches!(path.target, Target::Link(_)));
        // The row comes before the leaf that leads to it.
        let group = self.hold(paths);
        let Some(found) = self.tables.get_mut(&table) else { return Err(FibError::NoTable(table)) };
        if counts && let Err(error) = found.store(prefix, group) {
            self.release(group);
            return Err(error.into());
        }
        match found.entries.get_mut(address, length) {
            Some(entry) => entry.set(source, group),
            None => drop(found.entries.insert(address, length, Entry { source, group, others: None })),
        }
        if counts {
            self.changed(table, prefix);
        }
        old.into_iter().for_each(|old| self.release(old));
        if is_attached || !self.attached.is_empty() {
            self.attach(table, prefix, source);
        }
        Ok(())
    }
    /// The paths of a source's route, which may have had those of an `old` group.
    fn place(&self, prefix: Prefix<F>, source: Source, old: Option<u32>, mut paths: Vec<Path<F>>) -> Vec<Path<F>> {
        if prefix.length() == F::ADDRESS_BITS && source != Source::Interface {
            // One host on a link is a neighbour there.
            for path in &mut paths {
                if let Target::Link(interface) = path.target {
                    path.target = Target::NextHop(interface, prefix.address());
                }
            }
        }
        match old.and_then(|group| self.groups.get(group)) {
            Some(before) => path::in_place(&before.paths, paths),
            None => paths,
        }
    }
    /// Removes a source's route for a prefix. False if there was none. It needs no room, so it cannot fail half way.
    pub fn remove(&mut self, table: TableId, prefix: Prefix<F>, source: Source) -> bool {
        let Some(found) = self.tables.get_mut(&table) else { return false };
        let Some(entry) = found.entries.get_mut(prefix.address(), prefix.length()) else { return false };
        let Some(group) = entry.of(source) else { return false };
        let counted = entry.source == source;
        let others = entry.unset(source);
        match others {
            true if counted => {
                let next = entry.group;
                found.divert(prefix, next);
            }
            true => {}
            false => {
                found.entries.remove(prefix.address(), prefix.length());
                found.unstore(prefix);
            }
        }
        if counted {
            self.changed(table, prefix);
        }
        self.release(group);
        // What counts now may lead to a link.
        if others || !self.attached.is_empty() {
            self.attach(table, prefix, source);
        }
        true
    }
    /// A source's route for a prefix has changed: whoever is attached by it, or no longer is, has its route or loses it.
    fn attach(&mut self, table: TableId, prefix: Prefix<F>, source: Source) {
        if source == Source::Attached {
            return;
        }
        let links =
            self.tables.get(&table).and_then(|table| table.get(&prefix)).map_or(vec![], |entry| self.links(entry));
        match links.is_empty() {
            true => drop(self.attached.routes.remove(&(table, prefix))),
            false => drop(self.attached.routes.insert((table, prefix), links)),
        }
        self.settle_attached(table, prefix);
        if source == Source::Neighbor {
            let tables = self.attached.routes.keys().map(|(table, _)| *table);
            let tables: BTreeSet<TableId> = tables.chain(self.attached.hosts.keys().map(|(table, _)| *table)).collect();
            tables.into_iter().filter(|other| *other != table).for_each(|other| self.settle_attached(other, prefix));
        }
    }
    /// The links to which the route that counts leads.
    fn links(&self, entry: &Entry) -> Vec<InterfaceId> {
        let group = self.groups.get(entry.group).filter(|_| entry.source != Source::Interface);
        let link = |path: &Path<F>| match path.target {
            Target::Link(interface) => Some(interface),
            _ => None,
        };
        group.into_iter().flat_map(|group| group.ways().filter_map(link)).collect()
    }
    /// Gives neighbours within a prefix the routes in a table that they should have, and takes away what they should not.
    fn settle_attached(&mut self, table: TableId, prefix: Prefix<F>) {
        let ends = (prefix.address(), prefix.last_address());
        let links = self.attached.around(table, prefix);
        let known = links.iter().flat_map(|link| self.adjacencies.known(*link, ends));
        let had = self.attached.hosts.range((table, ends.0)..=(table, ends.1)).map(|((_, host), _)| *host);
        let concerned: BTreeSet<F::Address> = known.chain(had).collect();
        for host in concerned {
            let wanted = self.attached_to(table, host);
            if self.attached.hosts.get(&(table, host)).copied() == wanted {
                continue;
            }
            // No route but the neighbour's own changes by that, so nothing comes back here.
            match wanted {
                Some(interface) => {
                    self.attached.hosts.insert((table, host), interface);
                    let path = vec![Path::to(Target::NextHop(interface, host))];
                    if let Err(error) = self.insert(table, Prefix::host(host), Source::Attached, path) {
                        self.attached.hosts.remove(&(table, host));
                        tracing::warn!("the neighbour {host} gets no route of its own in table {table}: {error}");
                    }
                }
                None => {
                    self.attached.hosts.remove(&(table, host));
                    self.remove(table, Prefix::host(host), Source::Attached);
                }
            }
        }
    }
    /// The link of another table's interface to which a table's route for a host leads, if the host is known there.
    fn attached_to(&self, table: TableId, host: F::Address) -> Option<InterfaceId> {
        let routes = self.tables.get(&table)?;
        if routes.get(&Prefix::host(host)).is_some_and(|entry| entry.source != Source::Attached) {
            return None;
        }
        let covers = (0..F::ADDRESS_BITS).rev().filter_map(|length| Prefix::new(host, length).ok());
        let cover = covers.into_iter().find(|cover| routes.get(cover).is_some())?;
        let links = self.attached.routes.get(&(table, cover))?;
        links.iter().copied().find(|link| self.adjacencies.table_of(*link) != table && self.is_neighbor(*link, host))
    }
    /// Whether a host has the route of a neighbour in the table of the interface.
    fn is_neighbor(&self, interface: InterfaceId, host: F::Address) -> bool {
        let own = self.tables.get(&self.adjacencies.table_of(interface));
        let group = own.and_then(|own| own.get(&Prefix::host(host))).and_then(|entry| entry.of(Source::Neighbor));
        let group = group.and_then(|group| self.groups.get(group));
        group.is_some_and(|group| group.ways().any(|path| path.target == Target::NextHop(interface, host)))
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use quiver_engine::Domain;
    use quiver_wire::V4;

    use super::*;
    use crate::adjacency::Link;
    use crate::fib::Size;

    const LINK: InterfaceId = InterfaceId(1);
    const OTHER: TableId = TableId(7);

    fn prefix(text: &str) -> Prefix<V4> {
        text.parse().expect("a prefix")
    }
    fn to_link() -> Vec<Path<V4>> {
        vec![Path::to(Target::Link(LINK))]
    }
    /// A neighbour is known, with its route; or forgotten.
    fn neighbor(fib: &mut Fib<V4>, host: &str, known: bool) {
        let host: Ipv4Addr = host.parse().expect("an address");
        let hop = fib.adjacencies.acquire(LINK, Some(host));
        fib.adjacencies.set_mac(hop, known.then_some(quiver_wire::MacAddress([2, 0, 0, 0, 0, 9])));
        match known {
            true => {
                let path = vec![Path::to(Target::NextHop(LINK, host))];
                fib.insert(TableId::DEFAULT, Prefix::host(host), Source::Neighbor, path).expect("fits");
            }
            false => drop(fib.remove(TableId::DEFAULT, Prefix::host(host), Source::Neighbor)),
        }
    }
    /// The hosts with routes of their own in the other table.
    fn hosts(fib: &Fib<V4>) -> Vec<String> {
        let routes = fib.table(OTHER).expect("there").routes();
        routes.filter(|(_, entry)| entry.source == Source::Attached).map(|(prefix, _)| prefix.to_string()).collect()
    }

    #[test]
    fn neighbours_have_routes_beside_the_attached_one_as_long_as_both_are_there() {
        let mut fib: Fib<V4> = Fib::new(&Domain::new(), 1);
        for table in [TableId::DEFAULT, OTHER] {
            fib.add_table(table, Size::Small, false).expect("new");
        }
        fib.set_link(LINK, Some(Link { up: true, mtu: 1500, ..Link::default() }));
        fib.insert(TableId::DEFAULT, prefix("10.0.0.0/24"), Source::Interface, to_link()).expect("fits");
        neighbor(&mut fib, "10.0.0.2", true);
        assert!(hosts(&fib).is_empty(), "nothing is attached yet");

        fib.insert(OTHER, prefix("10.0.0.0/24"), Source::Static, to_link()).expect("fits");
        assert_eq!(hosts(&fib), ["10.0.0.2/32"], "who was known before");
        neighbor(&mut fib, "10.0.0.3", true);
        neighbor(&mut fib, "10.0.1.3", true);
        assert_eq!(hosts(&fib), ["10.0.0.2/32", "10.0.0.3/32"], "who is known later, but not beyond the route");
        neighbor(&mut fib, "10.0.0.2", false);
        assert_eq!(hosts(&fib), ["10.0.0.3/32"]);

        // What a longer route takes is not on the link any more, until that is gone.
        let drop = vec![Path::to(Target::Special(crate::fib::Special::Drop))];
        fib.insert(OTHER, prefix("10.0.0.0/30"), Source::Static, drop.clone()).expect("fits");
        assert!(hosts(&fib).is_empty());
        fib.remove(OTHER, prefix("10.0.0.0/30"), Source::Static);
        assert_eq!(hosts(&fib), ["10.0.0.3/32"]);
        fib.insert(OTHER, prefix("10.0.0.3/32"), Source::Static, drop).expect("fits");
        assert!(hosts(&fib).is_empty());
        fib.remove(OTHER, prefix("10.0.0.3/32"), Source::Static);
        assert_eq!(hosts(&fib), ["10.0.0.3/32"]);

        fib.remove(OTHER, prefix("10.0.0.0/24"), Source::Static);
        assert_eq!((hosts(&fib).len(), fib.table(OTHER).expect("there").len()), (0, 0), "with the route all are gone");
        assert!(fib.attached.is_empty());
    }
}
