//! `l2-input-vtr` and `l2-output-vtr`, features of interfaces with a tag rewrite: on the way in tags are taken off and
//! others put on, on the way out the other way round.
//!
//! Drops: `rewrite-impossible`, when the frame does not have the tags that are to come off, or no room in front for those
//! that are to go on.

use quiver_engine::{Context, Domain, Frame, Node, Paged, Publisher, Snapshot, arcs};
use quiver_interface::InterfaceId;

use crate::tags::{Tag, Tags, replace};

arcs! {
    /// Where frames go.
    pub enum Next {
        Next => next_feature,
        Impossible => drop "rewrite-impossible",
    }
}

pub(crate) const INPUT: &str = "l2-input-vtr";
pub(crate) const OUTPUT: &str = "l2-output-vtr";

/// Which of the nodes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Side {
    /// On the way in: the receiving interface decides.
    In,
    /// On the way out: the sending one does.
    Out,
}

/// What happens to the tags of a frame.
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

/// Both nodes.
pub struct Rewriter {
    pub(crate) side: Side,
    pub(crate) edits: Snapshot<Paged<[Edit; 2]>>,
}

impl Node for Rewriter {
    fn process(&mut self, cx: &mut Context, frame: &mut Frame) {
        let edits = self.edits.read(cx.guard);
        for i in 0..frame.len() {
            let interface = match self.side {
                Side::In => frame.rx[i],
                Side::Out => frame.tx[i],
            };
            let [input, output] = edits.get(usize::from(interface)).copied().unwrap_or_default();
            let edit = if self.side == Side::In { input } else { output };
            frame.next[i] = rewrite(cx, frame, i, edit).into();
        }
    }
}

fn rewrite(cx: &mut Context, frame: &mut Frame, i: usize, mut edit: Edit) -> Next {
    let Some(tags) = Tags::read(frame.bytes(cx.pool, i)) else { return Next::Impossible };
    let pop = usize::from(edit.pop);
    if tags.count < pop {
        return Next::Impossible;
    }
    // The frame keeps its priority: that of the outermost tag, if it had one.
    let priority = if tags.count > 0 { tags.first[0].tci & 0xf000 } else { 0 };
    edit.tags.iter_mut().for_each(|tag| tag.tci |= priority);
    let push = edit.tags.get(..usize::from(edit.push)).unwrap_or_default();
    match replace(cx, frame, i, pop, push) {
        true => Next::Next,
        false => Next::Impossible,
    }
}
