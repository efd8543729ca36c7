//! Why a packet's sender is to be told by ICMP: what nodes put into the `hop` column before `icmp4-error`.

use quiver_wire::icmp4::{Icmp4Type, time_exceeded, unreachable};

/// An ICMP error: type, code, and the MTU where the code has one, in one word of the `hop` column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fault(pub u32);

impl Fault {
    /// No route (RFC 1812, 4.3.3.1).
    pub const NETWORK: Fault = Fault::unreachable(unreachable::NETWORK);
    /// The neighbour does not answer, or a route says so.
    pub const HOST: Fault = Fault::unreachable(unreachable::HOST);
    /// We do not speak the protocol.
    pub const PROTOCOL: Fault = Fault::unreachable(unreachable::PROTOCOL);
    /// Nobody listens on the port.
    pub const PORT: Fault = Fault::unreachable(unreachable::PORT);
    /// A route says so (RFC 1812, 5.2.7.1).
    pub const PROHIBITED: Fault = Fault::unreachable(unreachable::PROHIBITED);
    /// The TTL ran out (RFC 1812, 5.3.1).
    pub const TIME_EXCEEDED: Fault = Fault::new(Icmp4Type::TIME_EXCEEDED, time_exceeded::TRANSIT, 0);

    const fn new(kind: Icmp4Type, code: u8, mtu: u16) -> Fault {
        Fault((kind.0 as u32) << 24 | (code as u32) << 16 | mtu as u32)
    }
    const fn unreachable(code: u8) -> Fault {
        Fault::new(Icmp4Type::UNREACHABLE, code, 0)
    }
    /// The packet is longer than the next link takes, and must not be fragmented (RFC 1191, 4).
    pub const fn fragmentation_needed(mtu: u16) -> Fault {
        Fault::new(Icmp4Type::UNREACHABLE, unreachable::FRAGMENTATION_NEEDED, mtu)
    }
    /// The type of the message.
    pub fn kind(self) -> Icmp4Type {
        Icmp4Type((self.0 >> 24) as u8)
    }
    /// Its code.
    pub fn code(self) -> u8 {
        (self.0 >> 16) as u8
    }
    /// The MTU to tell.
    pub fn mtu(self) -> u16 {
        self.0 as u16
    }
}
