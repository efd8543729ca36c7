//! A table (VRF): its routes, their sources, and the addresses that recursive paths and tunnels track in it.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use quiver_engine::{Counters, Domain, Guard, Isa, LANES, Lanes, Publisher, Row, Snapshot, Traffic};
use quiver_table::{LpmError, PrefixMap, in_huge_pages};
use quiver_wire::Prefix;

use super::path::{Source, TableId};
use super::trie::{Forwarding, Size, Trie};

/// Entry of one prefix: the active source and its group, and the other sources with theirs.
#[derive(Clone, Debug)]
pub struct Entry {
    /// Source of the active route.
    pub source: Source,
    /// Its group.
    pub group: u32,
    /// The other sources, best first. Most routes have none, and a million of them should stay small.
    #[expect(clippy::box_collection, reason = "eight bytes in place of twenty-four, a million times")]
    pub(super) others: Option<Box<Vec<(Source, u32)>>>,
}

impl Entry {
    /// The group of a source's route.
    pub fn of(&self, source: Source) -> Option<u32> {
        self.sources().find(|(of, _)| *of == source).map(|(_, group)| group)
    }
    /// All sources' routes, the one that counts first.
    pub fn sources(&self) -> impl Iterator<Item = (Source, u32)> + '_ {
        let others = self.others.iter().flat_map(|others| others.iter().copied());
        [(self.source, self.group)].into_iter().chain(others)
    }
    pub(super) fn groups(&self) -> impl Iterator<Item = u32> + '_ {
        self.sources().map(|(_, group)| group)
    }
    /// Sets the group of a source's route.
    pub(super) fn set(&mut self, source: Source, group: u32) {
        let mut all: Vec<_> = self.sources().filter(|(of, _)| *of != source).collect();
        all.push((source, group));
        self.take(all);
    }
    /// Takes a source's route away. False, and nothing changed, if it was the only one.
    pub(super) fn unset(&mut self, source: Source) -> bool {
        let rest: Vec<_> = self.sources().filter(|(of, _)| *of != source).collect();
        let some = !rest.is_empty();
        if some {
            self.take(rest);
        }
        some
    }
    fn take(&mut self, mut all: Vec<(Source, u32)>) {
        all.sort();
        let others = all.split_off(1);
        (self.source, self.group) = all[0];
        self.others = (!others.is_empty()).then(|| Box::new(others));
    }
}

/// The mode of a table that counts by route: a leaf is then the id of a route, and this leads on to the group.
#[derive(Clone)]
pub struct CountedView {
    /// The group of each route.
    pub groups: Snapshot<Box<[AtomicU32]>>,
    /// Packets and bytes by route; a row for each worker.
    pub rows: Vec<Arc<Row>>,
}

/// The group of a route that is counted.
#[inline(always)]
pub(crate) fn group_of(groups: &[AtomicU32], route: u32) -> u32 {
    groups.get(route as usize).map_or(0, |group| group.load(Relaxed))
}

impl CountedView {
    /// The groups that the leaves of such a table lead to.
    #[inline(always)]
    pub fn groups_of<I: Isa>(&self, guard: Guard<'_>, leaves: Lanes<I>) -> [u32; LANES] {
        let (groups, each, mut of_leaves) = (self.groups.read(guard), leaves.each(), [0; LANES]);
        for lane in 0..LANES {
            of_leaves[lane] = group_of(groups, each.at(lane));
        }
        of_leaves
    }
}

/// The numbers of routes that are counted, whatever tables they are in: clients know a route by its number.
pub(super) struct Counted {
    groups: Publisher<Box<[AtomicU32]>>,
    pub(super) counters: Counters,
    workers: usize,
    used: u32,
    free: Vec<u32>,
    released: (std::sync::mpsc::Sender<u32>, std::sync::mpsc::Receiver<u32>),
    domain: Domain,
}

/// Gives a route's id back when the last worker has let go of it.
struct Release(u32, std::sync::mpsc::Sender<u32>);
impl Drop for Release {
    fn drop(&mut self) {
        // With the tables gone their ids need no owner.
        let _ = self.1.send(self.0);
    }
}

impl Counted {
    pub(super) fn new(domain: &Domain, workers: usize, counters: Counters) -> Counted {
        let groups: Box<[AtomicU32]> = (0..64).map(|_| AtomicU32::new(0)).collect();
        Counted {
            groups: Publisher::new(domain, groups),
            counters,
            workers,
            // Leaf 0 means no route.
            used: 1,
            free: vec![],
            released: std::sync::mpsc::channel(),
            domain: domain.clone(),
        }
    }
    fn view(&self) -> CountedView {
        CountedView {
            groups: self.groups.snapshot(),
            rows: (0..self.workers).map(|worker| self.counters.row(worker)).collect(),
        }
    }
    fn allocate(&mut self) -> u32 {
        self.free.extend(self.released.1.try_iter());
        let route = self.free.pop().unwrap_or_else(|| {
            let (route, capacity) = (self.used, self.groups.current().len());
            if route as usize == capacity {
                self.groups.update(|groups| {
                    let group = |i| groups.get(i).map_or(0, |group: &AtomicU32| group.load(Relaxed));
                    in_huge_pages(capacity * 2, |i| AtomicU32::new(group(i)))
                });
            }
            self.used += 1;
            self.counters.grow(self.used);
            route
        });
        self.counters.clear(route);
        route
    }
    fn set(&self, route: u32, group: u32) {
        self.domain.flush();
        self.groups.current()[route as usize].store(group, Relaxed);
    }
    fn group(&self, route: u32) -> u32 {
        self.groups.current().get(route as usize).map_or(0, |group| group.load(Relaxed))
    }
    fn release(&mut self, route: u32) {
        self.domain.retire(Release(route, self.released.0.clone()));
    }
}

/// A table.
pub struct Table<F: Forwarding> {
    /// Its number.
    pub id: TableId,
    /// Its place among the tables that workers read.
    pub slot: u16,
    pub(super) trie: F::Trie,
    pub(super) entries: PrefixMap<F::Address, Entry>,
    counted: Option<Rc<RefCell<Counted>>>,
    /// Addresses that groups resolve through this table, and those groups.
    pub(super) tracked: BTreeMap<F::Address, BTreeSet<u32>>,
    /// Number of leaf stores, which is the cost of a change of routes.
    pub leaf_stores: u64,
}

impl<F: Forwarding> Table<F> {
    pub(super) fn new(
        id: TableId,
        slot: u16,
        domain: &Domain,
        size: Size,
        counted: Option<Rc<RefCell<Counted>>>,
    ) -> Result<Table<F>, LpmError> {
        Ok(Table {
            id,
            slot,
            trie: F::Trie::make(domain, size)?,
            entries: PrefixMap::new(),
            counted,
            tracked: BTreeMap::new(),
            leaf_stores: 0,
        })
    }
    /// The lookup structure that workers read.
    pub fn reader(&self) -> F::Reader {
        self.trie.reader()
    }
    /// Route counters for workers, if the table counts.
    pub fn counted(&self) -> Option<CountedView> {
        self.counted.as_ref().map(|counted| counted.borrow().view())
    }
    /// The routes in order of their prefixes.
    pub fn routes(&self) -> impl Iterator<Item = (Prefix<F>, &Entry)> {
        self.routes_after(None)
    }
    /// Routes after a prefix, whether or not that prefix has a route; all routes without one. Listings in turns
    /// continue with it.
    pub fn routes_after(&self, last: Option<Prefix<F>>) -> impl Iterator<Item = (Prefix<F>, &Entry)> {
        let behind = self.entries.after(last.map(|last| (last.address(), last.length())));
        behind.filter_map(|(prefix, length, entry)| Some((Prefix::new(prefix, length).ok()?, entry)))
    }
    /// The route of exactly this prefix.
    pub fn get(&self, prefix: &Prefix<F>) -> Option<&Entry> {
        self.entries.get(prefix.address(), prefix.length())
    }
    /// Number of routes.
    pub fn len(&self) -> usize {
        self.entries.len()
    }
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }
    /// Whether something follows the way to an address: a route by it, or a tunnel to it.
    pub fn is_tracked(&self, address: F::Address) -> bool {
        self.tracked.contains_key(&address)
    }
    /// The route that packets for an address take: its prefix and group.
    pub fn find(&self, address: F::Address) -> Option<(Prefix<F>, u32)> {
        let (prefix, leaf) = self.trie.find(address)?;
        Some((prefix, self.counted.as_ref().map_or(leaf, |counted| counted.borrow().group(leaf))))
    }
    /// The same, if it leads there: what a table does with packets that have no route is no way to a next hop.
    pub fn way_to(&self, address: F::Address) -> Option<(Prefix<F>, u32)> {
        let (prefix, group) = self.find(address)?;
        let is_way = self.get(&prefix).is_some_and(|entry| entry.source != Source::Default);
        is_way.then_some((prefix, group))
    }
    /// Traffic of the route for exactly this prefix, if the table counts.
    pub fn counts(&self, prefix: &Prefix<F>) -> Option<Traffic> {
        let counted = self.counted.as_ref()?.borrow();
        self.number(prefix).map(|route| counted.counters.sum(route))
    }
    /// The number of the route of exactly this prefix, by which clients of the statistics find its counters; none if the
    /// table does not count.
    pub fn number(&self, prefix: &Prefix<F>) -> Option<u32> {
        self.counted.as_ref()?;
        self.trie.leaf(prefix)
    }
    /// Gives the numbers of routes back, before the table goes.
    pub(super) fn release_routes(&self) {
        if let Some(counted) = &self.counted {
            let leaves = self.routes().filter_map(|(prefix, _)| self.trie.leaf(&prefix));
            leaves.for_each(|route| counted.borrow_mut().release(route));
        }
    }
    /// Bytes in use by the table proper, and by control's notes on its routes.
    pub fn memory_bytes(&self) -> (usize, usize) {
        (self.trie.memory_bytes(), self.entries.memory_bytes())
    }

    /// Stores the leaf of a prefix: from now on its packets go by `group`.
    pub(super) fn store(&mut self, prefix: Prefix<F>, group: u32) -> Result<(), LpmError> {
        let Some(counted) = &self.counted else {
            self.trie.set(prefix, group)?;
            self.leaf_stores += 1;
            return Ok(());
        };
        let mut counted = counted.borrow_mut();
        if let Some(route) = self.trie.leaf(&prefix) {
            counted.set(route, group);
            return Ok(());
        }
        let route = counted.allocate();
        counted.set(route, group);
        let stored = self.trie.set(prefix, route);
        if stored.is_err() {
            counted.free.push(route);
        }
        self.leaf_stores += 1;
        stored
    }
    /// The packets of a prefix that has a leaf go by another group from now on; that needs no room.
    pub(super) fn divert(&mut self, prefix: Prefix<F>, group: u32) {
        let Some(counted) = &self.counted else {
            self.leaf_stores += u64::from(self.trie.replace(prefix, group));
            return;
        };
        if let Some(route) = self.trie.leaf(&prefix) {
            counted.borrow().set(route, group);
        }
    }
    pub(super) fn unstore(&mut self, prefix: Prefix<F>) {
        let leaf = self.trie.leaf(&prefix);
        self.trie.unset(prefix);
        self.leaf_stores += 1;
        // Only now can no lookup find the route any more.
        if let (Some(counted), Some(route)) = (&self.counted, leaf) {
            counted.borrow_mut().release(route);
        }
    }
}
