//! `ip4-local`: packets for us, by protocol.
//!
//! ICMP has its own node. Nobody else listens yet: senders of UDP are told that the port is unreachable, others that the
//! protocol is (RFC 1122, 3.2.2.1). A room that speaks a protocol leads its arc elsewhere, or to control by
//! [`crate::set_local`].

use quiver_engine::{Context, Flags, Frame, Node, Snapshot, arcs};
use quiver_wire::{Header, Ip4Header, IpProtocol};

use crate::fault::Fault;

arcs! {
    /// Where packets go from `ip4-local`.
    pub enum Next {
        Icmp => node "icmp4-input",
        UnknownPort => node "icmp4-error",
        UnknownProtocol => node "icmp4-error",
        Punt => features "ip4-punt",
        Fragment => drop "fragment",
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
}

impl Node for Ip4Local {
    fn process(&mut self, cx: &mut Context, frame: &mut Frame) {
        let protocols = self.protocols.read(cx.guard);
        for i in 0..frame.len() {
            let next = match Ip4Header::parse(frame.bytes(cx.pool, i)) {
                // The nodes before have seen to it that there is a header; `icmp4-error` looks again.
                None => Next::UnknownProtocol,
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
