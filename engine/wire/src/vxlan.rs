//! VXLAN (RFC 7348).
use std::fmt;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use crate::UdpPort;

/// A VXLAN network identifier, or one of GENEVE: 24 bits (RFC 7348, 5; RFC 8926, 3.4).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Vni(u32);

impl Vni {
    /// The greatest one.
    pub const MAX: Vni = Vni(0xff_ffff);

    /// The identifier of this number, if it has at most 24 bits.
    pub const fn new(number: u32) -> Option<Vni> {
        if number <= Self::MAX.0 { Some(Vni(number)) } else { None }
    }
    /// Its number.
    pub const fn get(self) -> u32 {
        self.0
    }
    /// The bytes of the header's field.
    pub const fn octets(self) -> [u8; 3] {
        let [_, a, b, c] = self.0.to_be_bytes();
        [a, b, c]
    }
    /// The identifier that a header holds.
    pub const fn of([a, b, c]: [u8; 3]) -> Vni {
        Vni(u32::from_be_bytes([0, a, b, c]))
    }
}

impl fmt::Display for Vni {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

/// The header: eight bytes between UDP's header and the inner frame (RFC 7348, 5).
#[derive(Debug, Clone, Copy, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub struct VxlanHeader {
    /// [`VxlanHeader::VALID`], and reserved bits, which receivers ignore.
    pub flags: u8,
    /// Ignored by receivers.
    pub reserved: [u8; 3],
    /// The network identifier; see [`VxlanHeader::vni`].
    pub identifier: [u8; 3],
    /// Ignored by receivers.
    pub reserved_last: u8,
}

impl VxlanHeader {
    /// The port that IANA has assigned.
    pub const PORT: UdpPort = UdpPort(4789);
    /// The flag I: the header has an identifier.
    pub const VALID: u8 = 0x08;

    /// The header of a network.
    pub const fn new(vni: Vni) -> VxlanHeader {
        VxlanHeader { flags: Self::VALID, reserved: [0; 3], identifier: vni.octets(), reserved_last: 0 }
    }
    /// The network, unless the flag that says that there is one is missing.
    #[inline(always)]
    pub const fn vni(&self) -> Option<Vni> {
        if self.flags & Self::VALID != 0 { Some(Vni::of(self.identifier)) } else { None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Header;

    #[test]
    fn the_fields_lie_where_rfc_7348_puts_them() {
        let bytes = b"\x08\0\0\0\x12\x34\x56\0frame";
        let (header, rest) = VxlanHeader::parse(bytes).unwrap();
        assert_eq!((header.vni(), rest), (Vni::new(0x12_3456), &b"frame"[..]));
        assert_eq!(header.as_bytes(), VxlanHeader::new(Vni::of([0x12, 0x34, 0x56])).as_bytes());
        assert_eq!(VxlanHeader::read_from_bytes(b"\xf7\0\0\0\x12\x34\x56\0").unwrap().vni(), None);
        assert_eq!((Vni::new(0x100_0000), Vni::new(0xff_ffff)), (None, Some(Vni::MAX)));
    }
}
