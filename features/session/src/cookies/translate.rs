//! Translates sequence numbers between the halves of a connection, in segments and in those that ICMP errors quote.
//!
//! Checksums are updated by what changes (RFC 1624), so a damaged segment stays recognizable.

use quiver_ip::Family;
use quiver_wire::checksum::{Change, update16};
use quiver_wire::options::Options;
use quiver_wire::{IpProtocol, V4, V6};

use crate::segment::ACK;

/// Places in a TCP header (RFC 9293, 3.1).
const SEQUENCE: usize = 4;
const ACKNOWLEDGMENT: usize = 8;
const OFFSET: usize = 12;
const FLAGS: usize = 13;
const WINDOW: usize = 14;
const CHECKSUM: usize = 16;
const HEADER: usize = 20;
/// Kind of the option with blocks of selective acknowledgments (RFC 2018, 3).
const SACK: u8 = 5;
/// Bytes of an ICMP error in front of the quoted packet, and where it has its checksum.
const ICMP_HEADER: usize = 8;
const ICMP_CHECKSUM: usize = 2;

/// The changes to segments of one direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Shift {
    /// Added to sequence numbers.
    pub sequence: u32,
    /// Added to acknowledgments, selective ones among them.
    pub acknowledgment: u32,
    /// Shifts of windows: to the left, and then to the right.
    pub window: (u8, u8),
}

fn word(bytes: &[u8], at: usize) -> Option<u16> {
    bytes.get(at..)?.first_chunk().map(|word| u16::from_be_bytes(*word))
}

fn long(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..)?.first_chunk().map(|word| u32::from_be_bytes(*word))
}

fn set<const N: usize>(bytes: &mut [u8], at: usize, to: [u8; N]) {
    if let Some(place) = bytes.get_mut(at..).and_then(<[u8]>::first_chunk_mut) {
        *place = to;
    }
}

/// Adds to a number of a header; the change of its sum. `at` may be odd, as options begin anywhere.
fn add(bytes: &mut [u8], at: usize, by: u32) -> Change {
    let Some(old) = long(bytes, at).filter(|_| by != 0) else { return Change::default() };
    let new = old.wrapping_add(by);
    set(bytes, at, new.to_be_bytes());
    // RFC 1071, 2(B): of what begins at an odd place the bytes of each word are swapped in the sum.
    let summed = |number: u32| if at.is_multiple_of(2) { number } else { number.swap_bytes().rotate_left(16) };
    Change::of32(summed(old), summed(new))
}

/// Translates a segment, from its TCP header on. `is_unfinished`: its checksum is yet to be computed.
pub fn translate(tcp: &mut [u8], shift: &Shift, is_unfinished: bool) {
    let (Some(flags), Some(offset)) = (tcp.get(FLAGS).copied(), tcp.get(OFFSET).copied()) else { return };
    let Some(old) = word(tcp, CHECKSUM) else { return };
    let mut change = add(tcp, SEQUENCE, shift.sequence);
    if flags & ACK != 0 {
        change = change.and(add(tcp, ACKNOWLEDGMENT, shift.acknowledgment));
        let options = tcp.get(HEADER..usize::from(offset >> 4) * 4).filter(|_| shift.acknowledgment != 0);
        // There are 40 bytes of options, so ten numbers at most.
        let (mut places, mut count) = ([0; 10], 0);
        for option in Options::new(options.unwrap_or_default()).map_while(Result::ok) {
            if option.kind == SACK {
                for (place, at) in places.iter_mut().skip(count).zip((0..option.data.len() / 4).map(|i| i * 4)) {
                    *place = HEADER + option.offset + 2 + at;
                    count += 1;
                }
            }
        }
        for at in places.into_iter().take(count) {
            change = change.and(add(tcp, at, shift.acknowledgment));
        }
    }
    if let Some(window) = word(tcp, WINDOW).filter(|_| shift.window.0 != shift.window.1) {
        let (left, right) = shift.window;
        let new = (u64::from(window) << left >> right).min(u16::MAX.into()) as u16;
        set(tcp, WINDOW, new.to_be_bytes());
        change = change.and(Change::of32(window.into(), new.into()));
    }
    if !is_unfinished {
        set(tcp, CHECKSUM, change.apply(old).to_be_bytes());
    }
}

/// Translates the segment that an ICMP error quotes, as far as it is quoted. `packet` begins with the error's IP header. Windows stay.
pub fn translate_error(packet: &mut [u8], shift: &Shift) {
    match packet.first().map(|first| first >> 4) {
        Some(4) => translate_quoted::<V4>(packet, shift),
        Some(6) => translate_quoted::<V6>(packet, shift),
        _ => {}
    }
}

/// The same of a family.
fn translate_quoted<F: Family>(packet: &mut [u8], shift: &Shift) {
    let Some(error) = F::payload(packet).map(|payload| payload.offset) else { return };
    let Some(quoted) = packet.get(error + ICMP_HEADER..) else { return };
    let Some(payload) = F::payload(quoted).filter(|payload| payload.protocol == IpProtocol::TCP) else { return };
    if payload.fragment.is_some_and(|place| place > 0) {
        return;
    }
    let Some(checksum) = word(packet, error + ICMP_CHECKSUM) else { return };
    let Some(tcp) = packet.get_mut(error + ICMP_HEADER + payload.offset..) else { return };
    let mut change = add(tcp, SEQUENCE, shift.sequence);
    if tcp.get(FLAGS).is_some_and(|flags| flags & ACK != 0) {
        change = change.and(add(tcp, ACKNOWLEDGMENT, shift.acknowledgment));
    }
    // The quoted checksum follows where it is quoted, and is part of what the error's covers.
    let old = word(tcp, CHECKSUM);
    let new = old.map(|old| change.apply(old));
    new.into_iter().for_each(|new| set(tcp, CHECKSUM, new.to_be_bytes()));
    let checksum = change.apply(checksum);
    let checksum = old.zip(new).map_or(checksum, |(old, new)| update16(checksum, old, new));
    set(packet, error + ICMP_CHECKSUM, checksum.to_be_bytes());
}

#[cfg(test)]
mod tests;
