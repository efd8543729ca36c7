//! The Internet checksum: RFC 1071, updated in place by RFC 1624, over pseudo headers of both families.
use crate::IpProtocol;
use std::net::{Ipv4Addr, Ipv6Addr};

/// A running one's complement sum.
///
/// Pieces may have any length: after an odd one the next continues within the same word (RFC 1071, 2(B)), so that a
/// packet in a chain of buffers is summed buffer by buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Sum {
    /// Big-endian words added up, carries not yet folded in.
    words: u64,
    /// Whether the last byte added was the high half of a word.
    odd: bool,
}

/// The sum of these bytes alone.
pub fn of(bytes: &[u8]) -> Sum {
    Sum::default().add_bytes(bytes)
}

impl Sum {
    /// Nothing is added up.
    pub const NONE: Sum = Sum { words: 0, odd: false };

    /// The sum with these bytes behind those already added.
    #[must_use]
    pub fn add_bytes(self, bytes: &[u8]) -> Sum {
        let (words, odd) = (fold(sum_native(bytes)), bytes.len() % 2 == 1);
        // The sum of swapped words is the swapped sum (RFC 1071, 2(B)).
        let words = if self.odd { words.swap_bytes() } else { words };
        Sum { words: self.words + u64::from(words), odd: self.odd ^ odd }
    }

    /// The sum with one word more; meaningful at an even place only.
    #[must_use]
    pub fn add_word(self, word: u16) -> Sum {
        Sum { words: self.words + u64::from(word), ..self }
    }

    /// The sum folded into one word, not complemented: what a driver wants that has the checksum completed later.
    pub fn folded(self) -> u16 {
        fold(self.words)
    }

    /// The checksum to store in a field that was zero while summing.
    pub fn checksum(self) -> u16 {
        !self.folded()
    }

    /// The checksum to store where zero would mean "none" (RFC 768): all ones stand for zero.
    pub fn checksum_not_zero(self) -> u16 {
        match self.checksum() {
            0 => 0xffff,
            sum => sum,
        }
    }

    /// Whether the bytes, the stored checksum among them, add up.
    pub fn is_right(self) -> bool {
        self.folded() == 0xffff
    }
}

/// Big-endian words added up.
fn sum_native(bytes: &[u8]) -> u64 {
    // Words of four bytes in the machine's order, which the compiler turns into vectors; the order of the two
    // halves does not matter to the sum, and that of the bytes is put right once at the end (RFC 1071, 2(B)).
    let chunks = bytes.chunks_exact(4);
    let tail = chunks.remainder();
    let mut sum = 0u64;
    for chunk in chunks {
        let mut word = [0; 4];
        word.copy_from_slice(chunk);
        sum += u64::from(u32::from_ne_bytes(word));
    }
    let mut last = [0; 4];
    for (to, from) in last.iter_mut().zip(tail) {
        *to = *from;
    }
    sum += u64::from(u32::from_ne_bytes(last));
    u64::from(u16::from_be(fold(sum)))
}

/// Carries come round to the low end until one word is left.
#[inline(always)]
const fn fold(sum: u64) -> u16 {
    let sum = (sum & 0xffff_ffff) + (sum >> 32);
    let sum = (sum & 0xffff) + (sum >> 16);
    let sum = (sum & 0xffff) + (sum >> 16);
    let sum = (sum & 0xffff) + (sum >> 16);
    sum as u16
}

/// The checksum after one word under it changed: `~(~HC + ~m + m')` (RFC 1624, equation 3).
#[inline(always)]
pub const fn update16(checksum: u16, old: u16, new: u16) -> u16 {
    let sum = !checksum as u32 + !old as u32 + new as u32;
    let sum = (sum & 0xffff) + (sum >> 16);
    let sum = (sum & 0xffff) + (sum >> 16);
    !(sum as u16)
}

/// The checksum after two words under it changed, such as an IPv4 address.
#[inline(always)]
pub const fn update32(checksum: u16, old: u32, new: u32) -> u16 {
    let high = update16(checksum, (old >> 16) as u16, (new >> 16) as u16);
    update16(high, old as u16, new as u16)
}

/// The change of a sum as words under it change: computed once, and applied to each checksum that covers them (RFC 1624, equation 3).
///
/// PERF: a one's complement sum of 64 bits, as 2^16 - 1 divides 2^64 - 1: words are added four at a time, and folded once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Change(u64);

impl Change {
    /// Two words change, such as both ports.
    #[inline(always)]
    pub const fn of32(old: u32, new: u32) -> Change {
        Change(!old as u64 + new as u64)
    }
    /// Four words change, such as both addresses of an IPv4 packet.
    #[inline(always)]
    pub const fn of64(old: u64, new: u64) -> Change {
        Change(add64(!old, new))
    }
    /// The words of another change, too.
    #[must_use]
    #[inline(always)]
    pub const fn and(self, other: Change) -> Change {
        Change(add64(self.0, other.0))
    }
    /// The checksum after the change.
    #[inline(always)]
    pub const fn apply(self, checksum: u16) -> u16 {
        let sum = add64(self.0, !checksum as u64);
        // The upper half of a sum with its own halves exchanged is the sum of both, carry included.
        let sum = (sum.wrapping_add(sum.rotate_left(32)) >> 32) as u32;
        !((sum.wrapping_add(sum.rotate_left(16)) >> 16) as u16)
    }
}

/// The one's complement sum of two numbers.
#[inline(always)]
const fn add64(left: u64, right: u64) -> u64 {
    let (sum, has_carry) = left.overflowing_add(right);
    sum + has_carry as u64
}

/// The pseudo header of TCP and UDP over IPv4 (RFC 9293, 3.1); `length` counts from the transport header on.
pub fn pseudo_header4(source: Ipv4Addr, destination: Ipv4Addr, protocol: IpProtocol, length: u32) -> Sum {
    pseudo_header(&source.octets(), &destination.octets(), protocol, length)
}

/// The pseudo header of TCP, UDP and ICMP over IPv6 (RFC 8200, 8.1).
pub fn pseudo_header6(source: Ipv6Addr, destination: Ipv6Addr, protocol: IpProtocol, length: u32) -> Sum {
    pseudo_header(&source.octets(), &destination.octets(), protocol, length)
}

/// Both families' pseudo headers add up to the same: they differ in the addresses' length and in zeros.
fn pseudo_header(source: &[u8], destination: &[u8], protocol: IpProtocol, length: u32) -> Sum {
    of(source)
        .add_bytes(destination)
        .add_word(protocol.0.into())
        .add_word((length >> 16) as u16)
        .add_word(length as u16)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// RFC 1071, 1, word for word: no tricks.
    fn naive(bytes: &[u8]) -> u16 {
        let mut sum = 0u32;
        for pair in bytes.chunks(2) {
            sum += u32::from(u16::from_be_bytes([pair[0], pair.get(1).copied().unwrap_or(0)]));
            if sum > 0xffff {
                sum -= 0xffff;
            }
        }
        sum as u16
    }

    #[test]
    fn the_example_of_rfc_1071() {
        let bytes = [0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7];
        assert_eq!(of(&bytes).folded(), 0xddf2);
        assert_eq!(of(&bytes).checksum(), 0x220d);
    }

    #[test]
    fn the_examples_of_rfc_1624() {
        // Section 4: equation 3 yields 0x0000 where equation 2 went wrong with 0xffff.
        assert_eq!(update16(0xdd2f, 0x5555, 0x3285), 0x0000);
    }

    #[test]
    fn zero_is_never_stored_for_udp() {
        assert_eq!(of(&[0xff, 0xff]).checksum(), 0);
        assert_eq!(of(&[0xff, 0xff]).checksum_not_zero(), 0xffff);
        assert_eq!(of(&[0xff, 0xfe]).checksum_not_zero(), 1);
    }

    #[test]
    fn carries_of_a_whole_jumbo_packet_are_kept() {
        let bytes = vec![0xff; 65_535];
        assert_eq!(of(&bytes).folded(), naive(&bytes));
    }

    /// Words among which those are frequent where both zeros of one's complement matter.
    fn edge16() -> impl Strategy<Value = u16> {
        prop_oneof![Just(0), Just(0xffff), any::<u16>()]
    }
    fn edge64() -> impl Strategy<Value = u64> {
        prop::array::uniform4(edge16()).prop_map(|words| words.iter().fold(0, |all, word| all << 16 | u64::from(*word)))
    }

    proptest! {
        #[test]
        fn equals_the_naive_sum(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            prop_assert_eq!(of(&bytes).folded(), naive(&bytes));
        }

        #[test]
        fn pieces_add_up_to_the_whole(pieces in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..9), 0..6)) {
            let sum = pieces.iter().fold(Sum::default(), |sum, piece| sum.add_bytes(piece));
            prop_assert_eq!(sum.folded(), naive(&pieces.concat()));
        }

        #[test]
        fn an_update_equals_computing_anew(mut words in prop::collection::vec(any::<u16>(), 2..20), at: prop::sample::Index, new: u32) {
            // A header has some byte that is not zero, without which the two zeros cannot be told apart.
            words.push(0x4500);
            let bytes = |words: &[u16]| words.iter().flat_map(|word| word.to_be_bytes()).collect::<Vec<_>>();
            let before = of(&bytes(&words)).checksum();
            let at = at.index(words.len() - 2);
            let old = u32::from(words[at]) << 16 | u32::from(words[at + 1]);
            (words[at], words[at + 1]) = ((new >> 16) as u16, new as u16);
            prop_assert_eq!(update32(before, old, new), of(&bytes(&words)).checksum());
        }

        #[test]
        fn a_change_equals_updates_one_after_the_other(
            checksum in edge16(), old in edge64(), new in edge64(), ports in edge64(),
        ) {
            let (from, to) = ((ports >> 32) as u32, ports as u32);
            let addresses = Change::of64(old, new);
            let high = update32(checksum, (old >> 32) as u32, (new >> 32) as u32);
            let both = update32(high, old as u32, new as u32);
            prop_assert_eq!(addresses.apply(checksum), both);
            prop_assert_eq!(addresses.and(Change::of32(from, to)).apply(checksum), update32(both, from, to));
        }
    }

    #[test]
    fn pseudo_headers_of_both_families() {
        let sum = pseudo_header4([10, 0, 0, 1].into(), [10, 0, 0, 2].into(), IpProtocol::UDP, 12);
        assert_eq!(sum.folded(), naive(b"\x0a\0\0\x01\x0a\0\0\x02\0\x11\0\x0c"));
        let (a, b) = ("2001:db8::1".parse::<Ipv6Addr>().unwrap(), "2001:db8::2".parse::<Ipv6Addr>().unwrap());
        let laid_out = [&a.octets()[..], &b.octets(), b"\0\x01\0\x02\0\0\0\x3a"].concat();
        assert_eq!(pseudo_header6(a, b, IpProtocol::ICMP6, 0x10002).folded(), naive(&laid_out));
    }
}
