//! The protocols that IP carries (IANA "protocol-numbers"), one set for both families.
use std::fmt;
use std::str::FromStr;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// Protocol of an IP packet's payload: IPv4's protocol, IPv6's next header.
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

    const NAMES: [(IpProtocol, &'static str); 7] = [
        (IpProtocol::ICMP4, "icmp"),
        (IpProtocol::IP4, "ip4"),
        (IpProtocol::TCP, "tcp"),
        (IpProtocol::UDP, "udp"),
        (IpProtocol::IP6, "ip6"),
        (IpProtocol::GRE, "gre"),
        (IpProtocol::ICMP6, "icmp6"),
    ];
}

impl fmt::Display for IpProtocol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match Self::NAMES.iter().find(|(protocol, _)| protocol == self) {
            Some((_, name)) => f.write_str(name),
            None => fmt::Display::fmt(&self.0, f),
        }
    }
}

/// Why a text is no IP protocol.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is no IP protocol: write a name such as udp or a number from 0 to 255")]
pub struct IpProtocolError {
    text: String,
}

impl FromStr for IpProtocol {
    type Err = IpProtocolError;

    /// Reads what [`IpProtocol`] prints as: a name or a decimal number.
    fn from_str(text: &str) -> Result<IpProtocol, IpProtocolError> {
        let name = Self::NAMES.iter().find(|(_, name)| *name == text).map(|(protocol, _)| *protocol);
        name.or_else(|| text.parse().ok().map(IpProtocol)).ok_or_else(|| IpProtocolError { text: text.into() })
    }
}

impl fmt::Debug for IpProtocol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn protocols_are_names_or_numbers() {
        for (text, number) in [("udp", 17), ("17", 17), ("89", 89)] {
            assert_eq!(text.parse(), Ok(IpProtocol(number)));
        }
        assert_eq!(IpProtocol(17).to_string() + &IpProtocol(89).to_string(), "udp89");
        assert_eq!("256".parse::<IpProtocol>().map_err(|error| error.to_string().contains("`256`")), Err(true));
    }
}
