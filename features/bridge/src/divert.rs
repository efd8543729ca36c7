//! `l2-uu-fwd`: frames to unknown addresses, in a domain that has an interface for them, leave by that one alone.
//!
//! It drops nothing itself.

use quiver_engine::{Context, Frame, Node, Snapshot, arcs};

use crate::layer2::Layer2;

arcs! {
    /// Where frames go.
    pub enum Next {
        Output => features "l2-output",
    }
}

/// The node.
pub struct L2Divert(pub(crate) Snapshot<Layer2>);

impl Node for L2Divert {
    fn process(&mut self, cx: &mut Context, frame: &mut Frame) {
        let layer2 = self.0.read(cx.guard);
        for i in 0..frame.len() {
            frame.tx[i] = layer2.unknown(frame.hop[i] as u16);
            frame.next[i] = Next::Output.into();
        }
    }
}
