//! ICMP for IPv4 (RFC 792).
use crate::IcmpHeader;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// The type of an ICMP message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(transparent)]
pub struct Icmp4Type(pub u8);

impl Icmp4Type {
    /// The answer to an echo request.
    pub const ECHO_REPLY: Icmp4Type = Icmp4Type(0);
    /// A packet could not be delivered; [`mod@unreachable`] has the codes.
    pub const UNREACHABLE: Icmp4Type = Icmp4Type(3);
    /// Asks for an echo.
    pub const ECHO_REQUEST: Icmp4Type = Icmp4Type(8);
    /// A packet's time ran out; [`time_exceeded`] has the codes.
    pub const TIME_EXCEEDED: Icmp4Type = Icmp4Type(11);
    /// A packet's header is malformed.
    pub const PARAMETER_PROBLEM: Icmp4Type = Icmp4Type(12);

    /// Whether the message reports an error, which never is answered by an error (RFC 1122, 3.2.2).
    pub fn is_error(self) -> bool {
        // Source quench (4) and redirect (5) are errors too, though no longer sent (RFC 6633) or not by us.
        matches!(self.0, 3 | 4 | 5 | 11 | 12)
    }
}

/// Codes of [`Icmp4Type::UNREACHABLE`].
pub mod unreachable {
    /// No route to the network.
    pub const NETWORK: u8 = 0;
    /// The host does not answer.
    pub const HOST: u8 = 1;
    /// The host does not know the protocol.
    pub const PROTOCOL: u8 = 2;
    /// Port unreachable.
    pub const PORT: u8 = 3;
    /// The packet is too long, and must not be fragmented (RFC 1191).
    pub const FRAGMENTATION_NEEDED: u8 = 4;
    /// An administrator forbids packets for the host.
    pub const HOST_PROHIBITED: u8 = 10;
    /// Filtered by policy (RFC 1812, 5.2.7.1).
    pub const PROHIBITED: u8 = 13;
}

/// Codes of [`Icmp4Type::TIME_EXCEEDED`].
pub mod time_exceeded {
    /// The TTL ran out on the way.
    pub const TRANSIT: u8 = 0;
    /// Fragments stayed away for too long.
    pub const REASSEMBLY: u8 = 1;
}

/// The first eight bytes of every ICMP message for IPv4.
pub type Icmp4Header = IcmpHeader<Icmp4Type>;

impl Icmp4Header {
    /// "Fragmentation needed": `mtu` is what the next hop takes (RFC 1191, 4).
    pub fn fragmentation_needed(mtu: u16) -> Icmp4Header {
        let header = Self::new(Icmp4Type::UNREACHABLE, unreachable::FRAGMENTATION_NEEDED);
        Icmp4Header { sequence: mtu.into(), ..header }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Header;

    #[test]
    fn an_echo_request_reads_right() {
        let (header, data) = Icmp4Header::parse(b"\x08\x00\xf7\xfd\x00\x01\x00\x02abc").unwrap();
        assert_eq!((header.kind, header.code), (Icmp4Type::ECHO_REQUEST, 0));
        assert_eq!((header.identifier.get(), header.sequence.get(), data), (1, 2, &b"abc"[..]));
        assert_eq!(Icmp4Header::parse(&[0; 7]), None);
    }

    #[test]
    fn the_mtu_lies_in_the_last_two_bytes() {
        assert_eq!(Icmp4Header::fragmentation_needed(1400).as_bytes(), b"\x03\x04\0\0\0\0\x05\x78");
    }

    #[test]
    fn only_errors_are_errors() {
        assert!(Icmp4Type::TIME_EXCEEDED.is_error() && Icmp4Type::UNREACHABLE.is_error());
        assert!(!Icmp4Type::ECHO_REQUEST.is_error() && !Icmp4Type::ECHO_REPLY.is_error());
    }
}
