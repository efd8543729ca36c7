//! Updated checksums against those of the whole packet.

use std::net::Ipv4Addr;

use quiver_session::second::Ip4End;
use quiver_wire::checksum::{of, pseudo_header4};

use super::*;

fn tuple(random: &mut fastrand::Rng, protocol: u8) -> Tuple {
    let mut end = || Ip4End { address: random.u32(..), port: random.u16(..) };
    let (source, mut destination) = (end(), end());
    if protocol == IpProtocol::ICMP4.0 {
        destination.port = source.port;
    }
    Tuple { source, destination, protocol }
}

/// A packet of a tuple with random payload, and options if `words` says so, whose checksums are right.
fn packet(random: &mut fastrand::Rng, tuple: &Tuple, words: usize) -> Vec<u8> {
    let length = HEADER + 4 * words;
    let mut packet = vec![0; length];
    random.fill(&mut packet);
    let payload = random.usize(..40);
    packet[0] = 0x40 | (length / 4) as u8;
    packet[6..8].copy_from_slice(&[0x40, 0]);
    packet[9] = tuple.protocol;
    packet[SOURCE..SOURCE + 4].copy_from_slice(&tuple.source.address.to_be_bytes());
    packet[DESTINATION..DESTINATION + 4].copy_from_slice(&tuple.destination.address.to_be_bytes());
    packet[CHECKSUM..CHECKSUM + 2].copy_from_slice(&[0; 2]);
    let mut upper = vec![0; 20 + payload];
    random.fill(&mut upper);
    let at = match IpProtocol(tuple.protocol) {
        IpProtocol::ICMP4 => {
            upper[0] = 8;
            upper[4..6].copy_from_slice(&tuple.source.port.to_be_bytes());
            ICMP_CHECKSUM
        }
        _ => {
            upper[..2].copy_from_slice(&tuple.source.port.to_be_bytes());
            upper[2..4].copy_from_slice(&tuple.destination.port.to_be_bytes());
            transport_checksum(tuple.protocol).0
        }
    };
    upper[at..at + 2].copy_from_slice(&[0; 2]);
    let sum = pseudo(tuple, upper.len()).add_bytes(&upper).checksum_not_zero();
    upper[at..at + 2].copy_from_slice(&sum.to_be_bytes());
    let total = (packet.len() + upper.len()) as u16;
    packet[2..4].copy_from_slice(&total.to_be_bytes());
    let sum = of(&packet).checksum();
    packet[CHECKSUM..CHECKSUM + 2].copy_from_slice(&sum.to_be_bytes());
    packet.extend(upper);
    packet
}

/// The pseudo header, which ICMP has none of.
fn pseudo(tuple: &Tuple, length: usize) -> quiver_wire::checksum::Sum {
    match IpProtocol(tuple.protocol) {
        IpProtocol::ICMP4 => quiver_wire::checksum::Sum::NONE,
        protocol => {
            let of = Ipv4Addr::from_bits;
            pseudo_header4(of(tuple.source.address), of(tuple.destination.address), protocol, length as u32)
        }
    }
}

/// Whether a packet has a tuple, and all its checksums are right.
fn is_right(packet: &[u8], tuple: &Tuple) -> bool {
    let (length, _) = header(packet).expect("it has a header");
    let (head, upper) = packet.split_at(length);
    let ports = match IpProtocol(tuple.protocol) {
        IpProtocol::ICMP4 => word(upper, 4) == Some(tuple.source.port),
        _ => (word(upper, 0), word(upper, 2)) == (Some(tuple.source.port), Some(tuple.destination.port)),
    };
    let ends = (address(head, SOURCE), address(head, DESTINATION));
    ports
        && ends == (Some(tuple.source.address), Some(tuple.destination.address))
        && of(head).is_right()
        && pseudo(tuple, upper.len()).add_bytes(upper).is_right()
}

const PROTOCOLS: [u8; 3] = [IpProtocol::TCP.0, IpProtocol::UDP.0, IpProtocol::ICMP4.0];

#[test]
fn checksums_are_those_of_the_new_packet() {
    let mut random = fastrand::Rng::with_seed(1);
    for round in 0..30_000 {
        let protocol = PROTOCOLS[round % 3];
        let (from, to) = (tuple(&mut random, protocol), tuple(&mut random, protocol));
        let options = random.usize(..11);
        let mut packet = packet(&mut random, &from, options);
        assert!(is_right(&packet, &from));
        assert!(rewrite(&mut packet, &to, false));
        assert!(is_right(&packet, &to), "{from:?} {to:?}");
    }
}

#[test]
fn plain_packets_are_rewritten_as_all_packets_are() {
    let mut random = fastrand::Rng::with_seed(9);
    let (mut plain_ones, mut others) = (0, 0);
    for round in 0..60_000 {
        let protocol = PROTOCOLS[round % 3];
        let (from, to) = (tuple(&mut random, protocol), tuple(&mut random, protocol));
        let options = random.usize(..2);
        let mut slow = packet(&mut random, &from, options);
        // Without a checksum, of zero, damaged, truncated, a fragment.
        match random.usize(..8) {
            0 => slow[HEADER + 6..HEADER + 8].fill(0),
            1 => slow[HEADER + 6..HEADER + 8].fill(0xff),
            2 => slow[CHECKSUM..CHECKSUM + 2].fill(random.u8(..)),
            3 => slow.truncate(random.usize(HEADER..HEADER + 20)),
            4 => slow[6..8].copy_from_slice(&[0x20, 0]),
            _ => {}
        }
        let mut fast = slow.clone();
        let addresses = u64::from(to.source.address) << 32 | u64::from(to.destination.address);
        let ports = u32::from(to.source.port) << 16 | u32::from(to.destination.port);
        let ends = Ends4 { addresses, ports };
        let is_plain = match IpProtocol(protocol) {
            IpProtocol::TCP => {
                fast.first_chunk_mut::<TO_TCP_SUM>().is_some_and(|first| rewrite_plain(first, ends, false))
            }
            _ => fast.first_chunk_mut::<TO_UDP_SUM>().is_some_and(|first| rewrite_plain(first, ends, true)),
        };
        if is_plain {
            assert!(rewrite(&mut slow, &to, false));
            plain_ones += 1;
        } else {
            others += 1;
        }
        assert_eq!(fast, slow);
    }
    assert!(plain_ones > 10_000 && others > 10_000, "{plain_ones} and {others}");
}

#[test]
fn a_damaged_packet_stays_damaged() {
    let mut random = fastrand::Rng::with_seed(2);
    let (from, to) = (tuple(&mut random, 6), tuple(&mut random, 6));
    let mut packet = packet(&mut random, &from, 0);
    packet[HEADER + 4] ^= 1;
    assert!(rewrite(&mut packet, &to, false) && !is_right(&packet, &to));
}

#[test]
fn no_udp_checksum_stays_none_and_none_is_made_zero() {
    let mut random = fastrand::Rng::with_seed(3);
    let (from, to) = (tuple(&mut random, 17), tuple(&mut random, 17));
    let mut without = packet(&mut random, &from, 0);
    without[HEADER + 6..HEADER + 8].copy_from_slice(&[0; 2]);
    assert!(rewrite(&mut without, &to, false));
    assert_eq!(word(&without, HEADER + 6), Some(0));
    // A checksum that comes to zero: found by trying ports.
    let mut zero = 0;
    for port in 0..=u16::MAX {
        let to = Tuple { source: Ip4End { port, ..to.source }, ..to };
        let mut packet = packet(&mut fastrand::Rng::with_seed(4), &from, 0);
        assert!(rewrite(&mut packet, &to, false));
        assert_ne!(word(&packet, HEADER + 6), Some(0), "{port}");
        zero += u32::from(word(&packet, HEADER + 6) == Some(0xffff));
        assert!(port % 64 != 0 || is_right(&packet, &to), "{port}");
    }
    assert!(zero > 0, "there was one");
}

#[test]
fn an_unfinished_checksum_is_the_sum_of_the_new_pseudo_header() {
    let mut random = fastrand::Rng::with_seed(5);
    for round in 0..1000 {
        let protocol = PROTOCOLS[round % 2];
        let (from, to) = (tuple(&mut random, protocol), tuple(&mut random, protocol));
        let mut packet = packet(&mut random, &from, 0);
        let (at, length) = (HEADER + transport_checksum(protocol).0, packet.len() - HEADER);
        packet[at..at + 2].copy_from_slice(&pseudo(&from, length).folded().to_be_bytes());
        assert!(rewrite(&mut packet, &to, true));
        // Both are the same number where one of them is zero.
        let same = |sum: u16| sum % 0xffff;
        assert_eq!(word(&packet, at).map(same), Some(same(pseudo(&to, length).folded())));
    }
}

#[test]
fn a_later_fragment_has_no_ports() {
    let mut random = fastrand::Rng::with_seed(6);
    let (from, to) = (tuple(&mut random, 17), tuple(&mut random, 17));
    let mut packet = packet(&mut random, &from, 0);
    packet[6..8].copy_from_slice(&[0, 2]);
    packet[CHECKSUM..CHECKSUM + 2].copy_from_slice(&[0; 2]);
    let sum = of(&packet[..HEADER]).checksum();
    packet[CHECKSUM..CHECKSUM + 2].copy_from_slice(&sum.to_be_bytes());
    let before = packet.clone();
    assert!(rewrite(&mut packet, &to, false));
    assert_eq!(packet[HEADER..], before[HEADER..]);
    assert!(of(&packet[..HEADER]).is_right());
    assert_eq!(address(&packet, SOURCE), Some(to.source.address));
}

#[test]
fn errors_have_right_checksums_inside_and_outside() {
    let mut random = fastrand::Rng::with_seed(7);
    for round in 0..30_000 {
        let protocol = PROTOCOLS[round % 3];
        let (from, to) = (tuple(&mut random, protocol), tuple(&mut random, protocol));
        let inner = packet(&mut random, &from, round % 4);
        // Routers quote 8 bytes of the payload, or all of it (RFC 792; RFC 1812, 4.3.2.3).
        let (length, _) = header(&inner).expect("it has a header");
        let cut = if random.bool() { inner.len() } else { length + 8 };
        let outer = Tuple { protocol: IpProtocol::ICMP4.0, ..tuple(&mut random, 1) };
        let mut error = packet(&mut random, &outer, 0)[..HEADER].to_vec();
        let mut message = vec![3, 3, 0, 0, 0, 0, 0, 0];
        message.extend(&inner[..cut]);
        let sum = of(&message).checksum();
        message[2..4].copy_from_slice(&sum.to_be_bytes());
        error.extend(message);
        let total = error.len() as u16;
        error[2..4].copy_from_slice(&total.to_be_bytes());
        error[CHECKSUM..CHECKSUM + 2].copy_from_slice(&[0; 2]);
        let sum = of(&error[..HEADER]).checksum();
        error[CHECKSUM..CHECKSUM + 2].copy_from_slice(&sum.to_be_bytes());
        let ends = (random.u32(..), random.u32(..));
        let mut damaged = error.clone();
        damaged[HEADER + ICMP_HEADER + 1] ^= 1;
        assert!(!rewrite_error(&mut damaged, ends, &to), "RFC 5508, REQ-3");
        assert!(rewrite_error(&mut error, ends, &to));
        assert!(of(&error[..HEADER]).is_right() && of(&error[HEADER..]).is_right());
        assert_eq!((address(&error, SOURCE), address(&error, DESTINATION)), (Some(ends.0), Some(ends.1)));
        let quoted = &error[HEADER + ICMP_HEADER..];
        if cut == inner.len() {
            assert!(is_right(quoted, &to), "{from:?} {to:?}");
        } else {
            assert!(of(&quoted[..length]).is_right());
            let ends = (address(quoted, SOURCE), address(quoted, DESTINATION));
            assert_eq!(ends, (Some(to.source.address), Some(to.destination.address)));
        }
    }
}

#[test]
fn no_bytes_are_too_strange() {
    let mut random = fastrand::Rng::with_seed(8);
    for _ in 0..50_000 {
        let mut bytes = vec![0; random.usize(..80)];
        random.fill(&mut bytes);
        let protocol = PROTOCOLS[random.usize(..3)];
        let to = tuple(&mut random, protocol);
        let before = bytes.len();
        rewrite(&mut bytes, &to, random.bool());
        rewrite_error(&mut bytes, (1, 2), &to);
        assert_eq!(bytes.len(), before);
    }
}
