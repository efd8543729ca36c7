//! UDP (RFC 768).
use std::fmt;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned, big_endian::U16};

/// A port, the source's or the destination's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct UdpPort(pub u16);

impl fmt::Display for UdpPort {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

/// The header: eight bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub struct UdpHeader {
    /// The sender's port.
    pub source_port: U16,
    /// The receiver's port.
    pub destination_port: U16,
    /// Bytes of header and payload.
    pub length: U16,
    /// Over pseudo header, header and payload; zero if the sender computed none, which IPv4 allows.
    pub checksum: U16,
}

impl UdpHeader {
    /// Where the checksum lies in the header.
    pub const CHECKSUM_OFFSET: usize = 6;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Header;

    #[test]
    fn the_fields_lie_where_rfc_768_puts_them() {
        let (header, rest) = UdpHeader::parse(b"\x00\x35\x30\x39\x00\x0a\xbe\xefhi").unwrap();
        assert_eq!((header.source_port.get(), header.destination_port.get()), (53, 12345));
        assert_eq!((header.length.get(), header.checksum.get(), rest), (10, 0xbeef, &b"hi"[..]));
        assert_eq!(UdpHeader::parse(&[0; 7]), None);
    }
}
