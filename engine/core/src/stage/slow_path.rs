//! Stages with a slow path: packets for which eight lanes are of no use are treated one by one in the same node.

use super::{Stage, StageNode};
use crate::frame::Frame;
use crate::graph::{Context, Node};
use crate::vector::Rows;

/// A stage that lets go of some packets by an arc of its own, and treats them one by one then.
pub trait SlowPath: Stage {
    /// The arc by which steps let go of those packets, and of no others.
    const SLOW: u16;
    /// Treats these rows: sets the arc of each, as a node does that is no stage. Nothing is known any more of interfaces of all rows.
    fn treat(&mut self, cx: &mut Context, frame: &mut Frame, rows: Rows);
}

/// A node of a stage with a slow path.
pub struct SlowPathNode<S: SlowPath>(StageNode<S>);

impl<S: SlowPath> SlowPathNode<S> {
    /// The node of a stage.
    pub fn new(stage: S) -> SlowPathNode<S> {
        SlowPathNode(StageNode(stage))
    }
}

impl<S: SlowPath> Node for SlowPathNode<S> {
    fn process(&mut self, cx: &mut Context, frame: &mut Frame) {
        self.0.process(cx, frame);
        let rows = frame.left_by(S::SLOW);
        if !rows.is_empty() {
            frame.set_mixed();
            self.0.0.treat(cx, frame, rows);
        }
    }
    fn is_stage(&self) -> bool {
        true
    }
}
