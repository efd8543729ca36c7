//! Rules of MAC-IP lists, and what they compare of a packet.

use std::net::IpAddr;

use quiver_control::Record;
use quiver_wire::{ArpPacket, EtherType, EthernetHeader, Header, Ip4Header, Ip6Header, MacAddress};

use crate::look::payload;
use crate::prefix::AnyPrefix;

quiver_control::choice! {
    /// Action of a rule for matching packets.
    pub enum Action {
        /// The packet passes.
        Permit = "permit",
        /// The packet is dropped.
        Deny = "deny",
    } as "macip-acl-action", "permit or deny";
}

/// A rule: an action for packets from a station and an address. An ARP packet has both twice, in its frame and as its sender.
#[derive(Record, Clone, Debug, PartialEq)]
pub struct MacipRule {
    /// Action for matching packets.
    #[default(Action::Permit)]
    pub action: Action,
    /// Prefix of source addresses, or of senders in ARP. A rule without one matches all addresses of both families.
    pub source: Option<AnyPrefix>,
    /// Source MAC address of matching frames.
    #[default(MacAddress::ZERO)]
    pub mac: MacAddress,
    /// Bits of the MAC address that are compared, such as ff:ff:ff:00:00:00; none match every station.
    #[default(MacAddress::ZERO)]
    pub mac_mask: MacAddress,
}

/// The addresses of a packet that rules compare.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Source {
    /// Source MAC address of the frame.
    pub mac: MacAddress,
    /// Source address, or the sender's of an ARP packet.
    pub address: IpAddr,
    /// MAC address of an ARP packet's sender.
    pub sender: Option<MacAddress>,
}

impl Source {
    /// That of a frame with IPv4, IPv6 or ARP, behind tags, too. None of other frames, and of those that end too early.
    pub fn of(frame: &[u8]) -> Option<Source> {
        let (ethernet, _) = EthernetHeader::parse(frame)?;
        let (kind, rest) = payload(frame)?;
        let (address, sender) = match kind {
            EtherType::IP4 => (Ip4Header::parse(rest)?.0.source().into(), None),
            EtherType::IP6 => (Ip6Header::parse(rest)?.0.source().into(), None),
            EtherType::ARP => {
                let (arp, _) = ArpPacket::parse(rest)?;
                let arp = Some(arp).filter(|arp| arp.is_ip4_over_ethernet())?;
                (arp.sender().into(), Some(arp.sender_mac))
            }
            _ => return None,
        };
        Some(Source { mac: ethernet.source, address, sender })
    }
}

impl MacipRule {
    /// Whether the rule matches.
    pub fn meets(&self, source: &Source) -> bool {
        let mask = self.mac_mask.to_u64();
        let is_from = |mac: MacAddress| (mac.to_u64() ^ self.mac.to_u64()) & mask == 0;
        is_from(source.mac)
            && source.sender.is_none_or(is_from)
            && self.source.is_none_or(|prefix| prefix.contains(source.address))
    }
}
