//! `ip4-input`, `ip6-input`: let pass what a router must accept ([`Family::check`]), without the padding of short Ethernet
//! frames.
//!
//! Packets come with their start at the IP header, from any link layer. They go onto the feature arc `ip4-unicast`, which
//! ends at `ip4-lookup`, or, for a group of hosts, onto `ip4-multicast`; those that need a closer look go to a node of their
//! family, which makes the same checks one by one.

use std::sync::Arc;

use quiver_engine::{
    ArcSpec, Body, Columns, Context, Counter, Flags, Frame, Guard, Isa, Node, PacketLanes, Quarters, Row, Snapshot,
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

/// The node: the stage, and how many packets it was given.
pub struct InputNode<F: Family>(pub StageNode<Input<F>>);

impl<F: Family> Node for InputNode<F> {
    fn process(&mut self, cx: &mut Context, frame: &mut Frame) {
        self.0.process(cx, frame);
        let received = &self.0.0.received;
        match frame.one_rx() {
            Some(rx) => received.add(rx, frame.len() as u64),
            None => frame.rx[..frame.len()].iter().for_each(|rx| received.add(*rx, 1)),
        }
    }
    fn is_stage(&self) -> bool {
        true
    }
}

/// The stage at work.
pub struct InputBody<'f, F: Family> {
    ingress: &'f Ingress<F>,
    /// The word of the interface that received all of the frame.
    word: u32,
}

impl<F: Family> Stage for Input<F> {
    const NAME: &'static str = F::NAMES.input;
    const ARCS: &'static [ArcSpec] = F::INPUT;
    type Body<'f> = InputBody<'f, F>;
    #[inline(always)]
    fn enter<'f>(&'f mut self, guard: Guard<'f>) -> InputBody<'f, F> {
        InputBody { ingress: self.ingress.read(guard), word: 0 }
    }
}

impl<F: Family> Body for InputBody<'_, F> {
    const BACK: u32 = BACK;
    const WRITES: Columns = Columns::LENGTH;
    const READS: Quarters = F::HEADER;
    const HAS_ORDINARY: bool = true;

    #[inline(always)]
    fn begin(&mut self, rx: Option<u32>, _: Option<u32>) {
        self.word = rx.map_or(0, |rx| self.ingress.word(rx));
    }
    #[inline(always)]
    fn ordinary<I: Isa>(&mut self, p: &mut PacketLanes<I>, _: &mut Windows<'_>) -> bool {
        let is_odd = F::is_odd(p).any() || self.word & ENABLED == 0 || p.any.has(Flags::CHAINED);
        p.length = F::length(p);
        !is_odd
    }
    #[inline(always)]
    fn step<I: Isa>(&mut self, p: &mut PacketLanes<I>, _: &mut Windows<'_>) {
        let word = p.of_rx(self.word, |rx| self.ingress.word(rx));
        F::check(p, (word & ENABLED).ne(0), self.ingress.lenient);
    }
}
