//! `ip4-udp-lookup`, `ip6-udp-lookup`: UDP packets for us, with `offset` at the IP header, go to the node that has claimed their
//! destination port ([`crate::claim`]). Senders of the others are told that nobody listens (RFC 1122, 4.1.3.1; RFC 4443, 3.1),
//! unless a room takes those that are left.

use std::marker::PhantomData;

use quiver_engine::{Context, Frame, Node, Paged, Snapshot, arcs};
use quiver_ip::Fault;
use quiver_wire::{Header, UdpHeader};

use crate::family::Udp;

arcs! {
    /// Where packets go that nobody has claimed; behind this arc come those of the nodes that claim ports.
    pub enum Next of F: Udp {
        Unclaimed => node (F::NAMES.error),
    }
}

/// The node.
pub struct Lookup<F: Udp> {
    /// Arcs by port; 0, [`Next::Unclaimed`], is that of ports that nobody takes.
    taken: Snapshot<Paged<u16>>,
    family: PhantomData<F>,
}

impl<F: Udp> Lookup<F> {
    pub(crate) fn new(taken: Snapshot<Paged<u16>>) -> Lookup<F> {
        Lookup { taken, family: PhantomData }
    }
}

/// The destination port of a packet, which begins with its IP header.
fn port<F: Udp>(packet: &[u8]) -> Option<u16> {
    let (header, _) = UdpHeader::parse(packet.get(F::payload(packet)?.offset..)?)?;
    Some(header.destination_port.get())
}

impl<F: Udp> Node for Lookup<F> {
    fn process(&mut self, cx: &mut Context, frame: &mut Frame) {
        let taken = self.taken.read(cx.guard);
        for i in 0..frame.len() {
            let port = port::<F>(frame.bytes(cx.pool, i));
            let arc = port.and_then(|port| taken.get(port.into())).copied().unwrap_or_default();
            if arc == Next::Unclaimed as u16 {
                frame.hop[i] = Fault::PORT.0;
            }
            frame.next[i] = arc;
        }
    }
}
