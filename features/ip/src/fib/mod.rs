//! The forwarding information base: tables of routes, the groups that routes share, and how recursive paths resolve.
//!
//! - [`path`]: what is configured; [`group`]: what routes share; [`table`]: routes by prefix and source.
//! - [`rows`], [`trie`]: what workers read. [`hop`]: the numbers that lookups give; [`kind`]: those that other rooms bring.
//! - this module: [`Fib`], which keeps all of them in step; `routes`: adding and removing routes.
//! - `attached`: routes by links of other tables, and the neighbors there.
//!
//! A leaf of a table is the id of a group (in a table that counts by route, of a route, which has the group's). A change
//! of routes stores leaves; a change of what groups come to rewrites rows, one for each group that it concerns.

mod attached;
pub mod group;
pub mod hop;
pub mod kind;
pub mod path;
mod routes;
pub mod rows;
pub mod table;
pub mod trie;

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::rc::Rc;

use quiver_control::behind;
use quiver_engine::{Counters, Domain};
use quiver_interface::InterfaceId;
use quiver_table::LpmError;
use quiver_wire::Prefix;

use crate::adjacency::{Adjacencies, Link, Numbers, State};
use attached::Attached;
use group::{Groups, Share, spread};
use hop::Continuation;
use kind::Kinds;
pub use path::{CrossFamilyHop, Path, Source, Special, TableId, Target};
use rows::{BUCKETS, Buckets};
use table::Counted;
pub use table::{Entry, Table};
pub use trie::{Forwarding, Reader, Size, Trie, TrieView, View};

/// Why the FIB refuses.
#[derive(Debug, thiserror::Error)]
pub enum FibError {
    /// A table that is not there.
    #[error("there is no IP table {0}; add it with `ip table add {0}`")]
    NoTable(TableId),
    /// A table that is there.
    #[error("IP table {0} exists already; choose another number")]
    TableExists(TableId),
    /// The last of the tables that can be.
    #[error("there are {max} IP tables, and no more can be; delete one first")]
    TooManyTables {
        /// Tables at most.
        max: usize,
    },
    /// A route without paths.
    #[error("the route {0} has no path; give it one, such as `via 192.0.2.1`")]
    NoPath(String),
    /// A route with more paths than a group has buckets.
    #[error("the route {route} has {given} paths; a route has at most {BUCKETS}")]
    TooManyPaths {
        /// The route.
        route: String,
        /// Its paths.
        given: usize,
    },
    /// The table of prefixes refuses.
    #[error(transparent)]
    Trie(#[from] LpmError),
}

const TABLES_MAX: usize = 4096;

/// State shared by the FIBs of all families: the numbers of adjacencies and of counted routes, which clients know, and
/// the workers' counters.
#[derive(Clone)]
pub struct Shared {
    adjacencies: Rc<RefCell<Numbers>>,
    routes: Rc<RefCell<Counted>>,
}

impl Shared {
    /// No number is taken. What is sent by adjacencies is counted in the first, what took routes in the second.
    pub fn new(domain: &Domain, workers: usize, adjacencies: Counters, routes: Counters) -> Shared {
        let (adjacencies, routes) = (Numbers::new(adjacencies), Counted::new(domain, workers, routes));
        Shared { adjacencies: Rc::new(RefCell::new(adjacencies)), routes: Rc::new(RefCell::new(routes)) }
    }
}

/// The FIB of a family.
pub struct Fib<F: Forwarding> {
    domain: Domain,
    counted: Rc<RefCell<Counted>>,
    tables: BTreeMap<TableId, Table<F>>,
    slots: BTreeSet<u16>,
    attached: Attached<F>,
    /// Ways to next hops of the other family that lead nowhere there at present.
    astray: BTreeSet<CrossFamilyHop>,
    /// Those that lead back to where they began.
    circling: BTreeSet<CrossFamilyHop>,
    /// The kinds of next hops that rooms have registered.
    pub kinds: Kinds,
    /// The groups.
    pub groups: Groups<F>,
    /// The adjacencies that groups hold, and neighbours complete.
    pub adjacencies: Adjacencies<F>,
}

impl<F: Forwarding> Fib<F> {
    /// An empty FIB without tables, with counters that only this process sees.
    pub fn new(domain: &Domain, workers: usize) -> Fib<F> {
        Fib::sharing(domain, &Shared::new(domain, workers, Counters::new(workers), Counters::new(workers)))
    }
    /// An empty FIB without tables.
    pub fn sharing(domain: &Domain, shared: &Shared) -> Fib<F> {
        Fib {
            domain: domain.clone(),
            counted: shared.routes.clone(),
            tables: BTreeMap::new(),
            slots: BTreeSet::new(),
            attached: Attached::default(),
            astray: BTreeSet::new(),
            circling: BTreeSet::new(),
            kinds: Kinds::default(),
            groups: Groups::new(domain),
            adjacencies: Adjacencies::new(domain, shared.adjacencies.clone()),
        }
    }
    /// Adds a table; `counted` makes it count packets by route.
    pub fn add_table(&mut self, id: TableId, size: Size, counted: bool) -> Result<(), FibError> {
        if self.tables.contains_key(&id) {
            return Err(FibError::TableExists(id));
        }
        let slot = (0..TABLES_MAX as u16).find(|slot| !self.slots.contains(slot));
        let slot = slot.ok_or(FibError::TooManyTables { max: TABLES_MAX })?;
        let table = Table::new(id, slot, &self.domain, size, counted.then(|| self.counted.clone()))?;
        self.slots.insert(slot);
        self.tables.insert(id, table);
        Ok(())
    }
    /// Takes a table out. Tell workers that it is gone before [`Fib::discard`]: until then they look up in it.
    pub fn take_table(&mut self, id: TableId) -> Result<Table<F>, FibError> {
        let table = self.tables.remove(&id).ok_or(FibError::NoTable(id))?;
        self.slots.remove(&table.slot);
        Ok(table)
    }
    /// Ends a table with all its routes. What resolves through it no longer does.
    pub fn discard(&mut self, mut table: Table<F>) {
        let users: BTreeSet<u32> = table.tracked.values().flatten().copied().collect();
        table.release_routes();
        self.attached.forget(table.id);
        let entries = std::mem::take(&mut table.entries);
        for group in entries.iter().flat_map(|(_, _, entry)| entry.groups()) {
            self.release(group);
        }
        self.settle(users);
    }
    /// A table.
    pub fn table(&self, id: TableId) -> Option<&Table<F>> {
        self.tables.get(&id)
    }
    /// The table behind this number, or the first one.
    pub fn table_behind(&self, last: Option<&TableId>) -> Option<&Table<F>> {
        behind(&self.tables, last).map(|(_, table)| table)
    }
    /// All tables by their numbers.
    pub fn tables(&self) -> impl Iterator<Item = &Table<F>> {
        self.tables.values()
    }

    /// Keeps paths, 1 to [`BUCKETS`] of them, for whoever sends by them without a route: the group whose row says what they
    /// come to, until [`Fib::let_go`].
    pub fn hold(&mut self, paths: Vec<Path<F>>) -> u32 {
        let (group, new) = self.groups.acquire(paths);
        if new {
            self.track(group);
            self.settle([group]);
        }
        group
    }
    /// Ends what [`Fib::hold`] began. Workers may meet the group's number until their next turn.
    pub fn let_go(&mut self, group: u32) {
        self.release(group);
    }
    /// Notes what an interface has become; None when it is gone.
    pub fn set_link(&mut self, interface: InterfaceId, link: Option<Link>) {
        if self.adjacencies.set_link(interface, link) {
            let groups = self.groups.on_interface(interface);
            self.settle(groups);
        }
    }
    /// Notes whether a way to a next hop of the other family leads anywhere there.
    pub(crate) fn set_way(&mut self, way: CrossFamilyHop, leads: bool) {
        let changed = match leads {
            true => self.astray.remove(&way),
            false => self.astray.insert(way),
        };
        if changed {
            let over: Vec<u32> = self.groups.over(way).collect();
            self.settle(over);
        }
    }
    /// Notes the ways to next hops of the other family by which packets would come back, for ever: they are none.
    pub(crate) fn set_circling(&mut self, ways: BTreeSet<CrossFamilyHop>) {
        let before = std::mem::replace(&mut self.circling, ways);
        let changed = before.symmetric_difference(&self.circling);
        let over: BTreeSet<u32> = changed.flat_map(|way| self.groups.over(*way)).collect();
        self.settle(over);
    }
    /// Number of leaf stores, over all tables.
    pub fn leaf_stores(&self) -> u64 {
        self.tables.values().map(|table| table.leaf_stores).sum()
    }

    /// The route for `prefix` leads elsewhere now: what resolves through it is resolved anew.
    fn changed(&mut self, table: TableId, prefix: Prefix<F>) {
        let Some(table) = self.tables.get(&table) else { return };
        let within = table.tracked.range(prefix.address()..=prefix.last_address());
        let users: BTreeSet<u32> = within.flat_map(|(_, users)| users).copied().collect();
        if !users.is_empty() {
            self.settle(users);
        }
    }
    /// Lets tables tell when the way to one of the group's recursive next hops changes.
    fn track(&mut self, id: u32) {
        for (table, address) in self.recursive(id) {
            if let Some(table) = self.tables.get_mut(&table) {
                table.tracked.entry(address).or_default().insert(id);
            }
        }
    }
    fn recursive(&self, id: u32) -> Vec<(TableId, F::Address)> {
        let targets = self.groups.get(id).into_iter().flat_map(|group| group.paths.iter());
        let recursive = |path: &Path<F>| match path.target {
            Target::Recursive(table, address) if !path.gone => Some((table, address)),
            _ => None,
        };
        targets.filter_map(recursive).collect()
    }
    fn release(&mut self, id: u32) {
        let recursive = self.recursive(id);
        let Some(group) = self.groups.release(id) else { return };
        for (table, address) in recursive {
            let Some(table) = self.tables.get_mut(&table) else { continue };
            if let Some(users) = table.tracked.get_mut(&address) {
                users.remove(&id);
                if users.is_empty() {
                    table.tracked.remove(&address);
                }
            }
        }
        group.held.into_iter().for_each(|hop| self.adjacencies.release(hop));
    }
    /// Resolves groups anew, and then those that depend on what changed.
    fn settle(&mut self, groups: impl IntoIterator<Item = u32>) {
        let mut waiting: VecDeque<u32> = groups.into_iter().collect();
        let mut queued: BTreeSet<u32> = waiting.iter().copied().collect();
        while let Some(id) = waiting.pop_front() {
            queued.remove(&id);
            let Some(paths) = self.groups.get(id).map(|group| group.paths.clone()) else { continue };
            // All ways are known before any is judged, so that a loop is found by each group on it.
            let through: BTreeSet<u32> = paths.iter().filter_map(|path| self.leads_through(path)).collect();
            let mut affected = BTreeSet::new();
            if self.groups.set_through(id, through) {
                affected = self.groups.all_dependents(id);
            }
            if self.resolve(id, &paths) {
                affected.extend(self.groups.dependents(id));
            }
            affected.remove(&id);
            waiting.extend(affected.into_iter().filter(|id| queued.insert(*id)));
        }
    }
    /// The group of the route that covers a recursive path's next hop.
    fn leads_through(&self, path: &Path<F>) -> Option<u32> {
        let Target::Recursive(table, address) = path.target else { return None };
        if path.gone {
            return None;
        }
        self.tables.get(&table)?.way_to(address).map(|(_, group)| group)
    }
    /// Computes what a group's paths come to, and publishes it. True if that is something new.
    fn resolve(&mut self, id: u32, paths: &[Path<F>]) -> bool {
        let mut held = vec![];
        let all: Vec<(u8, Share)> =
            paths.iter().map(|path| (path.preference, (path.weight, self.resolve_path(id, path, &mut held)))).collect();
        let used = all.iter().filter(|(_, (_, hops))| hops.is_some()).map(|(preference, _)| *preference).min();
        let shares = all.into_iter().filter(|(preference, _)| Some(*preference) == used).map(|(_, share)| share);
        let changed = self.groups.set_hops(id, spread(&shares.collect::<Vec<_>>()));
        let old = match self.groups.get_mut(id) {
            Some(group) => std::mem::replace(&mut group.held, held),
            None => held,
        };
        old.into_iter().for_each(|hop| self.adjacencies.release(hop));
        changed
    }
    /// Hops that a path resolves to; None if it is unreachable.
    fn resolve_path(&mut self, id: u32, path: &Path<F>, held: &mut Vec<u32>) -> Option<Buckets> {
        if path.gone {
            return None;
        }
        let mut adjacency = |fib: &mut Self, interface, next_hop| {
            let is_up = fib.adjacencies.link(interface).is_some_and(|link| link.up);
            is_up.then(|| {
                let hop = fib.adjacencies.acquire(interface, next_hop);
                held.push(hop);
                hop
            })
        };
        match path.target {
            Target::NextHop(interface, address) => Some([adjacency(self, interface, Some(address))?; BUCKETS]),
            Target::Link(interface) => Some([adjacency(self, interface, None)?; BUCKETS]),
            Target::Special(special) => Some([special_hop(special); BUCKETS]),
            Target::Lookup(table) => Some([Continuation::Destination(self.tables.get(&table)?.slot).hop(); BUCKETS]),
            Target::SourceLookup(table) => Some([Continuation::Source(self.tables.get(&table)?.slot).hop(); BUCKETS]),
            Target::Received(interface) => Some([Continuation::Received(interface.0).hop(); BUCKETS]),
            Target::Kind(kind, index) => Some([kind.hop(index).hop(); BUCKETS]),
            Target::Crossing(number, way) => {
                let is_up = |on| self.adjacencies.link(on).is_some_and(|link| link.up);
                let leads = !self.astray.contains(&way) && !self.circling.contains(&way);
                let is_way = leads && way.interface.is_none_or(is_up);
                is_way.then(|| [Continuation::Crossing(number).hop(); BUCKETS])
            }
            Target::Recursive(_, address) => {
                let through = self.leads_through(path)?;
                if self.groups.reaches(through, id) {
                    return None;
                }
                let mut hops = self.groups.get(through)?.hops;
                for hop in &mut hops {
                    // On a link of ours: the next hop is a neighbour there.
                    let glean = self.adjacencies.get(*hop).filter(|_| self.adjacencies.row(*hop).is(State::Glean));
                    if let Some(interface) = glean.map(|glean| glean.interface) {
                        *hop = adjacency(self, interface, Some(address))?;
                    }
                }
                // Our own address and a broadcast address are no routers.
                let nowhere = |hop: &u32| {
                    matches!(*hop, hop::NO_ROUTE | hop::LOCAL | hop::BROADCAST | hop::LINK_LOCAL | hop::UNRESOLVED)
                };
                (!hops.iter().all(nowhere)).then_some(hops)
            }
        }
    }
}

fn special_hop(special: Special) -> u32 {
    match special {
        Special::Drop => hop::DROP,
        Special::Unreachable => hop::UNREACHABLE,
        Special::Prohibit => hop::PROHIBIT,
        Special::Local => hop::LOCAL,
        Special::Broadcast => hop::BROADCAST,
        Special::LinkLocal => hop::LINK_LOCAL,
    }
}
