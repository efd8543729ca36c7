//! Fields about routes: `fib_types.api`, and the route of `ip.api`.

use super::{AddressUnion, Prefix};
use crate::{Wire, flags};

/// What a path is.
#[derive(Wire, Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u32)]
pub enum FibPathType {
    /// By a next hop, or by an interface.
    #[default]
    #[value("FIB_API_PATH_TYPE_NORMAL")]
    Normal = 0,
    /// To the router itself.
    #[value("FIB_API_PATH_TYPE_LOCAL")]
    Local = 1,
    /// Nowhere.
    #[value("FIB_API_PATH_TYPE_DROP")]
    Drop = 2,
    /// Into UDP.
    #[value("FIB_API_PATH_TYPE_UDP_ENCAP")]
    UdpEncap = 3,
    /// Into BIER.
    #[value("FIB_API_PATH_TYPE_BIER_IMP")]
    BierImp = 4,
    /// Nowhere, and the sender is told that it is unreachable.
    #[value("FIB_API_PATH_TYPE_ICMP_UNREACH")]
    IcmpUnreach = 5,
    /// Nowhere, and the sender is told that it is prohibited.
    #[value("FIB_API_PATH_TYPE_ICMP_PROHIBIT")]
    IcmpProhibit = 6,
    /// To a lookup of the source.
    #[value("FIB_API_PATH_TYPE_SOURCE_LOOKUP")]
    SourceLookup = 7,
    /// Within layer 2, routed by many.
    #[value("FIB_API_PATH_TYPE_DVR")]
    Dvr = 8,
    /// As if an interface had received the packet.
    #[value("FIB_API_PATH_TYPE_INTERFACE_RX")]
    InterfaceRx = 9,
    /// To a classifier.
    #[value("FIB_API_PATH_TYPE_CLASSIFY")]
    Classify = 10,
}

/// Of which protocol the next hop's address is.
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
    /// By what a path may be resolved.
    pub struct FibPathFlags(u32) as "fib_path_flags" Enum {
        /// By any route.
        NONE = 0 => "FIB_API_PATH_FLAG_NONE",
        /// By the route of a link only.
        RESOLVE_VIA_ATTACHED = 1 => "FIB_API_PATH_FLAG_RESOLVE_VIA_ATTACHED",
        /// By a host's route only.
        RESOLVE_VIA_HOST = 2 => "FIB_API_PATH_FLAG_RESOLVE_VIA_HOST",
        /// A word of a pseudo-wire is taken off.
        POP_PW_CW = 4 => "FIB_API_PATH_FLAG_POP_PW_CW",
    }
}

/// A next hop.
#[derive(Wire, Clone, Copy, Debug, Default)]
pub struct FibPathNh {
    /// Its address.
    pub address: AddressUnion,
    /// A label of MPLS in place of an address.
    pub via_label: u32,
    /// Of an encapsulation.
    pub obj_id: u32,
    /// Of a classifier.
    pub classify_table_index: u32,
}

/// A label of MPLS.
#[derive(Wire, Clone, Copy, Debug, Default)]
pub struct FibMplsLabel {
    /// Whether its lifetime is that of the packet.
    pub is_uniform: u8,
    /// The label.
    pub label: u32,
    /// Its lifetime.
    pub ttl: u8,
    /// Its class of traffic.
    pub exp: u8,
}

/// One of the ways of a route.
#[derive(Wire, Clone, Debug, Default)]
pub struct FibPath {
    /// The interface; all ones for none.
    pub sw_if_index: u32,
    /// The table of the next hop, where there is no interface.
    pub table_id: u32,
    /// Of multicast.
    pub rpf_id: u32,
    /// Its share among the paths.
    pub weight: u8,
    /// The least of all paths is used.
    pub preference: u8,
    /// What it is.
    pub r#type: FibPathType,
    /// By what the next hop may be resolved.
    pub flags: FibPathFlags,
    /// Of which protocol the next hop's address is.
    pub proto: FibPathNhProto,
    /// The next hop.
    pub nh: FibPathNh,
    /// Labels in the stack.
    pub n_labels: u8,
    /// Labels of MPLS that are put on.
    pub label_stack: [FibMplsLabel; 16],
}

/// A route.
#[derive(Wire, Clone, Debug, Default)]
pub struct IpRoute {
    /// The table that it is in.
    pub table_id: u32,
    /// Of its counters; said by the daemon only.
    pub stats_index: u32,
    /// The destinations.
    pub prefix: Prefix,
    /// Its ways; as many as `n_paths` says.
    #[count(u8, "n_paths")]
    pub paths: Vec<FibPath>,
}
