//! A prefix of either family.

use std::fmt;
use std::net::IpAddr;

use quiver_control::object::Scalar;
use quiver_wire::{Prefix, V4, V6};

/// A prefix of IPv4 or IPv6.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AnyPrefix {
    /// Of IPv4.
    Ip4(Prefix<V4>),
    /// Of IPv6.
    Ip6(Prefix<V6>),
}

impl AnyPrefix {
    /// Whether an address is within it.
    pub fn contains(&self, address: IpAddr) -> bool {
        match (self, address) {
            (AnyPrefix::Ip4(prefix), IpAddr::V4(address)) => prefix.contains(address),
            (AnyPrefix::Ip6(prefix), IpAddr::V6(address)) => prefix.contains(address),
            _ => false,
        }
    }
    /// Its length in bits.
    pub fn length(&self) -> u8 {
        match self {
            AnyPrefix::Ip4(prefix) => prefix.length(),
            AnyPrefix::Ip6(prefix) => prefix.length(),
        }
    }
    /// Whether it is of IPv6.
    pub fn is_ip6(&self) -> bool {
        matches!(self, AnyPrefix::Ip6(_))
    }
}

impl fmt::Display for AnyPrefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            AnyPrefix::Ip4(prefix) => prefix.fmt(f),
            AnyPrefix::Ip6(prefix) => prefix.fmt(f),
        }
    }
}

impl Scalar for AnyPrefix {
    const NAME: &'static str = "any-prefix";
    const EXPECTED: &'static str = "a prefix such as 192.0.2.0/24 or 2001:db8::/32";
    fn parse(text: &str) -> Result<AnyPrefix, String> {
        match text.contains(':') {
            false => Prefix::<V4>::parse(text).map(AnyPrefix::Ip4),
            true => Prefix::<V6>::parse(text).map(AnyPrefix::Ip6),
        }
    }
}
