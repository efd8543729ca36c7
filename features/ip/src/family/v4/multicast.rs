//! `ip4-multicast`: the end of the feature arc of that name, where packets for groups of hosts arrive. Rooms that speak a
//! protocol by multicast take theirs on the arc. Nothing forwards groups yet.

use quiver_engine::{Context, Frame, Node, arcs};

arcs! {
    /// Where packets go from `ip4-multicast`.
    pub enum Next {
        NoGroup => drop "no-such-group",
    }
}

/// The node.
pub struct Ip4Multicast;

impl Node for Ip4Multicast {
    fn process(&mut self, _: &mut Context, _: &mut Frame) {}
}
