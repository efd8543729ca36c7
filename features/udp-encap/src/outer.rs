//! The headers in front of what is encapsulated: IP and UDP, of either family.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use quiver_wire::checksum::pseudo_header6;
use quiver_wire::{Header, Ip4Header, Ip6Header, IpProtocol, Sum, UdpHeader};
use zerocopy::IntoBytes;

/// Between whom datagrams go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ends {
    /// Over IPv4: from, and to.
    V4(Ipv4Addr, Ipv4Addr),
    /// Over IPv6.
    V6(Ipv6Addr, Ipv6Addr),
}

impl Ends {
    /// Two addresses; None if they are not of one family.
    pub fn new(source: IpAddr, destination: IpAddr) -> Option<Ends> {
        match (source, destination) {
            (IpAddr::V4(source), IpAddr::V4(destination)) => Some(Ends::V4(source, destination)),
            (IpAddr::V6(source), IpAddr::V6(destination)) => Some(Ends::V6(source, destination)),
            _ => None,
        }
    }
    /// Bytes of both headers.
    pub const fn length(&self) -> usize {
        UdpHeader::LENGTH
            + match self {
                Ends::V4(..) => size_of::<Ip4Header>(),
                Ends::V6(..) => size_of::<Ip6Header>(),
            }
    }
}

/// Hops that datagrams live: those of IPv4 as VPP sends them.
const HOPS4: u8 = 254;
const HOPS6: u8 = 255;

/// The bytes of both headers in front of a payload, `summed` over `length` bytes. None if both together are longer than a
/// packet can be.
///
/// Datagrams of IPv4 may be cut on their way, so each has another `identification` than those before it (RFC 6864, 4.3).
/// The class of service is not that of the payload: whoever takes it out may not know of RFC 6040, whose mode for that this
/// is. Over IPv4 there is no checksum (RFC 768), over IPv6 there is (RFC 8200, 8.1).
pub fn headers(
    ends: &Ends,
    ports: (u16, u16),
    identification: u16,
    length: usize,
    summed: impl FnOnce(Sum) -> Sum,
) -> Option<Vec<u8>> {
    let whole = u16::try_from(length + UdpHeader::LENGTH).ok()?;
    let mut udp = UdpHeader {
        source_port: ports.0.into(),
        destination_port: ports.1.into(),
        length: whole.into(),
        checksum: 0.into(),
    };
    let (mut ip4, ip6);
    let ip = match *ends {
        Ends::V4(source, destination) => {
            ip4 = Ip4Header::new(source, destination, IpProtocol::UDP, HOPS4, whole.into())?;
            ip4.identification = identification.into();
            ip4.fill_checksum(&[]);
            ip4.as_bytes()
        }
        Ends::V6(source, destination) => {
            ip6 = Ip6Header::new(source, destination, IpProtocol::UDP, HOPS6, whole.into())?;
            let pseudo = pseudo_header6(source, destination, IpProtocol::UDP, whole.into());
            udp.checksum = summed(pseudo.add_bytes(udp.as_bytes())).checksum_not_zero().into();
            ip6.as_bytes()
        }
    };
    Some([ip, udp.as_bytes()].concat())
}

#[cfg(test)]
mod tests {
    use super::*;
    use quiver_wire::IpHeader;

    #[test]
    fn headers_are_right_for_both_families() {
        let payload = [7u8; 33];
        let ends = Ends::new([10, 0, 0, 1].into(), [10, 0, 0, 2].into()).expect("of one family");
        let bytes = headers(&ends, (1000, 2000), 77, payload.len(), |sum| sum).expect("it fits");
        assert_eq!(bytes.len(), ends.length());
        let (ip, rest) = Ip4Header::parse(&bytes).expect("a header");
        assert!(ip.checksum_is_right(&[]));
        assert_eq!((ip.packet_length(), ip.ttl, ip.dont_fragment()), (20 + 8 + 33, 254, false));
        assert_eq!(ip.identification.get(), 77);
        let (udp, _) = UdpHeader::parse(rest).expect("a header");
        assert_eq!((udp.source_port.get(), udp.length.get(), udp.checksum.get()), (1000, 41, 0));

        let ends =
            Ends::new("2001:db8::1".parse().expect("one"), "2001:db8::2".parse().expect("one")).expect("one family");
        let bytes = headers(&ends, (1, 2), 77, payload.len(), |sum| sum.add_bytes(&payload)).expect("it fits");
        let (ip, rest) = Ip6Header::parse(&bytes).expect("a header");
        assert_eq!((bytes.len(), ip.hop_limit, ip.payload_length.get()), (48, 255, 41));
        let pseudo = pseudo_header6(ip.source(), ip.destination(), IpProtocol::UDP, 41);
        assert!(pseudo.add_bytes(rest).add_bytes(&payload).is_right());

        assert_eq!(headers(&ends, (1, 2), 77, 65_528, |sum| sum), None);
        assert_eq!(Ends::new([10, 0, 0, 1].into(), "2001:db8::2".parse().expect("one")), None);
    }
}
