use super::*;
use quiver_wire::checksum::of;

/// A segment with these flags and options, whose bytes add up.
fn segment(flags: u8, options: &[u8]) -> Vec<u8> {
    let words = (HEADER + options.len()) as u8 / 4;
    let mut bytes = vec![4, 210, 0, 80, 0xff, 0xff, 0xff, 0xf0, 0, 0, 0, 9, words << 4, flags, 0x20, 0, 0, 0, 0, 0];
    bytes.extend(options);
    bytes.extend(b"data!");
    let sum = of(&bytes).checksum();
    set(&mut bytes, CHECKSUM, sum.to_be_bytes());
    bytes
}

#[test]
fn numbers_and_windows_change_and_the_checksum_follows() {
    let shift = Shift { sequence: 0x20, acknowledgment: 10u32.wrapping_neg(), window: (9, 7) };
    let mut bytes = segment(ACK, &[]);
    translate(&mut bytes, &shift, false);
    assert!(of(&bytes).is_right());
    let numbers = (long(&bytes, SEQUENCE), long(&bytes, ACKNOWLEDGMENT), word(&bytes, WINDOW));
    assert_eq!(numbers, (Some(0x10), Some(u32::MAX), Some(0x8000)));
    // A larger one than the field has.
    translate(&mut bytes, &shift, false);
    assert_eq!((word(&bytes, WINDOW), of(&bytes).is_right()), (Some(u16::MAX), true));
    // Without ACK, the field is no acknowledgment.
    let mut bytes = segment(4, &[]);
    translate(&mut bytes, &Shift { window: (0, 7), ..shift }, false);
    assert_eq!((long(&bytes, ACKNOWLEDGMENT), word(&bytes, WINDOW)), (Some(9), Some(0x40)));
    assert!(of(&bytes).is_right());
}

#[test]
fn blocks_of_selective_acknowledgments_change_wherever_they_stand() {
    let shift = Shift { sequence: 0, acknowledgment: 0x0102_0304, window: (0, 0) };
    let blocks = [0, 0, 1, 0, 0, 0, 2, 0, 255, 255, 255, 255, 0, 0, 0, 1];
    for before in [&[][..], &[1], &[1, 1], &[1, 1, 1]] {
        let mut options = before.to_vec();
        options.extend([5, 18]);
        options.extend(blocks);
        options.resize(options.len().next_multiple_of(4), 1);
        let mut bytes = segment(ACK, &options);
        translate(&mut bytes, &shift, false);
        let at = HEADER + before.len() + 2;
        let moved: Vec<_> = (0..4).map(|i| long(&bytes, at + 4 * i)).collect();
        let expected = [0x100, 0x200, u32::MAX, 1].map(|number: u32| Some(number.wrapping_add(shift.acknowledgment)));
        assert_eq!((moved, of(&bytes).is_right()), (expected.to_vec(), true), "{before:?}");
    }
}

#[test]
fn an_unfinished_checksum_stays_as_it_is() {
    let mut bytes = segment(ACK, &[]);
    let before = word(&bytes, CHECKSUM);
    translate(&mut bytes, &Shift { sequence: 1, acknowledgment: 1, window: (1, 0) }, true);
    assert_eq!((word(&bytes, CHECKSUM), long(&bytes, SEQUENCE)), (before, Some(0xffff_fff1)));
}

/// An ICMP error of IPv4 that quotes so many bytes of a segment.
fn error(quoted: usize) -> Vec<u8> {
    let header = |length: u16, protocol| {
        let mut header = vec![0x45, 0, 0, 0, 0, 0, 0x40, 0, 64, protocol, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2];
        set(&mut header, 2, length.to_be_bytes());
        header
    };
    let segment = segment(ACK, &[]);
    let mut message = vec![3, 4, 0, 0, 0, 0, 5, 0];
    message.extend(header(20 + segment.len() as u16, 6));
    message.extend(&segment[..quoted]);
    let sum = of(&message).checksum();
    set(&mut message, ICMP_CHECKSUM, sum.to_be_bytes());
    let mut packet = header(20 + message.len() as u16, 1);
    packet.extend(message);
    packet
}

#[test]
fn quoted_segments_change_as_far_as_they_are_quoted() {
    let shift = Shift { sequence: 0x0203_0405, acknowledgment: 0x1111_1111, window: (7, 0) };
    for quoted in [8, 12, 14, 18, 20, 25] {
        let mut packet = error(quoted);
        let before = packet.clone();
        translate_error(&mut packet, &shift);
        assert!(of(&packet[20..]).is_right(), "{quoted}");
        let tcp = 20 + ICMP_HEADER + 20;
        let old = |at| long(&before, tcp + at).unwrap_or_default();
        assert_eq!(long(&packet, tcp + SEQUENCE), Some(old(SEQUENCE).wrapping_add(shift.sequence)), "{quoted}");
        let acknowledgment = if quoted > FLAGS { shift.acknowledgment } else { 0 };
        let expected = (quoted >= 12).then(|| old(ACKNOWLEDGMENT).wrapping_add(acknowledgment));
        assert_eq!(long(&packet, tcp + ACKNOWLEDGMENT), expected, "{quoted}");
        if quoted == 25 {
            assert!(of(&packet[tcp..]).is_right());
        }
    }
}
