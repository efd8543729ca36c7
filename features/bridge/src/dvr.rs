//! `l2-dvr`: a route returns packets to layer 2, so that the nearest router of a domain routes (a distributed virtual
//! router). They leave by an interface of the domain that they came from, in the frames in which they came, without
//! decrementing the TTL.
//!
//! Drops: `not-bridged`, where a packet has not come by a domain's virtual interface, or is to leave by none of the domain's.

use quiver_engine::{Context, Frame, Node, Snapshot, arcs};
use quiver_wire::EthernetHeader;

use crate::layer2::{Layer2, Port};

/// The name of the node.
pub const NAME: &str = "l2-dvr";

arcs! {
    /// Where packets go from `l2-dvr`.
    pub enum Next {
        Output => features "l2-output",
        NotBridged => drop "not-bridged",
    }
}

/// The node.
pub struct Dvr(pub(crate) Snapshot<Layer2>);

impl Node for Dvr {
    fn process(&mut self, cx: &mut Context, frame: &mut Frame) {
        let layer2 = self.0.read(cx.guard);
        for i in 0..frame.len() {
            let port = layer2.port(frame.rx[i]);
            // What comes from a domain's virtual interface has no tags: its header stands before the packet still.
            let domain = u16::try_from(port.target).ok().filter(|_| port.word & Port::VIRTUAL != 0);
            let members = domain.map_or(&[][..], |domain| layer2.members(domain));
            let is_member = members.iter().any(|member| member.interface.0 == frame.tx[i] && !member.bvi);
            if !is_member || !frame.advance(cx.pool, i, -(size_of::<EthernetHeader>() as isize)) {
                frame.next[i] = Next::NotBridged.into();
            }
        }
    }
}
