//! `ip4-local`: packets for us, by protocol.
//!
//! ICMP has its own node. Nobody else listens yet: senders of UDP are told that the port is unreachable, others that the
//! protocol is (RFC 1122, 3.2.2.1). Packets that name us as their sender and come from elsewhere are dropped. A room that speaks a protocol leads its arc elsewhere, or to control by
//! [`crate::set_local`].

use quiver_engine::{Context, Flags, Frame, Node, Snapshot, arcs};
use quiver_wire::{Header, Ip4Header, IpProtocol};

use crate::fault::Fault;
use crate::fib::hop;
use crate::fib::rows::GroupRows;
use crate::ingress::Ingress;
use crate::node::lookup::first_hop;

arcs! {
    /// Where packets go from `ip4-local`.
    pub enum Next {
        Icmp => node "icmp4-input",
        UnknownPort => node "icmp4-error",
        UnknownProtocol => node "icmp4-error",
        Punt => features "ip4-punt",
        Fragment => drop "fragment",
        Spoofed => drop "spoofed-local-packets",
    }
}

/// Where packets of each protocol go.
pub type Protocols = [Next; 256];

/// The protocols while no room speaks more.
pub fn protocols() -> Protocols {
    let mut protocols = [Next::UnknownProtocol; 256];
    protocols[usize::from(IpProtocol::ICMP4.0)] = Next::Icmp;
    protocols[usize::from(IpProtocol::UDP.0)] = Next::UnknownPort;
    protocols
}

/// The node.
pub struct Ip4Local {
    /// Where packets of each protocol go.
    pub protocols: Snapshot<Protocols>,
    /// The tables, and which one is an interface's.
    pub ingress: Snapshot<Ingress>,
    /// The groups that leaves lead to.
    pub groups: Snapshot<GroupRows>,
}

impl Node for Ip4Local {
    fn process(&mut self, cx: &mut Context, frame: &mut Frame) {
        let protocols = self.protocols.read(cx.guard);
        let (ingress, groups) = (self.ingress.read(cx.guard), self.groups.read(cx.guard));
        let guard = cx.guard;
        let is_ours = |rx, address: [u8; 4]| first_hop(ingress, groups, guard, rx, address.into()) == hop::LOCAL;
        for i in 0..frame.len() {
            let next = match Ip4Header::parse(frame.bytes(cx.pool, i)) {
                // The nodes before have seen to it that there is a header; `icmp4-error` looks again.
                None => Next::UnknownProtocol,
                // RFC 1122, 3.2.1.3: our addresses are sources of ours alone, and nobody else is to be answered there.
                Some((header, _)) if !frame.flags(i).has(Flags::LOCAL) && is_ours(frame.rx[i], header.source) => {
                    Next::Spoofed
                }
                // Nothing puts fragments together yet.
                Some((header, _)) if header.is_fragment() => Next::Fragment,
                Some((header, _)) => protocols[usize::from(header.protocol.0)],
            };
            match next {
                Next::UnknownPort => frame.hop[i] = Fault::PORT.0,
                Next::UnknownProtocol => frame.hop[i] = Fault::PROTOCOL.0,
                _ => {}
            }
            // What we answer is our own, whoever made the question.
            frame.clear_flag(i, Flags::LOCAL);
            frame.next[i] = next.into();
        }
    }
}
