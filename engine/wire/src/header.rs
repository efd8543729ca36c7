//! Typed headers over bytes.
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// A header of fixed layout: any bytes are one, it may start anywhere, and it has no padding.
///
/// Implemented for every type with those properties, which the compiler checks through zerocopy's derives.
pub trait Header: FromBytes + IntoBytes + KnownLayout + Immutable + Unaligned + Sized {
    /// Bytes on the wire, without options.
    const LENGTH: usize = size_of::<Self>();

    /// The header at the front of `bytes`, and what follows it; `None` if there are fewer bytes than it takes.
    #[inline(always)]
    fn parse(bytes: &[u8]) -> Option<(&Self, &[u8])> {
        Self::ref_from_prefix(bytes).ok()
    }

    /// As [`Header::parse`], for writing in place.
    #[inline(always)]
    fn parse_mut(bytes: &mut [u8]) -> Option<(&mut Self, &mut [u8])> {
        Self::mut_from_prefix(bytes).ok()
    }

    /// The header that starts at byte `offset`, and what follows it.
    #[inline(always)]
    fn parse_at(bytes: &[u8], offset: usize) -> Option<(&Self, &[u8])> {
        Self::parse(bytes.get(offset..)?)
    }

    /// As [`Header::parse_at`], for writing in place.
    #[inline(always)]
    fn parse_at_mut(bytes: &mut [u8], offset: usize) -> Option<(&mut Self, &mut [u8])> {
        Self::parse_mut(bytes.get_mut(offset..)?)
    }
}

impl<T: FromBytes + IntoBytes + KnownLayout + Immutable + Unaligned> Header for T {}
