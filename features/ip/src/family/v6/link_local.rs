//! `ip6-link-local`: packets for addresses that mean something on one link only (RFC 4291, 2.5.6). They are for us, or ours;
//! others' are not forwarded.

use quiver_engine::{Context, Flags, Frame, Node, Snapshot, arcs};
use quiver_interface::InterfaceId;
use quiver_wire::{Header, Ip6Header, V6};

use crate::adjacency::AdjacencyTable;
use crate::fib::hop;
use crate::ingress::Ingress;
use crate::near::NearReader;

arcs! {
    /// Where packets go from `ip6-link-local`.
    pub enum Next {
        Local => features "ip6-local",
        Rewrite => node "ip6-rewrite",
        NotForUs => drop "not-for-us",
        NoLink => drop "no-link",
    }
}

/// The node.
pub struct Ip6LinkLocal {
    /// The interfaces' addresses, and adjacencies that stand for all on their links.
    pub ingress: Snapshot<Ingress<V6>>,
    /// Neighbors with link-local addresses.
    pub near: NearReader<V6>,
    /// The adjacencies.
    pub adjacencies: Snapshot<AdjacencyTable<V6>>,
}

impl Node for Ip6LinkLocal {
    fn process(&mut self, cx: &mut Context, frame: &mut Frame) {
        let (ingress, adjacencies) = (self.ingress.read(cx.guard), self.adjacencies.read(cx.guard));
        for i in 0..frame.len() {
            let Some(interface) = ingress.interfaces.get(frame.rx[i] as usize) else { continue };
            let to = Ip6Header::parse(frame.bytes(cx.pool, i)).map(|(header, _)| header.destination());
            let next = match () {
                () if to.is_some() && to == interface.link_local => Next::Local,
                () if !frame.flags(i).has(Flags::LOCAL) => Next::NotForUs,
                () if interface.link_hop < hop::FIRST_ADJACENCY => Next::NoLink,
                () => {
                    let neighbor = to.map(|to| (InterfaceId(frame.rx[i]), to));
                    let known = neighbor.and_then(|neighbor| self.near.find(cx.guard, adjacencies, neighbor));
                    frame.hop[i] = known.unwrap_or(interface.link_hop);
                    Next::Rewrite
                }
            };
            frame.next[i] = next.into();
        }
    }
}
