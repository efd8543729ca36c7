//! Where IPv4's fields lie in the window of a layer 3 stage, which begins 14 bytes before the header.

use quiver_engine::Field;
use quiver_wire::{IpFamily, V4};

use crate::family::BACK;

const START: usize = BACK as usize;

/// Version and header length.
pub const VERSION_IHL: Field = Field::new(START, 8);
/// Bytes of the packet.
pub const TOTAL_LENGTH: Field = Field::new(START + V4::LENGTH_OFFSET, 16);
/// Don't fragment, more fragments, offset.
pub const FRAGMENT: Field = Field::new(START + 6, 16);
/// TTL, protocol and checksum.
pub const HOPS: Field = Field::new(START + V4::HOP_LIMIT_OFFSET, 32);
/// Protocol.
pub const PROTOCOL: Field = Field::new(START + V4::PROTOCOL_OFFSET, 8);
/// Source address.
pub const SOURCE: Field = Field::new(START + V4::SOURCE_OFFSET, 32);
/// Destination address.
pub const DESTINATION: Field = Field::new(START + V4::DESTINATION_OFFSET, 32);
/// Both ports of TCP and UDP, behind a header without options.
pub const PORTS: Field = Field::new(START + V4::HEADER_LENGTH, 32);
/// The number of a tunnel of GTP begins at this byte of the window, behind UDP's header and four bytes of its own.
pub const TUNNEL: usize = START + V4::HEADER_LENGTH + 12;
