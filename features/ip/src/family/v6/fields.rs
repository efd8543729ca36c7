//! Where IPv6's fields lie in the window of a layer 3 stage, which begins 14 bytes before the header.

use quiver_engine::{Field, Isa, Lanes, PacketLanes};
use quiver_wire::{IpFamily, V6};

use crate::family::BACK;

const START: usize = BACK as usize;

/// The four bits of the version in the high half, and half of the traffic class.
pub const VERSION: Field = Field::new(START, 8);
/// The low half of the word with the flow label: its last 16 bits.
pub const FLOW_LABEL: Field = Field::new(START + 2, 16);
/// Bytes behind the header.
pub const PAYLOAD_LENGTH: Field = Field::new(START + V6::LENGTH_OFFSET, 16);
/// Next header.
pub const NEXT_HEADER: Field = Field::new(START + V6::PROTOCOL_OFFSET, 8);
/// Hop limit.
pub const HOP_LIMIT: Field = Field::new(START + V6::HOP_LIMIT_OFFSET, 8);
/// Payload length, next header and hop limit.
pub const HOPS: Field = Field::new(START + V6::LENGTH_OFFSET, 32);
/// The type of an ICMPv6 message, behind a header without extension headers.
pub const ICMP_TYPE: Field = Field::new(START + V6::HEADER_LENGTH, 8);
/// Both ports of TCP and UDP, behind a header without extension headers.
pub const PORTS: Field = Field::new(START + V6::HEADER_LENGTH, 32);

const fn words(at: usize) -> [Field; 4] {
    [Field::new(at, 32), Field::new(at + 4, 32), Field::new(at + 8, 32), Field::new(at + 12, 32)]
}
const SOURCE: [Field; 4] = words(START + V6::SOURCE_OFFSET);
const DESTINATION: [Field; 4] = words(START + V6::DESTINATION_OFFSET);

/// The words of the senders' addresses.
#[inline(always)]
pub fn source<I: Isa>(p: &PacketLanes<I>) -> [Lanes<I>; 4] {
    let [a, b, c, d] = SOURCE;
    // Word by word: a closure given to `map` would be called.
    [p.header.get(a), p.header.get(b), p.header.get(c), p.header.get(d)]
}

/// The words of the receivers' addresses.
#[inline(always)]
pub fn destination<I: Isa>(p: &PacketLanes<I>) -> [Lanes<I>; 4] {
    let [a, b, c, d] = DESTINATION;
    [p.header.get(a), p.header.get(b), p.header.get(c), p.header.get(d)]
}
