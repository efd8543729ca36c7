//! Differences between UDP over IPv4 and over IPv6.

use quiver_ip::Family;
use quiver_wire::{V4, V6};

/// A family whose UDP packets are told apart by port.
pub trait Udp: Family {
    /// The name of the node.
    const NODE: &'static str;
}

impl Udp for V4 {
    const NODE: &'static str = "ip4-udp-lookup";
}

impl Udp for V6 {
    const NODE: &'static str = "ip6-udp-lookup";
}
