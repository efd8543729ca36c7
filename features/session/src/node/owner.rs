//! `sfdp-handoff`: packets that another worker has handed over, because their session belongs to this one.

use quiver_engine::{Context, Frame, Node, arcs};

use super::pass::Reads;

/// The arc of the lookups that leads here.
pub(crate) const ARC: u16 = 0;

arcs! {
    /// Where packets go from here, besides services.
    pub enum Next {
        Gone => drop "session-gone",
    }
}

/// The node's name.
pub const NAME: &str = "sfdp-handoff";

/// The node.
pub struct Owner(pub Reads);

impl Node for Owner {
    fn process(&mut self, cx: &mut Context, frame: &mut Frame) {
        let work = self.0.begin(cx, Next::ARCS.len());
        for i in 0..frame.len() {
            // The session may have ended while the packet was on its way.
            match work.as_ref().and_then(|work| Some((work, work.packet(cx, frame, i)?))) {
                Some((work, packet)) => {
                    if !cx.is_rehearsal() {
                        packet.touch(frame.length[i], work.ticks(cx));
                    }
                    work.pass(cx, frame, i, packet);
                }
                None => frame.next[i] = Next::Gone.into(),
            }
        }
    }
}
