//! Errors of a table of either family.
use std::net::IpAddr;

/// Why a table refused a route or could not be made.
#[derive(Debug, thiserror::Error)]
pub enum LpmError {
    /// The prefix length is above what the family has.
    #[error("route {prefix}/{length}: the prefix length of an {} route is 0 to {}", family(prefix), bits(prefix))]
    Length {
        /// The route's prefix.
        prefix: IpAddr,
        /// The length that was asked for.
        length: u8,
    },
    /// The leaf is zero, which means no route, or has bit 31 set.
    #[error("route {prefix}/{length}: leaf {leaf:#x} is not between 1 and 0x7fffffff")]
    Leaf {
        /// The route's prefix.
        prefix: IpAddr,
        /// The route's prefix length.
        length: u8,
        /// The leaf that was asked for.
        leaf: u32,
    },
    /// The limit on blocks is reached.
    #[error("route {prefix}/{length}: all {blocks_max} blocks for long prefixes are in use; raise blocks_max")]
    Full {
        /// The route's prefix.
        prefix: IpAddr,
        /// The route's prefix length.
        length: u8,
        /// The table's limit.
        blocks_max: u32,
    },
    /// The system gives no more memory.
    #[error("forwarding table: no memory for {bytes} bytes ({source}); lower blocks_max or free memory")]
    Memory {
        /// Bytes requested.
        bytes: usize,
        /// Error of the system.
        source: std::io::Error,
    },
}

fn family(prefix: &IpAddr) -> &'static str {
    if prefix.is_ipv4() { "IPv4" } else { "IPv6" }
}

fn bits(prefix: &IpAddr) -> u8 {
    if prefix.is_ipv4() { 32 } else { 128 }
}
