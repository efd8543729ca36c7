//! Rewrites addresses, ports and checksums of packets (RFC 3022, 4.1), and those of the packets that ICMP errors quote (RFC 5508, 4).
//!
//! Checksums are updated by what changes (RFC 1624), so a packet that was damaged before stays recognizable. A UDP checksum of zero
//! stays zero (RFC 3022, 4.1).

use quiver_session::key::{Ends4, plain_ip4};
use quiver_wire::IpProtocol;
use quiver_wire::checksum::{Change, of, update16, update32};

use crate::tuple::Tuple;

/// Places in an IPv4 header (RFC 791, 3.1).
const CHECKSUM: usize = 10;
const SOURCE: usize = 12;
const DESTINATION: usize = 16;
/// Smallest header.
const HEADER: usize = 20;
/// Bytes of an ICMP error in front of the quoted packet (RFC 792).
const ICMP_HEADER: usize = 8;
/// Where ICMP has its checksum, and an echo its identifier.
const ICMP_CHECKSUM: usize = 2;
const ICMP_IDENTIFIER: usize = 4;

#[inline(always)]
fn word(bytes: &[u8], at: usize) -> Option<u16> {
    bytes.get(at..)?.first_chunk().map(|word| u16::from_be_bytes(*word))
}
fn address(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..)?.first_chunk().map(|word| u32::from_be_bytes(*word))
}
#[inline(always)]
fn set<const N: usize>(bytes: &mut [u8], at: usize, to: [u8; N]) {
    if let Some(place) = bytes.get_mut(at..).and_then(<[u8]>::first_chunk_mut) {
        *place = to;
    }
}

/// Bytes of the IP header, and whether a transport header follows: not in later fragments.
fn header(packet: &[u8]) -> Option<(usize, bool)> {
    let length = usize::from(packet.first()? & 0xf) * 4;
    let is_first = word(packet, 6)? & 0x1fff == 0;
    (length >= HEADER && packet.len() >= length).then_some((length, is_first))
}

/// Sets source and destination of an IP header; returns those that it had.
fn set_addresses(packet: &mut [u8], (source, destination): (u32, u32)) -> Option<(u32, u32)> {
    let old = (address(packet, SOURCE)?, address(packet, DESTINATION)?);
    let checksum = update32(word(packet, CHECKSUM)?, old.0, source);
    set(packet, CHECKSUM, update32(checksum, old.1, destination).to_be_bytes());
    set(packet, SOURCE, source.to_be_bytes());
    set(packet, DESTINATION, destination.to_be_bytes());
    Some(old)
}

/// Where the checksum of a transport header is, and whether it is optional.
fn transport_checksum(protocol: u8) -> (usize, bool) {
    if IpProtocol(protocol) == IpProtocol::TCP { (16, false) } else { (6, true) }
}

/// Gives a packet, from its IP header on, the source and destination of a tuple. `is_unfinished`: the checksum of the transport header is yet
/// to be computed, so that the field has the sum of the pseudo header alone. False if the packet has no whole header.
pub fn rewrite(packet: &mut [u8], to: &Tuple, is_unfinished: bool) -> bool {
    let Some((length, is_first)) = header(packet) else { return false };
    let Some(old) = set_addresses(packet, (to.source.address, to.destination.address)) else { return false };
    let Some(upper) = packet.get_mut(length..).filter(|_| is_first) else { return true };
    match IpProtocol(to.protocol) {
        IpProtocol::TCP | IpProtocol::UDP => {
            let (at, is_optional) = transport_checksum(to.protocol);
            let (Some(source), Some(destination)) = (word(upper, 0), word(upper, 2)) else { return false };
            if let Some(checksum) = word(upper, at).filter(|sum| !(is_optional && *sum == 0) || is_unfinished) {
                let addresses = |sum| update32(update32(sum, old.0, to.source.address), old.1, to.destination.address);
                let sum = if is_unfinished {
                    !addresses(!checksum)
                } else {
                    let sum = update16(addresses(checksum), source, to.source.port);
                    update16(sum, destination, to.destination.port)
                };
                set(upper, at, not_none(sum, is_optional && !is_unfinished).to_be_bytes());
            }
            set(upper, 0, to.source.port.to_be_bytes());
            set(upper, 2, to.destination.port.to_be_bytes());
        }
        _ => {
            let (Some(checksum), Some(old)) = (word(upper, ICMP_CHECKSUM), word(upper, ICMP_IDENTIFIER)) else {
                return false;
            };
            set(upper, ICMP_CHECKSUM, update16(checksum, old, to.source.port).to_be_bytes());
            set(upper, ICMP_IDENTIFIER, to.source.port.to_be_bytes());
        }
    }
    true
}

/// Bytes of a plain packet up to UDP's checksum.
pub const TO_UDP_SUM: usize = 28;
/// The same of TCP.
pub const TO_TCP_SUM: usize = 38;

/// The same of the first bytes of a packet as [`plain_ip4`] has them, whose checksums are whole: up to that of the transport header, which is
/// optional or not. False of others, which stay as they are.
#[inline(always)]
pub fn rewrite_plain<const N: usize>(packet: &mut [u8; N], to: Ends4, is_optional: bool) -> bool {
    let Some((from, _)) = packet.first_chunk().and_then(plain_ip4) else { return false };
    let (Some(ip), Some(upper)) = (word(packet, CHECKSUM), word(packet, N - 2)) else { return false };
    let addresses = Change::of64(from.addresses, to.addresses);
    let all = addresses.and(Change::of32(from.ports, to.ports));
    set(packet, CHECKSUM, addresses.apply(ip).to_be_bytes());
    set(packet, SOURCE, to.addresses.to_be_bytes());
    set(packet, HEADER, to.ports.to_be_bytes());
    if !(is_optional && upper == 0) {
        set(packet, N - 2, not_none(all.apply(upper), is_optional).to_be_bytes());
    }
    true
}

/// A checksum, where zero means that there is none if it is optional (RFC 768).
#[inline(always)]
fn not_none(sum: u16, is_optional: bool) -> u16 {
    if is_optional && sum == 0 { 0xffff } else { sum }
}

/// The bytes of an ICMP message, of whose changes its checksum follows.
struct Message<'p> {
    bytes: &'p mut [u8],
    checksum: u16,
}

impl Message<'_> {
    /// Changes a word at an even place.
    fn set(&mut self, at: usize, to: u16) {
        if let Some(old) = word(self.bytes, at) {
            self.checksum = update16(self.checksum, old, to);
            set(self.bytes, at, to.to_be_bytes());
        }
    }
    fn set_address(&mut self, at: usize, to: u32) {
        self.set(at, (to >> 16) as u16);
        self.set(at + 2, to as u16);
    }
}

/// Whether the ICMP message behind an IP header of so many bytes is damaged. One whose end lies elsewhere counts as whole.
fn is_damaged(packet: &[u8], header: usize) -> bool {
    let is_fragment = word(packet, 6).is_some_and(|fragment| fragment & 0x3fff != 0);
    let message = word(packet, 2).and_then(|length| packet.get(header..length.into())).filter(|_| !is_fragment);
    message.is_some_and(|message| !of(message).is_right())
}

/// Gives an ICMP error, from its IP header on, a source and destination, and the packet that it quotes those of a tuple. The quoted transport
/// checksum follows where it is quoted. False if there is no whole header, or if its checksum is wrong (RFC 5508, REQ-3).
pub fn rewrite_error(packet: &mut [u8], (source, destination): (u32, u32), quoted: &Tuple) -> bool {
    let Some((length, _)) = header(packet) else { return false };
    if is_damaged(packet, length) {
        return false;
    }
    if set_addresses(packet, (source, destination)).is_none() {
        return false;
    }
    let Some(bytes) = packet.get_mut(length..) else { return false };
    let Some(checksum) = word(bytes, ICMP_CHECKSUM) else { return false };
    let Some(inner) = bytes.get(ICMP_HEADER..) else { return false };
    let Some((length, _)) = header(inner) else { return false };
    let (Some(old_source), Some(old_destination)) = (address(inner, SOURCE), address(inner, DESTINATION)) else {
        return false;
    };
    let Some(ip_checksum) = word(inner, CHECKSUM) else { return false };
    let upper = ICMP_HEADER + length;
    let mut message = Message { bytes, checksum };
    let (new_source, new_destination) = (quoted.source.address, quoted.destination.address);
    let addresses = |sum| update32(update32(sum, old_source, new_source), old_destination, new_destination);
    message.set(ICMP_HEADER + CHECKSUM, addresses(ip_checksum));
    message.set_address(ICMP_HEADER + SOURCE, new_source);
    message.set_address(ICMP_HEADER + DESTINATION, new_destination);
    match IpProtocol(quoted.protocol) {
        IpProtocol::TCP | IpProtocol::UDP => {
            let (at, is_optional) = transport_checksum(quoted.protocol);
            let ports = (word(message.bytes, upper), word(message.bytes, upper + 2));
            if let (Some(sum), (Some(from), Some(to))) = (word(message.bytes, upper + at), ports)
                && !(is_optional && sum == 0)
            {
                let sum = update16(addresses(sum), from, quoted.source.port);
                let sum = update16(sum, to, quoted.destination.port);
                message.set(upper + at, not_none(sum, is_optional));
            }
            message.set(upper, quoted.source.port);
            message.set(upper + 2, quoted.destination.port);
        }
        _ => {
            let old = (word(message.bytes, upper + ICMP_CHECKSUM), word(message.bytes, upper + ICMP_IDENTIFIER));
            if let (Some(sum), Some(old)) = old {
                message.set(upper + ICMP_CHECKSUM, update16(sum, old, quoted.source.port));
                message.set(upper + ICMP_IDENTIFIER, quoted.source.port);
            }
        }
    }
    let checksum = message.checksum;
    set(bytes, ICMP_CHECKSUM, checksum.to_be_bytes());
    true
}

#[cfg(test)]
mod tests;
