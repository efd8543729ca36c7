//! Segments of TCP, as far as sessions look at them.

use quiver_ip::Family;
use quiver_ip::family::Payload;
use quiver_wire::{IpProtocol, V4, V6};

use crate::key::plain_ip4;

/// Flags of a header (RFC 9293, 3.1).
pub(crate) const FIN: u8 = 1;
pub(crate) const SYN: u8 = 2;
pub(crate) const RST: u8 = 4;
pub(crate) const ACK: u8 = 16;

/// Fields of a TCP header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    pub(crate) flags: u8,
    pub(crate) sequence: u32,
    pub(crate) acknowledgment: u32,
    /// Bytes of payload.
    pub(crate) length: u32,
    /// Window, as the header has it.
    pub(crate) window: u16,
    /// Shift of windows, which a SYN may say.
    pub(crate) scale: Option<u8>,
}

impl Segment {
    /// One without flags: that of a packet whose header cannot be read.
    pub(crate) const UNKNOWN: Segment =
        Segment { flags: 0, sequence: 0, acknowledgment: 0, length: 0, window: 0, scale: None };

    /// The segment in a packet's payload of so many bytes, which begins with the TCP header. None if the header is truncated, or says
    /// that it is shorter than it can be.
    pub fn of(header: &[u8], bytes: u32) -> Option<Segment> {
        let (header, behind) = header.split_first_chunk::<20>()?;
        let word = |at: usize| u32::from_be_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]]);
        // RFC 9293, 3.1: the header has five words or more.
        let words = Some(header[12] >> 4).filter(|words| *words >= 5)?;
        let length = bytes.checked_sub(u32::from(words) * 4)?;
        let (flags, window) = (header[13], u16::from_be_bytes([header[14], header[15]]));
        let options = behind.get(..usize::from(words - 5) * 4).filter(|_| flags & SYN != 0);
        let scale = options.and_then(scale);
        Some(Segment { flags, sequence: word(4), acknowledgment: word(8), length, window, scale })
    }
    /// The number behind its last byte: SYN and FIN have one each (RFC 9293, 3.4).
    pub(crate) fn end(&self) -> u32 {
        let flags = u32::from(self.flags & SYN != 0) + u32::from(self.flags & FIN != 0);
        self.sequence.wrapping_add(self.length).wrapping_add(flags)
    }
    /// Whether it is the first one of a connection (RFC 9293, 3.5): a SYN, and none of ACK, FIN and RST.
    pub(crate) fn opens(self) -> bool {
        self.flags & (SYN | ACK | FIN | RST) == SYN
    }
    pub(crate) fn has(self, flags: u8) -> bool {
        self.flags & flags == flags
    }
}

/// The shift of windows among the options of a SYN (RFC 7323, 2.2).
fn scale(mut options: &[u8]) -> Option<u8> {
    const END: u8 = 0;
    const NO_OPERATION: u8 = 1;
    const WINDOW_SCALE: u8 = 3;
    loop {
        options = match options {
            [] | [END, ..] => return None,
            [NO_OPERATION, rest @ ..] => rest,
            [WINDOW_SCALE, 3, scale, ..] => return Some(*scale),
            // RFC 9293, 3.1: an option's length counts its kind and itself.
            [_, length, ..] if *length >= 2 => options.get(usize::from(*length)..)?,
            _ => return None,
        };
    }
}

/// The payload of a packet that begins with its IP header.
fn payload(packet: &[u8]) -> Option<Payload> {
    if packet.first()? >> 4 == 6 { V6::payload(packet) } else { V4::payload(packet) }
}

/// Whether a packet is one of TCP, or a fragment of it.
pub(crate) fn is_tcp(packet: &[u8]) -> bool {
    payload(packet).is_some_and(|payload| payload.protocol == IpProtocol::TCP)
}

/// Whether a packet is a fragment, also the first one.
pub(crate) fn is_fragment(packet: &[u8]) -> bool {
    payload(packet).is_some_and(|payload| payload.fragment.is_some())
}

/// Where the TCP header of a packet begins, from its IP header on; None if it is none, or a later fragment.
pub(crate) fn place(packet: &[u8]) -> Option<usize> {
    let payload = payload(packet).filter(|payload| payload.protocol == IpProtocol::TCP)?;
    payload.fragment.is_none_or(|place| place == 0).then_some(payload.offset)
}

/// The segment of a packet of this length that begins with its IP header; None if it is none, or a later fragment.
#[inline(always)]
pub(crate) fn segment(packet: &[u8], length: u32) -> Option<Segment> {
    /// Bytes of a header without options.
    const HEADER: usize = 20;
    match packet.first_chunk().and_then(plain_ip4) {
        Some((_, IpProtocol::TCP)) => Segment::of(packet.get(HEADER..)?, length.checked_sub(HEADER as u32)?),
        _ => any_segment(packet, length),
    }
}

/// The same of a packet with options, or of IPv6.
#[inline(never)]
fn any_segment(packet: &[u8], length: u32) -> Option<Segment> {
    let offset = place(packet)?;
    Segment::of(packet.get(offset..)?, length.checked_sub(offset as u32)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn segments_are_read_behind_headers_with_and_without_options() {
        let mut packet = vec![0x45, 0, 0, 40, 0, 0, 0x40, 0, 64, 6, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2];
        packet.extend([0, 1, 0, 2, 0, 0, 0, 7, 0, 0, 0, 9, 5 << 4, ACK, 0, 0, 0, 0, 0, 0]);
        let expected = Segment { flags: ACK, sequence: 7, acknowledgment: 9, ..Segment::UNKNOWN };
        assert_eq!((segment(&packet, 40), segment(&packet[..39], 39)), (Some(expected), None));
        packet.splice(20..20, [1, 1, 1, 0]);
        (packet[0], packet[3]) = (0x46, 44);
        assert_eq!(segment(&packet, 44), Some(expected));
        packet[7] = 1;
        assert_eq!(segment(&packet, 44), None, "a later fragment");
    }

    #[test]
    fn segments_are_read_with_their_options() {
        let mut header = [0; 24];
        (header[4..8]).copy_from_slice(&7u32.to_be_bytes());
        (header[8..12]).copy_from_slice(&9u32.to_be_bytes());
        (header[12], header[13], header[15]) = (6 << 4, FIN | ACK, 5);
        let segment = Segment { flags: FIN | ACK, sequence: 7, acknowledgment: 9, length: 100, window: 5, scale: None };
        assert_eq!(Segment::of(&header, 124), Some(segment));
        assert_eq!(Segment::of(&header, 23), None);
        assert_eq!(Segment::of(&header[..19], 124), None);
        header[12] = 4 << 4;
        assert_eq!(Segment::of(&header, 124), None);
    }

    #[test]
    fn a_syn_says_how_windows_are_scaled() {
        let cases: [(&[u8], Option<u8>); 10] = [
            (&[3, 3, 7, 0], Some(7)),
            (&[2, 4, 5, 180, 1, 3, 3, 14], Some(14)),
            (&[1, 1, 1, 1, 3, 3, 0, 0], Some(0)),
            // The end comes before; lengths are wrong, or lead beyond the header.
            (&[0, 3, 3, 7], None),
            (&[3, 2, 7, 0], None),
            (&[2, 0, 3, 3, 7, 0, 0, 0], None),
            (&[2, 200, 3, 3, 7, 0, 0, 0], None),
            (&[1, 1, 1, 3], None),
            (&[1, 1, 3, 3], None),
            (&[], None),
        ];
        for (options, expected) in cases {
            let mut header = vec![0; 20];
            header.extend(options);
            header[12] = ((header.len() / 4) as u8) << 4;
            header[13] = SYN;
            // The next bytes are no options.
            header.extend([3, 3, 9, 0]);
            let segment = Segment::of(&header, header.len() as u32).expect("it is one");
            assert_eq!(segment.scale, expected, "{options:?}");
            header[13] = ACK;
            assert_eq!(Segment::of(&header, header.len() as u32).expect("it is one").scale, None);
        }
    }
}
