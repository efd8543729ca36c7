//! The common part of IPv4 and IPv6, so that FIB, lookup and rewrite are written once for both.
use crate::checksum::{self, Sum};
use crate::{EtherType, Header, Ip4Header, Ip6Header, IpProtocol};
use std::fmt::{Debug, Display};
use std::hash::Hash;
use std::net::{AddrParseError, IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

/// An address of one family.
pub trait IpAddress:
    Copy + Ord + Hash + Debug + Display + FromStr<Err = AddrParseError> + Into<IpAddr> + Send + Sync + 'static
{
}
impl IpAddress for Ipv4Addr {}
impl IpAddress for Ipv6Addr {}

/// IPv4 or IPv6, as a type.
///
/// Offsets count bytes from the start of the IP header.
pub trait IpFamily: Copy + Ord + Hash + Debug + Default + Send + Sync + 'static {
    /// `Ipv4Addr` or `Ipv6Addr`.
    type Address: IpAddress;
    /// The fixed header.
    type Header: IpHeader<Family = Self>;

    /// The field's word for the family: `ip4`, `ip6`. Names of nodes and commands begin with it.
    const NAME: &'static str;
    /// The name in prose: `IPv4`, `IPv6`.
    const TITLE: &'static str;
    /// An address for documentation (RFC 5737, RFC 3849), shown where an error says what would be right.
    const EXAMPLE: &'static str;
    /// The version field, the high four bits of the first byte.
    const VERSION: u8;
    /// Ethertype of the family.
    const ETHERTYPE: EtherType;
    /// The ICMP that goes with it.
    const ICMP: IpProtocol;
    /// Bits of an address: the longest prefix.
    const ADDRESS_BITS: u8;
    /// The address that stands for none.
    const UNSPECIFIED: Self::Address;
    /// Bytes of the fixed header.
    const HEADER_LENGTH: usize = size_of::<Self::Header>();
    /// Where the length of two bytes lies.
    const LENGTH_OFFSET: usize;
    /// Bytes to add to the length field for the packet's length: IPv6's field does not count its header.
    const LENGTH_BIAS: usize;
    /// Where the TTL or hop limit lies.
    const HOP_LIMIT_OFFSET: usize;
    /// Where the protocol or next header lies.
    const PROTOCOL_OFFSET: usize;
    /// Where the header's checksum lies, if it has one.
    const CHECKSUM_OFFSET: Option<usize>;
    /// Where the source address lies.
    const SOURCE_OFFSET: usize;
    /// Where the destination address lies.
    const DESTINATION_OFFSET: usize;

    /// The address as a number in the low [`IpFamily::ADDRESS_BITS`] bits.
    fn to_bits(address: Self::Address) -> u128;

    /// The address of the low [`IpFamily::ADDRESS_BITS`] bits.
    fn from_bits(bits: u128) -> Self::Address;

    /// The address, if it is of this family.
    fn from_ip(address: IpAddr) -> Option<Self::Address>;

    /// The sum of the pseudo header below a transport protocol's checksum.
    fn pseudo_header(source: Self::Address, destination: Self::Address, protocol: IpProtocol, length: u32) -> Sum;

    /// Ones in the first `length` bits of an address, as a number like [`IpFamily::to_bits`].
    fn mask(length: u8) -> u128 {
        let length = u32::from(length.min(Self::ADDRESS_BITS));
        let bits = u32::from(Self::ADDRESS_BITS);
        let ones = u128::MAX.checked_shl(128 - length).unwrap_or(0);
        ones >> (128 - bits)
    }
}

/// Fields that the fixed headers of both families have.
pub trait IpHeader: Header + Copy + Debug {
    /// The family it belongs to.
    type Family: IpFamily;
    /// The sender.
    fn source(&self) -> <Self::Family as IpFamily>::Address;
    /// The receiver.
    fn destination(&self) -> <Self::Family as IpFamily>::Address;
    /// The version field.
    fn version(&self) -> u8;
    /// Bytes of header and options, as claimed; for IPv6 without extension headers.
    fn header_length(&self) -> usize;
    /// Bytes of the packet from this header on, as claimed.
    fn packet_length(&self) -> usize;
    /// Hops left.
    fn hop_limit(&self) -> u8;
    /// Protocol of the payload; in IPv6 the next header.
    fn protocol(&self) -> IpProtocol;
}

/// IPv4, as a type.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct V4;

/// IPv6, as a type.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct V6;

impl IpFamily for V4 {
    type Address = Ipv4Addr;
    type Header = Ip4Header;
    const NAME: &'static str = "ip4";
    const TITLE: &'static str = "IPv4";
    const EXAMPLE: &'static str = "192.0.2.0";
    const VERSION: u8 = 4;
    const ETHERTYPE: EtherType = EtherType::IP4;
    const ICMP: IpProtocol = IpProtocol::ICMP4;
    const ADDRESS_BITS: u8 = 32;
    const UNSPECIFIED: Ipv4Addr = Ipv4Addr::UNSPECIFIED;
    const LENGTH_OFFSET: usize = std::mem::offset_of!(Ip4Header, total_length);
    const LENGTH_BIAS: usize = 0;
    const HOP_LIMIT_OFFSET: usize = std::mem::offset_of!(Ip4Header, ttl);
    const PROTOCOL_OFFSET: usize = std::mem::offset_of!(Ip4Header, protocol);
    const CHECKSUM_OFFSET: Option<usize> = Some(std::mem::offset_of!(Ip4Header, checksum));
    const SOURCE_OFFSET: usize = std::mem::offset_of!(Ip4Header, source);
    const DESTINATION_OFFSET: usize = std::mem::offset_of!(Ip4Header, destination);

    fn to_bits(address: Ipv4Addr) -> u128 {
        address.to_bits().into()
    }
    fn from_bits(bits: u128) -> Ipv4Addr {
        Ipv4Addr::from_bits(bits as u32)
    }
    fn from_ip(address: IpAddr) -> Option<Ipv4Addr> {
        match address {
            IpAddr::V4(address) => Some(address),
            IpAddr::V6(_) => None,
        }
    }
    fn pseudo_header(source: Ipv4Addr, destination: Ipv4Addr, protocol: IpProtocol, length: u32) -> Sum {
        checksum::pseudo_header4(source, destination, protocol, length)
    }
}

impl IpFamily for V6 {
    type Address = Ipv6Addr;
    type Header = Ip6Header;
    const NAME: &'static str = "ip6";
    const TITLE: &'static str = "IPv6";
    const EXAMPLE: &'static str = "2001:db8::";
    const VERSION: u8 = 6;
    const ETHERTYPE: EtherType = EtherType::IP6;
    const ICMP: IpProtocol = IpProtocol::ICMP6;
    const ADDRESS_BITS: u8 = 128;
    const UNSPECIFIED: Ipv6Addr = Ipv6Addr::UNSPECIFIED;
    const LENGTH_OFFSET: usize = std::mem::offset_of!(Ip6Header, payload_length);
    const LENGTH_BIAS: usize = size_of::<Ip6Header>();
    const HOP_LIMIT_OFFSET: usize = std::mem::offset_of!(Ip6Header, hop_limit);
    const PROTOCOL_OFFSET: usize = std::mem::offset_of!(Ip6Header, next_header);
    const CHECKSUM_OFFSET: Option<usize> = None;
    const SOURCE_OFFSET: usize = std::mem::offset_of!(Ip6Header, source);
    const DESTINATION_OFFSET: usize = std::mem::offset_of!(Ip6Header, destination);

    fn to_bits(address: Ipv6Addr) -> u128 {
        address.to_bits()
    }
    fn from_bits(bits: u128) -> Ipv6Addr {
        Ipv6Addr::from_bits(bits)
    }
    fn from_ip(address: IpAddr) -> Option<Ipv6Addr> {
        match address {
            IpAddr::V6(address) => Some(address),
            IpAddr::V4(_) => None,
        }
    }
    fn pseudo_header(source: Ipv6Addr, destination: Ipv6Addr, protocol: IpProtocol, length: u32) -> Sum {
        checksum::pseudo_header6(source, destination, protocol, length)
    }
}

impl IpHeader for Ip4Header {
    type Family = V4;
    fn source(&self) -> Ipv4Addr {
        self.source()
    }
    fn destination(&self) -> Ipv4Addr {
        self.destination()
    }
    fn version(&self) -> u8 {
        self.version()
    }
    fn header_length(&self) -> usize {
        self.header_length()
    }
    fn packet_length(&self) -> usize {
        self.total_length.get().into()
    }
    fn hop_limit(&self) -> u8 {
        self.ttl
    }
    fn protocol(&self) -> IpProtocol {
        self.protocol
    }
}

impl IpHeader for Ip6Header {
    type Family = V6;
    fn source(&self) -> Ipv6Addr {
        self.source()
    }
    fn destination(&self) -> Ipv6Addr {
        self.destination()
    }
    fn version(&self) -> u8 {
        self.version()
    }
    fn header_length(&self) -> usize {
        V6::HEADER_LENGTH
    }
    fn packet_length(&self) -> usize {
        usize::from(self.payload_length.get()) + V6::LENGTH_BIAS
    }
    fn hop_limit(&self) -> u8 {
        self.hop_limit
    }
    fn protocol(&self) -> IpProtocol {
        self.next_header
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn masks_cover_the_first_bits() {
        assert_eq!(
            [0, 1, 8, 31, 32, 99].map(V4::mask),
            [0, 1 << 31, 0xff00_0000, 0xffff_fffe, 0xffff_ffff, 0xffff_ffff]
        );
        assert_eq!([0, 1, 127, 128].map(V6::mask), [0, 1 << 127, u128::MAX - 1, u128::MAX]);
    }

    #[test]
    fn offsets_are_those_of_the_rfcs() {
        assert_eq!((V4::HEADER_LENGTH, V4::LENGTH_OFFSET, V4::HOP_LIMIT_OFFSET, V4::PROTOCOL_OFFSET), (20, 2, 8, 9));
        assert_eq!((V4::CHECKSUM_OFFSET, V4::SOURCE_OFFSET, V4::DESTINATION_OFFSET), (Some(10), 12, 16));
        assert_eq!((V6::HEADER_LENGTH, V6::LENGTH_OFFSET, V6::HOP_LIMIT_OFFSET, V6::PROTOCOL_OFFSET), (40, 4, 7, 6));
        assert_eq!((V6::CHECKSUM_OFFSET, V6::SOURCE_OFFSET, V6::DESTINATION_OFFSET), (None, 8, 24));
    }

    fn same_packet<F: IpFamily>(bytes: &[u8]) -> (u8, usize, u8, IpProtocol) {
        let (header, _) = F::Header::parse(bytes).unwrap();
        (header.version(), header.packet_length(), header.hop_limit(), header.protocol())
    }

    #[test]
    fn both_headers_tell_the_same() {
        assert_eq!(same_packet::<V4>(b"\x45\0\0\x30\0\0\0\0\x40\x11\0\0ssssdddd"), (4, 48, 64, IpProtocol::UDP));
        let ip6 = [b"\x60\0\0\0\0\x08\x11\x40", &[7; 32][..]].concat();
        assert_eq!(same_packet::<V6>(&ip6), (6, 48, 64, IpProtocol::UDP));
    }
}
