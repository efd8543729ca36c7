//! Fields about routes: `fib_types.api`, and the route of `ip.api`.

use super::{AddressUnion, Prefix};
use crate::{Wire, flags};

/// Type of a path.
#[derive(Wire, Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u32)]
pub enum FibPathType {
    /// Forwards to a next hop or out of an interface.
    #[default]
    #[value("FIB_API_PATH_TYPE_NORMAL")]
    Normal = 0,
    /// Delivers to the router itself.
    #[value("FIB_API_PATH_TYPE_LOCAL")]
    Local = 1,
    /// Drops.
    #[value("FIB_API_PATH_TYPE_DROP")]
    Drop = 2,
    /// Encapsulates in UDP.
    #[value("FIB_API_PATH_TYPE_UDP_ENCAP")]
    UdpEncap = 3,
    /// Imposes a BIER header.
    #[value("FIB_API_PATH_TYPE_BIER_IMP")]
    BierImp = 4,
    /// Drops, and answers with ICMP unreachable.
    #[value("FIB_API_PATH_TYPE_ICMP_UNREACH")]
    IcmpUnreach = 5,
    /// Drops, and answers with ICMP prohibited.
    #[value("FIB_API_PATH_TYPE_ICMP_PROHIBIT")]
    IcmpProhibit = 6,
    /// Looks up the source address.
    #[value("FIB_API_PATH_TYPE_SOURCE_LOOKUP")]
    SourceLookup = 7,
    /// Distributed virtual routing: forwards in layer 2 after a routing lookup.
    #[value("FIB_API_PATH_TYPE_DVR")]
    Dvr = 8,
    /// Receives the packet on an interface.
    #[value("FIB_API_PATH_TYPE_INTERFACE_RX")]
    InterfaceRx = 9,
    /// Passes the packet to a classifier.
    #[value("FIB_API_PATH_TYPE_CLASSIFY")]
    Classify = 10,
}

/// Protocol of the next hop's address.
#[derive(Wire, Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u32)]
pub enum FibPathNhProto {
    /// IPv4.
    #[default]
    #[value("FIB_API_PATH_NH_PROTO_IP4")]
    Ip4 = 0,
    /// IPv6.
    #[value("FIB_API_PATH_NH_PROTO_IP6")]
    Ip6 = 1,
    /// MPLS.
    #[value("FIB_API_PATH_NH_PROTO_MPLS")]
    Mpls = 2,
    /// Ethernet.
    #[value("FIB_API_PATH_NH_PROTO_ETHERNET")]
    Ethernet = 3,
    /// BIER.
    #[value("FIB_API_PATH_NH_PROTO_BIER")]
    Bier = 4,
}

flags! {
    /// Restrictions on the resolution of a path.
    pub struct FibPathFlags(u32) as "fib_path_flags" Enum {
        /// The next hop may resolve by any route.
        NONE = 0 => "FIB_API_PATH_FLAG_NONE",
        /// Only an attached route may resolve the next hop.
        RESOLVE_VIA_ATTACHED = 1 => "FIB_API_PATH_FLAG_RESOLVE_VIA_ATTACHED",
        /// Only a host route may resolve the next hop.
        RESOLVE_VIA_HOST = 2 => "FIB_API_PATH_FLAG_RESOLVE_VIA_HOST",
        /// Removes a pseudo-wire control word.
        POP_PW_CW = 4 => "FIB_API_PATH_FLAG_POP_PW_CW",
    }
}

/// A next hop.
#[derive(Wire, Clone, Copy, Debug, Default)]
pub struct FibPathNh {
    /// Its address.
    pub address: AddressUnion,
    /// MPLS label in place of an address.
    pub via_label: u32,
    /// Id of an encapsulation object.
    pub obj_id: u32,
    /// Index of a classifier table.
    pub classify_table_index: u32,
}

/// An MPLS label.
#[derive(Wire, Clone, Copy, Debug, Default)]
pub struct FibMplsLabel {
    /// Whether the TTL is copied from the packet.
    pub is_uniform: u8,
    /// The label.
    pub label: u32,
    /// TTL.
    pub ttl: u8,
    /// Traffic class.
    pub exp: u8,
}

/// A path of a route.
#[derive(Wire, Clone, Debug, Default)]
pub struct FibPath {
    /// Interface; all ones for none.
    pub sw_if_index: u32,
    /// Table of the next hop if there is no interface.
    pub table_id: u32,
    /// RPF id for multicast.
    pub rpf_id: u32,
    /// Weight: its share among the paths.
    pub weight: u8,
    /// Preference: only paths with the lowest value are used.
    pub preference: u8,
    /// Type of the path.
    pub r#type: FibPathType,
    /// Restrictions on its resolution.
    pub flags: FibPathFlags,
    /// Protocol of the next hop's address.
    pub proto: FibPathNhProto,
    /// The next hop.
    pub nh: FibPathNh,
    /// Number of labels in the stack.
    pub n_labels: u8,
    /// MPLS labels to push.
    pub label_stack: [FibMplsLabel; 16],
}

/// A route.
#[derive(Wire, Clone, Debug, Default)]
pub struct IpRoute {
    /// Its table.
    pub table_id: u32,
    /// Index of its counters; set by the daemon.
    pub stats_index: u32,
    /// Its prefix.
    pub prefix: Prefix,
    /// Its paths; `n_paths` says how many.
    #[count(u8, "n_paths")]
    pub paths: Vec<FibPath>,
}
