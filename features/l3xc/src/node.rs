//! `l3xc-input-ip4`, `l3xc-input-ip6`: checked packets of a cross-connected interface, whatever their destinations, go to what its paths come
//! to, by their flows. From there on they are forwarded as if a route had led there.

use std::marker::PhantomData;

use quiver_engine::{
    ArcSpec, Body, Columns, Flags, Guard, Isa, LANES, PacketLanes, Quarters, Snapshot, Stage, Windows, arcs, unlikely,
};
use quiver_ip::Fault;
use quiver_ip::family::BACK;
use quiver_ip::fib::hop;
use quiver_ip::fib::rows::{GroupRow, GroupRows};

use crate::config::Connected;

arcs! {
    /// Where packets go from here.
    pub enum Next of F: Connected {
        Rewrite => node (F::NAMES.rewrite),
        /// Those of interfaces whose cross-connect has just gone, and what concerns their link alone.
        Pass => next_feature,
        Local => features (F::NAMES.local),
        Unreachable => node (F::NAMES.error),
        Prohibited => node (F::NAMES.error),
        Drop => drop "route-drop",
        Unresolved => drop "unresolved-path",
        LinkGroup => drop "link-layer-broadcast",
    }
}

/// The stage.
#[derive(Clone)]
pub struct L3Xc<F: Connected> {
    /// The groups of interfaces, by their numbers; 0 is that of none.
    pub groups: Snapshot<Vec<u32>>,
    /// What groups come to.
    pub rows: Snapshot<GroupRows>,
    /// The family whose packets they are.
    pub family: PhantomData<F>,
}

/// The stage at work.
pub struct L3XcBody<'f, F: Connected> {
    groups: &'f [u32],
    rows: &'f [GroupRow],
    /// The group of the interface that received all of the frame.
    group: u32,
    family: PhantomData<F>,
}

impl<F: Connected> Stage for L3Xc<F> {
    const NAME: &'static str = F::NODE;
    const ARCS: &'static [ArcSpec] = Next::arcs::<F>();
    type Body<'f> = L3XcBody<'f, F>;
    #[inline(always)]
    fn enter<'f>(&'f mut self, guard: Guard<'f>) -> L3XcBody<'f, F> {
        // In this order: a group's row was there before the group was published.
        let groups = self.groups.read(guard);
        L3XcBody { groups, rows: self.rows.read(guard), group: 0, family: PhantomData }
    }
}

impl<F: Connected> L3XcBody<'_, F> {
    /// The group of an interface's next hops.
    #[inline(always)]
    fn group_of(&self, rx: u32) -> u32 {
        self.groups.get(rx as usize).copied().unwrap_or(0)
    }
}

impl<F: Connected> Body for L3XcBody<'_, F> {
    const BACK: u32 = BACK;
    const WRITES: Columns = Columns::HOP;
    const READS: Quarters = F::HEADER;

    #[inline(always)]
    fn begin(&mut self, rx: Option<u16>, _: Option<u16>) {
        self.group = rx.map_or(0, |rx| self.group_of(rx.into()));
    }
    #[inline(always)]
    fn step<I: Isa>(&mut self, p: &mut PacketLanes<I>, _: &mut Windows<'_>) {
        let groups = p.of_rx(self.group, |rx| self.group_of(rx)).array();
        let (mut hops, mut many) = ([hop::NO_ROUTE; LANES], 0);
        for lane in 0..LANES {
            if let Some(row) = self.rows.get(groups[lane] as usize) {
                hops[lane] = row.first();
                many |= hops[lane];
            }
        }
        if many & hop::MANY != 0 {
            let buckets = F::flow_hash(p).array();
            for lane in 0..LANES {
                if let Some(row) = self.rows.get(groups[lane] as usize) {
                    hops[lane] = row.hop(buckets[lane]);
                }
            }
        }
        let hops = p.hop.with(&hops);
        p.hop = hops;
        let odd = hops.lt(hop::FIRST_ADJACENCY) | F::stays_on_link(p) | p.flagged(Flags::LINK_GROUP);
        if (odd & p.live).any() {
            unlikely();
            let fate = |hop: u32| hops.eq(hop) & p.live;
            let (unreachable, prohibited) = (fate(hop::UNREACHABLE), fate(hop::PROHIBIT));
            let (none, local, drop, rest) =
                (fate(hop::NO_ROUTE), fate(hop::LOCAL), fate(hop::DROP), hops.lt(hop::FIRST_ADJACENCY) & p.live);
            p.hop = p.hop.replace(unreachable, F::UNREACHABLE.0).replace(prohibited, Fault::PROHIBITED.0);
            p.leave(none | F::stays_on_link(p), Next::Pass);
            // RFC 1812, 5.3.4: one host's packet in a frame for many is nobody's.
            p.leave(p.flagged(Flags::LINK_GROUP), Next::LinkGroup);
            p.leave(local, Next::Local);
            p.leave(unreachable, Next::Unreachable);
            p.leave(prohibited, Next::Prohibited);
            p.leave(drop, Next::Drop);
            p.leave(rest, Next::Unresolved);
        }
    }
}
