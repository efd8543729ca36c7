//! Segments that the router sends itself, without payload, between the ends of a key.

use quiver_wire::checksum::of;
use quiver_wire::{IpFamily, IpProtocol, V4, V6};

use super::cookie::{MSS, SACK_PERMITTED, WINDOW_SCALE};
use crate::key::Key;
use crate::segment::SYN;

/// Bytes of a TCP header without options, and of all options of a SYN.
const TCP: usize = 20;
const OPTIONS: usize = 12;
/// Bytes of the longest packet.
const LONGEST: usize = V6::HEADER_LENGTH + TCP + OPTIONS;
/// Hops that a packet may take.
const HOP_LIMIT: u8 = 64;

/// Options of a SYN.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SynOptions {
    /// Maximum segment size.
    pub mss: u16,
    /// Shift of windows.
    pub scale: Option<u8>,
    /// Whether selective acknowledgments are permitted.
    pub sack: bool,
}

/// A segment to be sent.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Outgoing {
    /// Whether the sender is the higher end.
    pub is_from_high: bool,
    pub flags: u8,
    pub sequence: u32,
    pub acknowledgment: u32,
    pub window: u16,
    /// Of a SYN.
    pub options: Option<SynOptions>,
}

/// A packet.
pub(crate) struct Composed {
    bytes: [u8; LONGEST],
    length: usize,
}

impl Composed {
    /// Its bytes, from the IP header on.
    pub fn bytes(&self) -> &[u8] {
        self.bytes.get(..self.length).unwrap_or_default()
    }
}

/// Writes bytes behind others.
struct Writer {
    packet: Composed,
}

impl Writer {
    fn put(&mut self, bytes: &[u8]) {
        let at = self.packet.length;
        if let Some(place) = self.packet.bytes.get_mut(at..at + bytes.len()) {
            place.copy_from_slice(bytes);
            self.packet.length += bytes.len();
        }
    }
    /// Puts a checksum at a place that has zeros.
    fn set_checksum(&mut self, at: usize, checksum: u16) {
        if let Some(place) = self.packet.bytes.get_mut(at..).and_then(<[u8]>::first_chunk_mut) {
            *place = checksum.to_be_bytes();
        }
    }
}

/// The packet of a segment between the ends of a key.
pub(crate) fn compose(key: &Key, segment: &Outgoing) -> Composed {
    let (low, high) = (key.low(), key.high());
    let (source, destination) = if segment.is_from_high { (high, low) } else { (low, high) };
    let options = segment
        .options
        .map_or(0, |options| 4 + 4 * usize::from(options.sack) + 4 * usize::from(options.scale.is_some()));
    let upper = (TCP + options) as u16;
    let mut to = Writer { packet: Composed { bytes: [0; LONGEST], length: 0 } };
    let pseudo = if key.is_ip6() {
        // RFC 8200, 3.
        to.put(&[0x60, 0, 0, 0]);
        to.put(&upper.to_be_bytes());
        to.put(&[IpProtocol::TCP.0, HOP_LIMIT]);
        to.put(&source.address.to_be_bytes());
        to.put(&destination.address.to_be_bytes());
        let [source, destination] = [source, destination].map(|end| V6::from_bits(end.address));
        V6::pseudo_header(source, destination, IpProtocol::TCP, upper.into())
    } else {
        // RFC 791, 3.1. RFC 6864, 4.1: an atomic datagram needs no identification.
        to.put(&[0x45, 0]);
        to.put(&(V4::HEADER_LENGTH as u16 + upper).to_be_bytes());
        to.put(&[0, 0, 0x40, 0, HOP_LIMIT, IpProtocol::TCP.0, 0, 0]);
        to.put(&(source.address as u32).to_be_bytes());
        to.put(&(destination.address as u32).to_be_bytes());
        let checksum = of(to.packet.bytes()).checksum();
        to.set_checksum(10, checksum);
        let [source, destination] = [source, destination].map(|end| V4::from_bits(end.address));
        V4::pseudo_header(source, destination, IpProtocol::TCP, upper.into())
    };
    let at = to.packet.length;
    to.put(&source.port.to_be_bytes());
    to.put(&destination.port.to_be_bytes());
    to.put(&segment.sequence.to_be_bytes());
    to.put(&segment.acknowledgment.to_be_bytes());
    to.put(&[(upper / 4) as u8 * 16, segment.flags]);
    to.put(&segment.window.to_be_bytes());
    to.put(&[0; 4]);
    if let Some(options) = segment.options {
        debug_assert!(segment.flags & SYN != 0, "others have no such options");
        let [high, low] = options.mss.to_be_bytes();
        to.put(&[MSS, 4, high, low]);
        if options.sack {
            to.put(&[1, 1, SACK_PERMITTED, 2]);
        }
        if let Some(scale) = options.scale {
            to.put(&[1, WINDOW_SCALE, 3, scale]);
        }
    }
    let sum = pseudo.add_bytes(to.packet.bytes().get(at..).unwrap_or_default());
    to.set_checksum(at + 16, sum.checksum());
    to.packet
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key::{End, Format, plain_ip4, plain_ip6};
    use crate::segment::{ACK, Segment, segment};
    use quiver_wire::checksum::{pseudo_header4, pseudo_header6};

    #[test]
    fn packets_of_both_families_are_whole_and_their_checksums_right() {
        let options = SynOptions { mss: 1460, scale: Some(7), sack: true };
        for (format, header) in [(Format::IP4, 20), (Format::IP6, 40)] {
            let (low, high) = (End { address: 0x0a00_0001, port: 1000 }, End { address: 0x0a00_0102, port: 80 });
            let (key, _) = Key::new((low, high), 5, (IpProtocol::TCP, format));
            for (is_from_high, flags, options) in [
                (false, SYN, Some(options)),
                (true, SYN | ACK, Some(SynOptions { sack: false, ..options })),
                (true, SYN | ACK, Some(SynOptions { scale: None, ..options })),
                (true, SYN | ACK, Some(SynOptions { scale: None, sack: false, ..options })),
                (false, ACK, None),
            ] {
                let made =
                    Outgoing { is_from_high, flags, sequence: 7, acknowledgment: 0xffff_fff0, window: 512, options };
                let composed = compose(&key, &made);
                let bytes = composed.bytes();
                let expected = Segment {
                    flags,
                    sequence: 7,
                    acknowledgment: 0xffff_fff0,
                    length: 0,
                    window: 512,
                    scale: options.and_then(|options| options.scale),
                };
                assert_eq!(segment(bytes, bytes.len() as u32), Some(expected), "{made:?}");
                let upper = &bytes[header..];
                let sum = match format {
                    Format::IP4 => {
                        assert!(of(&bytes[..20]).is_right());
                        let (ends, protocol) = bytes.first_chunk().and_then(plain_ip4).expect("it is plain");
                        assert_eq!(Key::ip4(ends, 5, protocol), (key, is_from_high));
                        let [from, to] = [ends.addresses >> 32, ends.addresses].map(|word| (word as u32).into());
                        pseudo_header4(from, to, IpProtocol::TCP, upper.len() as u32)
                    }
                    _ => {
                        let (ends, protocol) = bytes.first_chunk().and_then(plain_ip6).expect("it is plain");
                        assert_eq!(Key::ip6(ends, 5, protocol), (key, is_from_high));
                        let ((from, to), _) = ends;
                        pseudo_header6(from.into(), to.into(), IpProtocol::TCP, upper.len() as u32)
                    }
                };
                assert!(sum.add_bytes(upper).is_right(), "{made:?}");
            }
        }
    }
}
