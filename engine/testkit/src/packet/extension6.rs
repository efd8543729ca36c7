//! `hbh hex 050200000100 [next udp]`, likewise `routing` and `dstopt`: an extension header of IPv6 behind its first two
//! bytes, which are computed.
use super::PacketTextError;
use super::inside::Inside;
use super::place::{ExtensionKind, Next, Place, Step};
use super::text::{Words, hex};
use quiver_wire::IpProtocol;
use std::fmt;

/// Bytes that every extension header's length counts in, of which the first eight are not counted (RFC 8200, 4).
const UNIT: usize = 8;

/// An extension header of IPv6 whose first two bytes are the next header and the length.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Extension6 {
    /// Which it is.
    pub kind: ExtensionKind,
    /// Bytes behind the length field: 6, 14, 22, and so on up to 2046.
    pub body: Vec<u8>,
    /// Next header; `None` if it follows from the next layer.
    pub next: Option<IpProtocol>,
}

impl Extension6 {
    /// A header with this body, which announces the next layer.
    pub fn new(kind: ExtensionKind, body: impl Into<Vec<u8>>) -> Extension6 {
        Extension6 { kind, body: body.into(), next: None }
    }

    pub(super) fn read(words: &mut Words<'_>, kind: ExtensionKind) -> Result<Extension6, PacketTextError> {
        words.exactly("hex")?;
        let fitting = |bytes: &[u8]| (bytes.len() + 2).is_multiple_of(UNIT) && bytes.len() <= 256 * UNIT - 2;
        let remedy = "6, 14, 22 or more pairs of hexadecimal digits such as 050200000100, which end with a unit of 8";
        let mut layer = Extension6::new(kind, words.bytes_that("bytes", remedy, fitting)?);
        while let Some(field) = words.field() {
            match field {
                "next" => layer.next = Some(words.next_header()?),
                other => return Err(words.unknown(other, "next")),
            }
        }
        Ok(layer)
    }

    pub(super) fn header(&self, inside: &Inside<'_>) -> Vec<u8> {
        let units = ((self.body.len() + 2) / UNIT).saturating_sub(1);
        [&[inside.protocol(self.next).0, units as u8], self.body.as_slice()].concat()
    }

    pub(super) fn dissect<'a>(place: &Place<'a>, kind: ExtensionKind) -> Option<Step<'a, Self>> {
        let [next, units, ..] = *place.bytes else { return None };
        let (header, rest) = place.bytes.split_at_checked((usize::from(units) + 1) * UNIT)?;
        let body = header.get(2..)?;
        let layer = Extension6 { next: Some(IpProtocol(next)), ..Extension6::new(kind, body) };
        // While segments are left, checksums count an address that only the routing header's type tells (RFC 8200, 8.1).
        let arrived = kind != ExtensionKind::Routing || body.get(1) == Some(&0);
        let then = place.then(Next::from_protocol(IpProtocol(next)), rest);
        Some(Step::new(layer, Place { whole: place.whole && arrived, ..then }))
    }
}

impl fmt::Display for Extension6 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = match self.kind {
            ExtensionKind::HopByHop => "hbh",
            ExtensionKind::Routing => "routing",
            ExtensionKind::Destination => "dstopt",
        };
        write!(f, "{name} hex {}", hex(&self.body))?;
        super::text::write_next_header(f, self.next)
    }
}
