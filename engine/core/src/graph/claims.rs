//! Claims: a node that tells packets apart by a number (an ethertype, a protocol, a port) names no room. Rooms claim numbers for
//! their own nodes, and the demultiplexer gets an arc to each of these, behind the arcs that it declares.

use quiver_wire::{EtherType, IpProtocol, UdpPort};
use std::collections::BTreeMap;
use std::fmt;

/// A number in packets by which a demultiplexer chooses their arc.
pub trait Number: Copy + fmt::Display {
    /// The noun for such a number: `ethertype`.
    const WHAT: &'static str;
    /// Its value in a packet.
    fn value(self) -> u16;
}

impl Number for EtherType {
    const WHAT: &'static str = "ethertype";
    fn value(self) -> u16 {
        self.get()
    }
}

impl Number for IpProtocol {
    const WHAT: &'static str = "protocol";
    fn value(self) -> u16 {
        self.0.into()
    }
}

impl Number for UdpPort {
    const WHAT: &'static str = "UDP port";
    fn value(self) -> u16 {
        self.0
    }
}

/// A number, and the arc by which its packets leave the demultiplexer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claim {
    /// The noun for the number: `ethertype`.
    pub what: &'static str,
    /// The number as people write it.
    pub shown: String,
    /// The arc, whose name is that of the node or feature arc that takes the packets.
    pub arc: u16,
}

/// Claims by demultiplexer and number.
pub(super) type Claims = BTreeMap<(&'static str, u16), Claim>;
