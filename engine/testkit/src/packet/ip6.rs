//! `ip6 2001:db8::1 > 2001:db8::2 [hlim 63] [class 184] [flow 0x12345] [next 89] [length 1480] [version 5]`: what is left
//! out is computed, or zero; the hop limit is 64.
use super::PacketTextError;
use super::inside::Inside;
use super::place::{Next, Place, Step};
use super::pseudo_header::Ends;
use super::text::Words;
use quiver_wire::{Header, Ip6Header, IpProtocol};
use std::fmt;
use std::net::Ipv6Addr;
use zerocopy::IntoBytes;

/// The hop limit that the text does not mention.
const HOP_LIMIT: u8 = 64;

/// An IPv6 header; extension headers are layers of their own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ip6 {
    /// Source address.
    pub source: Ipv6Addr,
    /// Destination address.
    pub destination: Ipv6Addr,
    /// Hops left.
    pub hop_limit: u8,
    /// The traffic class: DSCP in the high six bits, ECN in the low two.
    pub class: u8,
    /// The flow label, 0 to 0xfffff.
    pub flow: u32,
    /// Next header; `None` if it follows from the next layer.
    pub next: Option<IpProtocol>,
    /// The payload length; `None` if it is that of what follows.
    pub length: Option<u16>,
    /// The version field, 0 to 15; `None` for 6.
    pub version: Option<u8>,
}

impl Ip6 {
    /// A header between these two with a hop limit of 64, everything else computed or zero.
    pub fn new(source: Ipv6Addr, destination: Ipv6Addr) -> Ip6 {
        Ip6 { source, destination, hop_limit: HOP_LIMIT, class: 0, flow: 0, next: None, length: None, version: None }
    }

    /// The same with this hop limit.
    pub fn hop_limit(self, hop_limit: u8) -> Ip6 {
        Ip6 { hop_limit, ..self }
    }

    pub(super) fn read(words: &mut Words<'_>) -> Result<Ip6, PacketTextError> {
        let source = words.value("source", "an IPv6 address such as 2001:db8::1")?;
        words.exactly(">")?;
        let mut layer = Ip6::new(source, words.value("destination", "an IPv6 address such as 2001:db8::2")?);
        while let Some(field) = words.field() {
            match field {
                "hlim" => layer.hop_limit = words.number("hlim", 255)?,
                "class" => layer.class = words.number("class", 255)?,
                "flow" => layer.flow = words.number("flow", 0xf_ffff)?,
                "next" => layer.next = Some(words.next_header()?),
                "length" => layer.length = Some(words.number("length", 0xffff)?),
                "version" => layer.version = Some(words.number("version", 15)?),
                other => return Err(words.unknown(other, "hlim, class, flow, next, length, version")),
            }
        }
        Ok(layer)
    }

    pub(super) fn header(&self, inside: &Inside<'_>) -> Vec<u8> {
        let length = u16::try_from(inside.bytes.len()).unwrap_or(u16::MAX);
        let (version, class) = (self.version.unwrap_or(6) & 15, self.class);
        let header = Ip6Header {
            version_class_flow: (u32::from(version) << 28 | u32::from(class) << 20 | self.flow & 0xf_ffff).into(),
            payload_length: self.length.unwrap_or(length).into(),
            next_header: inside.protocol(self.next),
            hop_limit: self.hop_limit,
            source: self.source.octets(),
            destination: self.destination.octets(),
        };
        header.as_bytes().into()
    }

    pub(super) fn dissect<'a>(place: &Place<'a>) -> Option<Step<'a, Self>> {
        let (header, rest) = Ip6Header::parse(place.bytes)?;
        let length = header.payload_length.get();
        let (inside, padding) = place.measured(rest, length.into());
        let layer = Ip6 {
            source: header.source(),
            destination: header.destination(),
            hop_limit: header.hop_limit,
            class: header.traffic_class(),
            flow: header.flow_label(),
            next: Some(header.next_header),
            length: (usize::from(length) != inside.len()).then_some(length),
            version: (header.version() != 6).then_some(header.version()),
        };
        let then = Place {
            ends: Some(Ends::Ip6(layer.source, layer.destination)),
            whole: place.whole && usize::from(length) <= inside.len(),
            ..place.then(Next::from_protocol(header.next_header), inside)
        };
        Some(Step { padding, ..Step::new(layer, then) })
    }
}

impl fmt::Display for Ip6 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ip6 {} > {}", self.source, self.destination)?;
        if self.hop_limit != HOP_LIMIT {
            write!(f, " hlim {}", self.hop_limit)?;
        }
        if self.class != 0 {
            write!(f, " class {}", self.class)?;
        }
        if self.flow != 0 {
            write!(f, " flow 0x{:05x}", self.flow)?;
        }
        super::text::write_next_header(f, self.next)?;
        for (name, value) in [("length", self.length), ("version", self.version.map(Into::into))] {
            if let Some(value) = value {
                write!(f, " {name} {value}")?;
            }
        }
        Ok(())
    }
}
