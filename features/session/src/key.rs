//! Keys: what both directions of a flow have in common.
//!
//! A key has the addresses and ports of both ends in an order that does not depend on the direction, the protocol, and the context
//! of the tenant. The context keeps tenants with the same addresses apart.

use quiver_engine::{Frame, MetadataKey, Pool};
use quiver_ip::Family;
use quiver_ip::upper::Upper;
use quiver_table::KeyedHash;
use quiver_wire::{Header, IpHeader, IpProtocol};

/// Format of a key, by its number: [`Formats`] has what it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Format(u8);

impl Format {
    /// IPv4 addresses and ports.
    pub const IP4: Format = Format(1);
    /// IPv6 addresses and ports.
    pub const IP6: Format = Format(2);

    /// The format of a number; None of 0, which no format has.
    pub fn of(number: u8) -> Option<Format> {
        (number != 0).then_some(Format(number))
    }
    /// The number.
    pub fn number(self) -> u8 {
        self.0
    }
}

/// Formats there can be: a record has 4 bits for their numbers, of which none is 0.
pub const FORMATS_MAX: usize = 15;

/// Description of a format.
#[derive(Clone, Copy, Debug)]
pub struct KeyFormat {
    /// Name, such as `ipv4`.
    pub name: &'static str,
    /// Text of an end.
    pub show: fn(End) -> String,
}

/// The registered formats: a room of the control side.
#[derive(Default)]
pub struct Formats(Vec<KeyFormat>);

/// Why a format cannot be registered.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum FormatError {
    /// Another one has its name.
    #[error("there is a key format `{0}` already; choose another name")]
    Taken(&'static str),
    /// There are [`FORMATS_MAX`].
    #[error("`{0}` would be one key format too many: there can be {FORMATS_MAX}")]
    Full(&'static str),
}

impl Formats {
    /// Adds a format; returns its number.
    ///
    /// # Errors
    /// If the name is taken, or no number is left.
    pub fn add(&mut self, format: KeyFormat) -> Result<Format, FormatError> {
        if self.0.iter().any(|known| known.name == format.name) {
            return Err(FormatError::Taken(format.name));
        }
        if self.0.len() == FORMATS_MAX {
            return Err(FormatError::Full(format.name));
        }
        self.0.push(format);
        Ok(Format(self.0.len() as u8))
    }
    /// The description of a format.
    pub fn get(&self, format: Format) -> Option<&KeyFormat> {
        self.0.get(usize::from(format.0).checked_sub(1)?)
    }
}

/// One end of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct End {
    /// Address; an IPv4 address is the lower 32 bits. Other formats have values of their own here.
    pub address: u128,
    /// Port of TCP or UDP, or the identifier of an ICMP echo.
    pub port: u16,
}

/// The key of a session: two ends in ascending order, protocol and context.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Key {
    /// The lower end.
    pub low: End,
    /// The higher end.
    pub high: End,
    /// Context of the tenant.
    pub context: u32,
    /// IP protocol number.
    pub protocol: u8,
    /// Format.
    pub format: Format,
}

impl Key {
    /// The key of a packet from one end to another, and whether its source is the higher end.
    pub fn new(
        (source, destination): (End, End),
        context: u32,
        (protocol, format): (IpProtocol, Format),
    ) -> (Key, bool) {
        let is_from_high = source > destination;
        let (low, high) = if is_from_high { (destination, source) } else { (source, destination) };
        (Key { low, high, context, protocol: protocol.0, format }, is_from_high)
    }
    /// The ports and the context, as one word.
    pub(crate) fn ports_word(&self) -> u64 {
        u64::from(self.low.port) << 48 | u64::from(self.high.port) << 32 | u64::from(self.context)
    }
    /// The addresses as four words; of IPv4 the first one has both.
    pub(crate) fn address_words(&self) -> [u64; 4] {
        match self.format {
            Format::IP4 => [(self.low.address as u64) << 32 | self.high.address as u32 as u64, 0, 0, 0],
            _ => {
                let (low, high) = (self.low.address, self.high.address);
                [(low >> 64) as u64, low as u64, (high >> 64) as u64, high as u64]
            }
        }
    }
    /// The key of such words.
    pub(crate) fn of_words(addresses: [u64; 4], ports: u64, (protocol, format): (u8, Format)) -> Key {
        let (low, high) = match format {
            Format::IP4 => (u128::from(addresses[0] >> 32), u128::from(addresses[0] as u32)),
            _ => {
                let of = |high: u64, low: u64| u128::from(high) << 64 | u128::from(low);
                (of(addresses[0], addresses[1]), of(addresses[2], addresses[3]))
            }
        };
        let low = End { address: low, port: (ports >> 48) as u16 };
        let high = End { address: high, port: (ports >> 32) as u16 };
        Key { low, high, context: ports as u32, protocol, format }
    }
    /// The hash by which the directory finds the key.
    pub fn hash(&self, hash: &KeyedHash) -> u64 {
        let (addresses, ports) = (self.address_words(), self.ports_word());
        let kind = u64::from(self.protocol) << 8 | u64::from(self.format.number());
        match self.format {
            Format::IP4 => hash.hash(&[addresses[0], ports, kind]),
            _ => hash.hash(&[addresses[0], addresses[1], addresses[2], addresses[3], ports, kind]),
        }
    }
}

/// Content of a packet as far as its session depends on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flow {
    /// Source and destination.
    pub ends: (End, End),
    /// Protocol.
    pub protocol: IpProtocol,
    /// Whether the packet is an ICMP error about a packet of the flow, from the receiver of that packet's side.
    pub is_error: bool,
}

/// Why a packet has no session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoFlow {
    /// A fragment without ports: shallow reassembly does not know them.
    Fragment,
    /// A protocol without ports, or an ICMP message that is no echo.
    Protocol,
    /// An ICMP error about no packet of a flow.
    IcmpError,
    /// The packet is truncated or malformed.
    Malformed,
}

/// ICMP types: echo reply and request, and the first and last error (RFC 792; RFC 4443, 2.1: errors are below 128).
fn icmp(protocol: IpProtocol, kind: u8) -> Result<(), NoFlow> {
    let (is_echo, is_error) = match protocol {
        IpProtocol::ICMP4 => (matches!(kind, 0 | 8), matches!(kind, 3 | 4 | 5 | 11 | 12)),
        _ => (matches!(kind, 128 | 129), kind < 128),
    };
    match (is_echo, is_error) {
        (true, _) => Ok(()),
        (_, true) => Err(NoFlow::IcmpError),
        _ => Err(NoFlow::Protocol),
    }
}

/// The flow of a packet that begins with its IP header. `noted` are the ports that shallow reassembly found for a later fragment.
///
/// # Errors
/// If the packet belongs to no flow.
pub fn flow<F: Family>(packet: &[u8], noted: Option<Upper>) -> Result<Flow, NoFlow> {
    match own_flow::<F>(packet, noted) {
        Err(NoFlow::IcmpError) => quoted_flow::<F>(packet).ok_or(NoFlow::IcmpError),
        found => found,
    }
}

/// The flow that an ICMP error is about, by the packet that it quotes (RFC 792; RFC 4443, 2.4 (c)).
fn quoted_flow<F: Family>(packet: &[u8]) -> Option<Flow> {
    /// Bytes of the error in front of the quoted packet.
    const ICMP_HEADER: usize = 8;
    let quoted = packet.get(F::payload(packet)?.offset + ICMP_HEADER..)?;
    let Flow { ends: (source, destination), protocol, .. } = own_flow::<F>(quoted, None).ok()?;
    Some(Flow { ends: (destination, source), protocol, is_error: true })
}

/// The flow of a packet that is no ICMP error.
fn own_flow<F: Family>(packet: &[u8], noted: Option<Upper>) -> Result<Flow, NoFlow> {
    let (header, _) = F::Header::parse(packet).ok_or(NoFlow::Malformed)?;
    let payload = F::payload(packet).ok_or(NoFlow::Malformed)?;
    let protocol = payload.protocol;
    let has_ports = matches!(protocol, IpProtocol::TCP | IpProtocol::UDP);
    let is_icmp = protocol == F::ICMP;
    if !has_ports && !is_icmp {
        return Err(NoFlow::Protocol);
    }
    let ports = if payload.fragment.is_some_and(|place| place > 0) {
        // Only the first fragment has ICMP's identifier.
        let noted = noted.filter(|_| has_ports).ok_or(NoFlow::Fragment)?;
        (noted.source, noted.destination)
    } else {
        let upper: &[u8; 8] = packet.get(payload.offset..).and_then(<[u8]>::first_chunk).ok_or(NoFlow::Malformed)?;
        let word = |at: usize| u16::from_be_bytes([upper[at], upper[at + 1]]);
        if is_icmp {
            icmp(protocol, upper[0])?;
            (word(4), word(4))
        } else {
            (word(0), word(2))
        }
    };
    let of = |address, port| End { address: F::to_bits(address), port };
    let ends = (of(header.source(), ports.0), of(header.destination(), ports.1));
    Ok(Flow { ends, protocol, is_error: false })
}

/// The flow of a packet of a frame.
///
/// # Errors
/// If the packet belongs to no flow.
pub fn flow_of<F: Family>(frame: &Frame, pool: &Pool, i: usize, upper: MetadataKey<Upper>) -> Result<Flow, NoFlow> {
    flow::<F>(frame.bytes(pool, i), frame.metadata(pool, i, upper))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_directions_have_one_key_and_words_keep_it() {
        let mut random = fastrand::Rng::with_seed(1);
        for format in [Format::IP4, Format::IP6, Format(3)] {
            for _ in 0..1000 {
                // Few values, so that addresses and ports are often the same.
                let address = |random: &mut fastrand::Rng| match format {
                    Format::IP4 => u128::from(random.u32(..) & 0xff00_0003),
                    _ => random.u128(..) & 0xff00_0000_0000_0000_0000_0000_0000_0003,
                };
                let mut end = || End { address: address(&mut random), port: random.u16(..4) };
                let (a, b) = (end(), end());
                let (there, from_high) = Key::new((a, b), 7, (IpProtocol::TCP, format));
                let (back, back_from_high) = Key::new((b, a), 7, (IpProtocol::TCP, format));
                assert_eq!(there, back);
                assert_eq!(from_high != back_from_high, a != b);
                let again = Key::of_words(there.address_words(), there.ports_word(), (there.protocol, there.format));
                assert_eq!(again, there);
                let (other, _) = Key::new((a, b), 8, (IpProtocol::TCP, format));
                let hash = KeyedHash::new([1, 2, 3, 4]);
                assert_ne!(other.hash(&hash), there.hash(&hash));
            }
        }
    }
}
