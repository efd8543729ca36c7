//! `ip6-multicast`: the end of the feature arc of that name, where packets for groups arrive. Those of groups that every
//! router is in (RFC 4291, 2.8) are for us. Rooms that speak a protocol by other groups take theirs on the arc. Nothing
//! forwards groups yet.

use std::net::Ipv6Addr;

use quiver_engine::{Context, Frame, Node, Snapshot, arcs};
use quiver_wire::nd::{ALL_NODES, ALL_ROUTERS, ALL_SITE_ROUTERS, solicited_node};
use quiver_wire::{Header, Ip6Header, V6};

use crate::ingress::{Ingress, IpInterface};

arcs! {
    /// Where packets go from `ip6-multicast`.
    pub enum Next {
        NoGroup => drop "no-such-group",
        Local => features "ip6-local",
    }
}

/// The node.
pub struct Ip6Multicast {
    /// The interfaces' addresses, which have groups of their own.
    pub ingress: Snapshot<Ingress<V6>>,
}

impl Node for Ip6Multicast {
    fn process(&mut self, cx: &mut Context, frame: &mut Frame) {
        let ingress = self.ingress.read(cx.guard);
        for i in 0..frame.len() {
            let to = Ip6Header::parse(frame.bytes(cx.pool, i)).map(|(header, _)| header.destination());
            let is_ours = ingress.interfaces.get(frame.rx[i].into()).zip(to).is_some_and(is_member);
            frame.next[i] = if is_ours { Next::Local.into() } else { Next::NoGroup.into() };
        }
    }
}

fn is_member((interface, group): (&IpInterface<V6>, Ipv6Addr)) -> bool {
    let of_all = [ALL_NODES, ALL_ROUTERS, ALL_SITE_ROUTERS].contains(&group);
    of_all || interface.own().any(|own| solicited_node(own) == group)
}
