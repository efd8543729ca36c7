//! `ra [hops 64] [flags managed,other] [lifetime 1800] [reachable 30000] [retrans 1000] [OPTION ...]`: what `icmp6
//! router-advertisement` has behind its checksum. Without a word hops are 64, the lifetime 1800, all else zero.
use super::nd::BEFORE_FIELDS;
use super::nd_option::{read_flags, write_flags, write_options};
use super::place::{Next, Place, Step};
use super::text::Words;
use super::{NdOption, PacketTextError};
use quiver_wire::nd::RouterAdvertisement;
use quiver_wire::{Header, Icmp6Type};
use std::fmt;
use zerocopy::IntoBytes;

/// Names of the flags, from the highest bit down.
const FLAGS: [&str; 2] = ["managed", "other"];

/// A router advertisement behind its checksum.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ra {
    /// The hop limit that hosts are to use; 0 says nothing.
    pub hops: u8,
    /// `managed` is 0x80, `other` 0x40: whether there is DHCPv6 for addresses, or for all else.
    pub flags: u8,
    /// Seconds for which it is a default router.
    pub lifetime: u16,
    /// Milliseconds for which a neighbour counts as reachable; 0 says nothing.
    pub reachable_ms: u32,
    /// Milliseconds between solicitations; 0 says nothing.
    pub retransmission_ms: u32,
    /// The options.
    pub options: Vec<NdOption>,
}

/// An advertisement of a router with 64 hops for half an hour (RFC 4861, 6.2.1), all else zero.
impl Default for Ra {
    fn default() -> Ra {
        Ra { hops: 64, flags: 0, lifetime: 1800, reachable_ms: 0, retransmission_ms: 0, options: Vec::new() }
    }
}

impl Ra {
    pub(super) fn read(words: &mut Words<'_>) -> Result<Ra, PacketTextError> {
        let mut layer = Ra::default();
        while let Some(field) = words.field() {
            match field {
                "hops" => layer.hops = words.number("hops", 255)?,
                "flags" => layer.flags = (read_flags(words, &FLAGS)? >> 24) as u8,
                "lifetime" => layer.lifetime = words.number("lifetime", 0xffff)?,
                "reachable" => layer.reachable_ms = words.number("reachable", u32::MAX)?,
                "retrans" => layer.retransmission_ms = words.number("retrans", u32::MAX)?,
                other => {
                    let fields = "hops, flags, lifetime, reachable, retrans";
                    layer.options.push(NdOption::read(words, other, fields)?);
                }
            }
        }
        Ok(layer)
    }

    pub(super) fn header(&self) -> Vec<u8> {
        let message = RouterAdvertisement {
            kind: Icmp6Type::ROUTER_ADVERTISEMENT,
            code: 0,
            checksum: 0.into(),
            hop_limit: self.hops,
            flags: self.flags,
            lifetime: self.lifetime.into(),
            reachable_ms: self.reachable_ms.into(),
            retransmission_ms: self.retransmission_ms.into(),
        };
        NdOption::append(message.as_bytes().to_vec(), &self.options).split_off(BEFORE_FIELDS)
    }

    /// Reads a whole message, of which the layer before said type, code and checksum.
    pub(super) fn dissect<'a>(place: &Place<'a>) -> Option<Step<'a, Self>> {
        let (message, rest) = RouterAdvertisement::parse(place.bytes)?;
        // The text has no words for other flags.
        if message.flags << FLAGS.len() != 0 {
            return None;
        }
        let (options, rest) = NdOption::dissect_all(rest);
        let layer = Ra {
            hops: message.hop_limit,
            flags: message.flags,
            lifetime: message.lifetime.get(),
            reachable_ms: message.reachable_ms.get(),
            retransmission_ms: message.retransmission_ms.get(),
            options,
        };
        Some(Step::new(layer, place.then(Next::Payload, rest)))
    }
}

impl fmt::Display for Ra {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ra hops {}", self.hops)?;
        if self.flags != 0 {
            write_flags(f, &FLAGS, u32::from(self.flags) << 24)?;
        }
        write!(f, " lifetime {}", self.lifetime)?;
        for (name, value) in [("reachable", self.reachable_ms), ("retrans", self.retransmission_ms)] {
            if value != 0 {
                write!(f, " {name} {value}")?;
            }
        }
        write_options(f, &self.options)
    }
}
