//! Configuration of GENEVE tunnels.

use std::net::IpAddr;

use quiver_control::Object;
use quiver_interface::InterfaceName;
use quiver_ip::objects::TableNumber;
use quiver_tunnel::After;
use quiver_wire::{GeneveHeader, UnicastMac, V4, V6};

use crate::Geneve;

/// GENEVE tunnel interface: Ethernet frames in UDP to one host, or to a multicast group.
#[derive(Object, Clone, Debug, PartialEq)]
#[object(kind = "geneve-tunnels", provides = "interface")]
pub struct GeneveTunnel {
    /// Name: geneve_tunnel and a number, such as geneve_tunnel0, or one that you choose, such as to-berlin.
    #[key]
    pub name: String,
    /// Local address: source of the outer header, and an address of this router.
    #[fixed]
    pub source: IpAddr,
    /// Remote address of the same family: a host or a multicast group.
    #[fixed]
    pub destination: IpAddr,
    /// Virtual network identifier (VNI), 0 to 16777215.
    #[fixed]
    pub vni: u32,
    /// Interface that transmits and receives packets of the multicast group.
    #[fixed]
    pub group_interface: Option<InterfaceName>,
    /// Local UDP port on which packets are received.
    #[fixed]
    #[default(GeneveHeader::PORT.0)]
    pub port: u16,
    /// UDP destination port of transmitted packets.
    #[fixed]
    #[default(GeneveHeader::PORT.0)]
    pub destination_port: u16,
    /// IPv4 table that resolves the remote address, and whose interfaces receive the tunnel's packets.
    #[fixed]
    #[default(TableNumber::DEFAULT)]
    pub table: TableNumber<V4>,
    /// Table for IPv6 in place of `table`.
    #[fixed]
    #[default(TableNumber::DEFAULT)]
    pub ip6_table: TableNumber<V6>,
    /// Whether the payload is IP without an Ethernet header, as the GENEVE protocol type tells.
    #[fixed]
    #[default(false)]
    pub layer3: bool,
    /// Next node after decapsulation.
    #[fixed]
    #[default(After::Interface)]
    pub after: After,
    /// MAC address of the tunnel interface. Default: derived from both endpoints and the VNI.
    #[fixed]
    pub mac: Option<UnicastMac>,
    /// TTL or hop limit of the outer header. Default: 254 for IPv4, 255 for IPv6.
    #[fixed]
    pub hop_limit: Option<u8>,
    /// DSCP of the outer header, 0 to 63.
    #[fixed]
    #[default(0)]
    pub dscp: u8,
    /// Whether the outer IPv4 header has the don't-fragment bit.
    #[fixed]
    #[default(false)]
    pub dont_fragment: bool,
    /// Whether outer UDP over IPv6 has a checksum; RFC 6935 permits tunnels to omit it.
    #[fixed]
    #[default(true)]
    pub checksum: bool,
}

quiver_tunnel::configured!(GeneveTunnel of Geneve, "geneve_tunnel");
