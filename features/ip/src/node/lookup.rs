//! `ip4-lookup`, `ip6-lookup`: from the destination to a hop. Of a route with several paths, the flow's hash chooses one.
//!
//! Packets for a neighbour go to `ip4-rewrite`, packets for us to `ip4-local`; the others vanish by name, or their
//! senders are told by ICMP. Where a route says to look in another table, that is done here if a neighbour is found there; whatever
//! else comes of it is for `ip4-lookup-again`, which looks itself.

use std::sync::atomic::{AtomicU32, Ordering};

use quiver_engine::{
    Ahead, ArcSpec, Body, Columns, Flags, Guard, Isa, LANES, Mask8, PacketLanes, Quarters, Snapshot, Stage, Windows,
    arcs, unlikely,
};

use crate::family::{BACK, Family};
use crate::fault::Fault;
use crate::fib::hop::Again;
use crate::fib::rows::{GroupRow, GroupRows};
use crate::fib::table::CountedView;
use crate::fib::{Forwarding, Reader, View, hop};
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

/// No interface's number.
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

/// A table of prefixes during a frame.
type TrieView<'f, F> = <<F as Forwarding>::Reader as Reader<<F as Forwarding>::Bits>>::View<'f>;

/// A table, and where lookups in it begin.
type Looked<'f, F> = (&'f TableView<F>, TrieView<'f, F>);

/// The stage at work.
pub struct LookupBody<'f, F: Family> {
    ingress: &'f Ingress<F>,
    groups: &'f [GroupRow],
    /// Where a group is found that is too new for `groups`.
    newest: &'f Snapshot<GroupRows>,
    guard: Guard<'f>,
    /// The interface whose packets were looked up last, and its table.
    known: (u32, Option<Looked<'f, F>>),
    walk: &'f mut Walk<F>,
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
            known: (NOBODY, None),
            walk: &mut self.walk,
            worker: self.worker,
        }
    }
}

impl<'f, F: Family> LookupBody<'f, F> {
    /// The hop in a bucket of the group that a leaf leads to.
    #[inline(always)]
    fn hop(&self, group: u32, bucket: u32) -> u32 {
        match self.groups.get(group as usize) {
            Some(row) => row.hop(bucket),
            None => self.newest(group).map_or(hop::NO_ROUTE, |row| row.hop(bucket)),
        }
    }
    /// The first hop of that group, with [`hop::MANY`] if it has others.
    #[inline(always)]
    fn first(&self, group: u32) -> u32 {
        match self.groups.get(group as usize) {
            Some(row) => row.first(),
            None => self.newest(group).map_or(hop::NO_ROUTE, GroupRow::first),
        }
    }
    /// A route was added since this frame began, and the groups grew for it.
    #[cold]
    #[inline(never)]
    fn newest(&self, group: u32) -> Option<&GroupRow> {
        self.newest.read(self.guard).get(group as usize)
    }
    /// The table of an interface.
    #[inline(always)]
    fn table(&mut self, rx: u32) -> Option<Looked<'f, F>> {
        if self.known.0 != rx {
            self.know(rx);
        }
        self.known.1
    }
    #[cold]
    #[inline(never)]
    fn know(&mut self, rx: u32) {
        let table = self.ingress.table(self.ingress.word(rx));
        self.known = (rx, table.map(|table| (table, table.lpm.view(self.guard))));
    }
    /// The leaves of eight destinations in a table.
    #[inline(always)]
    fn leaves(&self, lpm: TrieView<'f, F>, to: &[F::Bits; LANES]) -> [u32; LANES] {
        // Where a leaf is behind the first word there is nothing to be saved.
        if F::Reader::STEPS == 0 || !self.walk.has_next() {
            return lpm.lookup_each(to);
        }
        let words = self.walk.words(to, |to| lpm.begin(to));
        lpm.finish_each(words, to)
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
    /// Leads the leaves of a counting table on to groups, and counts them for packets that go on.
    #[inline(always)]
    fn through(&self, counted: &CountedView, leaves: &[u32; LANES]) -> [u32; LANES] {
        let (groups, mut through) = (counted.groups.read(self.guard), [0; LANES]);
        for lane in 0..LANES {
            through[lane] = group_of(groups, leaves[lane]);
        }
        through
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
        hops: &mut [u32; LANES],
        buckets: &[u32; LANES],
        from: &[F::Bits; LANES],
        to: &[F::Bits; LANES],
    ) {
        for lane in 0..LANES {
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
    const READS: Quarters = F::HEADER;

    #[inline(always)]
    fn step<I: Isa>(&mut self, p: &mut PacketLanes<I>, windows: &mut Windows<'_>) {
        let rx = p.rx.array();
        let one_interface = !(p.rx.ne(rx[0]) & p.live).any();
        let table = if one_interface { self.table(rx[0]) } else { None };
        let to = F::destinations(p);
        let leaves = match table {
            Some((_, lpm)) => self.leaves(lpm, &to),
            None => self.leaves_of_several(&rx, &to),
        };
        self.walk.step();
        let mut groups = leaves;
        if self.ingress.counting {
            groups = match table {
                Some((TableView { counted: Some(counted), .. }, _)) => self.through(counted, &leaves),
                Some(_) => leaves,
                None => self.through_several(&rx, &leaves),
            };
        }
        let (mut hops, mut many) = ([0; LANES], 0);
        for lane in 0..LANES {
            hops[lane] = self.first(groups[lane]);
            many |= hops[lane];
        }
        if many & hop::MANY != 0 {
            let mut buckets = F::flow_hash(p).array();
            if self.ingress.choosing {
                buckets = self.choose(rx, *p, windows, buckets);
            }
            for lane in 0..LANES {
                hops[lane] = self.hop(groups[lane], buckets[lane]);
            }
        }
        // PERF: nobody gets a reference to `hops`, so that they become a column in registers: one that is loaded as a whole just behind
        // the stores of its lanes has to wait for all of them.
        // A number below the first adjacency, or one that says where to look again: both wrap around to what is above all others.
        let found = p.hop.with(&hops);
        let odd = (found - hop::FIRST_ADJACENCY).gt(hop::AGAIN - hop::FIRST_ADJACENCY - 1);
        let for_many = p.flagged(Flags::LINK_GROUP);
        p.hop = found;
        if ((odd | for_many) & p.live).any() {
            unlikely();
            let mut hops = found;
            if (odd & p.live).any() && !(self.ingress.counting | self.ingress.choosing) {
                let buckets = F::flow_hash(p).array();
                let mut further = found.array();
                self.look_again(&mut further, &buckets, &F::sources(p), &to);
                hops = p.hop.with(&further);
            }
            p.hop = hops;
            // RFC 1812, 5.3.4, and RFC 1122, 3.3.6: one host's packet in a frame for many is nobody's.
            let for_many = for_many & hops.ne(hop::BROADCAST);
            p.leave(p.live.with(self.nobodys(&rx, for_many.bits())), Next::LinkGroup);
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
        if self.ingress.counting {
            let (live, lengths) = (p.live.bits(), F::length(p).array());
            match table {
                Some((TableView { counted: Some(counted), .. }, _)) => {
                    if let Some(row) = counted.rows.get(self.worker) {
                        row.add_lanes(live, &leaves, &lengths);
                    }
                }
                Some(_) => {}
                None => self.count_several(live, &rx, &leaves, &lengths),
            }
        }
    }
    #[inline(always)]
    fn ahead(&mut self, windows: Ahead<'_>, rx: u16) {
        // What few routes need is near by as it is.
        if let Some((table, _)) = self.table(rx.into())
            && table.lpm.is_far()
        {
            self.walk.walk(table, self.guard, self.worker, windows);
        }
    }
}
