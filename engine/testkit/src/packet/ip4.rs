//! `ip4 10.0.0.1 > 10.0.1.2 ttl 64 [dscp 46] [ecn 1] [id 7] [df] [mf] [offset 1480] [reserved] [options 94040000]
//! [protocol 89] [length 1500] [version 5] [ihl 4] [checksum ...]`: what is left out is computed, or zero.
use super::checksum::Sums;
use super::inside::Inside;
use super::place::{Next, Place, Step};
use super::pseudo_header::Ends;
use super::text::{Words, hex};
use super::{Checksum, PacketTextError};
use quiver_wire::{Header, Ip4Header, IpProtocol, Sum, checksum};
use std::fmt;
use std::net::Ipv4Addr;
use zerocopy::IntoBytes;

/// An IPv4 header.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ip4 {
    /// Source address.
    pub source: Ipv4Addr,
    /// Destination address.
    pub destination: Ipv4Addr,
    /// Hops left.
    pub ttl: u8,
    /// Differentiated services code point, 0 to 63.
    pub dscp: u8,
    /// Explicit congestion notification, 0 to 3.
    pub ecn: u8,
    /// Identification.
    pub id: u16,
    /// Don't fragment.
    pub df: bool,
    /// More fragments.
    pub mf: bool,
    /// The reserved flag, which must be zero.
    pub reserved: bool,
    /// Where the fragment belongs, in bytes: a multiple of eight.
    pub offset: u16,
    /// Options, filled up with zeros to whole words.
    pub options: Vec<u8>,
    /// Protocol; `None` if it follows from the next layer.
    pub protocol: Option<IpProtocol>,
    /// The total length; `None` if it is that of what follows.
    pub length: Option<u16>,
    /// The version field, 0 to 15; `None` for 4.
    pub version: Option<u8>,
    /// The header length field in words, 0 to 15; `None` if it is that of the options.
    pub ihl: Option<u8>,
    /// The header's checksum.
    pub checksum: Checksum,
}

const FIELDS: &str = "ttl, dscp, ecn, id, df, mf, offset, reserved, options, protocol, length, version, ihl";

impl Ip4 {
    /// A header between these two with a TTL of 64, everything else computed or zero.
    pub fn new(source: Ipv4Addr, destination: Ipv4Addr) -> Ip4 {
        Ip4 {
            source,
            destination,
            ttl: 64,
            dscp: 0,
            ecn: 0,
            id: 0,
            df: false,
            mf: false,
            reserved: false,
            offset: 0,
            options: Vec::new(),
            protocol: None,
            length: None,
            version: None,
            ihl: None,
            checksum: Checksum::Right,
        }
    }

    /// The same with this TTL.
    pub fn ttl(self, ttl: u8) -> Ip4 {
        Ip4 { ttl, ..self }
    }

    pub(super) fn read(words: &mut Words<'_>) -> Result<Ip4, PacketTextError> {
        let source = words.value("source", "an IPv4 address such as 10.0.0.1")?;
        words.exactly(">")?;
        let mut layer = Ip4::new(source, words.value("destination", "an IPv4 address such as 10.0.0.2")?);
        while let Some(field) = words.field() {
            match field {
                "ttl" => layer.ttl = words.number("ttl", 255)?,
                "dscp" => layer.dscp = words.number("dscp", 63)?,
                "ecn" => layer.ecn = words.number("ecn", 3)?,
                "id" => layer.id = words.number("id", 0xffff)?,
                "df" => layer.df = true,
                "mf" => layer.mf = true,
                "reserved" => layer.reserved = true,
                "offset" => layer.offset = words.fragment_offset()?,
                "options" => layer.options = words.options()?,
                "protocol" => {
                    layer.protocol = Some(words.value("protocol", "a name such as udp or a number from 0 to 255")?);
                }
                "length" => layer.length = Some(words.number("length", 0xffff)?),
                "version" => layer.version = Some(words.number("version", 15)?),
                "ihl" => layer.ihl = Some(words.number("ihl", 15)?),
                other => layer.checksum = words.checksum(other, FIELDS)?,
            }
        }
        Ok(layer)
    }

    pub(super) fn header(&self, inside: &Inside<'_>) -> Vec<u8> {
        let header_length = Ip4Header::LENGTH + self.options.len();
        let ihl = self.ihl.unwrap_or((header_length / 4) as u8);
        let length = u16::try_from(header_length + inside.bytes.len()).unwrap_or(u16::MAX);
        let flags = u16::from(self.reserved) << 15 | u16::from(self.df) << 14 | u16::from(self.mf) << 13;
        let mut header = Ip4Header {
            version_ihl: self.version.unwrap_or(4) << 4 | ihl & 15,
            dscp_ecn: self.dscp << 2 | self.ecn & 3,
            total_length: self.length.unwrap_or(length).into(),
            identification: self.id.into(),
            flags_fragment: (flags | ((self.offset / 8) & 0x1fff)).into(),
            ttl: self.ttl,
            protocol: inside.protocol(self.protocol),
            checksum: 0.into(),
            source: self.source.octets(),
            destination: self.destination.octets(),
        };
        header.checksum = self.checksum.value(sums(&header, &self.options)).into();
        [header.as_bytes(), &self.options].concat()
    }

    pub(super) fn dissect<'a>(place: &Place<'a>) -> Option<Step<'a, Self>> {
        let (header, rest) = Ip4Header::parse(place.bytes)?;
        let options_length = header.header_length().saturating_sub(Ip4Header::LENGTH);
        let (options, rest) = rest.split_at_checked(options_length)?;
        let header_length = Ip4Header::LENGTH + options_length;
        let total = usize::from(header.total_length.get());
        let measured = total.checked_sub(header_length).map(|payload| place.measured(rest, payload));
        let (inside, padding) = measured.unwrap_or((rest, &[]));
        let layer = Ip4 {
            source: header.source(),
            destination: header.destination(),
            ttl: header.ttl,
            dscp: header.dscp(),
            ecn: header.ecn(),
            id: header.identification.get(),
            df: header.dont_fragment(),
            mf: header.more_fragments(),
            reserved: header.flags_fragment.get() & 0x8000 != 0,
            offset: header.fragment_offset() as u16,
            options: options.into(),
            protocol: Some(header.protocol),
            length: (total != header_length + inside.len()).then_some(header.total_length.get()),
            version: (header.version() != 4).then_some(header.version()),
            ihl: (header.header_length() != header_length).then_some(header.version_ihl & 15),
            checksum: Checksum::read(header.checksum.get(), sums(header, options), false),
        };
        let next = if header.fragment_offset() == 0 { Next::from_protocol(header.protocol) } else { Next::Payload };
        let then = Place {
            ends: Some(Ends::Ip4(header.source(), header.destination())),
            whole: place.whole && !header.is_fragment() && total <= header_length + inside.len(),
            ..place.then(next, inside)
        };
        Some(Step { padding, ..Step::new(layer, then) })
    }
}

fn sums(header: &Ip4Header, options: &[u8]) -> Sums {
    let header = Ip4Header { checksum: 0.into(), ..*header };
    let right = checksum::of(header.as_bytes()).add_bytes(options).checksum();
    Sums { pseudo: Sum::default(), right, whole: true }
}

impl fmt::Display for Ip4 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ip4 {} > {} ttl {}", self.source, self.destination, self.ttl)?;
        for (name, value) in
            [("dscp", self.dscp.into()), ("ecn", self.ecn.into()), ("id", self.id), ("offset", self.offset)]
        {
            if value != 0 {
                write!(f, " {name} {value}")?;
            }
        }
        for (name, set) in [("df", self.df), ("mf", self.mf), ("reserved", self.reserved)] {
            if set {
                write!(f, " {name}")?;
            }
        }
        if !self.options.is_empty() {
            write!(f, " options {}", hex(&self.options))?;
        }
        if let Some(protocol) = self.protocol {
            write!(f, " protocol {protocol}")?;
        }
        for (name, value) in
            [("length", self.length), ("version", self.version.map(Into::into)), ("ihl", self.ihl.map(Into::into))]
        {
            if let Some(value) = value {
                write!(f, " {name} {value}")?;
            }
        }
        fmt::Display::fmt(&self.checksum, f)
    }
}
