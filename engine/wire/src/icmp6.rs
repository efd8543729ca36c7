//! ICMP for IPv6 (RFC 4443). Its checksum covers a pseudo header: [`crate::checksum::pseudo_header6`].
use crate::{IcmpHeader, IpProtocol, Sum, checksum};
use std::net::Ipv6Addr;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// The type of an ICMPv6 message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(transparent)]
pub struct Icmp6Type(pub u8);

impl Icmp6Type {
    /// A packet could not be delivered; [`mod@unreachable`] has the codes.
    pub const UNREACHABLE: Icmp6Type = Icmp6Type(1);
    /// A packet is longer than the next link takes; the MTU is the header's parameter.
    pub const PACKET_TOO_BIG: Icmp6Type = Icmp6Type(2);
    /// A packet's hops ran out, or a fragment stayed away.
    pub const TIME_EXCEEDED: Icmp6Type = Icmp6Type(3);
    /// A header is malformed or unknown; the header's parameter says where; [`parameter_problem`] has the codes.
    pub const PARAMETER_PROBLEM: Icmp6Type = Icmp6Type(4);
    /// Asks for an echo.
    pub const ECHO_REQUEST: Icmp6Type = Icmp6Type(128);
    /// The answer to an echo request.
    pub const ECHO_REPLY: Icmp6Type = Icmp6Type(129);
    /// MLD query (RFC 2710, 3; RFC 3810, 5.1).
    pub const MLD_QUERY: Icmp6Type = Icmp6Type(130);
    /// The sender listens to a group (RFC 2710, 3).
    pub const MLD_REPORT: Icmp6Type = Icmp6Type(131);
    /// The sender listens no longer (RFC 2710, 3).
    pub const MLD_DONE: Icmp6Type = Icmp6Type(132);
    /// Router solicitation (RFC 4861, 4.1).
    pub const ROUTER_SOLICITATION: Icmp6Type = Icmp6Type(133);
    /// A router says what holds on the link (RFC 4861, 4.2).
    pub const ROUTER_ADVERTISEMENT: Icmp6Type = Icmp6Type(134);
    /// Neighbor solicitation (RFC 4861, 4.3).
    pub const NEIGHBOR_SOLICITATION: Icmp6Type = Icmp6Type(135);
    /// Neighbor advertisement (RFC 4861, 4.4).
    pub const NEIGHBOR_ADVERTISEMENT: Icmp6Type = Icmp6Type(136);
    /// There is a better first hop (RFC 4861, 4.5).
    pub const REDIRECT: Icmp6Type = Icmp6Type(137);
    /// MLDv2 report (RFC 3810, 5.2).
    pub const MLD2_REPORT: Icmp6Type = Icmp6Type(143);

    /// Whether the message reports an error, which never is answered by an error (RFC 4443, 2.1 and 2.4(e)).
    pub fn is_error(self) -> bool {
        self.0 < 128
    }
}

/// Codes of [`Icmp6Type::UNREACHABLE`].
pub mod unreachable {
    /// No route to the destination.
    pub const NO_ROUTE: u8 = 0;
    /// Filtered by policy.
    pub const PROHIBITED: u8 = 1;
    /// Beyond the scope of the source address.
    pub const BEYOND_SCOPE: u8 = 2;
    /// The neighbour does not answer.
    pub const ADDRESS: u8 = 3;
    /// Port unreachable.
    pub const PORT: u8 = 4;
}

/// Codes of [`Icmp6Type::TIME_EXCEEDED`].
pub mod time_exceeded {
    /// The hop limit ran out on the way.
    pub const TRANSIT: u8 = 0;
    /// Fragments stayed away for too long.
    pub const REASSEMBLY: u8 = 1;
}

/// Codes of [`Icmp6Type::PARAMETER_PROBLEM`].
pub mod parameter_problem {
    /// A field has a value that cannot be.
    pub const HEADER_FIELD: u8 = 0;
    /// Unrecognized next header.
    pub const NEXT_HEADER: u8 = 1;
    /// An option is not known here.
    pub const OPTION: u8 = 2;
}

/// The first eight bytes of every ICMPv6 message.
pub type Icmp6Header = IcmpHeader<Icmp6Type>;

/// The sum of the pseudo header of a message of so many bytes (RFC 4443, 2.3).
pub fn pseudo_header(source: Ipv6Addr, destination: Ipv6Addr, length: usize) -> Sum {
    checksum::pseudo_header6(source, destination, IpProtocol::ICMP6, length as u32)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Header;

    #[test]
    fn an_echo_request_adds_up_with_its_pseudo_header() {
        let message = b"\x80\x00\x5f\x7a\x00\x01\x00\x02abcd";
        let (header, data) = Icmp6Header::parse(message).unwrap();
        assert_eq!((header.kind, header.identifier.get(), header.sequence.get()), (Icmp6Type::ECHO_REQUEST, 1, 2));
        assert_eq!(data, b"abcd");
        let ends = ("2001:db8::1".parse().unwrap(), "2001:db8::2".parse().unwrap());
        let sum = pseudo_header(ends.0, ends.1, message.len()).add_bytes(&message[..2]).add_bytes(&message[4..]);
        assert_eq!(sum.checksum().to_be_bytes(), message[2..4]);
        assert!(pseudo_header(ends.0, ends.1, message.len()).add_bytes(message).is_right());
    }

    #[test]
    fn the_mtu_takes_all_four_bytes() {
        let header = Icmp6Header::new(Icmp6Type::PACKET_TOO_BIG, 0).with_parameter(0x0001_2345);
        assert_eq!((header.as_bytes(), header.parameter()), (&b"\x02\0\0\0\0\x01\x23\x45"[..], 0x0001_2345));
    }

    #[test]
    fn only_errors_are_errors() {
        assert!(Icmp6Type::PACKET_TOO_BIG.is_error() && Icmp6Type(127).is_error());
        assert!(!Icmp6Type::ECHO_REQUEST.is_error() && !Icmp6Type::REDIRECT.is_error());
    }
}
