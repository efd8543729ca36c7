//! `ip4-lookup`, `ip6-lookup`: from the destination to a hop. Of a route with several paths, the flow's hash chooses one.
//!
//! Packets for a neighbour go to `ip4-rewrite`, packets for us to `ip4-local`; the others vanish by name, or their
//! senders are told by ICMP. Where a route says to look in another table, that is done here if a neighbour is found there; whatever
//! else comes of it is for `ip4-lookup-again`, which looks itself.

use std::cell::Cell;
use std::sync::atomic::{AtomicU32, Ordering};

use quiver_engine::{
    ArcSpec, Body, Columns, Flags, Guard, Isa, Lanes, Mask, Mask16, PacketLanes, Row, Snapshot, Stage, arcs,
};

use crate::family::{BACK, Family};
use crate::fault::Fault;
use crate::fib::hop::Again;
use crate::fib::rows::{GroupRow, GroupRows};
use crate::fib::{Reader, View, hop};
use crate::flows::{Flows, hash};
use crate::ingress::{Ingress, TableView};
use crate::node::again::LOOKUPS_MAX;
use crate::node::walk::Walk;

arcs! {
    /// Where packets go from `ip4-lookup`.
    pub enum Next of F: Family {
        Rewrite => node (F::NAMES.rewrite),
        Local => features (F::NAMES.local),
        NoRoute => node (F::NAMES.error),
        Unreachable => node (F::NAMES.error),
        Prohibited => node (F::NAMES.error),
        Drop => drop "route-drop",
        OnLink => arc (F::ON_LINK),
        Unresolved => drop "unresolved-route",
        LinkGroup => drop "link-layer-broadcast",
    }
}

/// No interface's number: nothing was looked at ahead.
const NOBODY: u32 = u32::MAX;

/// The stage.
#[derive(Clone)]
pub struct Lookup<F: Family> {
    /// The tables, and which one is an interface's.
    pub ingress: Snapshot<Ingress<F>>,
    /// The groups that leaves lead to.
    pub groups: Snapshot<GroupRows>,
    /// The worker, whose counters by route are written.
    worker: usize,
    walk: Walk<F>,
}

impl<F: Family> Lookup<F> {
    /// A worker's stage.
    pub fn new(ingress: Snapshot<Ingress<F>>, groups: Snapshot<GroupRows>, worker: usize) -> Lookup<F> {
        Lookup { ingress, groups, worker, walk: Walk::new() }
    }
}

/// The stage at work.
pub struct LookupBody<'f, F: Family> {
    ingress: &'f Ingress<F>,
    groups: &'f [GroupRow],
    /// Where a group is found that is too new for `groups`.
    newest: &'f Snapshot<GroupRows>,
    guard: Guard<'f>,
    /// The leaves of the sixteen packets at hand, where tables count by route, and the counters if one has them all.
    leaves: Cell<[u32; 16]>,
    row: Cell<Option<&'f Row>>,
    walk: &'f Walk<F>,
    /// The interface that was looked at ahead last, and its table if what that reads is far away.
    ahead: Cell<(u32, Option<&'f TableView<F>>)>,
    /// Whether packets of several tables were looked at.
    is_mixed: Cell<bool>,
    worker: usize,
}

impl<F: Family> Stage for Lookup<F> {
    const NAME: &'static str = F::NAMES.lookup;
    const ARCS: &'static [ArcSpec] = Next::arcs::<F>();
    type Body<'f> = LookupBody<'f, F>;
    #[inline(always)]
    fn enter<'f>(&'f mut self, guard: Guard<'f>) -> LookupBody<'f, F> {
        let ingress = self.ingress.read(guard);
        self.walk.begin();
        LookupBody {
            ingress,
            groups: self.groups.read(guard),
            newest: &self.groups,
            guard,
            leaves: Cell::new([0; 16]),
            row: Cell::new(None),
            walk: &self.walk,
            ahead: Cell::new((NOBODY, None)),
            is_mixed: Cell::new(false),
            worker: self.worker,
        }
    }
}

impl<F: Family> LookupBody<'_, F> {
    /// The hop in a bucket of the group that a leaf leads to.
    #[inline(always)]
    fn hop(&self, group: u32, bucket: u32) -> u32 {
        match self.groups.get(group as usize) {
            Some(row) => row.hop(bucket),
            None => self.hop_of_new(group, bucket),
        }
    }
    /// A route was added since this frame began, and the groups grew for it.
    #[cold]
    fn hop_of_new(&self, group: u32, bucket: u32) -> u32 {
        self.newest.read(self.guard).get(group as usize).map_or(hop::NO_ROUTE, |row| row.hop(bucket))
    }
    /// The leaves of sixteen destinations in the tables of their interfaces.
    #[inline(always)]
    fn leaves<I: Isa>(&self, words: Lanes<I>, live: Mask<I>, to: &[F::Bits; 16]) -> [u32; 16] {
        let all = words.array();
        if !(words.ne(all[0]) & live).any() {
            let Some(table) = self.ingress.table(all[0]) else { return [0; 16] };
            let lpm = table.lpm.view(self.guard);
            // Where a leaf is behind the first word there is nothing to be saved.
            if F::Reader::STEPS == 0 || !self.walk.has_next_sixteen() || self.is_mixed.get() {
                return lpm.lookup_each(to);
            }
            let words = self.walk.words(to, |to| lpm.begin(to));
            lpm.finish_each(words, to)
        } else {
            self.leaves_of_several(&all, to)
        }
    }
    #[cold]
    fn leaves_of_several(&self, words: &[u32; 16], to: &[F::Bits; 16]) -> [u32; 16] {
        let mut leaves = [0; 16];
        for lane in 0..16 {
            let table = self.ingress.table(words[lane]);
            leaves[lane] = table.map_or(0, |table| table.lpm.view(self.guard).lookup(to[lane]));
        }
        leaves
    }
    /// Leads the leaves of counting tables on to groups, and keeps them to be counted.
    #[inline(always)]
    fn through_counted<I: Isa>(&self, words: Lanes<I>, live: Mask<I>, leaves: &mut [u32; 16]) {
        self.leaves.set(*leaves);
        let all = words.array();
        let several = (words.ne(all[0]) & live).any();
        let table = if several { None } else { self.ingress.table(all[0]) };
        match table.map(|table| &table.counted) {
            Some(Some(counted)) => {
                self.row.set(counted.rows.get(self.worker).map(|row| &**row));
                let groups = counted.groups.read(self.guard);
                for lane in 0..16 {
                    leaves[lane] = group_of(groups, leaves[lane]);
                }
            }
            Some(None) => self.row.set(None),
            None => self.through_several(&all, leaves),
        }
    }
    #[cold]
    #[inline(never)]
    fn through_several(&self, words: &[u32; 16], leaves: &mut [u32; 16]) {
        self.row.set(None);
        for lane in 0..16 {
            let counted = self.ingress.table(words[lane]).and_then(|table| table.counted.as_ref());
            if let Some(counted) = counted {
                leaves[lane] = group_of(counted.groups.read(self.guard), leaves[lane]);
            }
        }
    }
    #[inline(always)]
    fn count(&self, live: Mask16, rx: &[u32; 16], lengths: &[u32; 16]) {
        let leaves = self.leaves.get();
        match self.row.get() {
            Some(row) => row.add_lanes(live, &leaves, lengths),
            None => self.count_several(live, rx, lengths),
        }
    }
    #[cold]
    fn count_several(&self, live: Mask16, rx: &[u32; 16], lengths: &[u32; 16]) {
        let leaves = self.leaves.get();
        for lane in live {
            let table = self.ingress.table(self.ingress.word(rx[lane]));
            let counted = table.and_then(|table| table.counted.as_ref());
            if let Some(row) = counted.and_then(|counted| counted.rows.get(self.worker)) {
                row.add(leaves[lane], 1, lengths[lane].into());
            }
        }
    }
}

impl<F: Family> LookupBody<'_, F> {
    /// The buckets, also of those packets whose tables tell flows apart otherwise than usual.
    ///
    /// PERF: it takes a copy, for what a call may look at lies in memory ever after, and is cleared there first.
    #[cold]
    fn choose<I: Isa>(&self, words: [u32; 16], p: PacketLanes<I>, mut buckets: [u32; 16]) -> [u32; 16] {
        let flows = |lane: usize| self.ingress.table(words[lane]).map_or(Flows::default(), |table| table.flows);
        let key = F::flow_key(&p);
        // Most sixteen packets are of one table.
        let mut known = (Flows::default(), buckets);
        for lane in 0..16 {
            let wanted = flows(lane);
            if wanted.is_usual() {
                continue;
            }
            if known.0 != wanted {
                known = (wanted, hash(wanted, &key, |a, b| a + b).array());
            }
            buckets[lane] = known.1[lane];
        }
        buckets
    }
    /// Those of the packets whose tables do not forward what came in frames for many.
    #[cold]
    fn nobodys(&self, words: &[u32; 16], packets: Mask16) -> Mask16 {
        let mut nobodys = packets;
        for lane in packets {
            if self.ingress.table(words[lane]).is_some_and(|table| table.forwards_broadcasts) {
                nobodys = nobodys & !Mask16(1 << lane);
            }
        }
        nobodys
    }
}

impl<F: Family> LookupBody<'_, F> {
    /// The neighbours of packets that are to be looked up in other tables; what leads to none stays as it is.
    #[cold]
    fn look_again(&self, hops: &mut [u32; 16], buckets: &[u32; 16], from: &[F::Bits; 16], to: &[F::Bits; 16]) {
        for lane in 0..16 {
            let mut hop = hops[lane];
            for _ in 0..LOOKUPS_MAX {
                let (slot, address) = match Again::of(hop) {
                    Some(Again::Destination(slot)) => (slot, to[lane]),
                    Some(Again::Source(slot)) => (slot, from[lane]),
                    _ => break,
                };
                let table = self.ingress.table(slot.into());
                let leaf = table.map_or(0, |table| table.lpm.view(self.guard).lookup(address));
                hop = self.hop(leaf, buckets[lane]);
            }
            if (hop::FIRST_ADJACENCY..hop::AGAIN).contains(&hop) {
                hops[lane] = hop;
            }
        }
    }
}

/// The first hop that an address has in the table of an interface.
pub(super) fn first_hop<F: Family>(
    ingress: &Ingress<F>,
    groups: &[GroupRow],
    guard: Guard<'_>,
    interface: u16,
    to: F::Address,
) -> u32 {
    let Some(table) = ingress.table(ingress.word(interface.into())) else { return hop::NO_ROUTE };
    groups.get(table.group(guard, to) as usize).map_or(hop::NO_ROUTE, |row| row.hop(0))
}

/// The group of a route.
#[inline(always)]
pub(crate) fn group_of(groups: &[AtomicU32], route: u32) -> u32 {
    groups.get(route as usize).map_or(0, |group| group.load(Ordering::Relaxed))
}

impl<F: Family> Body for LookupBody<'_, F> {
    const BACK: u32 = BACK;
    const WRITES: Columns = Columns::HOP;

    #[inline(always)]
    fn step<I: Isa>(&self, p: &mut PacketLanes<I>) {
        let words = p.rx.map_uniform(|rx| self.ingress.word(rx) & 0xffff);
        let to = F::destinations(p);
        let mut leaves = self.leaves(words, p.live, &to);
        self.walk.step();
        if self.ingress.counting {
            self.through_counted(words, p.live, &mut leaves);
        }
        let (mut buckets, mut hops) = (F::flow_hash(p).array(), [0; 16]);
        if self.ingress.choosing {
            buckets = self.choose(words.array(), *p, buckets);
        }
        for lane in 0..16 {
            hops[lane] = self.hop(leaves[lane], buckets[lane]);
        }
        // A number below the first adjacency, or one that says where to look again: both wrap around to what is above all others.
        let found = p.hop.with(&hops);
        let odd = (found - hop::FIRST_ADJACENCY).gt(hop::AGAIN - hop::FIRST_ADJACENCY - 1) & p.live;
        let is_odd = odd.any();
        if is_odd && !(self.ingress.counting | self.ingress.choosing) {
            self.look_again(&mut hops, &buckets, &F::sources(p), &to);
        }
        // PERF: read again, for what is in a register across a call is put into memory for everybody.
        let hops = p.hop.with(&hops);
        p.hop = hops;
        // RFC 1812, 5.3.4, and RFC 1122, 3.3.6: one host's packet in a frame for many is nobody's.
        let for_many = p.flagged(Flags::LINK_GROUP) & hops.ne(hop::BROADCAST);
        if for_many.any() {
            p.leave(p.live.with(self.nobodys(&words.array(), for_many.bits())), Next::LinkGroup);
        }
        if is_odd {
            let special = hops.lt(hop::FIRST_ADJACENCY) & p.live;
            let fate = |hop: u32| hops.eq(hop) & special;
            p.hop = p.hop.replace(fate(hop::NO_ROUTE), Fault::NETWORK.0);
            p.hop = p.hop.replace(fate(hop::UNREACHABLE), F::UNREACHABLE.0);
            p.hop = p.hop.replace(fate(hop::PROHIBIT), Fault::PROHIBITED.0);
            p.leave(fate(hop::NO_ROUTE), Next::NoRoute);
            p.leave(fate(hop::UNREACHABLE), Next::Unreachable);
            p.leave(fate(hop::PROHIBIT), Next::Prohibited);
            p.leave(fate(hop::LOCAL), Next::Local);
            p.leave(fate(hop::DROP), Next::Drop);
            p.leave(fate(hop::BROADCAST) | fate(hop::LINK_LOCAL), Next::OnLink);
            p.leave(special, Next::Unresolved);
        }
    }
    #[inline(always)]
    fn commit<I: Isa>(&mut self, p: &mut PacketLanes<I>) {
        if self.ingress.counting {
            // The header's own length: in a product, `length` is by now that of the frame to be sent.
            self.count(p.live.bits(), &p.rx.array(), &F::length(p).array());
        }
    }
    #[inline(always)]
    fn looks_ahead(&self, rx: u16) -> bool {
        self.far_table(rx).is_some()
    }
    #[inline(always)]
    fn ahead(&self, window: &[u8; 64], rx: u16) {
        // A hint only: whatever lies there is taken for a destination. What few routes need is near by as it is.
        if let Some(table) = self.far_table(rx) {
            self.walk.look(table, self.guard, self.worker, F::destination_in(window));
        }
    }
}

impl<F: Family> LookupBody<'_, F> {
    /// The table of an interface, if what lookups read there is far away.
    #[inline(always)]
    fn far_table(&self, rx: u16) -> Option<&TableView<F>> {
        match self.ahead.get() {
            (interface, table) if interface == u32::from(rx) => table,
            _ => self.look_at(rx),
        }
    }
    /// The same of one whose packets are looked at from now on.
    #[inline(always)]
    fn look_at(&self, rx: u16) -> Option<&TableView<F>> {
        let table = self.ingress.table(self.ingress.word(rx.into())).filter(|table| table.lpm.is_far());
        let (interface, before) = self.ahead.replace((rx.into(), table));
        let is_same = match (before, table) {
            (Some(before), Some(table)) => std::ptr::eq(before, table),
            // Packets of a near table are stepped, too, but were not looked at: the walk does not know their places.
            (None, Some(_)) => interface == NOBODY,
            (None, None) => true,
            (Some(_), None) => false,
        };
        self.is_mixed.set(self.is_mixed.get() || !is_same);
        table
    }
}
