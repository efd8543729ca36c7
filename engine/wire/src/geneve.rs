//! GENEVE (RFC 8926).
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned, big_endian::U16};

use crate::{EtherType, Header, UdpPort, Vni};

/// The fixed header: eight bytes between UDP's header and the options (RFC 8926, 3.4).
#[derive(Debug, Clone, Copy, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub struct GeneveHeader {
    /// Version (2 bits), and the length of the options in words (6 bits).
    pub version_length: u8,
    /// [`GeneveHeader::CONTROL`], [`GeneveHeader::CRITICAL`], and reserved bits.
    pub flags: u8,
    /// Ethertype of the payload.
    pub protocol: EtherType,
    /// The network identifier; see [`GeneveHeader::vni`].
    pub identifier: [u8; 3],
    /// Ignored by receivers.
    pub reserved: u8,
}

/// Header of an option (RFC 8926, 3.5).
#[derive(Debug, Clone, Copy, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub struct GeneveOption {
    /// Class of the option: the namespace of its type.
    pub class: U16,
    /// Which of theirs; the highest bit says that it must be understood.
    pub kind: u8,
    /// Reserved (3 bits), and the length of the data in words (5 bits).
    pub length: u8,
}

impl GeneveOption {
    /// Whether who does not know the option must drop the packet.
    pub const fn is_critical(&self) -> bool {
        self.kind & 0x80 != 0
    }
    /// Bytes of data behind it.
    pub const fn data_length(&self) -> usize {
        (self.length & 0x1f) as usize * 4
    }
}

impl GeneveHeader {
    /// The port that IANA has assigned.
    pub const PORT: UdpPort = UdpPort(6081);
    /// The payload is a control message.
    pub const CONTROL: u8 = 0x80;
    /// Some option is critical.
    pub const CRITICAL: u8 = 0x40;

    /// The header of a network, without options.
    pub const fn new(vni: Vni, protocol: EtherType) -> GeneveHeader {
        GeneveHeader { version_length: 0, flags: 0, protocol, identifier: vni.octets(), reserved: 0 }
    }
    /// The version: 0.
    #[inline(always)]
    pub const fn version(&self) -> u8 {
        self.version_length >> 6
    }
    /// Bytes of the options.
    #[inline(always)]
    pub const fn options_length(&self) -> usize {
        (self.version_length & 0x3f) as usize * 4
    }
    /// The network.
    #[inline(always)]
    pub const fn vni(&self) -> Vni {
        Vni::of(self.identifier)
    }
}

/// The options in these bytes, each with its data; None in place of one that does not end within them.
pub fn options(mut bytes: &[u8]) -> impl Iterator<Item = Option<(&GeneveOption, &[u8])>> {
    std::iter::from_fn(move || {
        if bytes.is_empty() {
            return None;
        }
        let whole = GeneveOption::parse(bytes)
            .and_then(|(option, rest)| Some((option, rest.split_at_checked(option.data_length())?)));
        bytes = whole.map_or(&[], |(_, (_, rest))| rest);
        Some(whole.map(|(option, (data, _))| (option, data)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fields_lie_where_rfc_8926_puts_them() {
        let bytes = b"\x02\x40\x65\x58\x12\x34\x56\0\x01\x02\x83\x01data";
        let (header, rest) = GeneveHeader::parse(bytes).unwrap();
        assert_eq!((header.version(), header.options_length(), header.flags), (0, 8, GeneveHeader::CRITICAL));
        assert_eq!((header.protocol, header.vni()), (EtherType::TRANSPARENT_BRIDGING, Vni::of([0x12, 0x34, 0x56])));
        let found: Vec<_> =
            options(rest).map(|option| option.map(|(option, data)| (option.is_critical(), data))).collect();
        assert_eq!(found, [Some((true, &b"data"[..]))]);
        let plain = GeneveHeader::new(Vni::MAX, EtherType::IP6);
        assert_eq!(plain.as_bytes(), b"\0\0\x86\xdd\xff\xff\xff\0");
    }

    #[test]
    fn options_end_where_the_bytes_do() {
        let found = |bytes| options(bytes).map(|option| option.is_some()).collect::<Vec<_>>();
        assert!(found(&[]).is_empty());
        assert_eq!(found(&[0, 1, 2, 0, 0, 1, 3, 0]), [true, true]);
        assert_eq!(found(&[0, 1, 2, 1]), [false], "its data is missing");
        assert_eq!(found(&[0, 1, 2, 0, 9]), [true, false]);
    }
}
