//! The outer headers: IP, UDP, and the tunnel's own. All but a few fields are equal in every datagram of a tunnel, and
//! are written once.

use quiver_wire::checksum::{self, pseudo_header6};
use quiver_wire::{Header, Ip4Header, Ip6Header, IpProtocol, Sum, UdpHeader, V4, V6, ip4};
use zerocopy::IntoBytes;

use crate::ends::Ends;
use crate::template::{Template, WORDS};
use crate::underlay::Underlay;

/// The hop limit of datagrams over IPv4 and IPv6, as VPP sends them.
pub const HOPS: [u8; 2] = [254, 255];
/// Bytes of all headers at most.
pub const LENGTH_MAX: usize = size_of::<Ip6Header>() + size_of::<UdpHeader>() + 16;

/// Configurable fields of the outer headers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Choice {
    /// UDP's destination port.
    pub port: u16,
    /// The hop limit, or time to live.
    pub hop_limit: u8,
    /// The class of service (DSCP, RFC 2474), 6 bits.
    pub dscp: u8,
    /// Whether routers on the way may not fragment datagrams of IPv4.
    pub dont_fragment: bool,
    /// Whether datagrams of IPv6 have a checksum (RFC 6935 allows tunnels to have none). Those of IPv4 have none (RFC 768).
    pub checksum: bool,
}

impl Choice {
    /// VPP's values.
    pub fn of(ends: &Ends, port: u16) -> Choice {
        let hop_limit = HOPS[usize::from(matches!(ends, Ends::V6(..)))];
        Choice { port, hop_limit, dscp: 0, dont_fragment: false, checksum: true }
    }
}

/// Outer fields that differ between the datagrams of a tunnel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Datagram {
    /// UDP's source port.
    pub source_port: u16,
    /// IPv4's identification: datagrams may be fragmented on their way (RFC 6864, 4.3).
    pub identification: u16,
    /// The ECN field, which is that of the packet inside (RFC 6040, 4.1).
    pub ecn: u8,
    /// Bytes behind the headers.
    pub payload: usize,
}

/// The headers of a tunnel's datagrams, as far as they are the same for all.
#[derive(Clone, Copy, Debug)]
pub struct Outer {
    bytes: [u8; LENGTH_MAX],
    length: u8,
    is_ip6: bool,
    has_checksum: bool,
    /// The sum over IPv4's header, or over the parts of IPv6's that UDP's checksum covers, and the headers from UDP's on.
    sum: Sum,
    /// The words in which datagrams differ, and that sum.
    ///
    /// PERF: kept, and not read from `bytes` in network order for each group of eight packets.
    template: Template<u32>,
}

impl Outer {
    /// No headers: those of lanes that take the slow path.
    pub(crate) const EMPTY: Outer = Outer {
        bytes: [0; LENGTH_MAX],
        length: 0,
        is_ip6: false,
        has_checksum: false,
        sum: Sum::NONE,
        template: Template { words: [0; WORDS], sum: 0 },
    };
    /// The headers between two ends, with a tunnel's `own` header behind UDP's; at most 16 bytes.
    pub fn new(ends: &Ends, choice: &Choice, own: &[u8]) -> Outer {
        let places = match ends {
            Ends::V4(..) => V4::WORDS,
            Ends::V6(..) => V6::WORDS,
        };
        let udp = UdpHeader {
            source_port: 0.into(),
            destination_port: choice.port.into(),
            length: 0.into(),
            checksum: 0.into(),
        };
        let class = choice.dscp << 2;
        let (ip, sum) = match *ends {
            Ends::V4(source, destination) => {
                // An empty packet is never too long.
                let mut ip = Ip4Header::new(source, destination, IpProtocol::UDP, choice.hop_limit, 0);
                if let Some(ip) = &mut ip {
                    ip.total_length = 0.into();
                    ip.dscp_ecn = class;
                    ip.flags_fragment = if choice.dont_fragment { ip4::DONT_FRAGMENT } else { 0 }.into();
                }
                let ip = ip.as_ref().map(|ip| ip.as_bytes().to_vec()).unwrap_or_default();
                let sum = checksum::of(&ip);
                (ip, sum)
            }
            Ends::V6(source, destination) => {
                let mut ip = Ip6Header::new(source, destination, IpProtocol::UDP, choice.hop_limit, 0);
                if let Some(ip) = &mut ip {
                    ip.version_class_flow = (6 << 28 | u32::from(class) << 20).into();
                }
                let ip = ip.as_ref().map(|ip| ip.as_bytes().to_vec()).unwrap_or_default();
                let sum = pseudo_header6(source, destination, IpProtocol::UDP, 0).add_bytes(udp.as_bytes());
                (ip, sum.add_bytes(own))
            }
        };
        let whole = [&ip, udp.as_bytes(), own].concat();
        let mut bytes = [0; LENGTH_MAX];
        bytes.iter_mut().zip(&whole).for_each(|(to, from)| *to = *from);
        let words = places.map(|at| bytes[at..].first_chunk().map_or(0, |word| u32::from_be_bytes(*word)));
        let template = Template { words, sum: sum.folded().into() };
        Outer {
            bytes,
            length: whole.len().min(LENGTH_MAX) as u8,
            is_ip6: matches!(ends, Ends::V6(..)),
            has_checksum: choice.checksum,
            sum,
            template,
        }
    }
    /// The words in which datagrams differ.
    #[inline(always)]
    pub fn template(&self) -> &Template<u32> {
        &self.template
    }
    /// The constant bytes of the headers, followed by zeros.
    #[inline(always)]
    pub fn common(&self) -> &[u8; LENGTH_MAX] {
        &self.bytes
    }
    /// Bytes of all headers.
    #[inline(always)]
    pub fn length(&self) -> usize {
        self.length.into()
    }
    /// Whether UDP's checksum covers the payload, which has to be summed up.
    #[inline(always)]
    pub fn sums(&self) -> bool {
        self.is_ip6 && self.has_checksum
    }
    /// Writes the headers of a datagram to the beginning of `front`, which has room for them; `summed` adds the payload to a checksum. False, and
    /// nothing written, if the datagram is longer than a packet can be.
    #[inline(always)]
    pub fn put(&self, front: &mut [u8], datagram: &Datagram, summed: impl FnOnce(Sum) -> Sum) -> bool {
        const UDP4: usize = size_of::<Ip4Header>();
        const UDP6: usize = size_of::<Ip6Header>();
        let length = self.length().min(LENGTH_MAX);
        let (Some(front), Ok(whole)) = (front.get_mut(..length), u16::try_from(length + datagram.payload)) else {
            return false;
        };
        front.copy_from_slice(&self.bytes[..length]);
        if self.is_ip6 {
            let udp_length = whole - UDP6 as u16;
            let Some((ip, rest)) = Ip6Header::parse_mut(front) else { return false };
            ip.version_class_flow = (ip.version_class_flow.get() | u32::from(datagram.ecn) << 20).into();
            ip.payload_length = udp_length.into();
            let Some((udp, _)) = UdpHeader::parse_mut(rest) else { return false };
            (udp.source_port, udp.length) = (datagram.source_port.into(), udp_length.into());
            if self.sums() {
                // The length counts in UDP's header and in the pseudo header.
                let sum = self.sum.add_word(datagram.source_port).add_word(udp_length).add_word(udp_length);
                udp.checksum = summed(sum).checksum_not_zero().into();
            }
        } else {
            let Some((ip, rest)) = Ip4Header::parse_mut(front) else { return false };
            ip.dscp_ecn |= datagram.ecn;
            (ip.total_length, ip.identification) = (whole.into(), datagram.identification.into());
            let sum = self.sum.add_word(whole).add_word(datagram.identification);
            ip.checksum = sum.add_word(datagram.ecn.into()).checksum().into();
            let Some((udp, _)) = UdpHeader::parse_mut(rest) else { return false };
            (udp.source_port, udp.length) = (datagram.source_port.into(), (whole - UDP4 as u16).into());
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use quiver_wire::IpHeader;

    fn datagram(payload: usize) -> Datagram {
        Datagram { source_port: 1000, identification: 77, ecn: 1, payload }
    }

    #[test]
    fn headers_are_right_for_both_families() {
        let (payload, own, mut front) = ([7u8; 33], [1, 2, 3, 4, 5, 6, 7, 8], [0; LENGTH_MAX]);
        let ends = Ends::new([10, 0, 0, 1].into(), [10, 0, 0, 2].into()).expect("of one family");
        let choice = Choice { dscp: 46, dont_fragment: true, ..Choice::of(&ends, 2000) };
        let outer = Outer::new(&ends, &choice, &own);
        assert_eq!(outer.length(), ends.length() + 8);
        assert!(outer.put(&mut front, &datagram(33), |sum| sum));
        let (ip, rest) = Ip4Header::parse(&front).expect("a header");
        assert!(ip.checksum_is_right(&[]));
        assert_eq!((ip.packet_length(), ip.ttl, ip.dont_fragment()), (20 + 8 + 8 + 33, 254, true));
        assert_eq!((ip.identification.get(), ip.dscp(), ip.ecn()), (77, 46, 1));
        let (udp, rest) = UdpHeader::parse(rest).expect("a header");
        assert_eq!((udp.source_port.get(), udp.length.get(), udp.checksum.get()), (1000, 8 + 8 + 33, 0));
        assert_eq!((udp.destination_port.get(), &rest[..8]), (2000, &own[..]));

        let ends =
            Ends::new("2001:db8::1".parse().expect("one"), "2001:db8::2".parse().expect("one")).expect("one family");
        for (length, has_checksum) in [(56, true), (48, true), (56, false)] {
            let own = &own[..length - 48];
            let choice = Choice { checksum: has_checksum, ..Choice::of(&ends, 2000) };
            let outer = Outer::new(&ends, &choice, own);
            assert!(outer.put(&mut front, &datagram(33), |sum| sum.add_bytes(&payload)));
            let (ip, rest) = Ip6Header::parse(&front[..length]).expect("a header");
            let udp_length = u32::from(ip.payload_length.get());
            assert_eq!((ip.hop_limit, udp_length, ip.traffic_class()), (255, length as u32 - 40 + 33, 1));
            let pseudo = pseudo_header6(ip.source(), ip.destination(), IpProtocol::UDP, udp_length);
            let is_right = pseudo.add_bytes(rest).add_bytes(&payload).is_right();
            assert_eq!(is_right, has_checksum);
            assert_eq!(rest[6..8] == [0, 0], !has_checksum);
        }
    }

    #[test]
    fn what_does_not_fit_is_not_written() {
        let ends = Ends::new([10, 0, 0, 1].into(), [10, 0, 0, 2].into()).expect("of one family");
        let outer = Outer::new(&ends, &Choice::of(&ends, 2000), &[]);
        let mut front = [0; LENGTH_MAX];
        assert!(!outer.put(&mut front, &datagram(65_508), |sum| sum));
        assert!(!outer.put(&mut front[..27], &datagram(1), |sum| sum));
        assert_eq!(front, [0; LENGTH_MAX]);
        assert!(outer.put(&mut front, &datagram(65_507), |sum| sum));
        assert_eq!(Ends::new([10, 0, 0, 1].into(), "2001:db8::2".parse().expect("one")), None);
    }
}
