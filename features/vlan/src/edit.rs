//! `l2-input-vtr` and `l2-output-vtr`, features of interfaces with a tag rewrite: on the way in tags are taken off and
//! others put on, on the way out the other way round.
//!
//! Drops: `rewrite-impossible`, when the frame does not have the tags that are to come off, or no room in front for those
//! that are to go on.

use quiver_engine::{
    ArcSpec, Body, Columns, Domain, Guard, Isa, Lanes, PacketLanes, Paged, Publisher, Quarters, Snapshot, Stage,
    Windows, arcs,
};
use quiver_interface::InterfaceId;

use crate::tags::{OUTER, TAG, Tag, Tags, retag};

arcs! {
    /// Where frames go.
    pub enum Next {
        Next => next_feature,
        Impossible => drop "rewrite-impossible",
    }
}

pub(crate) const INPUT: &str = "l2-input-vtr";
pub(crate) const OUTPUT: &str = "l2-output-vtr";

/// A change of a frame's tags.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Edit {
    /// Tags that come off.
    pub pop: u8,
    /// Tags that go on: the first of these.
    pub push: u8,
    /// The tags.
    pub tags: [Tag; 2],
}

impl Edit {
    /// Takes `pop` tags off, then puts these on.
    pub fn new(pop: usize, push: &[Tag]) -> Edit {
        let mut tags = [Tag::default(); 2];
        for (place, tag) in tags.iter_mut().zip(push) {
            *place = *tag;
        }
        Edit { pop: pop as u8, push: push.len().min(2) as u8, tags }
    }
}

/// The edits of all interfaces: in and out.
pub struct Rewrites(Publisher<Paged<[Edit; 2]>>);

impl Rewrites {
    pub(crate) fn new(epochs: &Domain) -> Rewrites {
        Rewrites(Publisher::new(epochs, Paged::default()))
    }
    pub(crate) fn snapshot(&self) -> Snapshot<Paged<[Edit; 2]>> {
        self.0.snapshot()
    }
    pub(crate) fn set(&mut self, interface: InterfaceId, input: Edit, output: Edit) {
        let mut edits = self.0.current().clone();
        *edits.get_mut(interface.index()) = [input, output];
        self.0.publish(edits);
    }
}

/// Both stages: on the way in the receiving interface decides, on the way `OUT` the sending one.
#[derive(Clone)]
pub struct Rewriter<const OUT: bool>(pub(crate) Snapshot<Paged<[Edit; 2]>>);

impl<const OUT: bool> Stage for Rewriter<OUT> {
    const NAME: &'static str = if OUT { OUTPUT } else { INPUT };
    const ARCS: &'static [ArcSpec] = Next::ARCS;
    type Body<'f> = RewriterBody<'f, OUT>;
    #[inline(always)]
    fn enter<'f>(&'f mut self, guard: Guard<'f>) -> RewriterBody<'f, OUT> {
        RewriterBody(self.0.read(guard))
    }
}

/// A stage at work.
pub struct RewriterBody<'f, const OUT: bool>(&'f Paged<[Edit; 2]>);

impl<const OUT: bool> RewriterBody<'_, OUT> {
    #[inline(always)]
    fn interface<I: Isa>(&self, p: &PacketLanes<I>) -> Lanes<I> {
        if OUT { p.tx } else { p.rx }
    }
    #[inline(always)]
    fn edit(&self, interface: u32) -> Edit {
        let [input, output] = self.0.get(interface as usize).copied().unwrap_or_default();
        if OUT { output } else { input }
    }
}

impl<const OUT: bool> Body for RewriterBody<'_, OUT> {
    const WRITES: Columns = Columns::OFFSET;
    const READS: Quarters = Quarters::of(12, 24);
    const REWRITES: Quarters = Quarters::ALL;
    #[inline(always)]
    fn step<I: Isa>(&mut self, p: &mut PacketLanes<I>, windows: &mut Windows<'_>) {
        let interface = self.interface(p);
        let pop = interface.map_uniform(|interface| self.edit(interface).pop.into());
        let push = interface.map_uniform(|interface| self.edit(interface).push.into());
        let (count, short) = Tags::count_of(p);
        p.leave(short | count.lt(pop) | (p.offset + (pop << 2)).lt(push << 2), Next::Impossible);
        // The frame keeps its priority: that of the outermost tag, if it had one.
        let priority = (p.header.word(OUTER) & 0xf000).replace(count.eq(0), 0);
        let outer = interface.map_uniform(|interface| self.edit(interface).tags[0].word());
        let inner = interface.map_uniform(|interface| self.edit(interface).tags[1].word());
        let (outer, inner) = ((outer | priority).array(), (inner | priority).array());
        let (pops, pushes, offsets) = (pop.array(), push.array(), p.offset.array());
        for lane in p.live.bits() {
            let (pop, push) = (pops[lane] as usize, pushes[lane] as usize);
            if pop | push != 0 {
                // The window begins with whatever is further in front: the frame as it is, or as it will be.
                let (from, to) = (push.saturating_sub(pop) * TAG, pop.saturating_sub(push) * TAG);
                let tags = [outer[lane], inner[lane]];
                retag(windows.at(lane, offsets[lane] - from as u32), from, to, &tags[..push.min(tags.len())]);
            }
        }
        let moves = (pop - push) << 2;
        p.advance(p.live, moves);
    }
}
