//! `vlan-output`, a feature of sub-interfaces on the way out: adds their tags to the packets that layer 3 sends. Frames
//! of layer 2 have their tags already.
//!
//! Drops: `tagging-impossible`, for a sub-interface that does not say which tags its frames have, or when there is no room
//! for them in front of the frame.

use quiver_engine::{
    ArcSpec, Body, Columns, Guard, Isa, LANES, PacketLanes, Paged, Quarters, Snapshot, Stage, Windows, arcs,
};
use quiver_ethernet::Port;

use crate::matching::{Part, part};
use crate::tags::{TAG, retag};

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
        let (parts, ports) = (self.parts.read(guard), self.ports.read(guard));
        OutputBody { parts, ports, count: 0, tags: [0; 2] }
    }
}

/// The stage at work.
pub struct OutputBody<'f> {
    parts: &'f Paged<Part>,
    ports: &'f Paged<Port>,
    /// Number of tags that the transmitting interface adds to the whole frame; and the tags.
    count: u32,
    tags: [u32; 2],
}

/// Tag count of a sub-interface that does not determine the tags of its frames.
const UNSAID: u32 = 3;

/// Number of tags that an interface adds to its packets.
fn count_of(parts: &Paged<Part>, ports: &Paged<Port>, tx: u32) -> u32 {
    match ports.get(tx as usize).is_some_and(|port| port.is_layer2()) {
        true => 0,
        false => match part(parts, tx) {
            Part { names_all: true, count, .. } => count.into(),
            _ => UNSAID,
        },
    }
}

/// Bytes in front of a frame from which on it is written: those of two tags.
const IN_FRONT: u32 = 2 * TAG as u32;

impl Body for OutputBody<'_> {
    const BACK: u32 = IN_FRONT;
    const WRITES: Columns = Columns::OFFSET;
    const READS: Quarters = Quarters::NONE;
    const REWRITES: Quarters = Quarters::ALL;
    const HAS_ORDINARY: bool = true;
    #[inline(always)]
    fn begin(&mut self, _: Option<u32>, tx: Option<u32>) {
        if let Some(tx) = tx {
            self.count = count_of(self.parts, self.ports, tx);
            self.tags = part(self.parts, tx).tags.map(|tag| tag.word());
        }
    }
    #[inline(always)]
    fn ordinary_moves(&self) -> i32 {
        -(self.count as i32 * TAG as i32)
    }
    #[inline(always)]
    fn ordinary<I: Isa>(&mut self, p: &mut PacketLanes<I>, windows: &mut Windows<'_>) -> bool {
        if !p.has_one_tx() || self.count == UNSAID || p.offset.lt(IN_FRONT).any() {
            return false;
        }
        match self.count {
            0 => {}
            1 => (0..LANES).for_each(|lane| retag(windows.of(lane), 8, 4, &self.tags[..1])),
            _ => (0..LANES).for_each(|lane| retag(windows.of(lane), 8, 0, &self.tags)),
        }
        p.length = p.length + (self.count << 2);
        true
    }
    #[inline(always)]
    fn step<I: Isa>(&mut self, p: &mut PacketLanes<I>, windows: &mut Windows<'_>) {
        let (parts, ports) = (self.parts, self.ports);
        let count = p.of_tx(self.count, |tx| count_of(parts, ports, tx));
        p.leave(count.eq(UNSAID) | p.offset.lt(count << 2), Next::Impossible);
        if !(count.ne(0) & p.live).any() {
            return;
        }
        let outer = p.of_tx(self.tags[0], |tx| part(parts, tx).tags[0].word()).array();
        let inner = p.of_tx(self.tags[1], |tx| part(parts, tx).tags[1].word()).array();
        let (offsets, counts) = (p.offset.array(), count.array());
        for lane in p.live.bits() {
            let bytes = counts[lane] as usize * TAG;
            let tags = [outer[lane], inner[lane]];
            if bytes != 0 {
                let window = windows.at(lane, offsets[lane] - bytes as u32);
                retag(window, bytes, 0, &tags[..(counts[lane] as usize).min(tags.len())]);
            }
        }
        p.advance(p.live, count.with(&[0; LANES]) - (count << 2));
    }
}
