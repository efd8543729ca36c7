//! The maximum segment size that a TCP header announces (RFC 9293, 3.7.1).

use quiver_wire::checksum::update16;
use quiver_wire::options::Options;
use quiver_wire::{Header, TcpFlags, TcpHeader};

/// Kind and length of the MSS option.
const KIND: u8 = 2;
const SIZE: usize = 2;

/// Lowers the MSS options of a SYN segment to `largest`; true if one was greater. `tcp` are the packet's bytes from the
/// TCP header on; options behind a malformed one are left unchanged.
///
/// The checksum follows (RFC 1624, equation 3), unless it is yet to be made: then it covers no option.
pub fn clamp(tcp: &mut [u8], largest: u16, has_checksum: bool) -> bool {
    let Some((header, _)) = TcpHeader::parse(tcp) else { return false };
    let (length, mut checksum) = (header.header_length(), header.checksum.get());
    if !header.flags.contains(TcpFlags::SYN) {
        return false;
    }
    let Some(options) = tcp.get_mut(TcpHeader::LENGTH..length) else { return false };
    // There are 40 bytes of options, of which this one has four.
    let (mut found, mut count) = ([0; 10], 0);
    for option in Options::new(options).map_while(Result::ok) {
        if option.kind == KIND && option.data.len() == SIZE {
            found.get_mut(count).into_iter().for_each(|place| *place = option.offset + 2);
            count += 1;
        }
    }
    let mut clamped = false;
    for at in found.into_iter().take(count) {
        let Some(bytes) = options.get_mut(at..).and_then(<[u8]>::first_chunk_mut) else { continue };
        let said = u16::from_be_bytes(*bytes);
        if said <= largest {
            continue;
        }
        *bytes = largest.to_be_bytes();
        clamped = true;
        // RFC 1071, 2(B): of what begins at an odd place the bytes are swapped in the sum.
        checksum = match at % 2 {
            0 => update16(checksum, said, largest),
            _ => update16(checksum, said.swap_bytes(), largest.swap_bytes()),
        };
    }
    if clamped
        && has_checksum
        && let Some(field) = tcp.get_mut(TcpHeader::CHECKSUM_OFFSET..).and_then(<[u8]>::first_chunk_mut)
    {
        *field = checksum.to_be_bytes();
    }
    clamped
}

#[cfg(test)]
mod tests {
    use super::*;
    use quiver_wire::checksum::of;

    /// A segment with these flags and options, whose bytes add up.
    fn segment(flags: u8, options: &[u8]) -> Vec<u8> {
        let words = (TcpHeader::LENGTH + options.len()) as u8 / 4;
        let mut bytes = vec![4, 210, 0, 80, 0, 0, 0, 1, 0, 0, 0, 0, words << 4, flags, 0x20, 0, 0, 0, 0, 0];
        bytes.extend(options);
        bytes.extend(b"data");
        let sum = of(&bytes).checksum();
        bytes[16..18].copy_from_slice(&sum.to_be_bytes());
        bytes
    }

    fn clamped(options: &[u8]) -> Option<Vec<u8>> {
        let mut bytes = segment(2, options);
        let before = bytes.clone();
        let clamped = clamp(&mut bytes, 1000, true);
        assert!(of(&bytes).is_right(), "{options:?}");
        assert_eq!(clamped, bytes != before, "{options:?}");
        clamped.then(|| bytes[20..20 + options.len()].to_vec())
    }

    #[test]
    fn sizes_are_lowered_wherever_they_stand_and_checksums_follow() {
        assert_eq!(clamped(&[2, 4, 5, 180]), Some(vec![2, 4, 3, 232]));
        assert_eq!(clamped(&[1, 2, 4, 5, 180, 0, 0, 0]), Some(vec![1, 2, 4, 3, 232, 0, 0, 0]), "an odd place");
        assert_eq!(clamped(&[4, 2, 2, 4, 255, 255, 0, 0]), Some(vec![4, 2, 2, 4, 3, 232, 0, 0]));
        assert_eq!(clamped(&[2, 4, 3, 232]), None, "it is small enough");
        assert_eq!(clamped(&[2, 4, 3, 233, 2, 4, 9, 9]), Some(vec![2, 4, 3, 232, 2, 4, 3, 232]), "both of two");
        let all = [2, 4, 9, 9].repeat(10);
        assert_eq!(clamped(&all), Some([2, 4, 3, 232].repeat(10)));
        assert_eq!(clamped(&[]), None);
    }

    #[test]
    fn what_is_malformed_or_no_such_option_is_left_as_it_is() {
        for options in [
            &[2, 4, 5][..],
            &[2, 0, 5, 180],
            &[2, 1, 5, 180],
            &[2, 3, 5, 180],
            &[2, 5, 5, 180],
            &[2, 6, 5, 180, 9, 9, 1, 1],
            &[0, 2, 4, 5, 180, 0, 0, 0],
            &[3, 3, 7, 2],
            &[8, 255, 2, 4, 5, 180, 1, 1],
        ] {
            assert_eq!(clamped(options), None, "{options:?}");
        }
        let mut acknowledgment = segment(16, &[2, 4, 5, 180]);
        assert!(!clamp(&mut acknowledgment, 1000, true), "it opens no connection");
        // Headers that claim less than a header has, and more than there is.
        for offset in [0, 4, 15] {
            let mut bytes = segment(2, &[2, 4, 5, 180]);
            bytes[12] = offset << 4;
            assert!(!clamp(&mut bytes, 1000, true), "{offset}");
        }
        for length in 0..20 {
            assert!(!clamp(&mut segment(2, &[2, 4, 5, 180])[..length], 1000, true), "{length}");
        }
    }

    #[test]
    fn a_checksum_yet_to_be_made_is_left_alone() {
        let mut bytes = segment(2, &[2, 4, 5, 180]);
        let before = bytes[16..18].to_vec();
        assert!(clamp(&mut bytes, 1000, false));
        assert_eq!((&bytes[16..18], &bytes[22..24]), (&before[..], &[3, 232][..]));
    }

    #[test]
    fn no_bytes_are_too_strange() {
        let mut state = 1u32;
        for _ in 0..20_000 {
            let mut bytes: Vec<u8> = (0..64)
                .map(|_| {
                    state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                    // Small values, so that there are options and lengths that fit among them.
                    if state >> 31 == 0 { (state >> 24) as u8 % 8 } else { (state >> 24) as u8 }
                })
                .collect();
            bytes[13] |= 2;
            let before = of(&bytes);
            clamp(&mut bytes, 3, true);
            assert_eq!(of(&bytes).folded() % 0xffff, before.folded() % 0xffff, "{bytes:?}");
        }
    }
}
