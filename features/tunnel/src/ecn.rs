//! The ECN field of packets in tunnels (RFC 6040): copied to the outer header on the way in, combined on the way out.

use quiver_wire::vlan::TaggedFrame;
use quiver_wire::{EtherType, Header, Ip4Header, Ip6Header, checksum};

use crate::put::Inner;

/// The packet is of no transport that understands ECN.
const NOT_ECT: u8 = 0;
const ECT_1: u8 = 1;
const ECT_0: u8 = 2;
/// A router on the way was congested.
const CE: u8 = 3;

/// Offset of the inner IP header, if there is one.
fn ip_at(inner: Inner, packet: &[u8]) -> Option<(EtherType, usize)> {
    match inner {
        Inner::Packet(ethertype) => Some((ethertype, 0)),
        Inner::Frame => {
            let tagged = TaggedFrame::parse(packet)?;
            Some((tagged.ethertype, packet.len() - tagged.payload.len()))
        }
    }
}

/// The ECN field of a packet; 0 where it has none.
#[inline]
pub fn of(inner: Inner, packet: &[u8]) -> u8 {
    let field = || {
        let (ethertype, at) = ip_at(inner, packet)?;
        match ethertype {
            EtherType::IP4 => Some(Ip4Header::parse_at(packet, at)?.0.ecn()),
            EtherType::IP6 => Some(Ip6Header::parse_at(packet, at)?.0.traffic_class() & CE),
            _ => None,
        }
    };
    field().unwrap_or(NOT_ECT)
}

/// ECN field of a decapsulated packet by the inner and the outer field (RFC 6040, 4.2). None if the packet is to be
/// dropped: a router marked congestion, and the inner transport does not understand the mark.
pub fn combined(inner: u8, outer: u8) -> Option<u8> {
    match (inner, outer) {
        (NOT_ECT, CE) => None,
        (NOT_ECT, _) => Some(NOT_ECT),
        (ECT_0, ECT_1) => Some(ECT_1),
        (_, CE) => Some(CE),
        (inner, _) => Some(inner),
    }
}

/// Writes the combined field into a packet that comes out. False if it is to be dropped.
#[cold]
pub fn combine(inner: Inner, packet: &mut [u8], outer: u8) -> bool {
    let had = of(inner, packet);
    let Some(has) = combined(had, outer) else { return ip_at(inner, packet).is_none_or(|(of, _)| !is_ip(of)) };
    let Some((ethertype, at)) = ip_at(inner, packet).filter(|_| has != had) else { return true };
    match ethertype {
        EtherType::IP4 => {
            if let Some((ip, _)) = Ip4Header::parse_at_mut(packet, at) {
                let word = |ecn: u8| u16::from_be_bytes([ip.version_ihl, ip.dscp_ecn & !CE | ecn]);
                ip.checksum = checksum::update16(ip.checksum.get(), word(had), word(has)).into();
                ip.dscp_ecn = ip.dscp_ecn & !CE | has;
            }
        }
        _ => {
            if let Some((ip, _)) = Ip6Header::parse_at_mut(packet, at) {
                let word = ip.version_class_flow.get() & !(u32::from(CE) << 20);
                ip.version_class_flow = (word | u32::from(has) << 20).into();
            }
        }
    }
    true
}

fn is_ip(ethertype: EtherType) -> bool {
    [EtherType::IP4, EtherType::IP6].contains(&ethertype)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{Ipv4Addr, Ipv6Addr};

    use quiver_wire::IpProtocol;
    use zerocopy::IntoBytes;

    /// RFC 6040, figure 4.
    #[test]
    fn fields_are_combined_as_the_table_says() {
        let table = [
            (NOT_ECT, [Some(NOT_ECT), Some(NOT_ECT), Some(NOT_ECT), None]),
            (ECT_0, [Some(ECT_0), Some(ECT_0), Some(ECT_1), Some(CE)]),
            (ECT_1, [Some(ECT_1), Some(ECT_1), Some(ECT_1), Some(CE)]),
            (CE, [Some(CE), Some(CE), Some(CE), Some(CE)]),
        ];
        for (inner, wanted) in table {
            assert_eq!([NOT_ECT, ECT_0, ECT_1, CE].map(|outer| combined(inner, outer)), wanted, "inner {inner}");
        }
    }

    #[test]
    fn headers_stay_right() {
        let (from, to) = (Ipv4Addr::new(1, 2, 3, 4), Ipv4Addr::new(5, 6, 7, 8));
        let mut ip = Ip4Header::new(from, to, IpProtocol::UDP, 9, 0).expect("short");
        ip.dscp_ecn = 46 << 2 | ECT_0;
        ip.fill_checksum(&[]);
        let mut frame = [&[0; 12][..], &[0x81, 0, 0, 5, 8, 0], ip.as_bytes()].concat();
        assert_eq!(of(Inner::Frame, &frame), ECT_0);
        assert!(combine(Inner::Frame, &mut frame, CE));
        let (ip, _) = Ip4Header::parse_at(&frame, 18).expect("a header");
        assert!(ip.checksum_is_right(&[]));
        assert_eq!((ip.ecn(), ip.dscp()), (CE, 46));

        let mut packet = Ip6Header::new(Ipv6Addr::LOCALHOST, Ipv6Addr::LOCALHOST, IpProtocol::UDP, 9, 0)
            .expect("short")
            .as_bytes()
            .to_vec();
        let inner = Inner::Packet(EtherType::IP6);
        assert!(!combine(inner, &mut packet, CE), "nobody would understand it");
        packet[1] |= ECT_0 << 4;
        assert!(combine(inner, &mut packet, ECT_1));
        assert_eq!(of(inner, &packet), ECT_1);
        // What is no IP has no such field, and goes on.
        assert!(combine(Inner::Frame, &mut [0; 14], CE));
        assert!(combine(Inner::Frame, &mut [0; 3], CE));
    }
}
