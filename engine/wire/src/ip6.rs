//! IPv6 (RFC 8200).
use crate::IpProtocol;
use std::net::Ipv6Addr;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned, big_endian::U16, big_endian::U32};

/// The fixed header: 40 bytes; extension headers may follow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub struct Ip6Header {
    /// Version (4 bits), traffic class (8 bits), flow label (20 bits).
    pub version_class_flow: U32,
    /// Bytes behind this header, extension headers included.
    pub payload_length: U16,
    /// What follows: an extension header or the payload.
    pub next_header: IpProtocol,
    /// Hops left.
    pub hop_limit: u8,
    /// The sender: see [`Ip6Header::source`].
    pub source: [u8; 16],
    /// The receiver: see [`Ip6Header::destination`].
    pub destination: [u8; 16],
}

impl Ip6Header {
    /// The version field: 6, if this is IPv6.
    #[inline(always)]
    pub fn version(&self) -> u8 {
        (self.version_class_flow.get() >> 28) as u8
    }

    /// The traffic class: DSCP in the high six bits, ECN in the low two.
    pub fn traffic_class(&self) -> u8 {
        (self.version_class_flow.get() >> 20) as u8
    }

    /// The flow label (RFC 6437).
    pub fn flow_label(&self) -> u32 {
        self.version_class_flow.get() & 0x000f_ffff
    }

    /// The sender.
    #[inline(always)]
    pub fn source(&self) -> Ipv6Addr {
        self.source.into()
    }

    /// The receiver.
    #[inline(always)]
    pub fn destination(&self) -> Ipv6Addr {
        self.destination.into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Header;

    #[test]
    fn the_fields_lie_where_rfc_8200_puts_them() {
        let mut bytes = [0; 41];
        bytes[..8].copy_from_slice(b"\x6a\xb1\x23\x45\x00\x08\x3a\xff");
        bytes[23] = 1;
        bytes[39] = 2;
        let (header, rest) = Ip6Header::parse(&bytes).unwrap();
        assert_eq!((header.version(), header.traffic_class(), header.flow_label()), (6, 0xab, 0x12345));
        assert_eq!((header.payload_length.get(), header.next_header, header.hop_limit), (8, IpProtocol::ICMP6, 255));
        assert_eq!((header.source().to_string(), header.destination().to_string()), ("::1".into(), "::2".into()));
        assert_eq!(rest, [0]);
        assert_eq!(Ip6Header::parse(&bytes[..39]), None);
    }
}
