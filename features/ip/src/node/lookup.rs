//! `ip4-lookup`, `ip6-lookup`: from the destination to a hop. Of a route with several paths, the flow's hash chooses one.
//!
//! Packets for a neighbour go to `ip4-rewrite`, packets for us to `ip4-local`; the others vanish by name, or their
//! senders are told by ICMP. Where a route says to look in another table, that is done here if a neighbour is found there; whatever
//! else comes of it is for `ip4-lookup-again`, which looks itself.

use quiver_engine::{
    Ahead, ArcSpec, Body, Columns, Flags, Guard, Isa, LANES, Lanes, Mask8, PacketLanes, Quarters, Slots, Snapshot,
    Stage, Windows, arcs, unlikely,
};

use crate::disposition::Dispositions;
use crate::family::{BACK, Family};
use crate::fib::hop::Continuation;
use crate::fib::rows::{GroupRow, GroupRows, slots};
use crate::fib::table::group_of;
use crate::fib::{Reader, TrieView, View, hop};
use crate::flows::{Flows, hash};
use crate::ingress::{Ingress, TableView};
use crate::node::again::LOOKUPS_MAX;
use crate::node::walk::Walk;

arcs! {
    /// Where packets go from `ip4-lookup`.
    pub enum Next of F: Family {
        Rewrite => node (F::NAMES.rewrite),
        Local => features (F::NAMES.local),
        /// Senders are told why.
        Told => node (F::NAMES.error),
        Drop => drop "route-drop",
        OnLink => arc (F::ON_LINK),
        Unresolved => drop "unresolved-route",
        LinkGroup => drop "link-layer-broadcast",
    }
}

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
    dispositions: Dispositions,
}

impl<F: Family> Lookup<F> {
    /// A worker's stage.
    pub fn new(ingress: Snapshot<Ingress<F>>, groups: Snapshot<GroupRows>, worker: usize) -> Lookup<F> {
        Lookup { ingress, groups, worker, walk: Walk::new(), dispositions: Dispositions::of::<F>(Self::ARCS) }
    }
}

/// A table, and where lookups in it begin.
type Looked<'f, F> = (&'f TableView<F>, TrieView<'f, F>);

/// The stage at work.
pub struct LookupBody<'f, F: Family> {
    ingress: &'f Ingress<F>,
    groups: Slots<'f, GroupRow>,
    /// Where a group is found that is too new for `groups`.
    newest: &'f Snapshot<GroupRows>,
    guard: Guard<'f>,
    /// The table of the interface that received all of the frame, or else the next eight packets, if they have one.
    table: Option<Looked<'f, F>>,
    walk: &'f mut Walk<F>,
    worker: usize,
    dispositions: &'f Dispositions,
    /// Whether ordinary packets of this frame are for us, as its first ones are; else they go to neighbors.
    is_local: bool,
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
            groups: slots(self.groups.read(guard)),
            newest: &self.groups,
            guard,
            table: None,
            walk: &mut self.walk,
            worker: self.worker,
            dispositions: &self.dispositions,
            is_local: false,
        }
    }
}

impl<'f, F: Family> LookupBody<'f, F> {
    /// The hop in a bucket of the group that a leaf leads to.
    #[inline(always)]
    fn hop(&self, group: u32, bucket: u32) -> u32 {
        match self.groups.get(group) {
            Some(row) => row.hop(bucket),
            None => self.newest(group).map_or(hop::NO_ROUTE, |row| row.hop(bucket)),
        }
    }
    /// A route was added since this frame began, and the groups grew for it.
    #[cold]
    #[inline(never)]
    fn newest(&self, group: u32) -> Option<&GroupRow> {
        self.newest.read(self.guard).get(group as usize)
    }
    /// The table of an interface.
    fn table_of(&self, rx: u32) -> Option<Looked<'f, F>> {
        let table = self.ingress.table(self.ingress.word(rx))?;
        Some((table, table.lpm.view(self.guard)))
    }
    /// Turns to the table of the interface that received these packets, if one did.
    #[cold]
    #[inline(never)]
    fn turn_to(&mut self, rx: &[u32; LANES], live: Mask8) {
        let mut each = live.into_iter().map(|lane| rx[lane]);
        let first = each.next();
        self.table = first.filter(|first| each.all(|rx| rx == *first)).and_then(|rx| self.table_of(rx));
    }
    /// The leaves of eight destinations in a table.
    #[inline(always)]
    fn leaves<I: Isa>(&self, p: &PacketLanes<I>, lpm: TrieView<'f, F>, to: &[F::Bits; LANES]) -> Lanes<I> {
        // Where a leaf is behind the first word there is nothing to be saved.
        if F::Reader::STEPS == 0 || !self.walk.has(p.row) {
            return lpm.leaves(p.hop, to);
        }
        let words = self.walk.words(p.row, to, |to| lpm.begin(to));
        p.hop.with(&lpm.finish_each(words, to))
    }
    /// The first hops of groups.
    #[inline(always)]
    fn first<I: Isa>(&self, groups: Lanes<I>) -> Lanes<I> {
        let (rows, mut first) = (groups.pick(self.groups), [0; LANES]);
        for lane in 0..LANES {
            first[lane] = rows.row(lane).first();
        }
        // PERF: no call gets a reference to the array, so that it becomes a column in registers: one that is loaded as a whole just
        // behind the stores of its lanes has to wait for all of them.
        groups.with(&first)
    }
    #[cold]
    #[inline(never)]
    fn leaves_of_several(&self, rx: &[u32; LANES], to: &[F::Bits; LANES]) -> [u32; LANES] {
        let mut leaves = [0; LANES];
        for lane in 0..LANES {
            let table = self.ingress.table(self.ingress.word(rx[lane]));
            leaves[lane] = table.map_or(0, |table| table.lpm.view(self.guard).lookup(to[lane]));
        }
        leaves
    }
    #[cold]
    #[inline(never)]
    fn through_several(&self, rx: &[u32; LANES], leaves: &[u32; LANES]) -> [u32; LANES] {
        let mut through = *leaves;
        for lane in 0..LANES {
            let counted = self.ingress.table(self.ingress.word(rx[lane])).and_then(|table| table.counted.as_ref());
            if let Some(counted) = counted {
                through[lane] = group_of(counted.groups.read(self.guard), leaves[lane]);
            }
        }
        through
    }
    #[cold]
    #[inline(never)]
    fn count_several(&self, live: Mask8, rx: &[u32; LANES], leaves: &[u32; LANES], lengths: &[u32; LANES]) {
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
    /// The buckets of packets, by the hashes of their flows.
    #[inline(always)]
    fn buckets<I: Isa>(&self, p: &PacketLanes<I>, windows: &mut Windows<'_>) -> Lanes<I> {
        let hash = F::flow_hash(p);
        match self.ingress.choosing {
            true => hash.with(&self.choose(p.rx.array(), *p, windows, hash.array())),
            false => hash,
        }
    }
    /// The hops in buckets of groups.
    #[inline(always)]
    fn hops<I: Isa>(&self, groups: Lanes<I>, buckets: Lanes<I>) -> [u32; LANES] {
        let (groups, buckets, mut hops) = (groups.each(), buckets.each(), [0; LANES]);
        for lane in 0..LANES {
            hops[lane] = self.hop(groups.at(lane), buckets.at(lane));
        }
        hops
    }
    /// The buckets, also of those packets whose tables tell flows apart otherwise than usual.
    ///
    /// PERF: it takes a copy, for what a call may look at lies in memory ever after, and is cleared there first.
    #[cold]
    fn choose<I: Isa>(
        &self,
        rx: [u32; LANES],
        p: PacketLanes<I>,
        windows: &mut Windows<'_>,
        mut buckets: [u32; LANES],
    ) -> [u32; LANES] {
        let flows =
            |lane: usize| self.ingress.table(self.ingress.word(rx[lane])).map_or(Flows::default(), |table| table.flows);
        let key = F::flow_key(&p, windows);
        // Most eight packets are of one table.
        let mut known = (Flows::default(), buckets);
        for lane in 0..LANES {
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
    /// Lets those packets leave that have no neighbor, or that are looked up again and find none then.
    #[inline(always)]
    fn treat<I: Isa>(&self, p: &mut PacketLanes<I>, to: &[F::Bits; LANES]) {
        let (found, for_many) = (p.hop, p.flagged(Flags::LINK_GROUP));
        let odd = hop::others(found);
        if !((odd | for_many) & p.live).any() {
            return;
        }
        let mut hops = found;
        if ((found & hop::AGAIN).ne(0) & p.live).any() && !(self.ingress.counting | self.ingress.choosing) {
            let buckets = F::flow_hash(p).array();
            hops = found.with(&self.look_again(found.array(), buckets, &F::sources(p), to));
        }
        p.hop = hops;
        // RFC 1812, 5.3.4, and RFC 1122, 3.3.6: one host's packet in a frame for many is nobody's.
        let for_many = for_many & hops.ne(hop::BROADCAST) & p.live;
        if for_many.any() {
            p.leave(p.live.with(self.nobodys(&p.rx.array(), for_many.bits())), Next::LinkGroup);
        }
        self.dispositions.part(p, p.live);
    }
    /// Those of the packets whose tables do not forward what came in frames for many.
    #[cold]
    fn nobodys(&self, rx: &[u32; LANES], packets: Mask8) -> Mask8 {
        let mut nobodys = packets;
        for lane in packets {
            if self.ingress.table(self.ingress.word(rx[lane])).is_some_and(|table| table.forwards_broadcasts) {
                nobodys = nobodys & !Mask8(1 << lane);
            }
        }
        nobodys
    }
}

impl<F: Family> LookupBody<'_, F> {
    /// The neighbours of packets that are to be looked up in other tables; what leads to none stays as it is.
    #[cold]
    fn look_again(
        &self,
        mut hops: [u32; LANES],
        buckets: [u32; LANES],
        from: &[F::Bits; LANES],
        to: &[F::Bits; LANES],
    ) -> [u32; LANES] {
        for lane in 0..LANES {
            let mut hop = hops[lane];
            for _ in 0..LOOKUPS_MAX {
                let (slot, address) = match Continuation::of(hop) {
                    Some(Continuation::Destination(slot)) => (slot, to[lane]),
                    Some(Continuation::Source(slot)) => (slot, from[lane]),
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
        hops
    }
}

/// The first hop that an address has in the table of an interface.
pub(super) fn first_hop<F: Family>(
    ingress: &Ingress<F>,
    groups: &[GroupRow],
    guard: Guard<'_>,
    interface: u32,
    to: F::Bits,
) -> u32 {
    let Some(table) = ingress.table(ingress.word(interface)) else { return hop::NO_ROUTE };
    groups.get(table.group_of(guard, to) as usize).map_or(hop::NO_ROUTE, |row| row.hop(0))
}

impl<F: Family> Body for LookupBody<'_, F> {
    const BACK: u32 = BACK;
    const WRITES: Columns = Columns::HOP;
    const READS: Quarters = F::HEADER;
    const HAS_ORDINARY: bool = true;

    #[inline(always)]
    fn begin(&mut self, rx: Option<u32>, _: Option<u32>) {
        self.table = rx.and_then(|rx| self.table_of(rx));
    }
    #[inline(always)]
    fn ordinary<I: Isa>(&mut self, p: &mut PacketLanes<I>, _: &mut Windows<'_>) -> bool {
        let Some((table, lpm)) = self.table else { return false };
        if p.any.has(Flags::LINK_GROUP) {
            return false;
        }
        let leaves = self.leaves(p, lpm, &F::destinations(p));
        let counted = table.counted.as_ref();
        let groups = counted.map_or(leaves, |counted| leaves.with(&counted.groups_of(self.guard, leaves)));
        p.hop = self.first(groups);
        if (hop::others(p.hop) | groups.gt(self.groups.last())).any() {
            if groups.gt(self.groups.last()).any() {
                return false;
            }
            if p.hop.eq(hop::LOCAL).all() {
                self.is_local |= p.row == 0;
                return self.is_local;
            }
            if self.ingress.choosing {
                return false;
            }
            p.hop = groups.with(&self.hops(groups, F::flow_hash(p)));
            if hop::others(p.hop).any() {
                return false;
            }
        }
        if self.is_local {
            return false;
        }
        if let Some(row) = counted.and_then(|counted| counted.rows.get(self.worker)) {
            row.of_lanes().add(p.live, leaves, F::length(p));
        }
        true
    }
    #[inline(always)]
    fn ordinary_arc(&self) -> u16 {
        if self.is_local { Next::Local } else { Next::Rewrite }.into()
    }
    #[inline(always)]
    fn step<I: Isa>(&mut self, p: &mut PacketLanes<I>, windows: &mut Windows<'_>) {
        if !p.has_one_rx() {
            unlikely();
            self.turn_to(&p.rx.array(), p.live.bits());
        }
        let (table, to) = (self.table, F::destinations(p));
        let leaves = match table {
            Some((_, lpm)) => self.leaves(p, lpm, &to),
            None => p.hop.with(&self.leaves_of_several(&p.rx.array(), &to)),
        };
        let mut groups = leaves;
        if self.ingress.counting {
            groups = match table {
                Some((TableView { counted: Some(counted), .. }, _)) => {
                    leaves.with(&counted.groups_of(self.guard, leaves))
                }
                Some(_) => leaves,
                None => leaves.with(&self.through_several(&p.rx.array(), &leaves.array())),
            };
        }
        let found = self.first(groups);
        let (odd, for_many) = (hop::others(found), p.flagged(Flags::LINK_GROUP));
        p.hop = found;
        let newer = groups.gt(self.groups.last());
        if ((odd | newer | for_many) & p.live).any() {
            unlikely();
            let several = (found & hop::MANY).ne(0) | newer;
            if several.any() {
                let buckets = self.buckets(p, windows);
                p.hop = p.hop.with(&self.hops(groups, buckets));
            }
            self.treat(p, &to);
        }
        if self.ingress.counting {
            match table {
                Some((TableView { counted: Some(counted), .. }, _)) => {
                    if let Some(row) = counted.rows.get(self.worker) {
                        row.of_lanes().add(p.live, leaves, F::length(p));
                    }
                }
                Some(_) => {}
                None => self.count_several(p.live.bits(), &p.rx.array(), &leaves.array(), &F::length(p).array()),
            }
        }
    }
    #[inline(always)]
    fn ahead(&mut self, windows: Ahead<'_>, _: u32) {
        // What few routes need is near by as it is.
        if let Some((table, _)) = self.table
            && table.lpm.is_far()
        {
            self.walk.walk(table, self.guard, self.worker, windows);
        }
    }
}
