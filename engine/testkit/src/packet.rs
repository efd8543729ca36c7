//! Packets for tests: built from layers, written as one line of text, and read back from what was captured.
//!
//! ```
//! use quiver_testkit::packet::{Ethernet, Ip4, Packet, Payload, Udp, Vlan};
//!
//! let text = "eth 02:00:00:00:00:01 > 02:00:00:00:00:02 / dot1q 10 / ip4 10.0.0.1 > 10.0.1.2 ttl 64 / \
//!             udp 1000 > 2000 / payload 26";
//! let packet: Packet = text.parse().unwrap();
//! let (a, b) = ("02:00:00:00:00:01".parse().unwrap(), "02:00:00:00:00:02".parse().unwrap());
//! let built = Packet::from(Ethernet::new(a, b))
//!     .then(Vlan::dot1q(10))
//!     .then(Ip4::new([10, 0, 0, 1].into(), [10, 0, 1, 2].into()))
//!     .then(Udp::new(1000, 2000))
//!     .then(Payload::counting(26));
//! assert_eq!(packet, built);
//! assert_eq!(Packet::dissect(&packet.to_bytes()).to_string(), text);
//! ```
//!
//! Layers stand in a row with ` / ` between; a slash without spaces is part of its word. Each begins with its name; what
//! follows is given by position, then by `name value` in any order. What is left out is computed (lengths, ethertypes,
//! protocols, checksums) or has the default that its file states. Every layer's form stands at the top of its file.
//!
//! Dissecting and printing loses nothing: `dissect(bytes).to_string().parse()` builds `bytes` again, whatever they
//! are. What no layer has words for stays `hex`. A checksum is mentioned only if it is not right; the addresses that it
//! covers are those of the nearest IP header outside.
mod arp;
mod checksum;
mod dissect;
mod ethernet;
mod extension6;
mod fragment6;
mod icmp4;
mod icmp6;
mod inside;
mod ip4;
mod ip6;
mod layer;
mod nd;
mod nd_option;
mod payload;
mod place;
mod pseudo_header;
mod ra;
mod tcp;
mod text;
mod udp;

pub use arp::Arp;
pub use checksum::Checksum;
pub use ethernet::{Ethernet, Vlan};
pub use extension6::Extension6;
pub use fragment6::Fragment6;
pub use icmp4::Icmp4;
pub use icmp6::Icmp6;
pub use ip4::Ip4;
pub use ip6::Ip6;
pub use layer::Layer;
pub use nd::{Nd, NdSubject};
pub use nd_option::NdOption;
pub use payload::{Padding, Payload};
pub use place::ExtensionKind;
pub use ra::Ra;
pub use tcp::Tcp;
pub use text::{LAYERS, PacketTextError};
pub use udp::Udp;

use inside::Inside;
use std::fmt;
use std::str::FromStr;
use text::Words;

/// A packet as layers, outermost first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Packet {
    /// The layers; padding can only be the last.
    pub layers: Vec<Layer>,
}

impl<L: Into<Layer>> From<L> for Packet {
    fn from(layer: L) -> Packet {
        Packet { layers: vec![layer.into()] }
    }
}

impl Packet {
    /// The packet with this layer inside of the ones so far.
    #[must_use]
    pub fn then(mut self, layer: impl Into<Layer>) -> Packet {
        self.layers.push(layer.into());
        self
    }

    /// The packet as on the wire.
    pub fn to_bytes(&self) -> Vec<u8> {
        let (layers, padding) = match self.layers.split_last() {
            Some((Layer::Padding(padding), layers)) => (layers, padding.0.as_slice()),
            _ => (self.layers.as_slice(), &[][..]),
        };
        let mut bytes = Vec::new();
        for (at, layer) in layers.iter().enumerate().rev() {
            let (outside, next) = (&layers[..at], layers.get(at + 1));
            let inside = Inside {
                bytes: &bytes,
                ethertype: next.and_then(Layer::ethertype),
                protocol: next.and_then(Layer::protocol),
                is_discovery: next.is_some_and(Layer::is_discovery),
                ends: outside.iter().rev().find_map(Layer::ends),
            };
            let mut header = match layer {
                Layer::Ethernet(layer) => layer.header(&inside),
                Layer::Vlan(layer) => layer.header(&inside),
                Layer::Arp(layer) => layer.header(),
                Layer::Ip4(layer) => layer.header(&inside),
                Layer::Icmp4(layer) => layer.header(&inside),
                Layer::Ip6(layer) => layer.header(&inside),
                Layer::Extension6(layer) => layer.header(&inside),
                Layer::Fragment6(layer) => layer.header(&inside),
                Layer::Icmp6(layer) => layer.header(&inside),
                Layer::Nd(layer) => layer.header(),
                Layer::Ra(layer) => layer.header(),
                Layer::Udp(layer) => layer.header(&inside),
                Layer::Tcp(layer) => layer.header(&inside),
                Layer::Payload(Payload(bytes)) | Layer::Padding(Padding(bytes)) => bytes.clone(),
            };
            header.append(&mut bytes);
            bytes = header;
        }
        bytes.extend_from_slice(padding);
        bytes
    }
}

impl FromStr for Packet {
    type Err = PacketTextError;

    fn from_str(text: &str) -> Result<Packet, PacketTextError> {
        let mut layers = Vec::new();
        // A slash within a word is that of a prefix.
        let words = text.split_whitespace().collect::<Vec<_>>();
        for (number, words) in (1..).zip(words.split(|word| *word == "/")) {
            if matches!(layers.last(), Some(Layer::Padding(_))) {
                return Err(PacketTextError::BehindPadding { layer: number });
            }
            let mut words = Words::new(number, words)?;
            layers.push(match words.name() {
                "eth" => Ethernet::read(&mut words)?.into(),
                "dot1q" | "dot1ad" => Vlan::read(&mut words)?.into(),
                "arp" => Arp::read(&mut words)?.into(),
                "ip4" => Ip4::read(&mut words)?.into(),
                "icmp" => Icmp4::read(&mut words)?.into(),
                "ip6" => Ip6::read(&mut words)?.into(),
                "hbh" => Extension6::read(&mut words, ExtensionKind::HopByHop)?.into(),
                "routing" => Extension6::read(&mut words, ExtensionKind::Routing)?.into(),
                "dstopt" => Extension6::read(&mut words, ExtensionKind::Destination)?.into(),
                "frag" => Fragment6::read(&mut words)?.into(),
                "icmp6" => Icmp6::read(&mut words)?.into(),
                "nd" => Nd::read(&mut words)?.into(),
                "ra" => Ra::read(&mut words)?.into(),
                "udp" => Udp::read(&mut words)?.into(),
                "tcp" => Tcp::read(&mut words)?.into(),
                "payload" => Payload::read(&mut words)?.into(),
                "hex" => Payload::read_hex(&mut words)?.into(),
                "padding" => Padding::read(&mut words)?.into(),
                name => return Err(PacketTextError::UnknownLayer { layer: number, name: name.into() }),
            });
        }
        Ok(Packet { layers })
    }
}

impl fmt::Display for Packet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut separator = "";
        for layer in &self.layers {
            write!(f, "{separator}{layer}")?;
            separator = " / ";
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
