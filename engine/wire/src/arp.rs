//! The Address Resolution Protocol (RFC 826), for IPv4 over Ethernet.
use crate::{EtherType, MacAddress};
use std::net::Ipv4Addr;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned, big_endian::U16};

/// Operation of an ARP packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(transparent)]
pub struct ArpOperation(pub U16);

impl ArpOperation {
    /// Request for the MAC address of the target.
    pub const REQUEST: ArpOperation = ArpOperation(U16::new(1));
    /// The sender has its address.
    pub const REPLY: ArpOperation = ArpOperation(U16::new(2));
}

/// An ARP packet behind the Ethernet header: 28 bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub struct ArpPacket {
    /// 1 for Ethernet.
    pub hardware: U16,
    /// [`EtherType::IP4`].
    pub protocol: EtherType,
    /// 6 for Ethernet.
    pub hardware_length: u8,
    /// 4 for IPv4.
    pub protocol_length: u8,
    /// Request or reply.
    pub operation: ArpOperation,
    /// The sender's MAC address.
    pub sender_mac: MacAddress,
    /// The sender's IPv4 address: see [`ArpPacket::sender`].
    pub sender_ip: [u8; 4],
    /// The target's MAC address; unknown, and so zero, in a request.
    pub target_mac: MacAddress,
    /// The target's IPv4 address: see [`ArpPacket::target`].
    pub target_ip: [u8; 4],
}

impl ArpPacket {
    /// A packet of this operation for IPv4 over Ethernet.
    pub fn new(operation: ArpOperation, sender: (MacAddress, Ipv4Addr), target: (MacAddress, Ipv4Addr)) -> ArpPacket {
        ArpPacket {
            hardware: U16::new(1),
            protocol: EtherType::IP4,
            hardware_length: 6,
            protocol_length: 4,
            operation,
            sender_mac: sender.0,
            sender_ip: sender.1.octets(),
            target_mac: target.0,
            target_ip: target.1.octets(),
        }
    }

    /// Asks for the MAC address of `target`.
    pub fn request(sender_mac: MacAddress, sender: Ipv4Addr, target: Ipv4Addr) -> ArpPacket {
        ArpPacket::new(ArpOperation::REQUEST, (sender_mac, sender), (MacAddress::ZERO, target))
    }

    /// Answers this request: its target's address is at `mac`.
    pub fn reply(&self, mac: MacAddress) -> ArpPacket {
        ArpPacket::new(ArpOperation::REPLY, (mac, self.target()), (self.sender_mac, self.sender()))
    }

    /// Whether the addresses are IPv4 over Ethernet, without which the fields below mean nothing.
    #[inline(always)]
    pub fn is_ip4_over_ethernet(&self) -> bool {
        self.hardware.get() == 1
            && self.protocol == EtherType::IP4
            && self.hardware_length == 6
            && self.protocol_length == 4
    }

    /// The sender's IPv4 address.
    #[inline(always)]
    pub fn sender(&self) -> Ipv4Addr {
        self.sender_ip.into()
    }

    /// The target's IPv4 address.
    #[inline(always)]
    pub fn target(&self) -> Ipv4Addr {
        self.target_ip.into()
    }

    /// Whether the sender announces itself: it asks for, or answers with, its own address (RFC 5227, 3).
    pub fn is_gratuitous(&self) -> bool {
        self.sender_ip == self.target_ip
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Header;

    const A: MacAddress = MacAddress([2, 0, 0, 0, 0, 0xa]);
    const B: MacAddress = MacAddress([2, 0, 0, 0, 0, 0xb]);

    #[test]
    fn a_request_is_laid_out_as_in_rfc_826() {
        let request = ArpPacket::request(A, [10, 0, 0, 1].into(), [10, 0, 0, 2].into());
        let bytes = b"\0\x01\x08\0\x06\x04\0\x01\x02\0\0\0\0\x0a\x0a\0\0\x01\0\0\0\0\0\0\x0a\0\0\x02";
        assert_eq!(request.as_bytes(), bytes);
        assert_eq!(ArpPacket::parse(bytes), Some((&request, &[][..])));
        assert_eq!(ArpPacket::parse(&bytes[..27]), None);
        assert!(request.is_ip4_over_ethernet() && !request.is_gratuitous());
    }

    #[test]
    fn a_reply_turns_the_request_round() {
        let request = ArpPacket::request(A, [10, 0, 0, 1].into(), [10, 0, 0, 2].into());
        let reply = request.reply(B);
        assert_eq!(reply.operation, ArpOperation::REPLY);
        assert_eq!((reply.sender_mac, reply.sender_ip), (B, [10, 0, 0, 2]));
        assert_eq!((reply.target_mac, reply.target_ip), (A, [10, 0, 0, 1]));
    }
}
