//! `eth 02:00:00:00:00:01 > 02:00:00:00:00:02 [type 0x9000]` and `dot1q 10 [priority 5] [drop-eligible] [type ip6]`.
use super::PacketTextError;
use super::inside::Inside;
use super::place::{Next, Place, Step};
use super::text::Words;
use quiver_wire::{EtherType, EthernetHeader, Header, MacAddress, Tci, VlanTag, big_endian::U16};
use std::fmt;
use zerocopy::IntoBytes;

/// An Ethernet header.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ethernet {
    /// Source address.
    pub source: MacAddress,
    /// Destination address.
    pub destination: MacAddress,
    /// EtherType; `None` if it follows from the next layer.
    pub ethertype: Option<EtherType>,
}

impl Ethernet {
    /// A header between these two, its ethertype that of the next layer.
    pub fn new(source: MacAddress, destination: MacAddress) -> Ethernet {
        Ethernet { source, destination, ethertype: None }
    }

    pub(super) fn read(words: &mut Words<'_>) -> Result<Ethernet, PacketTextError> {
        let source = words.value("source", "a MAC address such as 02:00:00:00:00:01")?;
        words.exactly(">")?;
        let destination = words.value("destination", "a MAC address such as 02:00:00:00:00:02")?;
        let mut layer = Ethernet { source, destination, ethertype: None };
        while let Some(field) = words.field() {
            match field {
                "type" => layer.ethertype = Some(read_ethertype(words)?),
                other => return Err(words.unknown(other, "type")),
            }
        }
        Ok(layer)
    }

    pub(super) fn header(&self, inside: &Inside<'_>) -> Vec<u8> {
        let (destination, source) = (self.destination, self.source);
        let ethertype = inside.ethertype(self.ethertype);
        EthernetHeader { destination, source, ethertype }.as_bytes().into()
    }

    pub(super) fn dissect<'a>(place: &Place<'a>) -> Option<Step<'a, Self>> {
        let (header, rest) = EthernetHeader::parse(place.bytes)?;
        let &EthernetHeader { destination, source, ethertype } = header;
        let layer = Ethernet { source, destination, ethertype: Some(ethertype) };
        Some(Step::new(layer, place.then(Next::from_ethertype(ethertype), rest)))
    }
}

impl fmt::Display for Ethernet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "eth {} > {}", self.source, self.destination)?;
        write_ethertype(f, self.ethertype)
    }
}

/// A VLAN tag.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Vlan {
    /// Whether it is a service tag (802.1ad, `dot1ad`) rather than a customer's (802.1Q, `dot1q`).
    pub service: bool,
    /// The VLAN, 0 to 4095.
    pub vlan: u16,
    /// The priority, 0 to 7.
    pub priority: u8,
    /// Whether the frame is the first to drop.
    pub drop_eligible: bool,
    /// EtherType; `None` if it follows from the next layer.
    pub ethertype: Option<EtherType>,
}

impl Vlan {
    /// A customer tag.
    pub fn dot1q(vlan: u16) -> Vlan {
        Vlan { vlan, ..Vlan::default() }
    }

    /// A service tag.
    pub fn dot1ad(vlan: u16) -> Vlan {
        Vlan { service: true, ..Vlan::dot1q(vlan) }
    }

    pub(super) fn read(words: &mut Words<'_>) -> Result<Vlan, PacketTextError> {
        let mut layer =
            Vlan { service: words.name() == "dot1ad", vlan: words.number("VLAN", 4095)?, ..Vlan::default() };
        while let Some(field) = words.field() {
            match field {
                "priority" => layer.priority = words.number("priority", 7)?,
                "drop-eligible" => layer.drop_eligible = true,
                "type" => layer.ethertype = Some(read_ethertype(words)?),
                other => return Err(words.unknown(other, "priority, drop-eligible, type")),
            }
        }
        Ok(layer)
    }

    pub(super) fn header(&self, inside: &Inside<'_>) -> Vec<u8> {
        let bits = u16::from(self.priority) << 13 | u16::from(self.drop_eligible) << 12 | self.vlan & 0xfff;
        VlanTag { tci: Tci(U16::new(bits)), ethertype: inside.ethertype(self.ethertype) }.as_bytes().into()
    }

    pub(super) fn dissect<'a>(place: &Place<'a>, service: bool) -> Option<Step<'a, Self>> {
        let (tag, rest) = VlanTag::parse(place.bytes)?;
        let layer = Vlan {
            service,
            vlan: tag.tci.vlan(),
            priority: tag.tci.priority(),
            drop_eligible: tag.tci.drop_eligible(),
            ethertype: Some(tag.ethertype),
        };
        Some(Step::new(layer, place.then(Next::from_ethertype(tag.ethertype), rest)))
    }
}

impl fmt::Display for Vlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", if self.service { "dot1ad" } else { "dot1q" }, self.vlan)?;
        if self.priority != 0 {
            write!(f, " priority {}", self.priority)?;
        }
        if self.drop_eligible {
            f.write_str(" drop-eligible")?;
        }
        write_ethertype(f, self.ethertype)
    }
}

fn read_ethertype(words: &mut Words<'_>) -> Result<EtherType, PacketTextError> {
    words.value("type", "a name such as ip4 or a number such as 0x0800")
}

fn write_ethertype(f: &mut fmt::Formatter<'_>, ethertype: Option<EtherType>) -> fmt::Result {
    ethertype.map_or(Ok(()), |ethertype| write!(f, " type {ethertype}"))
}
