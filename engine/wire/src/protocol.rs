//! The protocols that IP carries (IANA "protocol-numbers"), one set for both families.
use std::fmt;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// What an IP packet carries: IPv4's protocol, IPv6's next header.
#[derive(
    Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(transparent)]
pub struct IpProtocol(pub u8);

impl IpProtocol {
    /// ICMP for IPv4.
    pub const ICMP4: IpProtocol = IpProtocol(1);
    /// IPv4 within IP.
    pub const IP4: IpProtocol = IpProtocol(4);
    /// TCP.
    pub const TCP: IpProtocol = IpProtocol(6);
    /// UDP.
    pub const UDP: IpProtocol = IpProtocol(17);
    /// IPv6 within IP.
    pub const IP6: IpProtocol = IpProtocol(41);
    /// Generic routing encapsulation.
    pub const GRE: IpProtocol = IpProtocol(47);
    /// ICMP for IPv6.
    pub const ICMP6: IpProtocol = IpProtocol(58);
}

impl fmt::Display for IpProtocol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            IpProtocol::ICMP4 => f.write_str("icmp"),
            IpProtocol::IP4 => f.write_str("ip4"),
            IpProtocol::TCP => f.write_str("tcp"),
            IpProtocol::UDP => f.write_str("udp"),
            IpProtocol::IP6 => f.write_str("ip6"),
            IpProtocol::GRE => f.write_str("gre"),
            IpProtocol::ICMP6 => f.write_str("icmp6"),
            IpProtocol(other) => fmt::Display::fmt(&other, f),
        }
    }
}

impl fmt::Debug for IpProtocol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
