//! `arp request 02:00:00:00:00:01 10.0.0.1 > 00:00:00:00:00:00 10.0.0.2`, likewise `arp reply` and `arp 9`.
use super::PacketTextError;
use super::place::{Next, Place, Step};
use super::text::Words;
use quiver_wire::{ArpOperation, ArpPacket, Header, MacAddress};
use std::fmt;
use std::net::Ipv4Addr;
use zerocopy::IntoBytes;

/// An ARP packet for IPv4 over Ethernet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Arp {
    /// Request, reply, or another number.
    pub operation: u16,
    /// Sender's addresses.
    pub sender: (MacAddress, Ipv4Addr),
    /// Target's addresses.
    pub target: (MacAddress, Ipv4Addr),
}

impl Arp {
    /// A request for the MAC address of `target`.
    pub fn request(sender: (MacAddress, Ipv4Addr), target: Ipv4Addr) -> Arp {
        Arp { operation: ArpOperation::REQUEST.0.get(), sender, target: (MacAddress::ZERO, target) }
    }

    /// A reply from the sender to the target.
    pub fn reply(sender: (MacAddress, Ipv4Addr), target: (MacAddress, Ipv4Addr)) -> Arp {
        Arp { operation: ArpOperation::REPLY.0.get(), sender, target }
    }

    pub(super) fn read(words: &mut Words<'_>) -> Result<Arp, PacketTextError> {
        let operation = words.read("operation", "request, reply or a number from 0 to 65535", |word| match word {
            "request" => Some(ArpOperation::REQUEST.0.get()),
            "reply" => Some(ArpOperation::REPLY.0.get()),
            other => other.parse().ok(),
        })?;
        let sender = read_party(words)?;
        words.exactly(">")?;
        let target = read_party(words)?;
        words.end()?;
        Ok(Arp { operation, sender, target })
    }

    pub(super) fn header(&self) -> Vec<u8> {
        ArpPacket::new(ArpOperation(self.operation.into()), self.sender, self.target).as_bytes().into()
    }

    pub(super) fn dissect<'a>(place: &Place<'a>) -> Option<Step<'a, Self>> {
        let (packet, padding) = ArpPacket::parse(place.bytes)?;
        if !packet.is_ip4_over_ethernet() {
            return None;
        }
        let layer = Arp {
            operation: packet.operation.0.get(),
            sender: (packet.sender_mac, packet.sender()),
            target: (packet.target_mac, packet.target()),
        };
        Some(Step { padding, ..Step::new(layer, place.then(Next::Payload, &[])) })
    }
}

/// The addresses of sender or target.
fn read_party(words: &mut Words<'_>) -> Result<(MacAddress, Ipv4Addr), PacketTextError> {
    let mac = words.value("MAC address", "one such as 02:00:00:00:00:01")?;
    Ok((mac, words.value("IPv4 address", "one such as 10.0.0.1")?))
}

impl fmt::Display for Arp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match ArpOperation(self.operation.into()) {
            ArpOperation::REQUEST => f.write_str("arp request")?,
            ArpOperation::REPLY => f.write_str("arp reply")?,
            _ => write!(f, "arp {}", self.operation)?,
        }
        write!(f, " {} {} > {} {}", self.sender.0, self.sender.1, self.target.0, self.target.1)
    }
}
