//! `vlan-output`, a feature of sub-interfaces on the way out: what layer 3 sends by one gets its tags. Frames of layer 2
//! have the tags that they shall have.
//!
//! Drops: `tagging-impossible`, for a sub-interface that does not say which tags its frames have, or when there is no room
//! for them in front of the frame.

use quiver_engine::{ArcSpec, Body, Columns, Guard, Isa, Lanes, Mask, PacketLanes, Paged, Snapshot, Stage, arcs};
use quiver_ethernet::Port;

use crate::matching::{Part, part};
use crate::tags::put;

arcs! {
    /// Where frames go.
    pub enum Next {
        Next => next_feature,
        Impossible => drop "tagging-impossible",
    }
}

/// The node's name.
pub(crate) const NAME: &str = "vlan-output";

/// The stage.
#[derive(Clone)]
pub struct VlanOutput {
    pub(crate) parts: Snapshot<Paged<Part>>,
    pub(crate) ports: Snapshot<Paged<Port>>,
}

impl Stage for VlanOutput {
    const NAME: &'static str = NAME;
    const ARCS: &'static [ArcSpec] = Next::ARCS;
    type Body<'f> = OutputBody<'f>;
    #[inline(always)]
    fn enter<'f>(&'f mut self, guard: Guard<'f>) -> OutputBody<'f> {
        OutputBody { parts: self.parts.read(guard), ports: self.ports.read(guard) }
    }
}

/// The stage at work.
pub struct OutputBody<'f> {
    parts: &'f Paged<Part>,
    ports: &'f Paged<Port>,
}

/// Of a sub-interface that does not say which tags its frames have.
const UNSAID: u32 = 3;

impl OutputBody<'_> {
    /// How many tags go on what an interface sends.
    #[inline(always)]
    fn count(&self, tx: u32) -> u32 {
        match self.ports.get(tx as usize).is_some_and(|port| port.is_layer2()) {
            true => 0,
            false => part(self.parts, tx as u16).count.map_or(UNSAID, u32::from),
        }
    }
    /// The same of sixteen packets, which leave by one interface, mostly.
    #[inline(always)]
    fn counts<I: Isa>(&self, tx: Lanes<I>) -> Lanes<I> {
        let all = tx.array();
        if tx.eq(all[0]).all() { tx.with(&[self.count(all[0]); 16]) } else { tx.with(&self.count_several(&all)) }
    }
    #[cold]
    #[inline(never)]
    fn count_several(&self, tx: &[u32; 16]) -> [u32; 16] {
        tx.map(|tx| self.count(tx))
    }
}

impl Body for OutputBody<'_> {
    const WRITES: Columns = Columns::OFFSET.and(Columns::HEADER).and(Columns::MORE);
    const BY_PARTS: bool = true;
    #[inline(always)]
    fn meets<I: Isa>(&self, p: &PacketLanes<I>) -> Mask<I> {
        p.tx.map_uniform(|tx| part(self.parts, tx as u16).exists.into()).ne(0)
    }
    #[inline(always)]
    fn step<I: Isa>(&self, p: &mut PacketLanes<I>) {
        let count = self.counts(p.tx);
        p.leave(count.eq(UNSAID) | p.offset.lt(count << 2), Next::Impossible);
    }
    /// Only here, since what stages before it count is said by the header and the length without tags.
    #[inline(always)]
    fn commit<I: Isa>(&mut self, p: &mut PacketLanes<I>) {
        let count = self.counts(p.tx);
        let count = count.replace(count.eq(UNSAID), 0);
        if !(count.ne(0) & p.live).any() {
            return;
        }
        let outer = p.tx.map_uniform(|tx| part(self.parts, tx as u16).tags[0].word());
        let inner = p.tx.map_uniform(|tx| part(self.parts, tx as u16).tags[1].word());
        put(p, count, [outer, inner]);
    }
}
