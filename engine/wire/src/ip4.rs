//! IPv4 (RFC 791).
use crate::{IpProtocol, checksum};
use std::net::Ipv4Addr;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned, big_endian::U16};

/// The fixed part of the header: 20 bytes; options may follow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub struct Ip4Header {
    /// Version in the high four bits, header length in words of four bytes in the low four.
    pub version_ihl: u8,
    /// Traffic class: DSCP in the high six bits (RFC 2474), ECN in the low two (RFC 3168).
    pub dscp_ecn: u8,
    /// Bytes of header, options and payload.
    pub total_length: U16,
    /// Tells the fragments of different packets apart (RFC 6864).
    pub identification: U16,
    /// A reserved bit, don't fragment, more fragments, and the offset in units of eight bytes.
    pub flags_fragment: U16,
    /// Hops left.
    pub ttl: u8,
    /// Protocol of the payload.
    pub protocol: IpProtocol,
    /// Over header and options.
    pub checksum: U16,
    /// The sender: see [`Ip4Header::source`].
    pub source: [u8; 4],
    /// The receiver: see [`Ip4Header::destination`].
    pub destination: [u8; 4],
}

/// In [`Ip4Header::flags_fragment`]: routers must not fragment the packet.
pub const DONT_FRAGMENT: u16 = 0x4000;
/// In [`Ip4Header::flags_fragment`]: this is not the last fragment.
pub const MORE_FRAGMENTS: u16 = 0x2000;

/// Option kinds (IANA "ip-parameters").
pub mod option {
    /// Record route.
    pub const RECORD_ROUTE: u8 = 7;
    /// Internet timestamp.
    pub const TIMESTAMP: u8 = 68;
    /// Loose source and record route.
    pub const LOOSE_SOURCE_ROUTE: u8 = 131;
    /// Strict source and record route.
    pub const STRICT_SOURCE_ROUTE: u8 = 137;
    /// Router alert (RFC 2113).
    pub const ROUTER_ALERT: u8 = 148;
}

impl Ip4Header {
    /// Version 4 and a length of five words, as headers without options begin.
    pub const VERSION_IHL: u8 = 0x45;

    /// A header without options before `payload_length` bytes, its checksum not yet filled in.
    ///
    /// `None` if both together exceed 65,535 bytes.
    pub fn new(
        source: Ipv4Addr,
        destination: Ipv4Addr,
        protocol: IpProtocol,
        ttl: u8,
        payload_length: usize,
    ) -> Option<Ip4Header> {
        Some(Ip4Header {
            version_ihl: Self::VERSION_IHL,
            dscp_ecn: 0,
            total_length: u16::try_from(payload_length.checked_add(size_of::<Self>())?).ok()?.into(),
            identification: U16::ZERO,
            flags_fragment: U16::ZERO,
            ttl,
            protocol,
            checksum: U16::ZERO,
            source: source.octets(),
            destination: destination.octets(),
        })
    }

    /// The version field: 4, if this is IPv4.
    #[inline(always)]
    pub fn version(&self) -> u8 {
        self.version_ihl >> 4
    }

    /// Bytes of header and options as the header claims: 0 to 60, of which less than 20 is malformed.
    #[inline(always)]
    pub fn header_length(&self) -> usize {
        usize::from(self.version_ihl & 0x0f) * 4
    }

    /// The differentiated services code point (RFC 2474).
    pub fn dscp(&self) -> u8 {
        self.dscp_ecn >> 2
    }

    /// The explicit congestion notification field (RFC 3168).
    pub fn ecn(&self) -> u8 {
        self.dscp_ecn & 3
    }

    /// Whether routers must not fragment the packet.
    #[inline(always)]
    pub fn dont_fragment(&self) -> bool {
        self.flags_fragment.get() & DONT_FRAGMENT != 0
    }

    /// Whether further fragments follow.
    #[inline(always)]
    pub fn more_fragments(&self) -> bool {
        self.flags_fragment.get() & MORE_FRAGMENTS != 0
    }

    /// Where the payload lies in the whole packet's, in bytes.
    #[inline(always)]
    pub fn fragment_offset(&self) -> usize {
        usize::from(self.flags_fragment.get() & 0x1fff) * 8
    }

    /// Whether this is a part of a packet only.
    #[inline(always)]
    pub fn is_fragment(&self) -> bool {
        self.flags_fragment.get() & (MORE_FRAGMENTS | 0x1fff) != 0
    }

    /// The sender.
    #[inline(always)]
    pub fn source(&self) -> Ipv4Addr {
        self.source.into()
    }

    /// The receiver.
    #[inline(always)]
    pub fn destination(&self) -> Ipv4Addr {
        self.destination.into()
    }

    /// Options and payload, out of the bytes that followed this header, without the link's padding.
    ///
    /// `None` if the lengths contradict each other or the bytes.
    pub fn split<'a>(&self, rest: &'a [u8]) -> Option<(&'a [u8], &'a [u8])> {
        let options = self.header_length().checked_sub(size_of::<Self>())?;
        let after_header = usize::from(self.total_length.get()).checked_sub(size_of::<Self>())?;
        rest.get(..after_header)?.split_at_checked(options)
    }

    /// Computes the checksum over this header and `options` and stores it (RFC 791, 3.1).
    pub fn fill_checksum(&mut self, options: &[u8]) {
        self.checksum = U16::ZERO;
        self.checksum = checksum::of(self.as_bytes()).add_bytes(options).checksum().into();
    }

    /// Whether the checksum over this header and `options` is right.
    pub fn checksum_is_right(&self, options: &[u8]) -> bool {
        checksum::of(self.as_bytes()).add_bytes(options).is_right()
    }

    /// Decrements the TTL and updates the checksum (RFC 1624); the caller has checked that the TTL is above zero.
    pub fn decrement_ttl(&mut self) {
        let old = u16::from_be_bytes([self.ttl, self.protocol.0]);
        self.ttl = self.ttl.wrapping_sub(1);
        let new = u16::from_be_bytes([self.ttl, self.protocol.0]);
        self.checksum = checksum::update16(self.checksum.get(), old, new).into();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Header;

    /// A TCP segment's header as a Linux host sent it.
    const CAPTURED: [u8; 20] = *b"\x45\x00\x00\x3c\x1c\x46\x40\x00\x40\x06\xb1\xe6\xac\x10\x0a\x63\xac\x10\x0a\x0c";

    #[test]
    fn a_captured_header_reads_right() {
        let (header, _) = Ip4Header::parse(&CAPTURED).unwrap();
        assert_eq!((header.version(), header.header_length(), header.ttl), (4, 20, 64));
        assert_eq!(header.source().to_string(), "172.16.10.99");
        assert_eq!(header.destination().to_string(), "172.16.10.12");
        assert!(header.dont_fragment() && !header.is_fragment() && header.checksum_is_right(&[]));
        assert_eq!(Ip4Header::parse(&CAPTURED[..19]), None);
    }

    #[test]
    fn the_ttl_falls_and_the_checksum_stays_right() {
        let mut header = *Ip4Header::parse(&CAPTURED).unwrap().0;
        for ttl in (0..64).rev() {
            header.decrement_ttl();
            assert_eq!(header.ttl, ttl);
            assert!(header.checksum_is_right(&[]), "at {ttl}");
        }
    }

    #[test]
    fn options_and_padding_are_cut_off() {
        let (a, b) = ([10, 0, 0, 1].into(), [10, 0, 0, 2].into());
        let mut header = Ip4Header::new(a, b, IpProtocol::UDP, 64, 4 + 3).unwrap();
        header.version_ihl = 0x46;
        assert_eq!(header.split(b"optsabcpadding"), Some((&b"opts"[..], &b"abc"[..])));
        assert_eq!(header.split(b"optsab"), None);
        header.version_ihl = 0x44;
        assert_eq!(header.split(b"optsabc"), None);
        header.version_ihl = 0x4f;
        assert_eq!(header.split(&[0; 60]), None);
        assert_eq!(Ip4Header::new(a, b, IpProtocol::UDP, 64, 65_516), None);
    }

    #[test]
    fn fragments_are_known_by_offset_or_flag() {
        let mut header = *Ip4Header::parse(&CAPTURED).unwrap().0;
        header.flags_fragment = (MORE_FRAGMENTS | 185).into();
        assert!(header.is_fragment() && header.more_fragments());
        assert_eq!(header.fragment_offset(), 1480);
        header.flags_fragment = 1.into();
        assert!(header.is_fragment() && !header.more_fragments());
    }
}
