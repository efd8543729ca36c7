//! IPv6 (RFC 8200).
use crate::IpProtocol;
use crate::options::MalformedOption;
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
    /// Type of the following header: an extension header or the payload.
    pub next_header: IpProtocol,
    /// Hops left.
    pub hop_limit: u8,
    /// The sender: see [`Ip6Header::source`].
    pub source: [u8; 16],
    /// The receiver: see [`Ip6Header::destination`].
    pub destination: [u8; 16],
}

impl Ip6Header {
    /// The first word of a packet without class and label.
    const VERSION: u32 = 6 << 28;

    /// A header before `payload_length` bytes, without class and label; `None` if these are more than 65,535.
    pub fn new(
        source: Ipv6Addr,
        destination: Ipv6Addr,
        next_header: IpProtocol,
        hop_limit: u8,
        payload_length: usize,
    ) -> Option<Ip6Header> {
        Some(Ip6Header {
            version_class_flow: Self::VERSION.into(),
            payload_length: u16::try_from(payload_length).ok()?.into(),
            next_header,
            hop_limit,
            source: source.octets(),
            destination: destination.octets(),
        })
    }

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

/// Next headers that are extension headers (RFC 8200, 4; IANA "ipv6-parameters").
pub mod extension {
    use crate::IpProtocol;

    /// Options that every router on the way may look at; only the first header may be one.
    pub const HOP_BY_HOP: IpProtocol = IpProtocol(0);
    /// Where the packet is to go on its way.
    pub const ROUTING: IpProtocol = IpProtocol(43);
    /// A part of a packet only.
    pub const FRAGMENT: IpProtocol = IpProtocol(44);
    /// Authentication (RFC 4302), whose length counts words of four bytes.
    pub const AUTHENTICATION: IpProtocol = IpProtocol(51);
    /// Nothing follows.
    pub const NO_NEXT: IpProtocol = IpProtocol(59);
    /// Options for the destination.
    pub const DESTINATION: IpProtocol = IpProtocol(60);
    /// Mobility (RFC 6275).
    pub const MOBILITY: IpProtocol = IpProtocol(135);
}

/// The extension header of a fragment: 8 bytes (RFC 8200, 4.5).
#[derive(Debug, Clone, Copy, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub struct FragmentHeader {
    /// Type of the following header. All fragments carry that of the whole packet.
    pub next_header: IpProtocol,
    /// Unused.
    pub reserved: u8,
    /// Offset (13 bits, in units of eight bytes), unused (2 bits), whether further fragments follow (1 bit).
    pub offset_more: U16,
    /// Identification of the packet.
    pub identification: U32,
}

impl FragmentHeader {
    /// Decodes offset and flag.
    pub fn fragment(&self) -> Fragment {
        let word = self.offset_more.get();
        Fragment { offset: usize::from(word & 0xfff8), more: word & 1 != 0 }
    }
}

/// Content of a fragment header (RFC 8200, 4.5).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fragment {
    /// Where the part lies in the whole packet's payload, in bytes.
    pub offset: usize,
    /// Whether further fragments follow.
    pub more: bool,
}

/// Where a packet's extension headers end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Upper {
    /// Protocol behind the extension headers. Of a later fragment it is the first protocol of the fragmentable part.
    pub protocol: IpProtocol,
    /// Bytes of the extension headers: where it begins behind the fixed header.
    pub offset: usize,
    /// Where the next header that was read last stands, from the fixed header's start on: for who reports it.
    pub pointer: usize,
    /// The fragment header, if there is one.
    pub fragment: Option<Fragment>,
}

/// Goes through the extension headers in `rest`, which followed a fixed header with this next header. `None` if they run
/// out of the bytes, or one stands where it must not: options of every hop behind another header (RFC 8200, 4.1).
///
/// The payload of a fragment that is not the first is no header, and is not parsed.
pub fn upper(next_header: IpProtocol, rest: &[u8]) -> Option<Upper> {
    walk(next_header, rest, |_, _, _| {})
}

/// The same; `look` is called for each extension header with its type, its offset behind the fixed header, and its
/// bytes.
pub fn walk<'a>(
    next_header: IpProtocol,
    rest: &'a [u8],
    mut look: impl FnMut(IpProtocol, usize, &'a [u8]),
) -> Option<Upper> {
    const NEXT_HEADER: usize = std::mem::offset_of!(Ip6Header, next_header);
    let mut at = Upper { protocol: next_header, offset: 0, pointer: NEXT_HEADER, fragment: None };
    loop {
        let header = rest.get(at.offset..)?;
        let length = match at.protocol {
            extension::HOP_BY_HOP if at.offset > 0 => return None,
            extension::HOP_BY_HOP | extension::ROUTING | extension::DESTINATION | extension::MOBILITY => {
                (usize::from(*header.get(1)?) + 1) * 8
            }
            extension::AUTHENTICATION => (usize::from(*header.get(1)?) + 2) * 4,
            extension::FRAGMENT => 8,
            _ => return Some(at),
        };
        let header = header.get(..length)?;
        look(at.protocol, at.offset, header);
        if at.protocol == extension::FRAGMENT {
            at.fragment = Some(FragmentHeader::ref_from_bytes(header).ok()?.fragment());
        }
        at.pointer = size_of::<Ip6Header>() + at.offset;
        at.offset += length;
        at.protocol = IpProtocol(*header.first()?);
        if at.fragment.is_some_and(|fragment| fragment.offset > 0) {
            return Some(at);
        }
    }
}

/// Action for an unrecognized option (RFC 8200, 4.2): the high two bits of its type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unknown {
    /// Pass it over.
    Skip,
    /// Drop the packet.
    Drop,
    /// Drop it, and tell its sender.
    Report,
    /// Drop it, and tell its sender unless it is for a group.
    ReportUnlessGroup,
}

/// One option of an extension header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Option6<'a> {
    /// Type of the option, including the action for nodes that do not recognize it.
    pub kind: u8,
    /// Where it lies among the options.
    pub offset: usize,
    /// Data behind type and length.
    pub data: &'a [u8],
}

impl Option6<'_> {
    /// Action of a node that does not recognize the option.
    pub fn unknown(&self) -> Unknown {
        [Unknown::Skip, Unknown::Drop, Unknown::Report, Unknown::ReportUnlessGroup][usize::from(self.kind >> 6)]
    }
}

/// Goes through the options of a hop-by-hop or destination header (RFC 8200, 4.2); filling is passed over, and the first
/// malformed one ends the walk.
#[derive(Debug, Clone)]
pub struct Options6<'a> {
    bytes: &'a [u8],
    offset: usize,
}

impl<'a> Options6<'a> {
    /// The options in `bytes`, which follow the header's first two.
    pub fn new(bytes: &'a [u8]) -> Options6<'a> {
        Options6 { bytes, offset: 0 }
    }
}

impl<'a> Iterator for Options6<'a> {
    type Item = Result<Option6<'a>, MalformedOption>;

    fn next(&mut self) -> Option<Self::Item> {
        const PAD1: u8 = 0;
        const PADN: u8 = 1;
        loop {
            let (rest, offset) = (self.bytes.get(self.offset..)?, self.offset);
            let (kind, length) = match *rest {
                [] => return None,
                [PAD1, ..] => {
                    self.offset += 1;
                    continue;
                }
                [kind, length, ..] if usize::from(length) + 2 <= rest.len() => (kind, usize::from(length)),
                _ => {
                    self.offset = self.bytes.len();
                    return Some(Err(MalformedOption { offset }));
                }
            };
            self.offset += 2 + length;
            if kind != PADN {
                return Some(Ok(Option6 { kind, offset, data: rest.get(2..2 + length)? }));
            }
        }
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

    #[test]
    fn extension_headers_are_walked_to_their_end() {
        let hop_by_hop = [60, 0, 5, 2, 0, 0, 1, 0];
        let destination = [44, 1, 1, 12, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
        let fragment = [17, 0, 0, 1, 0, 0, 0, 7];
        let rest = [&hop_by_hop[..], &destination, &fragment, b"payload"].concat();
        let first = Some(Fragment { offset: 0, more: true });
        let all = Upper { protocol: IpProtocol::UDP, offset: 32, pointer: 64, fragment: first };
        assert_eq!(upper(extension::HOP_BY_HOP, &rest), Some(all));
        assert_eq!(upper(extension::HOP_BY_HOP, &rest[..31]), None);
        // A later fragment has no headers of its own behind.
        let later = [60, 0, 0, 9, 0, 0, 0, 7];
        let found = upper(extension::FRAGMENT, &later).unwrap();
        assert_eq!((found.protocol, found.offset), (extension::DESTINATION, 8));
        assert_eq!(found.fragment, Some(Fragment { offset: 8, more: true }));
        let none = Upper { protocol: IpProtocol::TCP, offset: 0, pointer: 6, fragment: None };
        assert_eq!(upper(IpProtocol::TCP, &[]), Some(none));
        // Options of every hop come first or not at all.
        assert_eq!(upper(extension::DESTINATION, &[[0, 0, 1, 4, 0, 0, 0, 0], hop_by_hop].concat()), None);
        assert_eq!(upper(extension::AUTHENTICATION, &[6, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]).map(|u| u.offset), Some(12));
    }

    #[test]
    fn options_say_what_is_to_be_done_about_them() {
        let bytes = [0, 1, 1, 0, 5, 2, 0, 0, 0x41, 0, 0x81, 0, 0xc1, 0];
        let walked: Vec<_> = Options6::new(&bytes).map(Result::unwrap).collect();
        let said: Vec<_> = walked.iter().map(|option| (option.offset, option.unknown())).collect();
        let expected =
            [(4, Unknown::Skip), (8, Unknown::Drop), (10, Unknown::Report), (12, Unknown::ReportUnlessGroup)];
        assert_eq!(said, expected);
        for bytes in [&[5][..], &[5, 1], &[1, 9, 0]] {
            assert_eq!(Options6::new(bytes).collect::<Vec<_>>(), [Err(MalformedOption { offset: 0 })]);
        }
    }
}
