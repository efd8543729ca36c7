//! `ip4-hop-floor`, `ip6-hop-floor`: has a packet enough hops left?

use std::marker::PhantomData;

use quiver_engine::{ArcSpec, Body, Columns, Guard, Isa, PacketLanes, Paged, Quarters, Snapshot, Stage, Windows, arcs};
use quiver_ip::family::BACK;

use crate::config::Floored;

arcs! {
    /// Where packets go from here.
    pub enum Next {
        Pass => next_feature,
        TooFar => drop "too-many-hops",
    }
}

/// The stage.
#[derive(Clone)]
pub struct CheckHops<F> {
    floors: Snapshot<Paged<u32>>,
    family: PhantomData<F>,
}

impl<F: Floored> CheckHops<F> {
    /// With the floors of interfaces, by their numbers.
    pub fn new(floors: Snapshot<Paged<u32>>) -> CheckHops<F> {
        CheckHops { floors, family: PhantomData }
    }
}

impl<F: Floored> Stage for CheckHops<F> {
    const NAME: &'static str = F::NODE;
    const ARCS: &'static [ArcSpec] = Next::ARCS;
    type Body<'f> = CheckHopsBody<'f, F>;
    #[inline(always)]
    fn enter<'f>(&'f mut self, guard: Guard<'f>) -> CheckHopsBody<'f, F> {
        CheckHopsBody { floors: self.floors.read(guard), floor: 0, family: PhantomData }
    }
}

/// The stage at work.
pub struct CheckHopsBody<'f, F> {
    floors: &'f Paged<u32>,
    /// That of the interface that received all of the frame.
    floor: u32,
    family: PhantomData<F>,
}

impl<F: Floored> CheckHopsBody<'_, F> {
    #[inline(always)]
    fn floor_of(&self, rx: u32) -> u32 {
        self.floors.get(rx as usize).copied().unwrap_or_default()
    }
}

impl<F: Floored> Body for CheckHopsBody<'_, F> {
    const BACK: u32 = BACK;
    const WRITES: Columns = Columns::NONE;
    const READS: Quarters = F::HEADER;

    #[inline(always)]
    fn begin(&mut self, rx: Option<u32>, _: Option<u32>) {
        self.floor = rx.map_or(0, |rx| self.floor_of(rx));
    }
    #[inline(always)]
    fn step<I: Isa>(&mut self, p: &mut PacketLanes<I>, _: &mut Windows<'_>) {
        let floors = p.of_rx(self.floor, |rx| self.floor_of(rx));
        p.leave(floors.gt(F::hop_limit(p)), Next::TooFar);
    }
}
