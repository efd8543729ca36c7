//! Types of the messages: flags, timeouts.

use quiver_compat::{Wire, flags};

/// Timeouts of sessions in seconds.
#[derive(Wire, Clone, Copy, Debug, Default, PartialEq, Eq)]
#[wire(name = "nat_timeouts")]
pub(super) struct NatTimeouts {
    pub udp: u32,
    pub tcp_established: u32,
    pub tcp_transitory: u32,
    pub icmp: u32,
}

/// Which events are logged: none here.
#[derive(Wire, Clone, Copy, Debug, Default, PartialEq, Eq)]
#[wire(name = "nat_log_level")]
#[repr(u8)]
pub(super) enum LogLevel {
    /// None.
    #[default]
    #[value("NAT_LOG_NONE")]
    None = 0,
    /// Errors.
    #[value("NAT_LOG_ERROR")]
    Error = 1,
    /// And warnings.
    #[value("NAT_LOG_WARNING")]
    Warning = 2,
    /// And notices.
    #[value("NAT_LOG_NOTICE")]
    Notice = 3,
    /// And information.
    #[value("NAT_LOG_INFO")]
    Info = 4,
    /// And more.
    #[value("NAT_LOG_DEBUG")]
    Debug = 5,
}

flags! {
    /// Properties of an address, mapping, interface or session is.
    pub(super) struct ConfigFlags(u8) as "nat_config_flags" Enum {
        /// Nothing of these.
        NONE = 0x00 => "NAT_IS_NONE",
        /// Clients are translated, too.
        TWICE_NAT = 0x01 => "NAT_IS_TWICE_NAT",
        /// Clients that are the host itself are translated, too.
        SELF_TWICE_NAT = 0x02 => "NAT_IS_SELF_TWICE_NAT",
        /// Only sessions that clients begin.
        OUT2IN_ONLY = 0x04 => "NAT_IS_OUT2IN_ONLY",
        /// All ports of an address.
        ADDR_ONLY = 0x08 => "NAT_IS_ADDR_ONLY",
        /// Outside.
        OUTSIDE = 0x10 => "NAT_IS_OUTSIDE",
        /// Inside.
        INSIDE = 0x20 => "NAT_IS_INSIDE",
        /// Of a static mapping.
        STATIC = 0x40 => "NAT_IS_STATIC",
        /// The other end is given.
        EXT_HOST_VALID = 0x80 => "NAT_IS_EXT_HOST_VALID",
    }
}

flags! {
    /// Modes of NAT44.
    pub(super) struct Nat44ConfigFlags(u8) as "nat44_config_flags" Enum {
        /// A mapping serves all destinations.
        ENDPOINT_INDEPENDENT = 0x00 => "NAT44_IS_ENDPOINT_INDEPENDENT",
        /// A mapping serves one destination.
        ENDPOINT_DEPENDENT = 0x01 => "NAT44_IS_ENDPOINT_DEPENDENT",
        /// Static mappings alone.
        STATIC_MAPPING_ONLY = 0x02 => "NAT44_IS_STATIC_MAPPING_ONLY",
        /// Static mappings alone, with sessions.
        CONNECTION_TRACKING = 0x04 => "NAT44_IS_CONNECTION_TRACKING",
        /// Of VPP alone.
        OUT2IN_DPO = 0x08 => "NAT44_IS_OUT2IN_DPO",
    }
}
