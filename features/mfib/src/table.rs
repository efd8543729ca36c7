//! The control side: makes the workers' state of configured routes.

use std::collections::btree_map::Entry as MapEntry;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;
use std::sync::Arc;

use quiver_control::{Change, Control, ObjectError};
use quiver_engine::{Dataplane, Domain, Publisher, Snapshot, Traffic};
use quiver_interface::{InterfaceEvent, InterfaceId, Interfaces, watch};
use quiver_ip::fib::{Size, TableId, Trie};
use quiver_ip::{Ip, IpTable};
use quiver_table::LpmError;
use quiver_wire::Prefix;

use crate::family::Multicast;
use crate::numbers::{Counted, Numbers};
use crate::objects::{MulticastRoute, PathFlag};
use crate::view::{Entry, Group, Out, Port, View, port};

/// Table, groups and sender of a route.
pub(crate) type Key<F> = (TableId, Prefix<F>, <F as quiver_wire::IpFamily>::Address);

/// A route that is in force.
struct Route<F: Multicast> {
    configured: MulticastRoute<F>,
    entry: Arc<Entry>,
    /// The adjacencies that its copies go by.
    held: Vec<u32>,
}

/// A table's groups, and the numbers of prefixes that have routes.
struct Table<F: Multicast> {
    trie: F::Trie,
    nodes: BTreeMap<Prefix<F>, u32>,
}

/// A family's routes of groups.
pub struct Mfib<F: Multicast> {
    domain: Domain,
    routes: BTreeMap<Key<F>, Route<F>>,
    serials: BTreeMap<u64, Key<F>>,
    tables: BTreeMap<TableId, Table<F>>,
    /// The numbers of groups; 0 is no group.
    numbers: Numbers,
    counted: Counted,
    published: Publisher<View<F>>,
}

impl<F: Multicast> Mfib<F> {
    /// None yet; all families count in one place.
    pub(crate) fn new(domain: &Domain, counted: Counted) -> Mfib<F> {
        Mfib {
            domain: domain.clone(),
            routes: BTreeMap::new(),
            serials: BTreeMap::new(),
            tables: BTreeMap::new(),
            numbers: Numbers::from(1),
            counted,
            published: Publisher::new(domain, View::default()),
        }
    }
    /// Snapshot for workers.
    pub fn view(&self) -> Snapshot<View<F>> {
        self.published.snapshot()
    }
    /// Configured routes of a table in the order of their groups, with the entries made of them.
    pub(crate) fn routes(&self, table: TableId) -> impl Iterator<Item = (&MulticastRoute<F>, &Entry)> {
        let first = (table, Prefix::ALL, F::UNSPECIFIED);
        let of_table = self.routes.range(first..).take_while(move |((id, ..), _)| *id == table);
        of_table.map(|(_, route)| (&route.configured, &*route.entry))
    }
    /// The route of a table behind a key, or its first one.
    pub(crate) fn route_behind(
        &self,
        table: TableId,
        last: Option<&Key<F>>,
    ) -> Option<(Key<F>, &MulticastRoute<F>, &Entry)> {
        let first = (table, Prefix::ALL, F::UNSPECIFIED);
        let from = last.map_or(Bound::Included(&first), Bound::Excluded);
        let (key, route) = self.routes.range((from, Bound::Unbounded)).next().filter(|((id, ..), _)| *id == table)?;
        Some((*key, &route.configured, &*route.entry))
    }
    /// The route for packets of a source to a group. The longest prefix with any route decides: its (S, G) route, or
    /// else its (*, G) route. A shorter prefix counts only if the longest has no (*, G) route.
    pub(crate) fn find(&self, table: TableId, source: F::Address, group: F::Address) -> Option<&MulticastRoute<F>> {
        let fitting = self.routes.iter().filter(|((id, prefix, _), _)| *id == table && prefix.contains(group));
        let longest = fitting.clone().map(|((_, prefix, _), _)| prefix.length()).max()?;
        let own = fitting.clone().find(|((_, prefix, of), _)| prefix.length() == longest && *of == source);
        let any =
            fitting.filter(|((.., of), _)| *of == F::UNSPECIFIED).max_by_key(|((_, prefix, _), _)| prefix.length());
        own.or(any).map(|(_, route)| &route.configured)
    }
    /// The entry of a route.
    pub(crate) fn get(&self, key: &Key<F>) -> Option<&Entry> {
        self.route(key).map(|(_, entry)| entry)
    }
    /// A configured route, with the entry made of it.
    pub(crate) fn route(&self, key: &Key<F>) -> Option<(&MulticastRoute<F>, &Entry)> {
        self.routes.get(key).map(|route| (&route.configured, &*route.entry))
    }
    /// The packets that a route has taken.
    pub(crate) fn counts(&self, entry: &Entry) -> Traffic {
        self.counted.counters().sum(entry.counter)
    }
    /// The route of a serial number.
    pub(crate) fn of_serial(&self, serial: u64) -> Option<(Key<F>, &Entry)> {
        let key = *self.serials.get(&serial)?;
        Some((key, self.get(&key)?))
    }

    /// Sets a route or its new state. The caller releases the adjacencies that it had.
    fn set(&mut self, ip: &Ip<F>, key: Key<F>, route: Route<F>) -> Result<Vec<u32>, LpmError> {
        let (id, prefix, _) = key;
        let is_new = !self.tables.get(&id).is_some_and(|table| table.nodes.contains_key(&prefix));
        if is_new {
            self.add_node(id, prefix)?;
        }
        self.serials.insert(route.entry.serial, key);
        let old = self.routes.insert(key, route);
        // The groups come before the leaf that leads to them.
        self.publish(ip, &key);
        if is_new && let Err(error) = self.reach(id, prefix) {
            // No worker has met it.
            self.remove(ip, &key);
            return Err(error);
        }
        Ok(old.map(|old| old.held).unwrap_or_default())
    }
    /// Takes a route out. The adjacencies that it had are the caller's to release.
    fn remove(&mut self, ip: &Ip<F>, key: &Key<F>) -> Vec<u32> {
        let Some(old) = self.routes.remove(key) else { return vec![] };
        self.serials.remove(&old.entry.serial);
        let (table, prefix, _) = *key;
        let number = self.tables.get(&table).and_then(|table| table.nodes.get(&prefix)).copied();
        let is_last = self.of_prefix(table, prefix).next().is_none();
        if is_last && let Some(table) = self.tables.get_mut(&table) {
            table.nodes.remove(&prefix);
            table.trie.unset(prefix);
        }
        if is_last && self.tables.get(&table).is_some_and(|table| table.nodes.is_empty()) {
            self.tables.remove(&table);
        }
        self.publish(ip, key);
        if is_last {
            number.into_iter().for_each(|number| self.numbers.release(&self.domain, number));
        }
        self.counted.release(&self.domain, old.entry.counter);
        old.held
    }
    /// The routes of exactly this prefix.
    fn of_prefix(&self, table: TableId, prefix: Prefix<F>) -> impl Iterator<Item = (F::Address, &Arc<Entry>)> {
        let first = (table, prefix, F::UNSPECIFIED);
        let of_it = self.routes.range(first..).take_while(move |((t, p, _), _)| (*t, *p) == (table, prefix));
        of_it.map(|((.., source), route)| (*source, &route.entry))
    }
    /// Adds a node for the routes of a prefix, and a table for it if there is none.
    fn add_node(&mut self, id: TableId, prefix: Prefix<F>) -> Result<(), LpmError> {
        let table = match self.tables.entry(id) {
            MapEntry::Occupied(table) => table.into_mut(),
            MapEntry::Vacant(place) => {
                let trie = F::Trie::make(&self.domain, Size::Small)?;
                place.insert(Table { trie, nodes: BTreeMap::new() })
            }
        };
        table.nodes.insert(prefix, self.numbers.take());
        Ok(())
    }
    /// Makes lookups find the routes of a prefix.
    fn reach(&mut self, id: TableId, prefix: Prefix<F>) -> Result<(), LpmError> {
        let Some(table) = self.tables.get_mut(&id) else { return Ok(()) };
        let Some(number) = table.nodes.get(&prefix) else { return Ok(()) };
        table.trie.set(prefix, *number)
    }
    /// The (*, G) route of exactly this prefix, or else of the longest that covers it.
    fn covering(&self, id: TableId, prefix: Prefix<F>) -> Option<Arc<Entry>> {
        let shorter = (0..=prefix.length()).rev().filter_map(|length| Prefix::new(prefix.address(), length).ok());
        let mut found = shorter.filter_map(|shorter| self.routes.get(&(id, shorter, F::UNSPECIFIED)));
        found.next().map(|route| route.entry.clone())
    }
    /// Publishes a route's prefix, and the prefixes that it covers.
    fn publish(&mut self, ip: &Ip<F>, (id, prefix, _): &Key<F>) {
        let mut view = self.published.current().clone();
        let nodes = self.tables.get(id).map(|table| &table.nodes);
        let within = nodes.into_iter().flat_map(|nodes| nodes.range(*prefix..=Prefix::host(prefix.last_address())));
        for (of_it, number) in within.filter(|(of_it, _)| prefix.contains(of_it.address())) {
            let sources = self.of_prefix(*id, *of_it).filter(|(source, _)| *source != F::UNSPECIFIED);
            let sources = sources.map(|(source, entry)| (source, entry.clone())).collect();
            let group = Group { prefix: *of_it, any: self.covering(*id, *of_it), sources };
            *view.groups.get_mut(*number as usize) = Some(Arc::new(group));
        }
        view.tables = slots(ip, &self.tables);
        self.published.publish(view);
    }
    /// The interfaces' routes, to be made anew.
    fn on_interface(&self, name: &str) -> Vec<Key<F>> {
        let is_on = |route: &Route<F>| {
            let mut names = route.configured.paths.iter().filter_map(|path| path.interface.as_ref());
            names.any(|interface| interface.0 == name)
        };
        self.routes.iter().filter(|(_, route)| is_on(route)).map(|(key, _)| *key).collect()
    }
}

/// Tables for workers, by the slots of IP's tables.
fn slots<F: Multicast>(ip: &Ip<F>, tables: &BTreeMap<TableId, Table<F>>) -> Vec<Option<F::Reader>> {
    let mut slots = vec![];
    for (id, table) in tables {
        let Some(slot) = ip.fib.table(*id).map(|table| usize::from(table.slot)) else { continue };
        slots.resize(slots.len().max(slot + 1), None);
        if let Some(place) = slots.get_mut(slot) {
            *place = Some(table.trie.reader());
        }
    }
    slots
}

pub(crate) fn key<F: Multicast>(route: &MulticastRoute<F>) -> Key<F> {
    (route.table.into(), route.group, route.source)
}

pub(crate) fn apply<F: Multicast>(control: &Control, change: Change<'_, MulticastRoute<F>>) -> Result<(), ObjectError> {
    match change {
        Change::Create(route) | Change::Update { new: route, .. } => install(control, route),
        Change::Delete(route) => {
            let mut ip = control.room_mut::<Ip<F>>();
            let held = control.room_mut::<Mfib<F>>().remove(&ip, &key(route));
            held.into_iter().for_each(|hop| ip.fib.adjacencies.release(hop));
            Ok(())
        }
    }
}

/// Whether a table may have routes of groups.
pub(crate) fn has_groups<F: Multicast>(control: &Control, table: TableId) -> bool {
    control.objects().get::<IpTable<F>>(&table.0).is_none_or(|table| table.multicast)
}

/// Puts a route into force, as its interfaces are now.
fn install<F: Multicast>(control: &Control, route: &MulticastRoute<F>) -> Result<(), ObjectError> {
    let (mut ip, mut mfib) = (control.room_mut::<Ip<F>>(), control.room_mut::<Mfib<F>>());
    let interfaces = control.room::<Interfaces>();
    let key = key(route);
    let ways = route.paths.iter().map(|path| {
        let id = path.interface.as_ref().map(|name| interfaces.id_of(&name.0)).transpose()?;
        Ok((path, id))
    });
    let ways = ways.collect::<Result<Vec<_>, ObjectError>>()?;
    let (mut flags, mut outs, mut local) = (BTreeMap::<InterfaceId, u8>::new(), vec![], false);
    for (path, id) in ways {
        let forwards = path.flags.contains(&PathFlag::Forward);
        match id {
            None => local |= forwards,
            Some(id) => {
                *flags.entry(id).or_default() |= path.bits();
                let is_up = ip.fib.adjacencies.link(id).is_some_and(|link| link.up);
                if forwards && is_up {
                    let hop = ip.fib.adjacencies.acquire(id, path.via);
                    outs.push(Out { interface: id.0, hop, to_router: path.via.is_some() });
                }
            }
        }
    }
    let held: Vec<u32> = outs.iter().map(|out| out.hop).collect();
    // What clients have not read yet, and what was counted, is a route's as long as it is there.
    let old = mfib.get(&key);
    let port = |(id, flags): (InterfaceId, u8)| {
        let signalled = old.and_then(|old| old.port(id.0)).map(|port| port.signalled.clone()).unwrap_or_default();
        Port { interface: id.0, flags: flags & !port::SIGNAL_PRESENT, signalled }
    };
    let ports = flags.into_iter().map(port).collect();
    let (counter, serial) = match old {
        Some(old) => (old.counter, old.serial),
        None => (mfib.counted.take(), mfib.counted.serial()),
    };
    let entry = Entry { flags: route.bits(), local, ports, outs: outs.into(), counter, serial };
    let route = Route { configured: route.clone(), entry: Arc::new(entry), held: held.clone() };
    let full = |_| ObjectError::whole("the table of groups is full").remedy("delete routes that are not needed");
    let set = mfib.set(&ip, key, route).map_err(full);
    let released = set.as_ref().map_or(&held, |old| old);
    released.iter().for_each(|hop| ip.fib.adjacencies.release(*hop));
    set.map(|_| ())
}

/// Routes follow their interfaces: copies go by those that are up.
pub(crate) fn follow<F: Multicast>(control: &Control) {
    watch(control, |control, event| {
        let (id, is_new) = match event {
            InterfaceEvent::Created(id) => (id, true),
            InterfaceEvent::AdminState(id) | InterfaceEvent::Link(id) => (id, false),
            InterfaceEvent::Removed(id) => return enable::<F>(control, id, false),
            _ => return,
        };
        if is_new {
            return enable::<F>(control, id, true);
        }
        let name = control.room::<Interfaces>().name(id);
        let keys: BTreeSet<Key<F>> = control.room::<Mfib<F>>().on_interface(&name).into_iter().collect();
        for key in keys {
            let configured = control.room::<Mfib<F>>().routes.get(&key).map(|route| route.configured.clone());
            // It is in force, so all its interfaces are there and it has its place.
            if let Some(Err(error)) = configured.map(|configured| install(control, &configured)) {
                tracing::error!("a route of groups could not follow {name}: {error}");
            }
        }
    });
}

/// Enables or disables the lookup of multicast packets that an interface receives.
fn enable<F: Multicast>(control: &Control, id: InterfaceId, on: bool) {
    let enabled = control.room_mut::<Dataplane>().enable(F::NAMES.multicast, F::FORWARD, id.0, on);
    if let Err(error) = enabled {
        tracing::error!("{}: {error}", F::FORWARD);
    }
}
