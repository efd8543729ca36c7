//! Reads received packets.

use quiver_wire::checksum::{self, pseudo_header4, pseudo_header6};
use quiver_wire::{
    EtherType, EthernetHeader, Header, Ip4Header, Ip6Header, IpProtocol, TcpFlags, TcpHeader, UdpHeader,
};

use crate::bare::folded;
use crate::plan::Tuple;

/// A TCP segment or a UDP datagram.
#[derive(Clone, Copy, Debug)]
pub struct Segment<'p> {
    /// Addresses and ports.
    pub tuple: Tuple,
    /// Numbers and flags of TCP; none for UDP.
    pub tcp: Option<Numbers>,
    /// The data.
    pub payload: &'p [u8],
}

/// TCP's numbers.
#[derive(Clone, Copy, Debug)]
pub struct Numbers {
    /// Of the first byte of payload, or of SYN or FIN.
    pub sequence: u32,
    /// The next byte that is expected.
    pub acknowledgment: u32,
    /// Control bits.
    pub flags: TcpFlags,
}

/// Why a packet is no segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unread {
    /// Something else: another protocol, a fragment, or cut off.
    Other,
    /// A checksum is wrong.
    Checksum,
}

/// A word of a frame in the machine's order, in which a sum is right or wrong as well (RFC 1071, 2(B)).
#[inline(always)]
fn native(frame: &[u8; BARE], at: usize) -> u64 {
    u64::from(u32::from_ne_bytes([frame[at], frame[at + 1], frame[at + 2], frame[at + 3]]))
}

/// Bytes of Ethernet, of IPv4 without options, and of TCP with an option of four bytes.
const BARE: usize = 14 + 20 + 24;

/// Reads a frame with a segment of TCP over IPv4 without payload and with one option at most, whose checksums are right if `verify` is
/// set. None of any other frame: [`read`] says what that is.
#[inline(always)]
pub fn read_bare(frame: &[u8], verify: bool) -> Option<Segment<'_>> {
    let bytes: &[u8; BARE] = frame.first_chunk()?;
    let word = |at: usize| u16::from_be_bytes([bytes[at], bytes[at + 1]]);
    let long = |at: usize| u32::from_be_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
    let option = match (word(16), bytes[46] >> 4) {
        (40, 5) => 0,
        (44, 6) => native(bytes, 54),
        _ => return None,
    };
    let is_fragment = word(20) & 0x3fff != 0;
    if EtherType::IP4 != EtherType(word(12).into())
        || bytes[14] != 0x45
        || bytes[23] != IpProtocol::TCP.0
        || is_fragment
    {
        return None;
    }
    if verify {
        let addresses = native(bytes, 26) + native(bytes, 30);
        let ip = native(bytes, 14) + native(bytes, 18) + native(bytes, 22) + addresses;
        let pseudo = u64::from(u16::from(IpProtocol::TCP.0).to_be()) + u64::from((word(16) - 20).to_be());
        let tcp = native(bytes, 34) + native(bytes, 38) + native(bytes, 42) + native(bytes, 46) + native(bytes, 50);
        if folded(ip) != u16::MAX || folded(tcp + option + addresses + pseudo) != u16::MAX {
            return None;
        }
    }
    let tuple = Tuple {
        source: long(26).into(),
        destination: long(30).into(),
        source_port: word(34),
        destination_port: word(36),
    };
    let numbers = Numbers { sequence: long(38), acknowledgment: long(42), flags: TcpFlags(bytes[47]) };
    Some(Segment { tuple, tcp: Some(numbers), payload: &[] })
}

/// Reads a frame. Checksums are verified if `verify` is set.
pub fn read(frame: &[u8], verify: bool) -> Result<Segment<'_>, Unread> {
    let (ethernet, rest) = EthernetHeader::parse(frame).ok_or(Unread::Other)?;
    match ethernet.ethertype {
        EtherType::IP4 => {
            let (ip, rest) = Ip4Header::parse(rest).ok_or(Unread::Other)?;
            let (options, rest) =
                ip.split(rest).filter(|_| ip.version() == 4 && !ip.is_fragment()).ok_or(Unread::Other)?;
            if verify && !ip.checksum_is_right(options) {
                return Err(Unread::Checksum);
            }
            let pseudo = verify.then(|| pseudo_header4(ip.source(), ip.destination(), ip.protocol, rest.len() as u32));
            let addresses = (u32::from_be_bytes(ip.source).into(), u32::from_be_bytes(ip.destination).into());
            transport(ip.protocol, addresses, rest, pseudo, true)
        }
        EtherType::IP6 => {
            let (ip, rest) = Ip6Header::parse(rest).ok_or(Unread::Other)?;
            let rest = rest.get(..usize::from(ip.payload_length.get())).ok_or(Unread::Other)?;
            let (source, destination) = (ip.source(), ip.destination());
            let pseudo = verify.then(|| pseudo_header6(source, destination, ip.next_header, rest.len() as u32));
            transport(ip.next_header, (source.into(), destination.into()), rest, pseudo, false)
        }
        _ => Err(Unread::Other),
    }
}

/// Reads what is behind an IP header.
#[inline(always)]
fn transport(
    protocol: IpProtocol,
    (source, destination): (u128, u128),
    bytes: &[u8],
    pseudo: Option<checksum::Sum>,
    is_ip4: bool,
) -> Result<Segment<'_>, Unread> {
    let is_right = |zero_is_none: bool, stored: u16| match pseudo {
        Some(_) if zero_is_none && stored == 0 => true,
        Some(pseudo) => pseudo.add_bytes(bytes).is_right(),
        None => true,
    };
    match protocol {
        IpProtocol::TCP => {
            let (tcp, rest) = TcpHeader::parse(bytes).ok_or(Unread::Other)?;
            let (_, payload) = tcp.split(rest).ok_or(Unread::Other)?;
            if !is_right(false, tcp.checksum.get()) {
                return Err(Unread::Checksum);
            }
            let (source_port, destination_port) = (tcp.source_port.get(), tcp.destination_port.get());
            let numbers =
                Numbers { sequence: tcp.sequence.get(), acknowledgment: tcp.acknowledgment.get(), flags: tcp.flags };
            let tuple = Tuple { source, destination, source_port, destination_port };
            Ok(Segment { tuple, tcp: Some(numbers), payload })
        }
        IpProtocol::UDP => {
            let (udp, rest) = UdpHeader::parse(bytes).ok_or(Unread::Other)?;
            let length = usize::from(udp.length.get()).checked_sub(UdpHeader::LENGTH).ok_or(Unread::Other)?;
            let payload = rest.get(..length).ok_or(Unread::Other)?;
            // Only IPv4 has datagrams without a checksum (RFC 768; RFC 8200, section 8.1).
            if !is_right(is_ip4, udp.checksum.get()) {
                return Err(Unread::Checksum);
            }
            let (source_port, destination_port) = (udp.source_port.get(), udp.destination_port.get());
            let tuple = Tuple { source, destination, source_port, destination_port };
            Ok(Segment { tuple, tcp: None, payload })
        }
        _ => Err(Unread::Other),
    }
}
