//! `udp 1000 > 2000 [length 20] [no-checksum]`.
use super::checksum::Sums;
use super::inside::Inside;
use super::place::{Next, Place, Step};
use super::pseudo_header::{Ends, pseudo_header};
use super::text::Words;
use super::{Checksum, PacketTextError};
use quiver_wire::{Header, IpProtocol, UdpHeader};
use std::fmt;
use zerocopy::IntoBytes;

/// A UDP header.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Udp {
    /// The sender's port.
    pub source: u16,
    /// The receiver's port.
    pub destination: u16,
    /// The length field; `None` if it is that of what follows.
    pub length: Option<u16>,
    /// Over pseudo header, header and payload.
    pub checksum: Checksum,
}

impl Udp {
    /// A header between these ports.
    pub fn new(source: u16, destination: u16) -> Udp {
        Udp { source, destination, length: None, checksum: Checksum::Right }
    }

    pub(super) fn read(words: &mut Words<'_>) -> Result<Udp, PacketTextError> {
        let source = words.number("source port", 0xffff)?;
        words.exactly(">")?;
        let mut layer = Udp::new(source, words.number("destination port", 0xffff)?);
        while let Some(field) = words.field() {
            match field {
                "length" => layer.length = Some(words.number("length", 0xffff)?),
                other => layer.checksum = words.checksum(other, "length")?,
            }
        }
        Ok(layer)
    }

    pub(super) fn header(&self, inside: &Inside<'_>) -> Vec<u8> {
        let length = u16::try_from(UdpHeader::LENGTH + inside.bytes.len()).unwrap_or(u16::MAX);
        let mut header = UdpHeader {
            source_port: self.source.into(),
            destination_port: self.destination.into(),
            length: self.length.unwrap_or(length).into(),
            checksum: 0.into(),
        };
        header.checksum = self.checksum.value(sums(&header, inside.bytes, inside.ends, true)).into();
        header.as_bytes().into()
    }

    pub(super) fn dissect<'a>(place: &Place<'a>) -> Option<Step<'a, Self>> {
        let (header, data) = UdpHeader::parse(place.bytes)?;
        let length = header.length.get();
        let sums = sums(header, data, place.ends, place.whole && usize::from(length) <= place.bytes.len());
        let layer = Udp {
            source: header.source_port.get(),
            destination: header.destination_port.get(),
            length: (usize::from(length) != place.bytes.len()).then_some(length),
            checksum: Checksum::read(header.checksum.get(), sums, true),
        };
        Some(Step::new(layer, place.then(Next::Payload, data)))
    }
}

/// The checksum covers what the length field says, if there is that much (RFC 768).
fn sums(header: &UdpHeader, data: &[u8], ends: Option<Ends>, whole: bool) -> Sums {
    let length = header.length.get();
    let covered = usize::from(length).checked_sub(UdpHeader::LENGTH).and_then(|length| data.get(..length));
    let pseudo = pseudo_header(ends, IpProtocol::UDP, length.into());
    let header = UdpHeader { checksum: 0.into(), ..*header };
    let right = pseudo.add_bytes(header.as_bytes()).add_bytes(covered.unwrap_or(data)).checksum_not_zero();
    Sums { pseudo, right, whole }
}

impl fmt::Display for Udp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "udp {} > {}", self.source, self.destination)?;
        if let Some(length) = self.length {
            write!(f, " length {length}")?;
        }
        fmt::Display::fmt(&self.checksum, f)
    }
}
