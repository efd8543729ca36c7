//! Fields about interfaces: `interface_types.api`.

use crate::{Wire, flags};

flags! {
    /// State of an interface.
    pub struct IfStatusFlags(u32) as "if_status_flags" Enum {
        /// Administratively up.
        ADMIN_UP = 1 => "IF_STATUS_API_FLAG_ADMIN_UP",
        /// Link up.
        LINK_UP = 2 => "IF_STATUS_API_FLAG_LINK_UP",
    }
}

flags! {
    /// Frames that a subinterface matches.
    pub struct SubIfFlags(u32) as "sub_if_flags" Enum {
        /// Untagged frames.
        NO_TAGS = 1 => "SUB_IF_API_FLAG_NO_TAGS",
        /// Frames with one tag.
        ONE_TAG = 2 => "SUB_IF_API_FLAG_ONE_TAG",
        /// Frames with two tags.
        TWO_TAGS = 4 => "SUB_IF_API_FLAG_TWO_TAGS",
        /// The outer tag is 802.1ad.
        DOT1AD = 8 => "SUB_IF_API_FLAG_DOT1AD",
        /// Exactly these tags, no further ones.
        EXACT_MATCH = 16 => "SUB_IF_API_FLAG_EXACT_MATCH",
        /// Frames that no other subinterface matches.
        DEFAULT = 32 => "SUB_IF_API_FLAG_DEFAULT",
        /// Any outer VLAN id.
        OUTER_VLAN_ID_ANY = 64 => "SUB_IF_API_FLAG_OUTER_VLAN_ID_ANY",
        /// Any inner VLAN id.
        INNER_VLAN_ID_ANY = 128 => "SUB_IF_API_FLAG_INNER_VLAN_ID_ANY",
        /// All flags that describe a subinterface's frames.
        MASK_VNET = 254 => "SUB_IF_API_FLAG_MASK_VNET",
        /// The outer tag is 802.1ah.
        DOT1AH = 256 => "SUB_IF_API_FLAG_DOT1AH",
    }
}

/// Protocols of an MTU: the indices of a message's `mtu`.
#[derive(Wire, Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum MtuProto {
    /// Layer 3: all protocols without an MTU of their own.
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

/// Duplex mode of a link.
#[derive(Wire, Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u32)]
pub enum LinkDuplex {
    /// Unknown.
    #[default]
    #[value("LINK_DUPLEX_API_UNKNOWN")]
    Unknown = 0,
    /// Half duplex.
    #[value("LINK_DUPLEX_API_HALF")]
    Half = 1,
    /// Full duplex.
    #[value("LINK_DUPLEX_API_FULL")]
    Full = 2,
}

/// Receive mode of a queue.
#[derive(Wire, Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u32)]
pub enum RxMode {
    /// Unknown.
    #[default]
    #[value("RX_MODE_API_UNKNOWN")]
    Unknown = 0,
    /// Polls always.
    #[value("RX_MODE_API_POLLING")]
    Polling = 1,
    /// Polls when the driver signals waiting packets.
    #[value("RX_MODE_API_INTERRUPT")]
    Interrupt = 2,
    /// Switches between polling and interrupts, whichever costs less.
    #[value("RX_MODE_API_ADAPTIVE")]
    Adaptive = 3,
    /// The driver's default.
    #[value("RX_MODE_API_DEFAULT")]
    Default = 4,
}

/// Type of an interface.
#[derive(Wire, Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u32)]
pub enum IfType {
    /// A hardware interface.
    #[default]
    #[value("IF_API_TYPE_HARDWARE")]
    Hardware = 0,
    /// A subinterface, matched by VLAN tags.
    #[value("IF_API_TYPE_SUB")]
    Sub = 1,
    /// A subinterface, matched by the neighbor's MAC address.
    #[value("IF_API_TYPE_P2P")]
    PointToPoint = 2,
    /// An end of a pipe.
    #[value("IF_API_TYPE_PIPE")]
    Pipe = 3,
}
