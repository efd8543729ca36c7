//! Ethernet II (IEEE 802.3, 3.2): addresses, ethertypes, and the header of 14 bytes.
use std::fmt;
use std::str::FromStr;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned, big_endian::U16};

/// A MAC address (EUI-48), in transmission order.
#[derive(
    Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(transparent)]
pub struct MacAddress(pub [u8; 6]);

impl MacAddress {
    /// All zeros: no address.
    pub const ZERO: MacAddress = MacAddress([0; 6]);
    /// Every station.
    pub const BROADCAST: MacAddress = MacAddress([0xff; 6]);

    /// Whether this is the broadcast address.
    #[inline(always)]
    pub const fn is_broadcast(self) -> bool {
        self.to_u64() == Self::BROADCAST.to_u64()
    }

    /// Whether this names a group of stations (the I/G bit); the broadcast address does.
    #[inline(always)]
    pub const fn is_multicast(self) -> bool {
        self.0[0] & 1 != 0
    }

    /// Whether this names one station: neither a group nor all zeros.
    #[inline(always)]
    pub const fn is_unicast(self) -> bool {
        !self.is_multicast() && self.to_u64() != 0
    }

    /// Whether the address was not assigned by a manufacturer (the U/L bit).
    #[inline(always)]
    pub const fn is_local(self) -> bool {
        self.0[0] & 2 != 0
    }

    /// The address as the low 48 bits of a number, most significant byte first.
    #[inline(always)]
    pub const fn to_u64(self) -> u64 {
        let [a, b, c, d, e, f] = self.0;
        u64::from_be_bytes([0, 0, a, b, c, d, e, f])
    }

    /// The address in the low 48 bits of `bits`; the high 16 are ignored.
    #[inline(always)]
    pub const fn from_u64(bits: u64) -> MacAddress {
        let [_, _, a, b, c, d, e, f] = bits.to_be_bytes();
        MacAddress([a, b, c, d, e, f])
    }

    /// The group address for an IPv4 multicast destination (RFC 1112, 6.4).
    pub const fn for_ip4_multicast(group: std::net::Ipv4Addr) -> MacAddress {
        let [_, b, c, d] = group.octets();
        MacAddress([0x01, 0x00, 0x5e, b & 0x7f, c, d])
    }
}

impl fmt::Display for MacAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [a, b, c, d, e, g] = self.0;
        write!(f, "{a:02x}:{b:02x}:{c:02x}:{d:02x}:{e:02x}:{g:02x}")
    }
}

impl fmt::Debug for MacAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Why a text is no MAC address.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{text}` is no MAC address: write six octets such as 42:01:0a:0a:01:01, or three words such as 4201.0a0a.0101"
)]
pub struct MacAddressError {
    text: String,
}

impl FromStr for MacAddress {
    type Err = MacAddressError;

    /// Reads `42:01:0a:0a:01:01`, `42-01-0a-0a-01-01` and `4201.0a0a.0101`; leading zeros of an octet may be left out.
    fn from_str(text: &str) -> Result<MacAddress, MacAddressError> {
        groups::<6>(text, ':', 2)
            .or_else(|| groups::<6>(text, '-', 2))
            .map(|octets| MacAddress(octets.map(|octet| octet as u8)))
            .or_else(|| {
                let [high, middle, low] = groups::<3>(text, '.', 4)?.map(u64::from);
                Some(MacAddress::from_u64(high << 32 | middle << 16 | low))
            })
            .ok_or_else(|| MacAddressError { text: text.into() })
    }
}

/// Exactly `N` hexadecimal numbers of at most `digits` digits (at most four).
fn groups<const N: usize>(text: &str, separator: char, digits: usize) -> Option<[u16; N]> {
    let mut parts = text.split(separator);
    let mut groups = [0; N];
    for group in &mut groups {
        let part = parts.next().filter(|part| part.len() <= digits)?;
        // `from_str_radix` alone would take a sign.
        part.bytes().all(|byte| byte.is_ascii_hexdigit()).then_some(())?;
        *group = u16::from_str_radix(part, 16).ok()?;
    }
    parts.next().is_none().then_some(groups)
}

/// Type of an Ethernet frame's payload; a value below 0x0600 is an IEEE 802.3 length.
#[derive(Clone, Copy, PartialEq, Eq, Hash, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(transparent)]
pub struct EtherType(pub U16);

impl EtherType {
    /// IPv4.
    pub const IP4: EtherType = EtherType::new(0x0800);
    /// The Address Resolution Protocol.
    pub const ARP: EtherType = EtherType::new(0x0806);
    /// A customer VLAN tag (IEEE 802.1Q).
    pub const DOT1Q: EtherType = EtherType::new(0x8100);
    /// IPv6.
    pub const IP6: EtherType = EtherType::new(0x86dd);
    /// Ethernet frames inside others (RFC 1701): what GENEVE calls its payload by.
    pub const TRANSPARENT_BRIDGING: EtherType = EtherType::new(0x6558);
    /// MPLS, unicast.
    pub const MPLS: EtherType = EtherType::new(0x8847);
    /// A service VLAN tag (IEEE 802.1ad).
    pub const DOT1AD: EtherType = EtherType::new(0x88a8);
    /// The Link Layer Discovery Protocol.
    pub const LLDP: EtherType = EtherType::new(0x88cc);

    const NAMES: [(EtherType, &'static str); 7] = [
        (EtherType::IP4, "ip4"),
        (EtherType::ARP, "arp"),
        (EtherType::DOT1Q, "dot1q"),
        (EtherType::IP6, "ip6"),
        (EtherType::MPLS, "mpls"),
        (EtherType::DOT1AD, "dot1ad"),
        (EtherType::LLDP, "lldp"),
    ];

    /// The ethertype of this number.
    pub const fn new(value: u16) -> EtherType {
        EtherType(U16::new(value))
    }

    /// The number.
    #[inline(always)]
    pub const fn get(self) -> u16 {
        self.0.get()
    }

    /// Whether a VLAN tag follows.
    #[inline(always)]
    pub fn is_vlan(self) -> bool {
        self == EtherType::DOT1Q || self == EtherType::DOT1AD
    }

    /// Whether the field is an IEEE 802.3 length, so that an LLC header follows.
    #[inline(always)]
    pub const fn is_length(self) -> bool {
        self.get() < 0x0600
    }
}

impl fmt::Display for EtherType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match Self::NAMES.iter().find(|(ethertype, _)| ethertype == self) {
            Some((_, name)) => f.write_str(name),
            None => write!(f, "0x{:04x}", self.get()),
        }
    }
}

/// Why a text is no ethertype.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is no ethertype: write a name such as ip4 or a number such as 0x0800")]
pub struct EtherTypeError {
    text: String,
}

impl FromStr for EtherType {
    type Err = EtherTypeError;

    /// Reads what [`EtherType`] prints as: a name, or `0x` and up to four hexadecimal digits.
    fn from_str(text: &str) -> Result<EtherType, EtherTypeError> {
        let name = Self::NAMES.iter().find(|(_, name)| *name == text).map(|(ethertype, _)| *ethertype);
        let number = || groups::<1>(text.strip_prefix("0x")?, ':', 4).map(|[number]| EtherType::new(number));
        name.or_else(number).ok_or_else(|| EtherTypeError { text: text.into() })
    }
}

impl fmt::Debug for EtherType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The header of every Ethernet frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub struct EthernetHeader {
    /// Destination address.
    pub destination: MacAddress,
    /// Source address.
    pub source: MacAddress,
    /// Type of the payload.
    pub ethertype: EtherType,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Header;

    #[test]
    fn a_mac_address_is_read_in_every_usual_form() {
        let expected = MacAddress([0x42, 0x01, 0x0a, 0x0a, 0x01, 0x01]);
        for text in ["42:01:0a:0a:01:01", "42:1:a:A:1:1", "42-01-0A-0a-01-01", "4201.0a0a.0101", "4201.a0a.101"] {
            assert_eq!(text.parse(), Ok(expected), "{text}");
        }
        assert_eq!(expected.to_string(), "42:01:0a:0a:01:01");
    }

    #[test]
    fn what_is_no_mac_address_is_named_in_the_error() {
        for text in ["", "42", "42:01:0a:0a:01", "42:01:0a:0a:01:01:02", "042:01:0a:0a:01:01", "42:01:0a:0a:01:+1"] {
            let error = text.parse::<MacAddress>().unwrap_err().to_string();
            assert!(error.contains(&format!("`{text}`")) && error.contains("42:01:0a:0a:01:01"), "{error}");
        }
        for text in
            ["4201.0a0a", "4201.0a0a.10101", "42:01-0a:0a:01:01", "::::::", "42:01:0a:0a:01:", "g2:01:0a:0a:01:01"]
        {
            assert!(text.parse::<MacAddress>().is_err(), "{text}");
        }
    }

    #[test]
    fn groups_and_stations_are_told_apart() {
        let group = MacAddress::for_ip4_multicast([224, 129, 2, 3].into());
        assert_eq!(group, MacAddress([0x01, 0x00, 0x5e, 0x01, 0x02, 0x03]));
        assert!(group.is_multicast() && !group.is_broadcast() && !group.is_unicast());
        assert!(MacAddress::BROADCAST.is_broadcast() && MacAddress::BROADCAST.is_multicast());
        assert!(!MacAddress::ZERO.is_unicast() && !MacAddress::ZERO.is_multicast());
        let station = MacAddress([2, 0, 0, 0, 0, 1]);
        assert!(station.is_unicast() && station.is_local());
        assert_eq!(MacAddress::from_u64(station.to_u64() | 0xbeef << 48), station);
    }

    #[test]
    fn ethertypes_are_names_or_numbers() {
        for (text, number) in [("ip4", 0x0800), ("dot1ad", 0x88a8), ("0x0800", 0x0800), ("0x9", 9)] {
            assert_eq!(text.parse(), Ok(EtherType::new(number)));
        }
        assert_eq!(EtherType::new(0x9000).to_string(), "0x9000");
        for text in ["", "IP4", "0x", "0x10000", "0x+1", "2048"] {
            assert!(text.parse::<EtherType>().is_err(), "{text}");
        }
    }

    #[test]
    fn the_header_lies_where_the_standard_puts_it() {
        let mut frame = *b"\xff\xff\xff\xff\xff\xff\x02\x00\x00\x00\x00\x01\x08\x06rest";
        let (header, rest) = EthernetHeader::parse(&frame).unwrap();
        assert_eq!(header.destination, MacAddress::BROADCAST);
        assert_eq!(header.source, MacAddress([2, 0, 0, 0, 0, 1]));
        assert_eq!((header.ethertype, rest), (EtherType::ARP, &b"rest"[..]));
        EthernetHeader::parse_mut(&mut frame).unwrap().0.ethertype = EtherType::IP6;
        assert_eq!(&frame[12..14], b"\x86\xdd");
        assert_eq!(EthernetHeader::parse(&frame[..13]), None);
        assert_eq!(EthernetHeader::LENGTH, 14);
    }
}
