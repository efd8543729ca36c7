//! `ip4-multicast`, `ip6-multicast`: the end of the feature arc of that name, where packets for groups arrive that nobody has
//! taken on the way. Those of groups that the receiving interface is in are for us. Rooms that forward groups, or speak a
//! protocol by them, take theirs on the arc.

use quiver_engine::{Context, Frame, Node, Snapshot, arcs};
use quiver_wire::{Header, IpHeader};

use crate::family::Family;
use crate::ingress::Ingress;

arcs! {
    /// Where packets go from `ip4-multicast`.
    pub enum Next of F: Family {
        NoGroup => drop "no-such-group",
        Local => features (F::NAMES.local),
    }
}

/// The node.
pub struct Multicast<F: Family> {
    /// The interfaces' groups.
    pub ingress: Snapshot<Ingress<F>>,
}

impl<F: Family> Node for Multicast<F> {
    fn process(&mut self, cx: &mut Context, frame: &mut Frame) {
        let ingress = self.ingress.read(cx.guard);
        for i in 0..frame.len() {
            let group = F::Header::parse(frame.bytes(cx.pool, i)).map(|(header, _)| header.destination());
            let found = ingress.interfaces.get(frame.rx[i] as usize).zip(group);
            let is_ours = found.is_some_and(|(interface, group)| interface.is_in(group));
            frame.next[i] = if is_ours { Next::Local.into() } else { Next::NoGroup.into() };
        }
    }
}
