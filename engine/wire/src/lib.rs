//! Typed views of packet headers, and checksums.
//!
//! A header type is laid out exactly as on the wire: no padding, big-endian fields, alignment of one byte.
//! [`Header::parse`] lays it over the front of a packet without copying and hands back the bytes that follow,
//! so that a packet is read as a row of `parse` calls:
//!
//! ```
//! use quiver_wire::{EtherType, EthernetHeader, Header, Ip4Header};
//! # let mut packet = [0u8; 34];
//! # packet[12] = 0x08;
//! # packet[22] = 64;
//! let (ethernet, rest) = EthernetHeader::parse(&packet).unwrap();
//! assert_eq!(ethernet.ethertype, EtherType::IP4);
//! let (ip, rest) = Ip4Header::parse(rest).unwrap();
//! assert_eq!(ip.ttl, 64);
//! ```
//!
//! A view says what the bytes are, never that they are right: whether a packet is acceptable is for the node that
//! receives it to decide. No function of this crate panics, whatever the bytes.
#![forbid(unsafe_code)]

pub mod arp;
pub mod checksum;
pub mod ethernet;
pub mod family;
pub mod flow;
pub mod geneve;
mod header;
mod icmp;
pub mod icmp4;
pub mod icmp6;
pub mod ip4;
pub mod ip6;
pub mod nd;
pub mod offload;
pub mod options;
pub mod prefix;
pub mod protocol;
pub mod segment;
pub mod summary;
pub mod tcp;
mod text;
pub mod udp;
pub mod unicast;
pub mod vlan;
pub mod vxlan;

pub use arp::{ArpOperation, ArpPacket};
pub use checksum::Sum;
pub use ethernet::{EtherType, EthernetHeader, MacAddress};
pub use family::{IpFamily, IpHeader, V4, V6};
pub use geneve::GeneveHeader;
pub use header::Header;
pub use icmp::IcmpHeader;
pub use icmp4::{Icmp4Header, Icmp4Type};
pub use icmp6::{Icmp6Header, Icmp6Type};
pub use ip4::Ip4Header;
pub use ip6::Ip6Header;
pub use offload::VirtioNetHeader;
pub use prefix::{InterfaceAddress, Prefix, PrefixError};
pub use protocol::IpProtocol;
pub use segment::Segments;
pub use tcp::{TcpFlags, TcpHeader};
pub use udp::{UdpHeader, UdpPort};
pub use unicast::UnicastMac;
pub use vlan::{Tci, VlanId, VlanTag};
pub use vxlan::{Vni, VxlanHeader};
/// Integers in network byte order, as the fields of headers hold them.
pub use zerocopy::big_endian;
