//! `sfdp-interface-input-ip4`, `sfdp-interface-input-ip6`: the tenant of received packets. Messages about neighbors go on as without
//! sessions.

use std::marker::PhantomData;

use quiver_engine::{ArcSpec, Body, Columns, Guard, Isa, PacketLanes, Paged, Quarters, Snapshot, Stage, Windows, arcs};
use quiver_ip::Family;
use quiver_ip::family::BACK;

use super::lookup::IpParser;
use crate::interface::Tracked;

/// A way into sessions: a feature of an interface, and the node that finds sessions.
pub trait Entry: Send + 'static {
    /// Family of the packets.
    type Family: Family;
    /// Name of the feature.
    const FEATURE: &'static str;
    /// Name of the node that finds sessions.
    const LOOKUP: &'static str;
}

impl<F: Tracked> Entry for IpParser<F> {
    type Family = F;
    const FEATURE: &'static str = F::FEATURE;
    const LOOKUP: &'static str = <F as Tracked>::LOOKUP;
}

arcs! {
    /// Where packets go from here.
    pub enum Next of E: Entry {
        Session => node (E::LOOKUP),
        Link => next_feature,
    }
}

/// The stage.
pub struct Input<E> {
    slots: Snapshot<Paged<u32>>,
    entry: PhantomData<fn() -> E>,
}

impl<E> Clone for Input<E> {
    fn clone(&self) -> Input<E> {
        Input { slots: self.slots.clone(), entry: PhantomData }
    }
}

impl<E: Entry> Input<E> {
    /// With the slots of the tenants of interfaces, by their numbers.
    pub fn new(slots: Snapshot<Paged<u32>>) -> Input<E> {
        Input { slots, entry: PhantomData }
    }
}

impl<E: Entry> Stage for Input<E> {
    const NAME: &'static str = E::FEATURE;
    const ARCS: &'static [ArcSpec] = Next::arcs::<E>();
    type Body<'f> = InputBody<'f, E::Family>;
    #[inline(always)]
    fn enter<'f>(&'f mut self, guard: Guard<'f>) -> InputBody<'f, E::Family> {
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

impl<F: Family> InputBody<'_, F> {
    #[inline(always)]
    fn slot_of(&self, rx: u32) -> u32 {
        self.slots.get(rx as usize).copied().unwrap_or_default()
    }
}

impl<F: Family> Body for InputBody<'_, F> {
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
