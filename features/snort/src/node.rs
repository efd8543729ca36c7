//! `snort-ip4-input`, `snort-ip6-input`, `snort-ip4-output`, `snort-ip6-output`: offer packets to the inspector of the interface's
//! instance, which takes them out of the graph; [`release`](crate::release) lets them go on. `snort-ip4-input-next` and the other three
//! like it are the places from which they go on.

use std::sync::Arc;

use quiver_engine::{Context, Frame, Generations, Node, Paged, Snapshot, arcs};
use quiver_wire::flow::hash_of_both;

use crate::flows::Flow;
use crate::instance::{Instance, Instances};
use crate::offered::OfferedBy;
use crate::origin::Origin;
use crate::pair::{Pair, add};

arcs! {
    /// Where packets go from here, unless the inspector has them.
    pub enum Next {
        Pass => next_feature,
        NoInspector => drop "no-inspector",
        Full => drop "inspector-full",
        Denied => drop "denied-flow",
        /// In a rehearsal, which no inspector sees.
        Inspected => done "inspected",
    }
}

/// The node.
pub(crate) struct Offer {
    pub origin: Origin,
    pub attached: Snapshot<Paged<Option<u32>>>,
    pub instances: Snapshot<Instances>,
    pub generations: Generations,
    /// Queue pairs to which packets of this frame were offered.
    offered: Vec<Arc<Pair>>,
}

impl Offer {
    pub fn new(
        origin: Origin,
        attached: Snapshot<Paged<Option<u32>>>,
        instances: Snapshot<Instances>,
        generations: Generations,
    ) -> Offer {
        Offer { origin, attached, instances, generations, offered: vec![] }
    }
    /// Offers the packet of a row. Returns its arc; None if the inspector has it.
    fn offer(&mut self, cx: &mut Context, frame: &mut Frame, i: usize, instance: &Instance) -> Option<Next> {
        let skipped = self.origin.skipped();
        let packet = frame.bytes(cx.pool, i).get(skipped..).unwrap_or_default();
        let pair = instance.pair(cx.worker, || hash_of_both(packet))?;
        let absent = if instance.passes() { Next::Pass } else { Next::NoInspector };
        if cx.is_rehearsal() {
            return Some(if pair.client().is_some() { Next::Inspected } else { absent });
        }
        let mut own = pair.own();
        if !own.is_attached() {
            if absent == Next::Pass {
                add(&pair.counts.passed, 1);
            }
            return Some(absent);
        }
        let mut flow = None;
        if instance.bypass() > 0 {
            let interface = if self.origin.is_output() { frame.tx[i] } else { frame.rx[i] };
            own.flows.age(cx.now, instance.bypass());
            flow = Flow::of(packet, interface);
            if let Some(passes) = flow.and_then(|flow| own.flows.decided(&flow)) {
                add(&pair.counts.bypassed[usize::from(!passes)], 1);
                return Some(if passes { Next::Pass } else { Next::Denied });
            }
        }
        if pair.offer(&mut own, cx.pool, (frame, i), OfferedBy::Feature(self.origin, flow), &self.generations).is_err()
        {
            add(&pair.counts.full, 1);
            return Some(Next::Full);
        }
        if !self.offered.iter().any(|offered| Arc::ptr_eq(offered, pair)) {
            self.offered.push(pair.clone());
        }
        None
    }
}

impl Node for Offer {
    fn process(&mut self, cx: &mut Context, frame: &mut Frame) {
        let (attached, instances) = (self.attached.read(cx.guard), self.instances.read(cx.guard));
        for i in 0..frame.len() {
            let interface = if self.origin.is_output() { frame.tx[i] } else { frame.rx[i] };
            let number = attached.get(interface as usize).copied().flatten();
            let instance = number.and_then(|number| instances.get(number as usize)).and_then(Option::as_ref);
            if let Some(next) = instance.map_or(Some(Next::Pass), |instance| self.offer(cx, frame, i, instance)) {
                frame.next[i] = next.into();
            }
        }
        for pair in self.offered.drain(..) {
            pair.publish(&pair.own());
        }
    }
}

arcs! {
    /// Where packets go from a place behind an inspector.
    pub enum Behind {
        Pass => next_feature,
    }
}

/// A place from which packets go on.
pub(crate) struct GoOn;

impl Node for GoOn {
    fn process(&mut self, _: &mut Context, _: &mut Frame) {}
}
