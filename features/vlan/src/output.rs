//! `vlan-output`, a feature of sub-interfaces on the way out: what layer 3 sends by one gets its tags. Frames of layer 2
//! have the tags that they shall have.
//!
//! Drops: `tagging-impossible`, for a sub-interface that does not say which tags its frames have, or when there is no room
//! for them in front of the frame.

use quiver_engine::{Context, Frame, Node, Paged, Snapshot, arcs};
use quiver_ethernet::Port;

use crate::matching::{Part, part};
use crate::tags::replace;

arcs! {
    /// Where frames go.
    pub enum Next {
        Next => next_feature,
        Impossible => drop "tagging-impossible",
    }
}

/// The node's name.
pub(crate) const NAME: &str = "vlan-output";

/// The node.
pub struct VlanOutput {
    pub(crate) parts: Snapshot<Paged<Part>>,
    pub(crate) ports: Snapshot<Paged<Port>>,
}

impl Node for VlanOutput {
    fn process(&mut self, cx: &mut Context, frame: &mut Frame) {
        let (parts, ports) = (self.parts.read(cx.guard), self.ports.read(cx.guard));
        for i in 0..frame.len() {
            let tx = frame.tx[i];
            if ports.get(usize::from(tx)).is_some_and(|port| port.is_layer2()) {
                continue;
            }
            let part = part(parts, tx);
            let tags = part.count.and_then(|count| part.tags.get(..usize::from(count)));
            frame.next[i] = match tags {
                Some(tags) if replace(cx, frame, i, 0, tags) => Next::Next,
                _ => Next::Impossible,
            }
            .into();
        }
    }
}
