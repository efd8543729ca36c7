//! Tests of keys.

use super::*;
use quiver_wire::{V4, V6};

/// A key, and whether the source is its higher end.
type Found = (Key, bool);

/// The key of a plain packet, and the one by the way of all packets.
fn keys(packet: &[u8], format: Format) -> (Option<Found>, Result<Found, NoFlow>) {
    let (plain, flow) = match format {
        Format::IP4 => {
            let plain = packet.first_chunk().and_then(plain_ip4);
            (plain.map(|(ends, of)| Key::ip4(ends, 7, of)), flow::<V4>(packet, None))
        }
        _ => {
            let plain = packet.first_chunk().and_then(plain_ip6);
            (plain.map(|(ends, of)| Key::ip6(ends, 7, of)), flow::<V6>(packet, None))
        }
    };
    (plain, flow.map(|flow| Key::new(flow.ends, 7, (flow.protocol, format))))
}

#[test]
fn plain_packets_have_the_keys_that_all_packets_have() {
    let mut random = fastrand::Rng::with_seed(1);
    for (format, start, length) in [(Format::IP4, 0x45, 28), (Format::IP6, 0x60, 48)] {
        let (mut plain_ones, mut others) = (0, 0);
        for _ in 0..20_000 {
            let mut packet: Vec<u8> = (0..length + random.usize(..8)).map(|_| random.u8(..)).collect();
            packet[0] = if random.u8(..8) == 0 { random.u8(..) } else { start };
            let (at, total) = if format == Format::IP4 { (2, packet.len()) } else { (4, packet.len() - 40) };
            packet[at..at + 2].copy_from_slice(&(total as u16).to_be_bytes());
            let protocol = [6, 17, 1, 58, 44][random.usize(..5)];
            if format == Format::IP4 {
                packet[9] = protocol;
                packet[6..8].copy_from_slice(&[[0, 0], [0x40, 0], [0x20, 0], [0, 9]][random.usize(..4)]);
            } else {
                packet[6] = protocol;
            }
            match keys(&packet, format) {
                (Some(plain), all) => {
                    assert_eq!(Ok(plain), all, "{packet:x?}");
                    plain_ones += 1;
                }
                (None, _) => others += 1,
            }
        }
        assert!(plain_ones > 3000 && others > 3000, "{plain_ones} and {others}");
    }
}

#[test]
fn formats_have_numbers_by_their_kind_until_none_is_left() {
    let mut formats = Formats::default();
    let names = [["a", "b", "c", "d", "e", "f", "g", "h", "i"], ["A", "B", "C", "D", "E", "F", "G", "H", "I"]];
    for (is_ip4, names, room) in [(true, names[0], 8), (false, names[1], 7)] {
        for (n, name) in names.into_iter().enumerate() {
            let added = formats.add(KeyFormat { name, is_ip4, show: |_| String::new() });
            if n >= room {
                assert_eq!(added, Err(FormatError::Full(name)));
                continue;
            }
            let added = added.expect("there is room");
            assert_eq!((added.is_ip4(), formats.get(added).map(|known| known.name)), (is_ip4, Some(name)));
            let again = formats.add(KeyFormat { name, is_ip4: !is_ip4, show: |_| String::new() });
            assert_eq!(again, Err(FormatError::Taken(name)));
        }
    }
    let [ip4, ip6] = [Format::IP4, Format::IP6].map(|format| formats.get(format).map(|known| known.name));
    assert_eq!((ip4, ip6), (Some("a"), Some("A")));
}

#[test]
fn both_directions_have_one_key_and_words_keep_it() {
    let mut random = fastrand::Rng::with_seed(1);
    for format in [Format::IP4, Format::IP6, Format(3), Format(4)] {
        for _ in 0..1000 {
            // Few values, so that addresses and ports are often the same.
            let address = |random: &mut fastrand::Rng| match format.is_ip4() {
                true => u128::from(random.u32(..) & 0xff00_0003),
                false => random.u128(..) & 0xff00_0000_0000_0000_0000_0000_0000_0003,
            };
            let mut end = || End { address: address(&mut random), port: random.u16(..4) };
            let (a, b) = (end(), end());
            let (there, from_high) = Key::new((a, b), 7, (IpProtocol::TCP, format));
            let (back, back_from_high) = Key::new((b, a), 7, (IpProtocol::TCP, format));
            assert_eq!(there, back);
            assert_eq!(from_high != back_from_high, a != b);
            let again = Key::of_words(*there.address_words(), there.ports_word(), (there.protocol(), there.format()));
            assert_eq!(again, there);
            let (low, high) = if from_high { (b, a) } else { (a, b) };
            assert_eq!((there.low(), there.high(), there.context()), (low, high, 7));
            if format == Format::IP4 {
                let addresses = (a.address as u64) << 32 | b.address as u64;
                let ports = u32::from(a.port) << 16 | u32::from(b.port);
                assert_eq!(Key::ip4(Ends4 { addresses, ports }, 7, IpProtocol::TCP), (there, from_high));
            }
            let (other, _) = Key::new((a, b), 8, (IpProtocol::TCP, format));
            let hash = KeyedHash::new([1, 2, 3, 4]);
            assert_ne!(other.hash(&hash), there.hash(&hash));
        }
    }
}

/// The flow of an echo with an identifier, and type 8 or 128.
fn echo<F: Family>(identifier: u16) -> Flow {
    let is_ip4 = F::ADDRESS_BITS == 32;
    let (mut packet, header) = (vec![0; if is_ip4 { 28 } else { 48 }], if is_ip4 { 20 } else { 40 });
    packet[0] = if is_ip4 { 0x45 } else { 0x60 };
    packet[if is_ip4 { 9 } else { 6 }] = F::ICMP.0;
    // Total length, or payload length.
    packet[if is_ip4 { 3 } else { 5 }] = if is_ip4 { 28 } else { 8 };
    packet[header] = if is_ip4 { 8 } else { 128 };
    packet[header + 4..header + 6].copy_from_slice(&identifier.to_be_bytes());
    flow::<F>(&packet, None).expect("an echo has a flow")
}

#[test]
fn an_echo_has_its_whole_identifier_at_both_ends() {
    for flow in [echo::<V4>(0x1234), echo::<V6>(0x1234)] {
        assert_eq!((flow.ends.0.port, flow.ends.1.port), (0x1234, 0x1234));
    }
}
