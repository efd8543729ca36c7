//! `l3xc-input-ip4`, `l3xc-input-ip6`: valid packets of a cross-connected interface take its paths by their flows,
//! regardless of their destinations. From there on they are forwarded as by a route.

use std::marker::PhantomData;

use quiver_engine::{
    ArcSpec, Body, Columns, Flags, Guard, Isa, PacketLanes, Paged, Quarters, Slots, Snapshot, Stage, Windows, arcs,
    unlikely,
};
use quiver_ip::disposition::{self, Dispositions};
use quiver_ip::family::BACK;
use quiver_ip::fib::hop;
use quiver_ip::fib::rows::{GroupRow, GroupRows, slots};

use crate::config::Connected;

arcs! {
    /// Where packets go from here.
    pub enum Next of F: Connected {
        Rewrite => node (F::NAMES.rewrite),
        /// Packets of interfaces whose cross-connect has just gone, and link-local packets.
        Pass => next_feature,
        Local => features (F::NAMES.local),
        /// Senders are told why.
        Told => node (F::NAMES.error),
        Drop => drop "route-drop",
        Unresolved => drop "unresolved-path",
        LinkGroup => drop "link-layer-broadcast",
    }
}

/// The stage.
#[derive(Clone)]
pub struct L3Xc<F: Connected> {
    /// The groups of interfaces, by their numbers; 0 is that of none.
    groups: Snapshot<Paged<u32>>,
    /// Load-balance rows of the groups.
    rows: Snapshot<GroupRows>,
    dispositions: Dispositions,
    family: PhantomData<F>,
}

impl<F: Connected> L3Xc<F> {
    /// A stage with the groups of interfaces, and the rows of these groups.
    pub fn new(groups: Snapshot<Paged<u32>>, rows: Snapshot<GroupRows>) -> L3Xc<F> {
        L3Xc { groups, rows, dispositions: Dispositions::of::<F>(Self::ARCS), family: PhantomData }
    }
}

/// The stage at work.
pub struct L3XcBody<'f, F: Connected> {
    groups: &'f Paged<u32>,
    rows: Slots<'f, GroupRow>,
    dispositions: &'f Dispositions,
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
        let rows = slots(self.rows.read(guard));
        L3XcBody { groups, rows, dispositions: &self.dispositions, group: 0, family: PhantomData }
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
    fn begin(&mut self, rx: Option<u32>, _: Option<u32>) {
        self.group = rx.map_or(0, |rx| self.group_of(rx));
    }
    #[inline(always)]
    fn step<I: Isa>(&mut self, p: &mut PacketLanes<I>, _: &mut Windows<'_>) {
        let groups = p.of_rx(self.group, |rx| self.group_of(rx));
        p.hop = disposition::hops::<F, I>(p, groups, self.rows);
        let stays = F::stays_on_link(p);
        let odd = p.hop.lt(hop::FIRST_ADJACENCY) | stays | p.flagged(Flags::LINK_GROUP);
        if (odd & p.live).any() {
            unlikely();
            p.leave(p.hop.eq(hop::NO_ROUTE) | stays, Next::Pass);
            // RFC 1812, 5.3.4: one host's packet in a frame for many is nobody's.
            p.leave(p.flagged(Flags::LINK_GROUP), Next::LinkGroup);
            self.dispositions.part(p, p.live);
        }
    }
}
