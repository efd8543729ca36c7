//! The common header of ICMP messages of both families (RFC 792, RFC 4443 2.1).
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned, big_endian::U16};

/// The first eight bytes of every ICMP message, whose type is a `K`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub struct IcmpHeader<K> {
    /// Type of the message.
    pub kind: K,
    /// Code, which refines the type.
    pub code: u8,
    /// Over the whole message; for IPv6 over a pseudo header, too.
    pub checksum: U16,
    /// In an echo: whose. Else unused, but for what a type's own fields say.
    pub identifier: U16,
    /// In an echo: which. In "fragmentation needed": the next hop's MTU (RFC 1191, 4).
    pub sequence: U16,
}

impl<K> IcmpHeader<K> {
    /// A header of type and code with the other fields zero.
    pub fn new(kind: K, code: u8) -> IcmpHeader<K> {
        IcmpHeader { kind, code, checksum: U16::ZERO, identifier: U16::ZERO, sequence: U16::ZERO }
    }

    /// The four bytes behind the checksum as one number: an MTU or a pointer (RFC 4443, 3.2 and 3.4).
    pub fn parameter(&self) -> u32 {
        u32::from(self.identifier.get()) << 16 | u32::from(self.sequence.get())
    }

    /// The header with these four bytes.
    #[must_use]
    pub fn with_parameter(self, parameter: u32) -> IcmpHeader<K> {
        IcmpHeader { identifier: ((parameter >> 16) as u16).into(), sequence: (parameter as u16).into(), ..self }
    }
}
