//! The hash of a frame's flow: addresses, protocol, and the ports of TCP and UDP, behind VLAN tags and MPLS labels.
//!
//! Only the first fragment of a packet has ports, so fragments are hashed without them; frames that carry no IP are hashed by
//! their Ethernet addresses. A symmetrical hash is the same for both directions of a flow.

use crate::vlan::TaggedFrame;
use crate::{EtherType, Header, Ip4Header, Ip6Header, IpProtocol, MacAddress};

/// One end of a flow: an address, and a port or 0.
type End = (u128, u16);

/// The hash of a frame, from its Ethernet header on. Frames that end within their headers have the hash of what there is.
pub fn hash(frame: &[u8], is_symmetrical: bool) -> u32 {
    let Some(tagged) = TaggedFrame::parse(frame) else { return 0 };
    let ip = match tagged.ethertype {
        EtherType::IP4 => ip4(tagged.payload),
        EtherType::IP6 => ip6(tagged.payload),
        EtherType::MPLS => below_labels(tagged.payload).and_then(of_version),
        _ => None,
    };
    let found = ip.unwrap_or_else(|| {
        let of = |mac: MacAddress| (u128::from(mac.to_u64()), 0);
        (of(tagged.ethernet.source), of(tagged.ethernet.destination), u64::from(tagged.ethertype.get()) << 8)
    });
    of(found, is_symmetrical)
}

/// The hash of a packet that begins with its IP header, of either family.
pub fn hash_of_packet(packet: &[u8]) -> u32 {
    of_version(packet).map_or(0, |found| of(found, false))
}

/// The same, equal for both directions of a flow.
pub fn hash_of_both(packet: &[u8]) -> u32 {
    of_version(packet).map_or(0, |found| of(found, true))
}

/// The IP packet below a stack of MPLS labels (RFC 3032, 2.1).
fn below_labels(mut stack: &[u8]) -> Option<&[u8]> {
    loop {
        let (label, rest) = stack.split_first_chunk::<4>()?;
        stack = rest;
        if label[2] & 1 != 0 {
            return Some(rest);
        }
    }
}

fn of_version(packet: &[u8]) -> Option<(End, End, u64)> {
    match packet.first()? >> 4 {
        4 => ip4(packet),
        6 => ip6(packet),
        _ => None,
    }
}

#[inline(always)]
fn of((mut source, mut destination, protocol): (End, End, u64), is_symmetrical: bool) -> u32 {
    if is_symmetrical && source > destination {
        std::mem::swap(&mut source, &mut destination);
    }
    let mut h = mix(protocol);
    for (address, port) in [source, destination] {
        h = mix(h ^ address as u64);
        h = mix(h ^ (address >> 64) as u64 ^ u64::from(port) << 48);
    }
    (h >> 32) as u32
}

fn ip4(packet: &[u8]) -> Option<(End, End, u64)> {
    let (header, _) = Ip4Header::parse(packet)?;
    let behind = packet.get(header.header_length()..).filter(|_| !header.is_fragment());
    let (from, to) = ports(header.protocol, behind);
    let end = |address: std::net::Ipv4Addr, port| (u128::from(address.to_bits()), port);
    Some((end(header.source(), from), end(header.destination(), to), header.protocol.0.into()))
}

/// Extension headers hide the ports, and one of them says that the packet is a fragment: such packets go by addresses alone.
fn ip6(packet: &[u8]) -> Option<(End, End, u64)> {
    let (header, rest) = Ip6Header::parse(packet)?;
    let (from, to) = ports(header.next_header, Some(rest));
    let protocol =
        if matches!(header.next_header, IpProtocol::TCP | IpProtocol::UDP) { header.next_header.0 } else { 0 };
    let end = |address: [u8; 16], port| (u128::from_be_bytes(address), port);
    Some((end(header.source, from), end(header.destination, to), protocol.into()))
}

fn ports(protocol: IpProtocol, behind: Option<&[u8]>) -> (u16, u16) {
    let first = behind.and_then(|bytes| bytes.first_chunk::<4>());
    match first {
        Some([a, b, c, d]) if matches!(protocol, IpProtocol::TCP | IpProtocol::UDP) => {
            (u16::from_be_bytes([*a, *b]), u16::from_be_bytes([*c, *d]))
        }
        _ => (0, 0),
    }
}

/// Every bit of the input reaches every bit of the result (the finalizer of MurmurHash3).
#[inline(always)]
fn mix(mut h: u64) -> u64 {
    h = (h ^ (h >> 33)).wrapping_mul(0xff51_afd7_ed55_8ccd);
    h = (h ^ (h >> 33)).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    h ^ (h >> 33)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{EthernetHeader, UdpHeader};
    use zerocopy::IntoBytes;

    fn frame(source: u32, destination: u32, ports: (u16, u16)) -> Vec<u8> {
        let mac = |last| MacAddress([2, 0, 0, 0, 0, last]);
        let ethernet = EthernetHeader { destination: mac(2), source: mac(1), ethertype: EtherType::IP4 };
        let ip = Ip4Header::new(source.into(), destination.into(), IpProtocol::UDP, 64, 26).expect("it is short");
        let udp = UdpHeader {
            source_port: ports.0.into(),
            destination_port: ports.1.into(),
            length: 26.into(),
            checksum: 0.into(),
        };
        [ethernet.as_bytes(), ip.as_bytes(), udp.as_bytes(), &[7; 18]].concat()
    }

    #[test]
    fn both_directions_have_one_hash_if_that_is_wanted() {
        let (mut differ, pairs) = (0, 200);
        for i in 0..pairs {
            let (there, back) =
                (frame(0x0a00_0001 + i, 0x3000_0001, (7, 80)), frame(0x3000_0001, 0x0a00_0001 + i, (80, 7)));
            assert_eq!(hash(&there, true), hash(&back, true));
            assert_eq!(hash_of_both(&there[14..]), hash_of_both(&back[14..]));
            differ += u32::from(hash(&there, false) != hash(&back, false));
        }
        assert_eq!(differ, pairs, "and else they have not");
    }

    #[test]
    fn flows_spread_evenly_whatever_part_of_them_differs() {
        let ways: [&dyn Fn(u32) -> Vec<u8>; 4] = [
            &|i| frame(0x0a00_0000 + i, 0x3000_0001, (1, 2)),
            &|i| frame(0x0a00_0001, 0x3000_0000 + i, (1, 2)),
            &|i| frame(0x0a00_0001, 0x3000_0001, (1024 + i as u16, 53)),
            &|i| frame(0x0a00_0000 + i, 0x0a00_0000 + i, (i as u16, i as u16)),
        ];
        for (number, way) in ways.iter().enumerate() {
            for is_symmetrical in [false, true] {
                let mut counts = [0; 4];
                (0..8000).for_each(|i| counts[(hash(&way(i), is_symmetrical) >> 30) as usize] += 1);
                assert!(counts.iter().all(|n| (1850..2150).contains(n)), "way {number}: {counts:?} of 2000");
            }
        }
    }

    #[test]
    fn tags_do_not_matter_and_fragments_stay_together() {
        let plain = frame(1, 2, (3, 4));
        let mut tagged = plain.clone();
        tagged.splice(12..12, [0x81, 0x00, 0x00, 0x64]);
        assert_eq!(hash(&plain, true), hash(&tagged, true));
        let (mut first, mut last) = (plain.clone(), plain.clone());
        first[20] = 0x20;
        (last[21], last[34]) = (0xb9, 0xff);
        assert_eq!(hash(&first, true), hash(&last, true));
    }

    #[test]
    fn labels_do_not_matter() {
        let plain = frame(1, 2, (3, 4));
        let mut labelled = plain.clone();
        labelled.splice(12..14, [0x88, 0x47, 0, 0, 0x10, 64, 0, 0, 0x21, 64]);
        assert_eq!(hash(&plain, false), hash(&labelled, false));
        assert_eq!(hash(&plain, false), hash_of_packet(&plain[14..]));
        // A stack without an end is no packet; its frames are told apart by their stations.
        let endless = [&labelled[..14], &[0, 0, 0x10, 64]].concat();
        assert_ne!(hash(&endless, false), 0);
    }

    #[test]
    fn whatever_the_bytes_there_is_a_hash() {
        let whole = frame(1, 2, (3, 4));
        (0..whole.len()).for_each(|end| assert_eq!(hash(&whole[..end], true), hash(&whole[..end], true)));
        let mut options = whole.clone();
        options[14] = 0x4f;
        hash(&options, false);
    }
}
