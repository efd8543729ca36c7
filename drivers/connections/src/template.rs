//! Writes packets: a header that is ready but for addresses, ports and numbers, and payload whose sum is known.

use quiver_wire::{IpProtocol, Sum, TcpFlags, checksum};

use crate::bare::Bare;
use crate::load::{Load, Side};
use crate::plan::Tuple;
use crate::profile::{Transport, digits};

/// Frames are at least this long, without their checksum (IEEE 802.3).
const FRAME_MIN: usize = 60;
/// Bytes of the Ethernet header.
const ETHERNET: usize = 14;
const IP4: usize = 20;
const IP6: usize = 40;
const TCP: usize = 20;
const UDP: usize = 8;
/// TCP's option for the segment size (RFC 9293, section 3.2).
const MSS: u8 = 2;
/// Bytes that are announced as the receive window: all that a field without scaling says.
const WINDOW: u16 = u16::MAX;
const HOPS: u8 = 64;

/// A packet to be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Out {
    /// Control bits; zero for UDP.
    pub flags: TcpFlags,
    /// Number of its first byte.
    pub sequence: u32,
    /// The byte that is expected next.
    pub acknowledgment: u32,
    /// Where its payload begins in what the end sends in this round.
    pub at: u32,
    /// Bytes of payload.
    pub length: u32,
}

/// Packets of a generator, all but what differs from one to another.
#[derive(Debug)]
pub struct Template {
    /// Ethernet and IP header; length, checksum and addresses are zero.
    header: Vec<u8>,
    is_ip4: bool,
    transport: Transport,
    /// Bytes from the first one of the frame to the transport header.
    network: usize,
    /// The sum of this IPv4 header.
    ip_sum: Sum,
    /// The sum of a segment of which nothing is known: of the protocol's number.
    sum: Sum,
    mss: u16,
    /// Bytes of a round's payload that are not zero.
    text: Vec<u8>,
    /// Where the connection's number begins in them.
    number_at: Option<usize>,
    /// Segments without payload.
    bare: Option<Bare>,
}

impl Template {
    /// Packets of a load.
    pub fn new(load: &Load) -> Template {
        let is_ip4 = load.is_ip4();
        let protocol = if load.profile.transport == Transport::Tcp { IpProtocol::TCP } else { IpProtocol::UDP };
        let mut header = [load.gateway.0, load.mac.0].concat();
        match is_ip4 {
            // May not be fragmented: atomic, so that an identification of zero is right (RFC 6864, section 4.1).
            true => header.extend([&[8, 0, 0x45, 0, 0, 0, 0, 0, 0x40, 0, HOPS, protocol.0][..], &[0; 10]].concat()),
            false => header.extend([&[0x86, 0xdd, 0x60, 0, 0, 0, 0, 0, protocol.0, HOPS][..], &[0; 32]].concat()),
        }
        let network = header.len();
        let is_client = load.side == Side::Client;
        // The payload of a segment, not of the largest that a link could carry: what goes around it is the device's.
        let mss = load.profile.segment.min(u32::from(u16::MAX)) as u16;
        let [high, low] = mss.to_be_bytes();
        let is_bare = is_ip4 && load.profile.transport == Transport::Tcp;
        Template {
            bare: Bare::new(&header, WINDOW, [MSS, 4, high, low]).filter(|_| is_bare),
            is_ip4,
            transport: load.profile.transport,
            network,
            ip_sum: checksum::of(&header[ETHERNET..]),
            sum: Sum::NONE.add_word(protocol.0.into()),
            header,
            mss,
            text: if is_client { load.profile.request_text() } else { vec![] },
            number_at: load.profile.number_at().filter(|_| is_client),
        }
    }

    /// Bytes of a packet's frame.
    #[inline(always)]
    pub fn length(&self, out: &Out) -> usize {
        self.bytes(out).max(FRAME_MIN)
    }
    /// The same without padding.
    #[inline(always)]
    fn bytes(&self, out: &Out) -> usize {
        self.network + self.transport_length(out) + out.length as usize
    }
    #[inline(always)]
    fn transport_length(&self, out: &Out) -> usize {
        match self.transport {
            Transport::Udp => UDP,
            Transport::Tcp if out.flags.contains(TcpFlags::SYN) => TCP + 4,
            Transport::Tcp => TCP,
        }
    }

    /// Writes a packet into a frame of [`Template::length`] bytes. False, and nothing useful written, if it is shorter.
    #[inline(always)]
    pub fn write(&self, frame: &mut [u8], tuple: &Tuple, out: &Out, id: u32) -> bool {
        match &self.bare {
            Some(bare) if out.length == 0 => bare.write(frame, tuple, out.flags, out.sequence, out.acknowledgment),
            _ => self.write_into(frame, tuple, out, id).is_some(),
        }
    }
    #[inline(never)]
    fn write_into(&self, frame: &mut [u8], tuple: &Tuple, out: &Out, id: u32) -> Option<()> {
        let bytes = self.bytes(out);
        let (frame, padding) = frame.split_at_mut_checked(bytes)?;
        padding.fill(0);
        let (network, rest) = frame.split_at_mut_checked(self.network)?;
        network.copy_from_slice(&self.header);
        let (transport, payload) = rest.split_at_mut_checked(self.transport_length(out))?;
        let payload_sum = self.fill(payload, out.at as usize, id);
        let length = (transport.len() + payload.len()) as u16;
        let addresses = self.address(network, length, tuple)?;
        let sum = add_sum(add_sum(self.sum, addresses), payload_sum);
        let sum = sum.add_word(length).add_word(tuple.source_port).add_word(tuple.destination_port);
        let ports = u32::from(tuple.source_port) << 16 | u32::from(tuple.destination_port);
        match self.transport {
            Transport::Tcp => {
                let words = (transport.len() / 4) as u8;
                let [offset, flags] = [words << 4, out.flags.0];
                let sum = add32(add32(sum, out.sequence), out.acknowledgment);
                let sum = sum.add_word(u16::from_be_bytes([offset, flags])).add_word(WINDOW);
                let [high, low] = self.mss.to_be_bytes();
                let option = [MSS, 4, high, low];
                let sum = if transport.len() > TCP { add32(sum, u32::from_be_bytes(option)) } else { sum };
                if let Some(place) = transport.get_mut(TCP..TCP + 4) {
                    place.copy_from_slice(&option);
                }
                let tcp: &mut [u8; TCP] = transport.first_chunk_mut()?;
                tcp[..4].copy_from_slice(&ports.to_be_bytes());
                tcp[4..8].copy_from_slice(&out.sequence.to_be_bytes());
                tcp[8..12].copy_from_slice(&out.acknowledgment.to_be_bytes());
                tcp[12..14].copy_from_slice(&[offset, flags]);
                tcp[14..16].copy_from_slice(&WINDOW.to_be_bytes());
                tcp[16..18].copy_from_slice(&sum.checksum().to_be_bytes());
                tcp[18..20].copy_from_slice(&[0, 0]);
            }
            Transport::Udp => {
                let udp: &mut [u8; UDP] = transport.first_chunk_mut()?;
                // The length is in the header, too.
                let sum = sum.add_word(length);
                udp[..4].copy_from_slice(&ports.to_be_bytes());
                udp[4..6].copy_from_slice(&length.to_be_bytes());
                udp[6..8].copy_from_slice(&sum.checksum_not_zero().to_be_bytes());
            }
        }
        Some(())
    }

    /// Bytes of the frame of a packet that has so many behind its IP header.
    pub fn length_around(&self, bytes: usize) -> usize {
        (self.network + bytes).max(FRAME_MIN)
    }
    /// Writes a packet around what is behind its IP header: `bytes` without ports and checksum, and `sum`, the sum of these. False, and
    /// nothing useful written, if the frame is shorter than [`Template::length_around`].
    pub fn write_around(&self, frame: &mut [u8], tuple: &Tuple, bytes: &[u8], sum: Sum) -> bool {
        self.write_behind(frame, tuple, bytes, sum).is_some()
    }
    fn write_behind(&self, frame: &mut [u8], tuple: &Tuple, bytes: &[u8], sum: Sum) -> Option<()> {
        let (frame, padding) = frame.split_at_mut_checked(self.network + bytes.len())?;
        padding.fill(0);
        let (network, transport) = frame.split_at_mut_checked(self.network)?;
        network.copy_from_slice(&self.header);
        transport.copy_from_slice(bytes);
        let length = bytes.len() as u16;
        let addresses = self.address(network, length, tuple)?;
        let sum = add_sum(add_sum(self.sum, addresses), sum).add_word(length);
        let sum = sum.add_word(tuple.source_port).add_word(tuple.destination_port);
        let (at, checksum) = match self.transport {
            Transport::Tcp => (16, sum.checksum()),
            Transport::Udp => (6, sum.checksum_not_zero()),
        };
        transport.get_mut(..2)?.copy_from_slice(&tuple.source_port.to_be_bytes());
        transport.get_mut(2..4)?.copy_from_slice(&tuple.destination_port.to_be_bytes());
        transport.get_mut(at..at + 2)?.copy_from_slice(&checksum.to_be_bytes());
        Some(())
    }

    /// Completes the IP header of a packet with so many bytes behind it. Returns the sum of its addresses.
    #[inline(always)]
    fn address(&self, network: &mut [u8], length: u16, tuple: &Tuple) -> Option<Sum> {
        Some(match self.is_ip4 {
            true => {
                let ip: &mut [u8; IP4] = network.get_mut(ETHERNET..)?.first_chunk_mut()?;
                let total = length + IP4 as u16;
                let [source, destination] = [tuple.source as u32, tuple.destination as u32];
                let addresses = add32(add32(Sum::NONE, source), destination);
                let checksum = add32(add32(self.ip_sum, source), destination).add_word(total).checksum();
                ip[2..4].copy_from_slice(&total.to_be_bytes());
                ip[10..12].copy_from_slice(&checksum.to_be_bytes());
                ip[12..16].copy_from_slice(&source.to_be_bytes());
                ip[16..20].copy_from_slice(&destination.to_be_bytes());
                addresses
            }
            false => {
                let ip: &mut [u8; IP6] = network.get_mut(ETHERNET..)?.first_chunk_mut()?;
                ip[4..6].copy_from_slice(&length.to_be_bytes());
                ip[8..24].copy_from_slice(&tuple.source.to_be_bytes());
                ip[24..40].copy_from_slice(&tuple.destination.to_be_bytes());
                checksum::of(&ip[8..40])
            }
        })
    }

    /// Writes payload from a place on: the text, and zeros behind it. Returns its sum.
    #[inline(always)]
    fn fill(&self, payload: &mut [u8], at: usize, id: u32) -> Sum {
        if at >= self.text.len() {
            payload.fill(0);
            return Sum::NONE;
        }
        self.fill_text(payload, at, id)
    }
    #[inline(never)]
    fn fill_text(&self, payload: &mut [u8], at: usize, id: u32) -> Sum {
        let text = self.text.get(at..).unwrap_or_default();
        let (first, rest) = payload.split_at_mut(text.len().min(payload.len()));
        first.copy_from_slice(&text[..first.len()]);
        rest.fill(0);
        // A request is one packet, so the number is in it as a whole.
        let number = digits(id);
        let from = self.number_at.and_then(|from| from.checked_sub(at));
        if let Some(place) = from.and_then(|from| first.get_mut(from..from + number.len())) {
            place.copy_from_slice(number.as_bytes());
        }
        checksum::of(first)
    }
}

#[inline(always)]
fn add32(sum: Sum, word: u32) -> Sum {
    sum.add_word((word >> 16) as u16).add_word(word as u16)
}

#[inline(always)]
fn add_sum(sum: Sum, other: Sum) -> Sum {
    sum.add_word(other.folded())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::segment::read;

    /// Text of a packet of a load.
    fn written(load: &str, out: Out, id: u32) -> Vec<u8> {
        let load = Load::parse(load).unwrap();
        let template = Template::new(&load);
        let tuple = crate::plan::Places::new(&load.plan).tuple(id);
        // What was there before must not show.
        let mut frame = vec![0xa5; template.length(&out)];
        assert!(template.write(&mut frame, &tuple, &out, id));
        let mut short = frame.clone();
        short.truncate(template.bytes(&out) - 1);
        assert!(!template.write(&mut short, &tuple, &out, id));
        let segment = read(&frame, true).expect("right checksums");
        assert_eq!((segment.tuple, segment.payload.len()), (tuple, out.length as usize));
        if let Some(numbers) = segment.tcp {
            assert_eq!(
                (numbers.sequence, numbers.acknowledgment, numbers.flags),
                (out.sequence, out.acknowledgment, out.flags)
            );
        }
        frame
    }

    #[test]
    fn packets_have_right_checksums_in_both_families_and_transports() {
        let mut rng = fastrand::Rng::with_seed(34);
        let families = ["", "clients 2001:db8:1::ffff:0 servers 2001:db8:2::"];
        for round in 0..400 {
            for (family, transport) in families.iter().flat_map(|family| [(family, "tcp"), (family, "udp")]) {
                let flags = match round % 4 {
                    _ if transport == "udp" => 0,
                    0 => TcpFlags::SYN.0,
                    1 => TcpFlags::SYN.0 | TcpFlags::ACK.0,
                    2 => TcpFlags::FIN.0 | TcpFlags::ACK.0,
                    _ => TcpFlags::PSH.0 | TcpFlags::ACK.0,
                };
                let length = if flags & TcpFlags::SYN.0 != 0 { 0 } else { rng.u32(0..1449) };
                let out =
                    Out { flags: TcpFlags(flags), sequence: rng.u32(..), acknowledgment: rng.u32(..), at: 0, length };
                let load = format!("{family} transport {transport} request 1 segment 1448");
                let frame = written(&load, out, rng.u32(0..64_512));
                assert!(frame.len() >= 60);
            }
        }
    }

    #[test]
    fn segments_without_payload_are_the_same_at_fixed_places() {
        let mut rng = fastrand::Rng::with_seed(5);
        let mut template = Template::new(&Load::parse("segment 1234").unwrap());
        for flags in [TcpFlags::SYN.0, TcpFlags::SYN.0 | TcpFlags::ACK.0, TcpFlags::ACK.0, TcpFlags::FIN.0] {
            for _ in 0..500 {
                let out = Out {
                    flags: TcpFlags(flags),
                    sequence: rng.u32(..),
                    acknowledgment: rng.u32(..),
                    at: 0,
                    length: 0,
                };
                let tuple = Tuple {
                    source: rng.u32(..).into(),
                    destination: rng.u32(..).into(),
                    source_port: rng.u16(..),
                    destination_port: rng.u16(..),
                };
                let mut frames = [[0xa5; FRAME_MIN]; 2];
                let bare = template.bare.take();
                assert!(bare.is_some() && template.write(&mut frames[0], &tuple, &out, 0));
                template.bare = bare;
                assert!(template.write(&mut frames[1], &tuple, &out, 0));
                assert_eq!(frames[0], frames[1], "{out:?} {tuple:?}");
            }
        }
    }

    #[test]
    fn requests_have_the_number_of_their_connection() {
        let load = "get /f{n} request 200";
        let out = Out { flags: TcpFlags::ACK, sequence: 1, acknowledgment: 1, at: 0, length: 200 };
        let frame = written(load, out, 4711);
        let payload = read(&frame, true).unwrap().payload.to_vec();
        assert!(payload.starts_with(b"GET /f0004711 HTTP/1.1\r\n"), "{payload:?}");
        assert_eq!(payload[199], 0);
        // From the middle on.
        let frame = written(load, Out { at: 14, length: 100, ..out }, 4711);
        assert!(read(&frame, true).unwrap().payload.starts_with(b"HTTP/1.1\r\n"));
    }

    #[test]
    fn wrong_checksums_and_foreign_packets_are_refused() {
        use crate::segment::Unread;
        let out = Out { flags: TcpFlags::ACK, sequence: 1, acknowledgment: 1, at: 0, length: 20 };
        let frame = written("", out, 9);
        for at in 14..frame.len() {
            let mut wrong = frame.clone();
            wrong[at] ^= 0x10;
            let expected =
                if at < 34 { [Unread::Checksum, Unread::Other] } else { [Unread::Checksum, Unread::Checksum] };
            let found = read(&wrong, true).map(|segment| segment.tuple);
            assert!(found.is_err_and(|error| expected.contains(&error) || at == 46), "byte {at}");
        }
        for length in 0..frame.len() {
            assert_eq!(read(&frame[..length], true).err(), Some(Unread::Other), "{length}");
        }
    }

    #[test]
    fn segments_without_payload_are_read_at_fixed_places_if_they_are_right() {
        use crate::segment::read_bare;
        for flags in [TcpFlags::SYN.0, TcpFlags::SYN.0 | TcpFlags::ACK.0, TcpFlags::ACK.0, TcpFlags::FIN.0] {
            let out = Out { flags: TcpFlags(flags), sequence: 77, acknowledgment: 99, at: 0, length: 0 };
            let frame = written("", out, 9);
            let of = |frame: &[u8], verify| read_bare(frame, verify).map(|segment| format!("{segment:?}"));
            assert_eq!(of(&frame, true), read(&frame, true).ok().map(|segment| format!("{segment:?}")));
            let end = if flags & TcpFlags::SYN.0 != 0 { 58 } else { 54 };
            for at in 12..end {
                let mut wrong = frame.clone();
                wrong[at] ^= 0x10;
                assert_eq!(of(&wrong, true), None, "byte {at}");
                assert!(read(&wrong, true).is_err(), "byte {at}");
            }
            assert_eq!(of(&frame[..57], true), None);
            let mut unverified = frame;
            unverified[50] ^= 1;
            assert!(of(&unverified, false).is_some());
        }
    }
}
