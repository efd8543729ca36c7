//! Next-hop groups: the paths that routes share, and the hops that these paths come to.
//!
//! Routes with the same paths share one group, so a million routes have as many groups as there are different sets of
//! paths. What a recursive path leads through may change: then the group's row is rewritten in place, and the routes are
//! not touched.

use std::collections::{BTreeSet, HashMap};
use std::rc::Rc;

use quiver_control::Signal;
use quiver_engine::{Domain, Snapshot};
use quiver_interface::InterfaceId;
use quiver_wire::IpFamily;

use super::hop::{self, Continuation};
use super::path::{CrossFamilyHop, Path, Target};
use super::rows::{BUCKETS, Buckets, GroupRows, Rows};

/// A group.
#[derive(Clone, Debug)]
pub struct Group<F: IpFamily> {
    /// The paths in order of their content. Removed paths keep their places.
    pub paths: Rc<[Path<F>]>,
    /// Routes that lead to it.
    pub routes: u32,
    /// Hops that the paths resolve to.
    pub hops: Buckets,
    /// Adjacencies that it holds.
    pub(super) held: Vec<u32>,
    /// Groups through which its recursive paths lead.
    pub(super) through: BTreeSet<u32>,
}

/// All groups of a family.
pub struct Groups<F: IpFamily> {
    slots: Vec<Option<Group<F>>>,
    by_paths: HashMap<Rc<[Path<F>]>, u32>,
    /// Groups that lead through a group.
    dependents: HashMap<u32, BTreeSet<u32>>,
    /// Interfaces, and the groups with a path that stays on one of their links.
    links: BTreeSet<(InterfaceId, u32)>,
    /// Ways to next hops of the other family, and the groups with a path over each; and those that none has any more.
    crossings: BTreeSet<(CrossFamilyHop, u32)>,
    uncrossed: Vec<CrossFamilyHop>,
    /// Groups that are ways of the other family, and of those that led somewhere, or nowhere, and do not any more.
    watched: BTreeSet<u32>,
    turned: BTreeSet<u32>,
    turns: Signal,
    /// Whether groups lead through others than when this was asked last, in a family that is led through from the other one and
    /// leads there.
    reshaped: bool,
    rows: Rows,
}

/// Whether packets of the other family get anywhere by hops of this one: not where they would be for us or for nobody.
fn leads(hops: &Buckets) -> bool {
    hops.iter().any(|hop| match Continuation::of(*hop) {
        Some(Continuation::Kind(of_kind)) => of_kind.is_inside(),
        Some(again) => matches!(again, Continuation::Crossing(_)),
        None => *hop >= hop::FIRST_ADJACENCY || matches!(*hop, hop::DROP | hop::UNREACHABLE | hop::PROHIBIT),
    })
}

impl<F: IpFamily> Group<F> {
    /// The groups through which its recursive paths lead.
    pub(crate) fn through(&self) -> impl Iterator<Item = u32> + '_ {
        self.through.iter().copied()
    }
    /// The ways to next hops of the other family that its paths lead over.
    pub(crate) fn crossed(&self) -> impl Iterator<Item = CrossFamilyHop> + '_ {
        self.ways().filter_map(Path::crossed)
    }
    /// The paths of its routes.
    pub fn ways(&self) -> impl Iterator<Item = &Path<F>> {
        self.paths.iter().filter(|path| !path.gone)
    }
}

impl<F: IpFamily> Groups<F> {
    pub(super) fn new(domain: &Domain) -> Groups<F> {
        Groups {
            slots: vec![None],
            by_paths: HashMap::new(),
            dependents: HashMap::new(),
            links: BTreeSet::new(),
            crossings: BTreeSet::new(),
            uncrossed: vec![],
            watched: BTreeSet::new(),
            turned: BTreeSet::new(),
            turns: Signal::new(),
            reshaped: false,
            rows: Rows::new(domain),
        }
    }
    /// The rows that workers read.
    pub fn snapshot(&self) -> Snapshot<GroupRows> {
        self.rows.snapshot()
    }
    /// A group.
    pub fn get(&self, id: u32) -> Option<&Group<F>> {
        self.slots.get(id as usize)?.as_ref()
    }
    /// All groups and their ids.
    pub fn iter(&self) -> impl Iterator<Item = (u32, &Group<F>)> {
        self.from(0).filter_map(|(id, group)| Some((id, group?)))
    }
    /// All numbers from this one on, with their groups.
    pub fn from(&self, first: u32) -> impl Iterator<Item = (u32, Option<&Group<F>>)> {
        (first..).zip(self.slots.get(first as usize..).unwrap_or_default()).map(|(id, slot)| (id, slot.as_ref()))
    }
    /// Number of groups.
    pub fn len(&self) -> usize {
        self.by_paths.len()
    }
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.by_paths.is_empty()
    }
    /// Number of published rows, which is the cost of a change of next hops.
    pub fn publications(&self) -> u64 {
        self.rows.writes
    }
    /// Bytes of the rows.
    pub fn memory_bytes(&self) -> usize {
        self.rows.memory_bytes()
    }
    pub(super) fn get_mut(&mut self, id: u32) -> Option<&mut Group<F>> {
        self.slots.get_mut(id as usize)?.as_mut()
    }
    /// The group of these paths, one route more; and whether it is new and has yet to be resolved.
    pub(super) fn acquire(&mut self, mut paths: Vec<Path<F>>) -> (u32, bool) {
        paths.sort();
        if let Some(&id) = self.by_paths.get(&*paths) {
            self.get_mut(id).into_iter().for_each(|group| group.routes += 1);
            return (id, false);
        }
        let (id, paths) = (self.rows.allocate(), Rc::<[Path<F>]>::from(paths));
        if self.slots.len() <= id as usize {
            self.slots.resize(id as usize + 1, None);
        }
        let hops = [hop::UNRESOLVED; BUCKETS];
        self.rows.write(id, &hops);
        self.links.extend(links(&paths).map(|interface| (interface, id)));
        self.crossings.extend(crossed(&paths).map(|way| (way, id)));
        self.reshape(crossed(&paths).next().is_some());
        let group = Group { paths: paths.clone(), routes: 1, hops, held: vec![], through: BTreeSet::new() };
        self.slots[id as usize] = Some(group);
        self.by_paths.insert(paths, id);
        (id, true)
    }
    /// One route less. Returns the group if it was the last one; its edges are for the caller to take away.
    pub(super) fn release(&mut self, id: u32) -> Option<Group<F>> {
        let group = self.get_mut(id)?;
        group.routes -= 1;
        if group.routes > 0 {
            return None;
        }
        self.set_through(id, BTreeSet::new());
        let group = self.slots[id as usize].take()?;
        self.by_paths.remove(&group.paths);
        links(&group.paths).for_each(|interface| _ = self.links.remove(&(interface, id)));
        self.reshape(crossed(&group.paths).next().is_some());
        for way in crossed(&group.paths) {
            if self.crossings.remove(&(way, id)) && !self.crosses(way) {
                self.uncrossed.push(way);
            }
        }
        self.rows.release(id);
        Some(group)
    }
    /// Notes through which groups a group leads now. True if that changed.
    pub(super) fn set_through(&mut self, id: u32, through: BTreeSet<u32>) -> bool {
        let Some(group) = self.get_mut(id) else { return false };
        let old = std::mem::replace(&mut group.through, through.clone());
        for gone in old.difference(&through) {
            if let Some(dependents) = self.dependents.get_mut(gone) {
                dependents.remove(&id);
                if dependents.is_empty() {
                    self.dependents.remove(gone);
                }
            }
        }
        for new in through.difference(&old) {
            self.dependents.entry(*new).or_default().insert(id);
        }
        self.reshape(old != through);
        old != through
    }
    /// Publishes what a group's paths come to. True if that is something new.
    pub(super) fn set_hops(&mut self, id: u32, hops: Buckets) -> bool {
        let Some(group) = self.get_mut(id) else { return false };
        let before = std::mem::replace(&mut group.hops, hops);
        if before != hops {
            self.rows.write(id, &hops);
            if self.watched.contains(&id) && leads(&before) != leads(&hops) {
                self.turned.insert(id);
                self.turns.notify();
            }
        }
        before != hops
    }
    /// Watches a group from now on, or no more: it is a way of the other family.
    pub(crate) fn watch(&mut self, id: u32, is_watched: bool) {
        match is_watched {
            true => _ = self.watched.insert(id),
            false => _ = self.watched.remove(&id),
        }
        self.reshape(true);
    }
    /// Notes that ways may lead in a circle now, or do not any more: if that `matters`, and packets of the other family come here
    /// and go back there.
    fn reshape(&mut self, matters: bool) {
        if matters && !self.watched.is_empty() && !self.crossings.is_empty() {
            self.reshaped = true;
            self.turns.notify();
        }
    }
    /// Whether that was so since this was asked last.
    pub(crate) fn take_reshaped(&mut self) -> bool {
        std::mem::take(&mut self.reshaped)
    }
    /// Whether packets of the other family get anywhere by a group.
    pub(crate) fn leads(&self, id: u32) -> bool {
        self.get(id).is_some_and(|group| leads(&group.hops))
    }
    /// The watched groups of which that has changed since this was asked last; and what tells that some have.
    pub(crate) fn take_turned(&mut self) -> BTreeSet<u32> {
        std::mem::take(&mut self.turned)
    }
    /// See [`Groups::take_turned`].
    pub(crate) fn turns(&self) -> &Signal {
        &self.turns
    }
    /// The groups with a path over a way to a next hop of the other family.
    pub(super) fn over(&self, way: CrossFamilyHop) -> impl Iterator<Item = u32> + '_ {
        self.crossings.range((way, 0)..=(way, u32::MAX)).map(|(_, id)| *id)
    }
    /// The groups that lead straight through a group.
    pub(super) fn dependents(&self, id: u32) -> impl Iterator<Item = u32> + '_ {
        self.dependents.get(&id).into_iter().flatten().copied()
    }
    /// All groups that lead through a group in any number of steps.
    pub(super) fn all_dependents(&self, id: u32) -> BTreeSet<u32> {
        let (mut found, mut ahead) = (BTreeSet::new(), vec![id]);
        while let Some(at) = ahead.pop() {
            ahead.extend(self.dependents(at).filter(|dependent| found.insert(*dependent)));
        }
        found
    }
    /// Whether `from` leads through `to` in any number of steps.
    pub(super) fn reaches(&self, from: u32, to: u32) -> bool {
        let (mut seen, mut ahead) = (BTreeSet::from([from]), vec![from]);
        while let Some(at) = ahead.pop() {
            if at == to {
                return true;
            }
            let through = self.get(at).into_iter().flat_map(|group| &group.through);
            ahead.extend(through.filter(|next| seen.insert(**next)));
        }
        false
    }
    /// Whether a path leads over a way to a next hop of the other family.
    pub(crate) fn crosses(&self, way: CrossFamilyHop) -> bool {
        self.over(way).next().is_some()
    }
    /// The ways that paths led over, and at some time since this was asked last none did.
    pub(crate) fn take_uncrossed(&mut self) -> Vec<CrossFamilyHop> {
        std::mem::take(&mut self.uncrossed)
    }
    /// The groups with a path that stays on a link of this interface.
    pub(super) fn on_interface(&self, interface: InterfaceId) -> Vec<u32> {
        // A group that leads through a link's own route has the link's adjacency in its buckets and follows that group.
        self.links.range((interface, 0)..=(interface, u32::MAX)).map(|(_, id)| *id).collect()
    }
}

/// The ways to next hops of the other family that paths lead over.
fn crossed<F: IpFamily>(paths: &[Path<F>]) -> impl Iterator<Item = CrossFamilyHop> + '_ {
    paths.iter().filter_map(Path::crossed)
}

/// The interfaces on whose links paths stay.
fn links<F: IpFamily>(paths: &[Path<F>]) -> impl Iterator<Item = InterfaceId> + '_ {
    paths.iter().filter(|path| !path.gone).filter_map(|path| match path.target {
        Target::NextHop(on, _) | Target::Link(on) => Some(on),
        Target::Crossing(_, way) => way.interface,
        Target::Recursive(..)
        | Target::Special(_)
        | Target::Lookup(_)
        | Target::SourceLookup(_)
        | Target::Received(_)
        | Target::Kind(..) => None,
    })
}

/// A path's weight, and what it comes to; None if that is nowhere at present.
pub(super) type Share = (u8, Option<Buckets>);

/// Spreads paths over the buckets by their weights; every path gets at least one bucket, up to sixteen paths.
///
/// Largest remainders decide who gets what the whole parts leave over. A path's buckets lie beside each other, and a
/// path that is itself a group gives every n-th of its own, so that weights within it survive. A path that leads nowhere has
/// its buckets all the same, and the others share them by their weights: so the flows in all other buckets stay where they
/// are when it goes, and when it comes back.
pub(super) fn spread(shares: &[Share]) -> Buckets {
    let shares = &shares[..shares.len().min(BUCKETS)];
    let weights: Vec<usize> = shares.iter().map(|share| usize::from(share.0.max(1))).collect();
    let counts = counts(&weights);
    let lending = Lending { weights: &weights, is_there: &|path| shares[path].1.is_some() };
    let (mut buckets, mut place) = ([hop::UNRESOLVED; BUCKETS], 0);
    for (path, count) in counts.iter().copied().enumerate() {
        let mut taker = vec![Some(path); count];
        if shares[path].1.is_none() {
            lending.lend(&(0..count).collect::<Vec<_>>(), &mut vec![path], &counts, &mut taker);
        }
        for (k, taker) in taker.into_iter().enumerate() {
            if let Some(hops) = taker.and_then(|taker| shares[taker].1) {
                buckets[place] = hops[k * BUCKETS / count];
            }
            place += 1;
        }
    }
    buckets
}

/// Redistribution of buckets whose paths are unreachable.
struct Lending<'a> {
    weights: &'a [usize],
    is_there: &'a dyn Fn(usize) -> bool,
}

impl Lending<'_> {
    /// Spreads a path's buckets over the paths that are not `out`. What falls to an unreachable path is spread over the
    /// remaining ones in turn. Each bucket thus has a fixed order of paths: when a path goes away, only its own buckets
    /// move.
    fn lend(&self, buckets: &[usize], out: &mut Vec<usize>, taken: &[usize], taker: &mut [Option<usize>]) {
        let paths = || (0..self.weights.len()).filter(|path| !out.contains(path));
        let total: usize = paths().map(|path| self.weights[path]).sum();
        let (mut taken, mut of) = (taken.to_vec(), vec![vec![]; self.weights.len()]);
        for bucket in buckets {
            // Who has least of what its weight gives it is next.
            let lacks = |path: usize| (self.weights[path] * BUCKETS) as isize - (taken[path] * total) as isize;
            let next = paths().max_by_key(|path| (lacks(*path), std::cmp::Reverse(*path)));
            taker[*bucket] = next;
            if let Some(next) = next {
                taken[next] += 1;
                of[next].push(*bucket);
            }
        }
        for (path, buckets) in of.iter().enumerate().filter(|(path, of)| !of.is_empty() && !(self.is_there)(*path)) {
            out.push(path);
            self.lend(buckets, out, &taken, taker);
            out.pop();
        }
    }
}

/// Number of buckets per weight.
fn counts(weights: &[usize]) -> Vec<usize> {
    let total: usize = weights.iter().sum();
    let mut counts: Vec<usize> = weights.iter().map(|weight| (weight * BUCKETS / total).max(1)).collect();
    let remainder = |i: usize, counts: &[usize]| (weights[i] * BUCKETS) as isize - (counts[i] * total) as isize;
    while !counts.is_empty() && counts.iter().sum::<usize>() < BUCKETS {
        let most = (0..counts.len()).max_by_key(|i| (remainder(*i, &counts), std::cmp::Reverse(*i)));
        most.into_iter().for_each(|i| counts[i] += 1);
    }
    while counts.iter().sum::<usize>() > BUCKETS {
        let least = (0..counts.len()).filter(|i| counts[*i] > 1).min_by_key(|i| (remainder(*i, &counts), *i));
        least.into_iter().for_each(|i| counts[i] -= 1);
    }
    counts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(weights: &[u8]) -> Vec<usize> {
        let shares: Vec<Share> = (100..).zip(weights).map(|(hop, weight)| (*weight, Some([hop; BUCKETS]))).collect();
        let buckets = spread(&shares);
        (100..).take(weights.len()).map(|hop| buckets.iter().filter(|bucket| **bucket == hop).count()).collect()
    }

    #[test]
    fn weights_become_buckets() {
        assert_eq!(counts(&[1]), [16]);
        assert_eq!(counts(&[1, 1]), [8, 8]);
        assert_eq!(counts(&[1, 1, 1]), [6, 5, 5]);
        assert_eq!(counts(&[3, 1]), [12, 4]);
        assert_eq!(counts(&[255, 1]), [15, 1]);
        assert_eq!(counts(&[255, 1, 1, 1]), [13, 1, 1, 1]);
        assert_eq!(counts(&[0, 1]), [8, 8]);
        assert_eq!(counts(&[1; 16]), [1; 16]);
        assert_eq!(counts(&[1; 20])[..17], [1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0]);
    }

    #[test]
    fn a_group_within_a_group_keeps_its_weights() {
        let inner = spread(&[(3, Some([20; BUCKETS])), (1, Some([21; BUCKETS]))]);
        let outer = spread(&[(1, Some(inner)), (1, Some([30; BUCKETS]))]);
        let count = |hop| outer.iter().filter(|bucket| **bucket == hop).count();
        assert_eq!((count(20), count(21), count(30)), (6, 2, 8));
    }

    #[test]
    fn who_loses_a_path_keeps_the_others_flows_in_place() {
        let share = |weight, hop: u32, up: bool| (weight, up.then_some([hop; BUCKETS]));
        for weights in [[1, 1, 1, 1], [5, 3, 2, 1], [1, 9, 1, 1]] {
            let all = |lost: usize| -> Vec<Share> {
                (0..4).map(|path| share(weights[path], 20 + path as u32, path != lost)).collect()
            };
            let whole = spread(&all(9));
            for lost in 0..4 {
                let rest = spread(&all(lost));
                for bucket in 0..BUCKETS {
                    let was = whole[bucket];
                    let stays = rest[bucket] == was;
                    assert_ne!(stays, was == 20 + lost as u32, "{weights:?} without {lost}: bucket {bucket}");
                }
            }
        }
        // What is left over goes by the weights of the others.
        let rest = spread(&[share(2, 20, false), share(1, 21, true), share(1, 22, true)]);
        assert_eq!(rest.iter().filter(|hop| **hop == 21).count(), 8);
        assert_eq!(spread(&[share(1, 20, false)]), [hop::UNRESOLVED; BUCKETS]);
        assert_eq!(spread(&[]), [hop::UNRESOLVED; BUCKETS]);
    }
}
