//! `icmp6 echo-request id 1 seq 2`, `icmp6 unreachable code 4`, `icmp6 packet-too-big mtu 1400`, `icmp6 parameter-problem
//! code 1 pointer 40`, `icmp6 router-solicitation`, `icmp6 200 code 1`.
use super::checksum::Sums;
use super::inside::Inside;
use super::nd::BEFORE_FIELDS;
use super::place::{Next, Place, Step};
use super::pseudo_header::{Ends, pseudo_header};
use super::text::Words;
use super::{Checksum, Nd, PacketTextError, Ra};
use quiver_wire::{Header, Icmp6Header, Icmp6Type, IpProtocol};
use std::fmt;
use std::mem::offset_of;
use zerocopy::IntoBytes;

/// Where the checksum lies.
const CHECKSUM: usize = offset_of!(Icmp6Header, checksum);

/// The first eight bytes of an ICMPv6 message; four of them in front of [`Nd`] and [`Ra`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Icmp6 {
    /// Type of the message.
    pub kind: Icmp6Type,
    /// Code of the message.
    pub code: u8,
    /// The four bytes behind the checksum: in an echo its `id` and `seq`, in "packet too big" the `mtu`, in "parameter
    /// problem" the `pointer`. The layers of Neighbour Discovery have fields for them instead.
    pub parameter: u32,
    /// Over pseudo header and message.
    pub checksum: Checksum,
}

const NAMES: [(Icmp6Type, &str); 15] = [
    (Icmp6Type::UNREACHABLE, "unreachable"),
    (Icmp6Type::PACKET_TOO_BIG, "packet-too-big"),
    (Icmp6Type::TIME_EXCEEDED, "time-exceeded"),
    (Icmp6Type::PARAMETER_PROBLEM, "parameter-problem"),
    (Icmp6Type::ECHO_REQUEST, "echo-request"),
    (Icmp6Type::ECHO_REPLY, "echo-reply"),
    (Icmp6Type::MLD_QUERY, "mld-query"),
    (Icmp6Type::MLD_REPORT, "mld-report"),
    (Icmp6Type::MLD_DONE, "mld-done"),
    (Icmp6Type::ROUTER_SOLICITATION, "router-solicitation"),
    (Icmp6Type::ROUTER_ADVERTISEMENT, "router-advertisement"),
    (Icmp6Type::NEIGHBOR_SOLICITATION, "neighbor-solicitation"),
    (Icmp6Type::NEIGHBOR_ADVERTISEMENT, "neighbor-advertisement"),
    (Icmp6Type::REDIRECT, "redirect"),
    (Icmp6Type::MLD2_REPORT, "mld2-report"),
];

impl Icmp6 {
    /// A message of this type and code, the parameter zero.
    pub fn new(kind: Icmp6Type, code: u8) -> Icmp6 {
        Icmp6 { kind, code, parameter: 0, checksum: Checksum::Right }
    }

    /// Asks for an echo.
    pub fn echo_request(id: u16, seq: u16) -> Icmp6 {
        Icmp6 { parameter: u32::from(id) << 16 | u32::from(seq), ..Icmp6::new(Icmp6Type::ECHO_REQUEST, 0) }
    }

    /// Answers a request for an echo.
    pub fn echo_reply(id: u16, seq: u16) -> Icmp6 {
        Icmp6 { kind: Icmp6Type::ECHO_REPLY, ..Icmp6::echo_request(id, seq) }
    }

    pub(super) fn read(words: &mut Words<'_>) -> Result<Icmp6, PacketTextError> {
        let remedy = NAMES.map(|(_, name)| name).join(", ") + ", or a number from 0 to 255";
        let kind = words.read("type", &remedy, |word| {
            let named = NAMES.iter().find(|(_, name)| *name == word).map(|(kind, _)| *kind);
            named.or_else(|| word.parse().ok().map(Icmp6Type))
        })?;
        let mut layer = Icmp6::new(kind, 0);
        while let Some(field) = words.field() {
            match field {
                "code" => layer.code = words.number("code", 255)?,
                "id" => layer.parameter = words.number::<u32>("id", 0xffff)? << 16 | layer.parameter & 0xffff,
                "seq" => layer.parameter = layer.parameter & !0xffff | words.number::<u32>("seq", 0xffff)?,
                "mtu" => layer.parameter = words.number("mtu", u32::MAX)?,
                "pointer" => layer.parameter = words.number("pointer", u32::MAX)?,
                other => layer.checksum = words.checksum(other, "code, id, seq, mtu, pointer")?,
            }
        }
        Ok(layer)
    }

    pub(super) fn header(&self, inside: &Inside<'_>) -> Vec<u8> {
        let header = Icmp6Header::new(self.kind, self.code).with_parameter(self.parameter);
        let mut bytes = header.as_bytes().to_vec();
        if inside.is_discovery {
            bytes.truncate(BEFORE_FIELDS);
        }
        let checksum = self.checksum.value(sums(&bytes, inside.bytes, inside.ends, true));
        bytes.splice(CHECKSUM..BEFORE_FIELDS, checksum.to_be_bytes());
        bytes
    }

    pub(super) fn dissect<'a>(place: &Place<'a>) -> Option<Step<'a, Self>> {
        let (header, rest) = Icmp6Header::parse(place.bytes)?;
        let without = Icmp6Header { checksum: 0.into(), ..*header };
        let mut layer = Icmp6 {
            kind: header.kind,
            code: header.code,
            parameter: header.parameter(),
            checksum: Checksum::read(
                header.checksum.get(),
                sums(without.as_bytes(), rest, place.ends, place.whole),
                false,
            ),
        };
        let discovery = match header.kind {
            Icmp6Type::ROUTER_ADVERTISEMENT => Ra::dissect(place).and(Some(Next::Ra)),
            _ => Nd::dissect(place).and(Some(Next::Nd)),
        };
        let then = match discovery {
            Some(next) => {
                layer.parameter = 0;
                place.then(next, place.bytes)
            }
            // An error quotes the packet that caused it (RFC 4443, 3), as a rule not to its end.
            None => place.then(if header.kind.is_error() { Next::Ip6 } else { Next::Payload }, rest),
        };
        Some(Step::new(layer, then))
    }
}

/// The sums of a message that begins with `header`, its checksum zero.
fn sums(header: &[u8], behind: &[u8], ends: Option<Ends>, whole: bool) -> Sums {
    let pseudo = pseudo_header(ends, IpProtocol::ICMP6, (header.len() + behind.len()) as u32);
    Sums { pseudo, right: pseudo.add_bytes(header).add_bytes(behind).checksum(), whole }
}

impl fmt::Display for Icmp6 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match NAMES.iter().find(|(kind, _)| *kind == self.kind) {
            Some((_, name)) => write!(f, "icmp6 {name}")?,
            None => write!(f, "icmp6 {}", self.kind.0)?,
        }
        if self.code != 0 {
            write!(f, " code {}", self.code)?;
        }
        let (id, seq) = (self.parameter >> 16, self.parameter & 0xffff);
        match self.kind {
            Icmp6Type::PACKET_TOO_BIG => write!(f, " mtu {}", self.parameter)?,
            Icmp6Type::PARAMETER_PROBLEM => write!(f, " pointer {}", self.parameter)?,
            Icmp6Type::ECHO_REQUEST | Icmp6Type::ECHO_REPLY => write!(f, " id {id} seq {seq}")?,
            _ if self.parameter == 0 => {}
            _ => write!(f, " id {id} seq {seq}")?,
        }
        fmt::Display::fmt(&self.checksum, f)
    }
}
