//! Fields about interfaces: `interface_types.api`.

use crate::{Wire, flags};

flags! {
    /// The state of an interface.
    pub struct IfStatusFlags(u32) as "if_status_flags" Enum {
        /// It was set up.
        ADMIN_UP = 1 => "IF_STATUS_API_FLAG_ADMIN_UP",
        /// It has a connection.
        LINK_UP = 2 => "IF_STATUS_API_FLAG_LINK_UP",
    }
}

flags! {
    /// Which frames of its interface a sub-interface takes.
    pub struct SubIfFlags(u32) as "sub_if_flags" Enum {
        /// Those without a tag.
        NO_TAGS = 1 => "SUB_IF_API_FLAG_NO_TAGS",
        /// Those with one tag.
        ONE_TAG = 2 => "SUB_IF_API_FLAG_ONE_TAG",
        /// Those with two tags.
        TWO_TAGS = 4 => "SUB_IF_API_FLAG_TWO_TAGS",
        /// Their outer tag is IEEE 802.1ad's.
        DOT1AD = 8 => "SUB_IF_API_FLAG_DOT1AD",
        /// There may be no further tags.
        EXACT_MATCH = 16 => "SUB_IF_API_FLAG_EXACT_MATCH",
        /// Those that no other sub-interface takes.
        DEFAULT = 32 => "SUB_IF_API_FLAG_DEFAULT",
        /// Whatever the outer VLAN is.
        OUTER_VLAN_ID_ANY = 64 => "SUB_IF_API_FLAG_OUTER_VLAN_ID_ANY",
        /// Whatever the inner VLAN is.
        INNER_VLAN_ID_ANY = 128 => "SUB_IF_API_FLAG_INNER_VLAN_ID_ANY",
        /// The flags that go with a sub-interface.
        MASK_VNET = 254 => "SUB_IF_API_FLAG_MASK_VNET",
        /// Their outer tag is IEEE 802.1ah's.
        DOT1AH = 256 => "SUB_IF_API_FLAG_DOT1AH",
    }
}

/// For what an MTU holds: the places of a message's `mtu`.
#[derive(Wire, Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum MtuProto {
    /// Whatever has none of its own.
    #[value("MTU_PROTO_API_L3")]
    L3 = 0,
    /// IPv4.
    #[value("MTU_PROTO_API_IP4")]
    Ip4 = 1,
    /// IPv6.
    #[value("MTU_PROTO_API_IP6")]
    Ip6 = 2,
    /// MPLS.
    #[value("MTU_PROTO_API_MPLS")]
    Mpls = 3,
}

/// Whether both ends of a link may send at a time.
#[derive(Wire, Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u32)]
pub enum LinkDuplex {
    /// Nobody knows.
    #[default]
    #[value("LINK_DUPLEX_API_UNKNOWN")]
    Unknown = 0,
    /// They may not.
    #[value("LINK_DUPLEX_API_HALF")]
    Half = 1,
    /// They may.
    #[value("LINK_DUPLEX_API_FULL")]
    Full = 2,
}

/// When a receive queue is looked at.
#[derive(Wire, Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u32)]
pub enum RxMode {
    /// Nobody knows.
    #[default]
    #[value("RX_MODE_API_UNKNOWN")]
    Unknown = 0,
    /// Always.
    #[value("RX_MODE_API_POLLING")]
    Polling = 1,
    /// When the driver says that packets wait.
    #[value("RX_MODE_API_INTERRUPT")]
    Interrupt = 2,
    /// Whichever costs less.
    #[value("RX_MODE_API_ADAPTIVE")]
    Adaptive = 3,
    /// As it was at first.
    #[value("RX_MODE_API_DEFAULT")]
    Default = 4,
}

/// What an interface is.
#[derive(Wire, Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u32)]
pub enum IfType {
    /// One that is whole.
    #[default]
    #[value("IF_API_TYPE_HARDWARE")]
    Hardware = 0,
    /// A part of one, by tags.
    #[value("IF_API_TYPE_SUB")]
    Sub = 1,
    /// A part of one, by the neighbour.
    #[value("IF_API_TYPE_P2P")]
    PointToPoint = 2,
    /// An end of a pipe.
    #[value("IF_API_TYPE_PIPE")]
    Pipe = 3,
}
