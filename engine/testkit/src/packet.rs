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
mod ip;
mod ip4;
mod ip6;
mod nd;
mod nd_option;
mod payload;
mod ra;
mod tcp;
mod text;
mod udp;

pub use arp::Arp;
pub use checksum::Checksum;
pub use ethernet::{Ethernet, Vlan};
pub use extension6::{Extension6, ExtensionKind};
pub use fragment6::Fragment6;
pub use icmp4::Icmp4;
pub use icmp6::Icmp6;
pub use ip4::Ip4;
pub use ip6::Ip6;
pub use nd::{Nd, NdSubject};
pub use nd_option::NdOption;
pub use payload::{Padding, Payload};
pub use ra::Ra;
pub use tcp::Tcp;
pub use text::PacketTextError;
pub use udp::Udp;

use dissect::{Next, Place, Step};
use ip::{Ends, pseudo_header};
use quiver_wire::{EtherType, IpProtocol};
use std::fmt;
use std::str::FromStr;
use text::Words;

/// The words that layers begin with.
pub const LAYERS: [&str; 19] = [
    "eth", "dot1q", "dot1ad", "arp", "ip4", "icmp", "ip6", "hbh", "routing", "dstopt", "frag", "icmp6", "nd", "ra",
    "udp", "tcp", "payload", "hex", "padding",
];

/// One layer of a packet.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(missing_docs, reason = "each variant is documented at the type that it holds")]
pub enum Layer {
    Ethernet(Ethernet),
    Vlan(Vlan),
    Arp(Arp),
    Ip4(Ip4),
    Icmp4(Icmp4),
    Ip6(Ip6),
    Extension6(Extension6),
    Fragment6(Fragment6),
    Icmp6(Icmp6),
    Nd(Nd),
    Ra(Ra),
    Udp(Udp),
    Tcp(Tcp),
    Payload(Payload),
    Padding(Padding),
}

macro_rules! layers {
    ($($layer:ident)+) => {
        $(
            impl From<$layer> for Layer {
                fn from(layer: $layer) -> Layer {
                    Layer::$layer(layer)
                }
            }
        )+
        impl fmt::Display for Layer {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                match self {
                    $(Layer::$layer(layer) => fmt::Display::fmt(layer, f),)+
                }
            }
        }
    };
}
layers!(Ethernet Vlan Arp Ip4 Icmp4 Ip6 Extension6 Fragment6 Icmp6 Nd Ra Udp Tcp Payload Padding);

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

/// What a header has inside of it.
struct Inside<'a> {
    /// The bytes behind the header, padding left out.
    bytes: &'a [u8],
    /// The first layer there.
    layer: Option<&'a Layer>,
    /// Source and destination of the IP header outside, for the pseudo header.
    ends: Option<Ends>,
}

impl Inside<'_> {
    /// The ethertype as given, or that of the first layer, or one for experiments (IEEE 802, 9.2.2).
    fn ethertype(&self, given: Option<EtherType>) -> EtherType {
        given.or_else(|| ethernet::announcing(self.layer?)).unwrap_or(EtherType::new(0x88b5))
    }

    /// The protocol as given, or that of the first layer, or one for experiments (RFC 3692, 2.1).
    fn protocol(&self, given: Option<IpProtocol>) -> IpProtocol {
        given.or_else(|| ip::announcing(self.layer?)).unwrap_or(IpProtocol(253))
    }
}

impl Packet {
    /// The packet with this layer inside of the ones so far.
    #[must_use]
    pub fn then(mut self, layer: impl Into<Layer>) -> Packet {
        self.layers.push(layer.into());
        self
    }

    /// The layers of a captured Ethernet frame.
    pub fn dissect(frame: &[u8]) -> Packet {
        dissect::dissect(frame)
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
            let ends = outside.iter().rev().find_map(Ends::of);
            let inside = Inside { bytes: &bytes, layer: next, ends };
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

/// Bytes as pairs of hexadecimal digits.
fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests;
