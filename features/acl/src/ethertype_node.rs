//! `acl-input-ethertype`, `acl-output-ethertype`: pass the frames of layer 2 that carry IP, or one of the interface's EtherTypes.
//!
//! Drops: `ethertype-denied`, frames with another EtherType, and those that end before it.

use std::sync::Arc;

use quiver_engine::{
    ArcSpec, Body, Columns, Guard, Isa, Mask8, PacketLanes, Paged, Quarters, Snapshot, Stage, Windows, arcs, unlikely,
};
use quiver_wire::EtherType;

use crate::ethertype::NODES;
use crate::look::{ETHERTYPE, payload};

arcs! {
    /// Where frames go from here.
    pub enum Next {
        Pass => next_feature,
        Denied => drop "ethertype-denied",
    }
}

/// A node.
#[derive(Clone)]
pub struct CheckEthertype<const SENT: bool>(Snapshot<Paged<Arc<[u16]>>>);

impl<const SENT: bool> CheckEthertype<SENT> {
    /// With the EtherTypes by interface: all pass where there are none.
    pub fn new(passing: Snapshot<Paged<Arc<[u16]>>>) -> CheckEthertype<SENT> {
        CheckEthertype(passing)
    }
}

impl<const SENT: bool> Stage for CheckEthertype<SENT> {
    const NAME: &'static str = NODES[SENT as usize];
    const ARCS: &'static [ArcSpec] = Next::ARCS;
    type Body<'f> = EthertypeBody<'f, SENT>;
    #[inline(always)]
    fn enter<'f>(&'f mut self, guard: Guard<'f>) -> EthertypeBody<'f, SENT> {
        EthertypeBody(self.0.read(guard))
    }
}

/// The node at work.
pub struct EthertypeBody<'f, const SENT: bool>(&'f Paged<Arc<[u16]>>);

impl<const SENT: bool> EthertypeBody<'_, SENT> {
    /// Those of `frames`, none of which is IP without tags, that pass.
    #[cold]
    #[inline(never)]
    fn pass_each<I: Isa>(&self, p: &PacketLanes<I>, frames: Mask8, windows: &Windows<'_>) -> Mask8 {
        let (interfaces, mut passed) = (if SENT { p.tx } else { p.rx }.array(), Mask8(0));
        for lane in frames {
            let passing: &[u16] = self.0.get(interfaces[lane] as usize).map_or(&[], |passing| passing);
            let passes = passing.is_empty()
                || payload(windows.packet(p, lane)).is_some_and(|(kind, _)| {
                    kind == EtherType::IP4 || kind == EtherType::IP6 || passing.contains(&kind.get())
                });
            passed = passed | Mask8(u8::from(passes) << lane);
        }
        passed
    }
}

impl<const SENT: bool> Body for EthertypeBody<'_, SENT> {
    const WRITES: Columns = Columns::NONE;
    const READS: Quarters = Quarters::of(ETHERTYPE, ETHERTYPE + 2);

    #[inline(always)]
    fn step<I: Isa>(&mut self, p: &mut PacketLanes<I>, windows: &mut Windows<'_>) {
        let kind = p.header.word(ETHERTYPE) >> 16;
        let is_ip = kind.eq(u32::from(EtherType::IP4.get())) | kind.eq(u32::from(EtherType::IP6.get()));
        let others = p.live.without(is_ip & p.length.gt(ETHERTYPE as u32 + 1));
        if others.any() {
            unlikely();
            let passed = p.live.with(self.pass_each(p, others.bits(), windows));
            p.leave(others.without(passed), Next::Denied);
        }
    }
}
