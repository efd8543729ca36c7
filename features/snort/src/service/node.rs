//! `sfdp-inspect`: offers packets of sessions to the inspector of their tenant's instance, which takes them out of the graph;
//! [`release`](crate::release) lets them go on at `sfdp-inspect-next`, from where they pass the rest of their chain.
//!
//! Drops: `no-inspector`, of an instance without an inspector that drops packets then, or of a tenant without an instance; `inspector-full`, if it holds
//! as many packets as it may; `denied-flow`, of a session that the inspector has blacklisted; `no-session`. `session-gone`, if the session has ended
//! when the verdict comes.

use std::sync::Arc;

use quiver_engine::{Context, Frame, Generations, Node, Paged, Snapshot, arcs};
use quiver_session::node::pass::{Packet, Reads, Work};
use quiver_wire::flow::hash_of_both;

use crate::decision::Decisions;
use crate::instance::{Instance, Instances};
use crate::offered::OfferedBy;
use crate::pair::{Pair, add};

arcs! {
    /// Where packets go from here, besides services, unless the inspector has them.
    pub enum Next {
        NoSession => drop "no-session",
        NoInspector => drop "no-inspector",
        Full => drop "inspector-full",
        Denied => drop "denied-flow",
        /// In a rehearsal, which no inspector sees.
        Inspected => done "inspected",
    }
}

/// The node's name.
pub(crate) const NAME: &str = "sfdp-inspect";
/// That of the place from which packets go on.
pub(crate) const NEXT: &str = "sfdp-inspect-next";

/// Treatment of a packet.
enum Treated {
    /// It passes on along its chain.
    Passes,
    /// It leaves.
    Leaves(Next),
    /// The inspector has it.
    Taken,
}

/// The node.
pub(crate) struct Inspect {
    reads: Reads,
    inspected: Snapshot<Paged<Option<u32>>>,
    instances: Snapshot<Instances>,
    generations: Generations,
    decisions: Decisions,
    /// Queue pairs to which packets of this frame were offered.
    offered: Vec<Arc<Pair>>,
}

/// The instance of the tenant in a slot.
fn instance_of<'f>(
    (inspected, instances): (&Paged<Option<u32>>, &'f Instances),
    slot: u16,
) -> Option<&'f Arc<Instance>> {
    let number = inspected.get(slot.into()).copied().flatten()?;
    instances.get(number as usize)?.as_ref()
}

impl Inspect {
    pub fn new(
        reads: Reads,
        (inspected, instances): (Snapshot<Paged<Option<u32>>>, Snapshot<Instances>),
        generations: Generations,
        decisions: Decisions,
    ) -> Inspect {
        Inspect { reads, inspected, instances, generations, decisions, offered: vec![] }
    }
    /// Passes rows on, or has them leave, as far as that can be known without an inspector.
    #[cold]
    fn rehearse(&self, cx: &mut Context, frame: &mut Frame) {
        let tables = (self.inspected.read(cx.guard), self.instances.read(cx.guard));
        let work = self.reads.begin(cx, Next::ARCS.len());
        for i in 0..frame.len() {
            let packet = work.as_ref().and_then(|work| work.packet(cx, frame, i));
            let slot = packet.map_or(frame.hop[i] as u16, |packet| packet.record.identity().tenant());
            let instance = instance_of(tables, slot);
            let bytes = frame.bytes(cx.pool, i);
            let pair = instance.and_then(|instance| instance.pair(cx.worker, || hash_of_both(bytes)));
            let next = match (&work, packet) {
                (None, _) => Next::NoSession,
                _ if pair.is_some_and(|pair| pair.client().is_some()) => Next::Inspected,
                _ if !instance.is_some_and(|instance| instance.passes()) => Next::NoInspector,
                (Some(work), Some(packet)) => {
                    work.pass(cx, frame, i, packet);
                    continue;
                }
                (Some(work), None) if work.rehearse(cx, frame, i) => continue,
                _ => Next::NoSession,
            };
            frame.next[i] = next.into();
        }
    }
}

/// Offers the packet of a row to an instance's inspector, unless the session needs no inspection or there is none.
fn offer(
    (cx, frame, i): (&mut Context<'_>, &mut Frame, usize),
    packet: Packet<'_>,
    instance: &Instance,
    (generations, decisions, offered): (&Generations, Decisions, &mut Vec<Arc<Pair>>),
) -> Treated {
    let bytes = frame.bytes(cx.pool, i);
    let Some(pair) = instance.pair(cx.worker, || hash_of_both(bytes)) else {
        return Treated::Leaves(Next::NoInspector);
    };
    let mut own = pair.own();
    if !own.is_attached() {
        if !instance.passes() {
            return Treated::Leaves(Next::NoInspector);
        }
        add(&pair.counts.passed, 1);
        return Treated::Passes;
    }
    let decided = decisions.of(packet.record.status(), own.attachment()).filter(|_| instance.bypass() > 0);
    if let Some(passes) = decided {
        add(&pair.counts.bypassed[usize::from(!passes)], 1);
        return if passes { Treated::Passes } else { Treated::Leaves(Next::Denied) };
    }
    if pair.offer(&mut own, cx.pool, (frame, i), OfferedBy::Session(packet.mark), generations).is_err() {
        add(&pair.counts.full, 1);
        return Treated::Leaves(Next::Full);
    }
    if !offered.iter().any(|known| Arc::ptr_eq(known, pair)) {
        offered.push(pair.clone());
    }
    Treated::Taken
}

impl Node for Inspect {
    fn process(&mut self, cx: &mut Context, frame: &mut Frame) {
        if cx.is_rehearsal() {
            self.rehearse(cx, frame);
            return;
        }
        let Inspect { reads, inspected, instances, generations, decisions, offered } = self;
        let tables = (inspected.read(cx.guard), instances.read(cx.guard));
        let serve = |work: &Work<'_>, cx: &mut Context<'_>, frame: &mut Frame, i: usize, packet: Packet<'_>| {
            let treated = match instance_of(tables, packet.record.identity().tenant()) {
                Some(instance) => offer((cx, frame, i), packet, instance, (generations, *decisions, offered)),
                None => Treated::Leaves(Next::NoInspector),
            };
            match treated {
                Treated::Passes => work.pass(cx, frame, i, packet),
                Treated::Leaves(next) => frame.next[i] = next.into(),
                Treated::Taken => {}
            }
        };
        reads.each((cx, frame), (Next::ARCS.len(), Next::NoSession), serve);
        for pair in offered.drain(..) {
            pair.publish(&pair.own());
        }
    }
}

arcs! {
    /// Where packets go from the place behind an inspector, besides services.
    pub enum Behind {
        Gone => drop "session-gone",
    }
}

/// The place from which packets go on.
pub(crate) struct GoOn(pub Reads);

impl Node for GoOn {
    fn process(&mut self, cx: &mut Context, frame: &mut Frame) {
        // The session may have ended, or been blocked, while the inspector had the packet.
        self.0.each((cx, frame), (Behind::ARCS.len(), Behind::Gone), |work, cx, frame, i, packet| {
            work.pass(cx, frame, i, packet);
        });
    }
}
