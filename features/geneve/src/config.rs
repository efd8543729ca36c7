//! What is configured of tunnels.

use std::net::IpAddr;

use quiver_control::Object;
use quiver_interface::InterfaceName;
use quiver_ip::objects::TableNumber;
use quiver_tunnel::After;
use quiver_wire::{GeneveHeader, UnicastMac, V4, V6};

use crate::Geneve;

/// An interface whose frames go as payload of UDP datagrams to one host, or to a group of hosts, in a GENEVE network.
#[derive(Object, Clone, Debug, PartialEq)]
#[object(kind = "geneve-tunnels", provides = "interface")]
pub struct GeneveTunnel {
    /// Its name: geneve_tunnel0, geneve_tunnel1 and so on.
    #[key]
    pub name: String,
    /// The address that datagrams come from; it is one of ours.
    #[fixed]
    pub source: IpAddr,
    /// The address that they go to, of the same family: a host's, or a group's.
    #[fixed]
    pub destination: IpAddr,
    /// The network (VNI), 0 to 16777215.
    #[fixed]
    pub vni: u32,
    /// The interface by which datagrams for a group leave, and come.
    #[fixed]
    pub group_interface: Option<InterfaceName>,
    /// The UDP port by which datagrams come to us.
    #[fixed]
    #[default(GeneveHeader::PORT.0)]
    pub port: u16,
    /// The UDP port that they go to.
    #[fixed]
    #[default(GeneveHeader::PORT.0)]
    pub destination_port: u16,
    /// The table of IPv4 in which the destination is looked up, and by whose interfaces datagrams come.
    #[fixed]
    #[default(TableNumber::DEFAULT)]
    pub table: TableNumber<V4>,
    /// The same of IPv6.
    #[fixed]
    #[default(TableNumber::DEFAULT)]
    pub ip6_table: TableNumber<V6>,
    /// Whether packets of IP go without an Ethernet header; the header says so.
    #[fixed]
    #[default(false)]
    pub layer3: bool,
    /// Where packets go that come out.
    #[fixed]
    #[default(After::Interface)]
    pub after: After,
    /// The interface's address of hardware; without one, one is made of both ends and the network.
    #[fixed]
    pub mac: Option<UnicastMac>,
    /// The hop limit of datagrams; without one, 254 over IPv4 and 255 over IPv6.
    #[fixed]
    pub hop_limit: Option<u8>,
    /// The class of service (DSCP) of datagrams, 0 to 63.
    #[fixed]
    #[default(0)]
    pub dscp: u8,
    /// Whether routers on the way may not fragment datagrams of IPv4.
    #[fixed]
    #[default(false)]
    pub dont_fragment: bool,
    /// Whether datagrams of IPv6 have a checksum; RFC 6935 allows tunnels to have none.
    #[fixed]
    #[default(true)]
    pub checksum: bool,
}

quiver_tunnel::configured!(GeneveTunnel of Geneve, "geneve_tunnel");
