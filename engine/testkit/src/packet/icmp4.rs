//! `icmp echo-request id 1 seq 2`, `icmp unreachable code 4 mtu 1400`, `icmp time-exceeded`, `icmp 13 code 1`.
use super::checksum::Sums;
use super::inside::Inside;
use super::place::{Next, Place, Step};
use super::text::Words;
use super::{Checksum, PacketTextError};
use quiver_wire::{Header, Icmp4Header, Icmp4Type, Sum, checksum};
use std::fmt;
use zerocopy::IntoBytes;

/// The first eight bytes of an ICMP message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Icmp4 {
    /// Type of the message.
    pub kind: Icmp4Type,
    /// Code of the message.
    pub code: u8,
    /// Identifier of an echo; else bytes 4 and 5.
    pub id: u16,
    /// Sequence number of an echo; in an unreachable message the MTU (`mtu`); else bytes 6 and 7.
    pub seq: u16,
    /// Over the message.
    pub checksum: Checksum,
}

const NAMES: [(Icmp4Type, &str); 5] = [
    (Icmp4Type::ECHO_REPLY, "echo-reply"),
    (Icmp4Type::UNREACHABLE, "unreachable"),
    (Icmp4Type::ECHO_REQUEST, "echo-request"),
    (Icmp4Type::TIME_EXCEEDED, "time-exceeded"),
    (Icmp4Type::PARAMETER_PROBLEM, "parameter-problem"),
];

impl Icmp4 {
    /// A message of this type and code, the other fields zero.
    pub fn new(kind: Icmp4Type, code: u8) -> Icmp4 {
        Icmp4 { kind, code, id: 0, seq: 0, checksum: Checksum::Right }
    }

    /// Asks for an echo.
    pub fn echo_request(id: u16, seq: u16) -> Icmp4 {
        Icmp4 { id, seq, ..Icmp4::new(Icmp4Type::ECHO_REQUEST, 0) }
    }

    /// Answers a request for an echo.
    pub fn echo_reply(id: u16, seq: u16) -> Icmp4 {
        Icmp4 { id, seq, ..Icmp4::new(Icmp4Type::ECHO_REPLY, 0) }
    }

    pub(super) fn read(words: &mut Words<'_>) -> Result<Icmp4, PacketTextError> {
        let remedy = NAMES.map(|(_, name)| name).join(", ") + ", or a number from 0 to 255";
        let kind = words.read("type", &remedy, |word| {
            let named = NAMES.iter().find(|(_, name)| *name == word).map(|(kind, _)| *kind);
            named.or_else(|| word.parse().ok().map(Icmp4Type))
        })?;
        let mut layer = Icmp4::new(kind, 0);
        while let Some(field) = words.field() {
            match field {
                "code" => layer.code = words.number("code", 255)?,
                "id" => layer.id = words.number("id", 0xffff)?,
                "seq" => layer.seq = words.number("seq", 0xffff)?,
                "mtu" => layer.seq = words.number("mtu", 0xffff)?,
                other => layer.checksum = words.checksum(other, "code, id, seq, mtu")?,
            }
        }
        Ok(layer)
    }

    pub(super) fn header(&self, inside: &Inside<'_>) -> Vec<u8> {
        let (identifier, sequence) = (self.id.into(), self.seq.into());
        let mut header = Icmp4Header { identifier, sequence, ..Icmp4Header::new(self.kind, self.code) };
        header.checksum = self.checksum.value(sums(&header, inside.bytes, true)).into();
        header.as_bytes().into()
    }

    pub(super) fn dissect<'a>(place: &Place<'a>) -> Option<Step<'a, Self>> {
        let (header, rest) = Icmp4Header::parse(place.bytes)?;
        let layer = Icmp4 {
            kind: header.kind,
            code: header.code,
            id: header.identifier.get(),
            seq: header.sequence.get(),
            checksum: Checksum::read(header.checksum.get(), sums(header, rest, place.whole), false),
        };
        // An error quotes the packet that caused it (RFC 792), as a rule not to its end.
        let next = if header.kind.is_error() { Next::Ip4 } else { Next::Payload };
        Some(Step::new(layer, place.then(next, rest)))
    }
}

fn sums(header: &Icmp4Header, data: &[u8], whole: bool) -> Sums {
    let header = Icmp4Header { checksum: 0.into(), ..*header };
    let right = checksum::of(header.as_bytes()).add_bytes(data).checksum();
    Sums { pseudo: Sum::default(), right, whole }
}

impl fmt::Display for Icmp4 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match NAMES.iter().find(|(kind, _)| *kind == self.kind) {
            Some((_, name)) => write!(f, "icmp {name}")?,
            None => write!(f, "icmp {}", self.kind.0)?,
        }
        let echo = matches!(self.kind, Icmp4Type::ECHO_REQUEST | Icmp4Type::ECHO_REPLY);
        let seq = if self.kind == Icmp4Type::UNREACHABLE { "mtu" } else { "seq" };
        for (name, value, always) in [("code", self.code.into(), false), ("id", self.id, echo), (seq, self.seq, echo)] {
            if always || value != 0 {
                write!(f, " {name} {value}")?;
            }
        }
        fmt::Display::fmt(&self.checksum, f)
    }
}
