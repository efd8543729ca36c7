//! `sfdp-interface-input-ip4`, `sfdp-interface-input-ip6`: the tenant of received packets. Messages about neighbors go on as without
//! sessions.

use std::marker::PhantomData;

use quiver_engine::{ArcSpec, Body, Columns, Guard, Isa, PacketLanes, Paged, Quarters, Snapshot, Stage, Windows, arcs};
use quiver_ip::family::BACK;

use crate::interface::Tracked;

arcs! {
    /// Where packets go from here.
    pub enum Next of F: Tracked {
        Session => node (F::LOOKUP),
        Link => next_feature,
    }
}

/// The stage.
#[derive(Clone)]
pub struct Input<F> {
    slots: Snapshot<Paged<u32>>,
    family: PhantomData<F>,
}

impl<F: Tracked> Input<F> {
    /// With the slots of the tenants of interfaces, by their numbers.
    pub fn new(slots: Snapshot<Paged<u32>>) -> Input<F> {
        Input { slots, family: PhantomData }
    }
}

impl<F: Tracked> Stage for Input<F> {
    const NAME: &'static str = F::FEATURE;
    const ARCS: &'static [ArcSpec] = Next::arcs::<F>();
    type Body<'f> = InputBody<'f, F>;
    #[inline(always)]
    fn enter<'f>(&'f mut self, guard: Guard<'f>) -> InputBody<'f, F> {
        InputBody { slots: self.slots.read(guard), slot: 0, family: PhantomData }
    }
}

/// The stage at work.
pub struct InputBody<'f, F> {
    slots: &'f Paged<u32>,
    /// That of the interface that received all of the frame.
    slot: u32,
    family: PhantomData<F>,
}

impl<F: Tracked> InputBody<'_, F> {
    #[inline(always)]
    fn slot_of(&self, rx: u32) -> u32 {
        self.slots.get(rx as usize).copied().unwrap_or_default()
    }
}

impl<F: Tracked> Body for InputBody<'_, F> {
    const BACK: u32 = BACK;
    const WRITES: Columns = Columns::HOP;
    const READS: Quarters = F::HEADER;

    #[inline(always)]
    fn begin(&mut self, rx: Option<u32>, _: Option<u32>) {
        self.slot = rx.map_or(0, |rx| self.slot_of(rx));
    }
    #[inline(always)]
    fn step<I: Isa>(&mut self, p: &mut PacketLanes<I>, _: &mut Windows<'_>) {
        p.hop = p.of_rx(self.slot, |rx| self.slot_of(rx));
        p.leave(F::stays_on_link(p), Next::Link);
    }
}
