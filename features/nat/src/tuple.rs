//! Tuples of packets, before and after translation.

use quiver_session::key::{End, Flow, Format, Key};
use quiver_session::second::{Ip4End, SecondKey};
use quiver_wire::IpProtocol;

/// Source and destination of a packet, with its protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tuple {
    /// Source.
    pub source: Ip4End,
    /// Destination.
    pub destination: Ip4End,
    /// IP protocol number.
    pub protocol: u8,
}

/// An end of IPv4 in a key.
fn of_end(end: End) -> Ip4End {
    Ip4End { address: end.address as u32, port: end.port }
}
fn to_end(end: Ip4End) -> End {
    End { address: end.address.into(), port: end.port }
}

impl Tuple {
    /// That of a flow.
    pub fn of(flow: &Flow) -> Tuple {
        let (source, destination) = flow.ends;
        Tuple { source: of_end(source), destination: of_end(destination), protocol: flow.protocol.0 }
    }
    /// That of packets from the end on the inside. `is_high`: whether that is the higher end of the key.
    pub fn from_inside(key: &Key, is_high: bool) -> Tuple {
        let (low, high) = (of_end(key.low()), of_end(key.high()));
        let (source, destination) = if is_high { (high, low) } else { (low, high) };
        Tuple { source, destination, protocol: key.protocol() }
    }
    /// That of packets to the outside, once they are translated.
    pub fn to_outside(key: &SecondKey) -> Tuple {
        Tuple { source: key.near, destination: key.far, protocol: key.protocol }
    }
    /// That of the replies.
    pub fn reversed(self) -> Tuple {
        Tuple { source: self.destination, destination: self.source, ..self }
    }
    /// The first key of a session with such packets, and whether the source is the higher end.
    pub fn key(&self, context: u32, format: Format) -> (Key, bool) {
        let ends = (to_end(self.source), to_end(self.destination));
        Key::new(ends, context, (IpProtocol(self.protocol), format))
    }
    /// The second key of the session to which such packets belong that come from the outside.
    pub fn second(&self, context: u32) -> SecondKey {
        SecondKey { far: self.source, near: self.destination, context, protocol: self.protocol }
    }
}
