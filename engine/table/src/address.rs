//! Addresses of both families, with what a search by prefix needs of them.
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// An address as a number.
pub trait Address: Copy + Ord + std::fmt::Debug {
    /// Its length in bits.
    const BITS: u8;
    /// The first and the last address of the prefix of this length that contains the address.
    fn range(self, length: u8) -> (Self, Self);
    /// Number of leading bits that two addresses share.
    fn common_bits(self, other: Self) -> u8;
    /// The address after it, unless it is the last of all.
    fn next(self) -> Option<Self>;
    /// The address before it, unless it is the first of all.
    fn previous(self) -> Option<Self>;
    /// Its first so many bits, at most 32.
    fn leading(self, bits: u8) -> usize;
    /// The address as people read it.
    fn ip(self) -> IpAddr;
}

macro_rules! address {
    ($type:ty, $address:ty) => {
        impl Address for $type {
            const BITS: u8 = <$type>::BITS as u8;
            #[inline]
            fn range(self, length: u8) -> (Self, Self) {
                let host = <$type>::MAX.checked_shr(length.into()).unwrap_or(0);
                (self & !host, self | host)
            }
            #[inline]
            fn common_bits(self, other: Self) -> u8 {
                (self ^ other).leading_zeros() as u8
            }
            #[inline]
            fn next(self) -> Option<Self> {
                self.checked_add(1)
            }
            #[inline]
            fn previous(self) -> Option<Self> {
                self.checked_sub(1)
            }
            #[inline]
            fn leading(self, bits: u8) -> usize {
                self.checked_shr(<$type>::BITS - u32::from(bits)).unwrap_or(0) as usize
            }
            fn ip(self) -> IpAddr {
                <$address>::from_bits(self).into()
            }
        }
        impl Address for $address {
            const BITS: u8 = <$type>::BITS as u8;
            #[inline]
            fn range(self, length: u8) -> (Self, Self) {
                let (first, last) = self.to_bits().range(length);
                (first.into(), last.into())
            }
            #[inline]
            fn common_bits(self, other: Self) -> u8 {
                self.to_bits().common_bits(other.to_bits())
            }
            #[inline]
            fn next(self) -> Option<Self> {
                self.to_bits().next().map(Self::from)
            }
            #[inline]
            fn previous(self) -> Option<Self> {
                self.to_bits().previous().map(Self::from)
            }
            #[inline]
            fn leading(self, bits: u8) -> usize {
                self.to_bits().leading(bits)
            }
            fn ip(self) -> IpAddr {
                self.into()
            }
        }
    };
}
address!(u32, Ipv4Addr);
address!(u128, Ipv6Addr);
