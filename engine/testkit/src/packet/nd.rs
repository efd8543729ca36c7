//! `nd [target 2001:db8::1 [destination 2001:db8::2]] [flags router,solicited,override] [OPTION ...]`: what a message of
//! Neighbour Discovery has behind its checksum, in `icmp6 router-solicitation`, `neighbor-solicitation`,
//! `neighbor-advertisement` (whose flags they are) and `redirect` (whose destination it is).

use super::nd_option::{read_flags, write_flags, write_options};
use super::place::{Next, Place, Step};
use super::text::Words;
use super::{NdOption, PacketTextError};
use quiver_wire::nd::{NeighborMessage, Redirect};
use quiver_wire::{Header, Icmp6Header, Icmp6Type};
use std::fmt;
use std::mem::offset_of;
use std::net::Ipv6Addr;
use zerocopy::IntoBytes;

/// Names of the flags, from the highest bit down.
const FLAGS: [&str; 3] = ["router", "solicited", "override"];

/// Type, code and checksum: what a message of Neighbour Discovery has in front of its own fields.
pub(super) const BEFORE_FIELDS: usize = offset_of!(Icmp6Header, identifier);

/// Subject of a message of Neighbor Discovery.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NdSubject {
    /// A router solicitation has no subject.
    Nobody,
    /// Neighbour solicitations and advertisements are about the target.
    Target(Ipv6Addr),
    /// A redirect names a better first hop, and the destination that it is better for.
    Redirect {
        /// The better first hop.
        target: Ipv6Addr,
        /// For whom.
        destination: Ipv6Addr,
    },
}

/// A message of Neighbour Discovery behind its checksum.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Nd {
    /// Subject of the message.
    pub subject: NdSubject,
    /// Of an advertisement: [`NeighborMessage::ROUTER`] and the others; else zero.
    pub flags: u32,
    /// The options.
    pub options: Vec<NdOption>,
}

impl Nd {
    /// About `target`, without flags and options.
    pub fn target(target: Ipv6Addr) -> Nd {
        Nd { subject: NdSubject::Target(target), flags: 0, options: Vec::new() }
    }

    /// The same with these flags.
    pub fn flags(self, flags: u32) -> Nd {
        Nd { flags, ..self }
    }

    /// The same with this option behind the others.
    pub fn option(mut self, option: NdOption) -> Nd {
        self.options.push(option);
        self
    }

    pub(super) fn read(words: &mut Words<'_>) -> Result<Nd, PacketTextError> {
        let address = |words: &mut Words<'_>, field| words.value(field, "an IPv6 address such as 2001:db8::1");
        let mut layer = Nd { subject: NdSubject::Nobody, flags: 0, options: Vec::new() };
        while let Some(field) = words.field() {
            match field {
                "target" => {
                    let target = address(words, "target")?;
                    layer.subject = match words.accept("destination") {
                        true => NdSubject::Redirect { target, destination: address(words, "destination")? },
                        false => NdSubject::Target(target),
                    };
                }
                "flags" => layer.flags = read_flags(words, &FLAGS)?,
                other => layer.options.push(NdOption::read(words, other, "target, flags")?),
            }
        }
        Ok(layer)
    }

    /// The message of which this layer is the end.
    fn message(&self) -> Vec<u8> {
        let icmp = Icmp6Header::new(Icmp6Type::NEIGHBOR_ADVERTISEMENT, 0).with_parameter(self.flags);
        let fixed = match self.subject {
            NdSubject::Nobody => icmp.as_bytes().to_vec(),
            NdSubject::Target(target) => NeighborMessage { icmp, target: target.octets() }.as_bytes().to_vec(),
            NdSubject::Redirect { target, destination } => {
                Redirect { icmp, target: target.octets(), destination: destination.octets() }.as_bytes().to_vec()
            }
        };
        NdOption::append(fixed, &self.options)
    }

    pub(super) fn header(&self) -> Vec<u8> {
        self.message().split_off(BEFORE_FIELDS)
    }

    /// Reads a whole message, of which the layer before said type, code and checksum.
    pub(super) fn dissect<'a>(place: &Place<'a>) -> Option<Step<'a, Self>> {
        let (icmp, rest) = Icmp6Header::parse(place.bytes)?;
        let (subject, rest) = match icmp.kind {
            Icmp6Type::ROUTER_SOLICITATION => (NdSubject::Nobody, rest),
            Icmp6Type::NEIGHBOR_SOLICITATION | Icmp6Type::NEIGHBOR_ADVERTISEMENT => {
                let (message, rest) = NeighborMessage::parse(place.bytes)?;
                (NdSubject::Target(message.target()), rest)
            }
            Icmp6Type::REDIRECT => {
                let (message, rest) = Redirect::parse(place.bytes)?;
                let (target, destination) = (message.target.into(), message.destination.into());
                (NdSubject::Redirect { target, destination }, rest)
            }
            _ => return None,
        };
        let (options, rest) = NdOption::dissect_all(rest);
        // The header says enough of a solicitation with nothing behind, and the text has no words for unused flags.
        let empty = subject == NdSubject::Nobody && options.is_empty();
        if empty || icmp.parameter() << FLAGS.len() != 0 {
            return None;
        }
        Some(Step::new(Nd { subject, flags: icmp.parameter(), options }, place.then(Next::Payload, rest)))
    }
}

impl fmt::Display for Nd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("nd")?;
        match self.subject {
            NdSubject::Nobody => {}
            NdSubject::Target(target) => write!(f, " target {target}")?,
            NdSubject::Redirect { target, destination } => write!(f, " target {target} destination {destination}")?,
        }
        if self.flags != 0 {
            write_flags(f, &FLAGS, self.flags)?;
        }
        write_options(f, &self.options)
    }
}
