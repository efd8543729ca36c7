//! Fuzz targets of this room: keys and segments of any packet. How to run: fuzz/README.md.

use quiver_ip::Family;
use quiver_ip::upper::Upper;
use quiver_session::cookies::cookie::Offer;
use quiver_session::cookies::translate::{Shift, translate, translate_error};
use quiver_session::key::{Flow, Format, Key, NoFlow, flow};
use quiver_session::segment::Segment;
use quiver_table::KeyedHash;
use quiver_wire::{IpProtocol, V4, V6};

/// Source and destination of an IP header.
const V4_ADDRESSES: [usize; 3] = [12, 16, 20];
const V6_ADDRESSES: [usize; 3] = [8, 24, 40];

/// Exchanges two neighbouring parts of a packet.
fn exchange(packet: &mut [u8], [first, second, end]: [usize; 3]) {
    if let Some(parts) = packet.get_mut(first..end) {
        parts.rotate_left(second - first);
    }
}

/// The flow of a packet and that of its answer have one key.
fn both_directions<F: Family>(packet: &[u8], noted: Option<Upper>, addresses: [usize; 3], format: Format) {
    let there = flow::<F>(packet, noted);
    if there.is_ok_and(|there| there.is_error) {
        // An error quotes a packet, and the quotation stays as it is when the addresses of the error are exchanged.
        return;
    }
    let mut answer = packet.to_vec();
    exchange(&mut answer, addresses);
    if let Some(payload) = F::payload(packet)
        && matches!(payload.protocol, IpProtocol::TCP | IpProtocol::UDP)
        && payload.fragment.is_none_or(|place| place == 0)
    {
        exchange(&mut answer, [payload.offset, payload.offset + 2, payload.offset + 4]);
    }
    let noted = noted.map(|upper| Upper { source: upper.destination, destination: upper.source, ..upper });
    let back = flow::<F>(&answer, noted);
    let (there, back) = match (there, back) {
        (Ok(there), Ok(back)) => (there, back),
        // A header whose addresses are exchanged may be one that is no header.
        (there, back) => return assert_eq!(why(there), why(back), "{packet:?}"),
    };
    assert_eq!((there.ends.0, there.ends.1), (back.ends.1, back.ends.0), "{packet:?}");
    let key = |flow: Flow, context| Key::new(flow.ends, context, (flow.protocol, format));
    let ((one, from_high), (other, other_from_high)) = (key(there, 7), key(back, 7));
    assert_eq!(one, other, "{packet:?}");
    assert_eq!(from_high != other_from_high, there.ends.0 != there.ends.1, "{packet:?}");
    let hash = KeyedHash::new([1, 2, 3, 4]);
    assert_eq!(one.hash(&hash), other.hash(&hash));
    assert_ne!(one, key(there, 8).0);
}

fn why(flow: Result<Flow, NoFlow>) -> Option<NoFlow> {
    flow.err()
}

/// Any bytes have a flow or none, and so has their answer.
#[test]
fn any_packet() {
    bolero::check!().for_each(|bytes: &[u8]| {
        both_directions::<V4>(bytes, None, V4_ADDRESSES, Format::IP4);
        both_directions::<V6>(bytes, None, V6_ADDRESSES, Format::IP6);
    });
}

/// The same with headers that are right most often.
#[test]
fn packets_with_headers() {
    bolero::check!().with_type::<(u8, [u16; 2], Vec<u8>)>().for_each(|(choice, ports, rest)| {
        let mut packet = vec![0; 40];
        packet.extend(rest);
        let noted = Some(Upper { source: ports[0], destination: ports[1], tcp_flags: 0 }).filter(|_| choice & 1 != 0);
        // Flags and place of fragments, and extension headers, are among the random bytes.
        let protocol = [6, 17, 1, 58, 44, 43, 60, 0][usize::from(choice >> 1 & 7)];
        let length = (packet.len() as u16).to_be_bytes();
        let random: Vec<u8> = rest.iter().copied().chain([0; 40]).take(40).collect();
        if choice & 16 == 0 {
            packet.drain(..20);
            packet[..20].copy_from_slice(&random[..20]);
            packet[0] = 0x45 + (choice >> 5);
            packet[2..4].copy_from_slice(&(u16::from_be_bytes(length) - 20).to_be_bytes());
            if choice & 32 == 0 {
                packet[6..8].fill(0);
            }
            packet[9] = protocol;
            both_directions::<V4>(&packet, noted, V4_ADDRESSES, Format::IP4);
        } else {
            packet[..40].copy_from_slice(&random);
            packet[0] = 0x60;
            packet[4..6].copy_from_slice(&(u16::from_be_bytes(length) - 40).to_be_bytes());
            packet[6] = protocol;
            both_directions::<V6>(&packet, noted, V6_ADDRESSES, Format::IP6);
        }
    });
}

/// A segment is read if its whole header is there, by its own account of its length.
#[test]
fn segments() {
    bolero::check!().with_type::<(Vec<u8>, u32)>().for_each(|(header, bytes)| {
        let words = header.get(12).map_or(0, |offset| u32::from(offset >> 4));
        let is_whole = header.len() >= 20 && words >= 5;
        for bytes in [*bytes, *bytes % 64, header.len() as u32] {
            assert_eq!(Segment::of(header, bytes).is_some(), is_whole && bytes >= words * 4, "{header:?} {bytes}");
        }
    });
}

/// A segment that is translated there and back has the bytes that it had, but for the two zeros of its checksum.
#[test]
fn translations() {
    bolero::check!().with_type::<(Vec<u8>, [u32; 2], bool)>().for_each(|(bytes, [sequence, acknowledgment], ends)| {
        let there = Shift { sequence: *sequence, acknowledgment: *acknowledgment, window: (0, 0) };
        let back = Shift { sequence: sequence.wrapping_neg(), acknowledgment: acknowledgment.wrapping_neg(), ..there };
        let mut packet = bytes.clone();
        translate(&mut packet, &there, *ends);
        translate(&mut packet, &back, *ends);
        let without_checksum = |bytes: &[u8]| {
            let mut bytes = bytes.to_vec();
            bytes.get_mut(16..18).into_iter().for_each(|sum| sum.fill(0));
            bytes
        };
        assert_eq!(without_checksum(&packet), without_checksum(bytes));
        translate(&mut packet, &Shift { window: (14, 7), ..there }, *ends);
        let mut error = bytes.clone();
        translate_error(&mut error, &there);
        translate_error(&mut error, &back);
        assert_eq!(error.len(), bytes.len());
        Offer::of(bytes, *ends);
    });
}
