//! `ip4-input`, `ip6-input`: let pass what a router must accept ([`Family::check`]), without the padding of short Ethernet
//! frames.
//!
//! Packets come with their start at the IP header, from any link layer. They go onto the feature arc `ip4-unicast`, which
//! ends at `ip4-lookup`, or, for a group of hosts, onto `ip4-multicast`; those that need a closer look go to a node of their
//! family, which makes the same checks one by one.

use std::sync::Arc;

use quiver_engine::{
    ArcSpec, Body, Columns, Context, Counter, Frame, Guard, Isa, Known, Node, PacketLanes, Quarters, Row, Snapshot,
    Stage, StageNode, Windows,
};

use crate::family::{BACK, Family};
use crate::ingress::{ENABLED, Ingress};

/// The arc of packets that are accepted.
pub const UNICAST: u16 = 0;

/// The stage.
#[derive(Clone)]
pub struct Input<F: Family> {
    /// Which interfaces speak the family.
    pub ingress: Snapshot<Ingress<F>>,
    /// This worker's counters of packets by receiving interface.
    pub received: Arc<Row<Counter>>,
}

/// The node. It counts what leaves the stage by another arc as well.
pub struct InputNode<F: Family>(pub StageNode<Input<F>>);

impl<F: Family> Node for InputNode<F> {
    fn process(&mut self, cx: &mut Context, frame: &mut Frame) {
        self.0.process(cx, frame);
        for i in frame.left() {
            self.0.0.received.add(frame.rx[i].into(), 1);
        }
    }
    fn is_stage(&self) -> bool {
        true
    }
}

/// The stage at work.
pub struct InputBody<'f, F: Family> {
    ingress: &'f Ingress<F>,
    received: &'f Row<Counter>,
    /// The word of the interface that was looked at last.
    known: Known,
}

impl<F: Family> Stage for Input<F> {
    const NAME: &'static str = F::NAMES.input;
    const ARCS: &'static [ArcSpec] = F::INPUT;
    type Body<'f> = InputBody<'f, F>;
    #[inline(always)]
    fn enter<'f>(&'f mut self, guard: Guard<'f>) -> InputBody<'f, F> {
        InputBody { ingress: self.ingress.read(guard), received: &self.received, known: Known::default() }
    }
}

impl<F: Family> Body for InputBody<'_, F> {
    const BACK: u32 = BACK;
    const WRITES: Columns = Columns::OFFSET;
    const READS: Quarters = F::HEADER;

    #[inline(always)]
    fn step<I: Isa>(&mut self, p: &mut PacketLanes<I>, _: &mut Windows<'_>) {
        let ingress = self.ingress;
        let word = p.rx.map_known(&mut self.known, |rx| ingress.word(rx));
        F::check(p, (word & ENABLED).ne(0), ingress.lenient);
        self.received.add_lanes(p.live.bits(), p.rx);
    }
}
