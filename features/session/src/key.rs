//! Keys: what both directions of a flow have in common.
//!
//! A key has the addresses and ports of both ends in an order that does not depend on the direction, the protocol, and the context
//! of the tenant. The context keeps tenants with the same addresses apart.

use std::hint::select_unpredictable;

use quiver_engine::{Frame, MetadataKey, Pool};
use quiver_ip::Family;
use quiver_ip::upper::Upper;
use quiver_table::KeyedHash;
use quiver_wire::{Header, IpHeader, IpProtocol};

/// Format of a key, by its number: [`Formats`] has what it is. Keys whose addresses are of IPv4 have odd numbers: they are shorter.
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
    /// Whether addresses are of IPv4.
    #[inline(always)]
    pub fn is_ip4(self) -> bool {
        self.0 & 1 != 0
    }
}

/// Formats there can be: a record has 4 bits for their numbers, of which none is 0.
pub const FORMATS_MAX: usize = 15;

/// Description of a format.
#[derive(Clone, Copy, Debug)]
pub struct KeyFormat {
    /// Name, such as `ipv4`.
    pub name: &'static str,
    /// Whether addresses are of IPv4, and need 32 bits.
    pub is_ip4: bool,
    /// Text of an end.
    pub show: fn(End) -> String,
}

/// The registered formats: a room of the control side.
#[derive(Default)]
pub struct Formats([Option<KeyFormat>; FORMATS_MAX]);

/// Why a format cannot be registered.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum FormatError {
    /// Another one has its name.
    #[error("there is a key format `{0}` already; choose another name")]
    Taken(&'static str),
    /// No number of its kind is left.
    #[error("`{0}` would be one key format too many: there can be {FORMATS_MAX}, half of them of IPv4")]
    Full(&'static str),
}

impl Formats {
    /// Adds a format; returns its number.
    ///
    /// # Errors
    /// If the name is taken, or no number is left.
    pub fn add(&mut self, format: KeyFormat) -> Result<Format, FormatError> {
        if self.0.iter().flatten().any(|known| known.name == format.name) {
            return Err(FormatError::Taken(format.name));
        }
        // Those of IPv4 have odd numbers.
        let first = if format.is_ip4 { 0 } else { 1 };
        let free = (first..FORMATS_MAX).step_by(2).find(|at| self.0[*at].is_none());
        let at = free.ok_or(FormatError::Full(format.name))?;
        self.0[at] = Some(format);
        Ok(Format(at as u8 + 1))
    }
    /// The description of a format.
    pub fn get(&self, format: Format) -> Option<&KeyFormat> {
        self.0.get(usize::from(format.0).checked_sub(1)?)?.as_ref()
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
///
/// PERF: it is kept as the words that are hashed and compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Key {
    /// Of IPv4 the first word has both addresses, the lower end's first; of other formats two words have one each.
    addresses: [u64; 4],
    /// The ports, 16 bits each, the lower end's first, and the context.
    ports: u64,
    protocol: u8,
    format: Format,
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
        let addresses = match format.is_ip4() {
            true => [(low.address as u64) << 32 | high.address as u32 as u64, 0, 0, 0],
            false => {
                let (low, high) = (low.address, high.address);
                [(low >> 64) as u64, low as u64, (high >> 64) as u64, high as u64]
            }
        };
        let ports = ports_word(u32::from(low.port) << 16 | u32::from(high.port), context);
        (Key { addresses, ports, protocol: protocol.0, format }, is_from_high)
    }
    /// The same, of `Format::IP4`.
    #[inline(always)]
    pub(crate) fn ip4(ends: Ends4, context: u32, protocol: IpProtocol) -> (Key, bool) {
        let (Ends4 { addresses, ports }, is_from_high) = ends.in_order();
        let addresses = [addresses, 0, 0, 0];
        (Key { addresses, ports: ports_word(ports, context), protocol: protocol.0, format: Format::IP4 }, is_from_high)
    }
    /// The same, of `Format::IP6`.
    #[inline(always)]
    pub(crate) fn ip6(((source, destination), ports): Plain6, context: u32, protocol: IpProtocol) -> (Key, bool) {
        let is_from_high = (source, ports >> 16) > (destination, ports & 0xffff);
        let (low, high) = if is_from_high { (destination, source) } else { (source, destination) };
        let ports = ports.rotate_left(16 * u32::from(is_from_high));
        let addresses = [(low >> 64) as u64, low as u64, (high >> 64) as u64, high as u64];
        (Key { addresses, ports: ports_word(ports, context), protocol: protocol.0, format: Format::IP6 }, is_from_high)
    }
    /// The lower end.
    pub fn low(&self) -> End {
        let address = match self.format.is_ip4() {
            true => u128::from(self.addresses[0] >> 32),
            false => u128::from(self.addresses[0]) << 64 | u128::from(self.addresses[1]),
        };
        End { address, port: (self.ports >> 48) as u16 }
    }
    /// The higher end.
    pub fn high(&self) -> End {
        let address = match self.format.is_ip4() {
            true => u128::from(self.addresses[0] as u32),
            false => u128::from(self.addresses[2]) << 64 | u128::from(self.addresses[3]),
        };
        End { address, port: (self.ports >> 32) as u16 }
    }
    /// Context of the tenant.
    pub fn context(&self) -> u32 {
        self.ports as u32
    }
    /// IP protocol number.
    pub fn protocol(&self) -> u8 {
        self.protocol
    }
    /// Format.
    pub fn format(&self) -> Format {
        self.format
    }
    /// Whether its addresses are those of IPv6.
    pub fn is_ip6(&self) -> bool {
        !self.format.is_ip4()
    }
    /// The ports and the context, as one word.
    #[inline(always)]
    pub(crate) fn ports_word(&self) -> u64 {
        self.ports
    }
    /// The addresses as four words; of IPv4 the first one has both.
    #[inline(always)]
    pub(crate) fn address_words(&self) -> &[u64; 4] {
        &self.addresses
    }
    /// The key of such words.
    pub(crate) fn of_words(addresses: [u64; 4], ports: u64, (protocol, format): (u8, Format)) -> Key {
        Key { addresses, ports, protocol, format }
    }
    /// Protocol and format, as a record has them.
    #[inline(always)]
    pub(crate) fn kind(&self) -> u64 {
        kind(self.protocol, self.format)
    }
    /// The hash by which the directory finds the key.
    #[inline(always)]
    pub fn hash(&self, hash: &KeyedHash) -> u64 {
        let [first, second, third, fourth] = self.addresses;
        match self.format.is_ip4() {
            true => hash.hash(&[first, self.ports, self.kind()]),
            false => hash.hash(&[first, second, third, fourth, self.ports, self.kind()]),
        }
    }
}

/// Protocol and format, as a record has them.
#[inline(always)]
pub(crate) fn kind(protocol: u8, format: Format) -> u64 {
    u64::from(protocol) | u64::from(format.number()) << 8
}

/// Ports of the lower and the higher end, and the context, as one word.
#[inline(always)]
pub(crate) fn ports_word(ports: u32, context: u32) -> u64 {
    u64::from(ports) << 32 | u64::from(context)
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
    let has_ports = has_ports(protocol);
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

/// Both ends of a packet of IPv4, as they lie in it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ends4 {
    /// Source and destination address.
    pub addresses: u64,
    /// Source and destination port.
    pub ports: u32,
}

impl Ends4 {
    /// The lower end first, and whether that is the destination.
    ///
    /// PERF: as numbers, so that the end in the higher bits decides, and no part is cut out. It is the lower end where the number is the less one.
    #[inline(always)]
    pub fn in_order(self) -> (Ends4, bool) {
        let other = Ends4 { addresses: self.addresses.rotate_left(32), ports: self.ports.rotate_left(16) };
        let number = |ends: Ends4| u128::from(ends.addresses) << 64 | u128::from(ends.ports);
        let is_from_high = number(self) > number(other);
        (select_unpredictable(is_from_high, other, self), is_from_high)
    }
    /// With source and destination exchanged, or not.
    #[inline(always)]
    pub(crate) fn exchanged_if(self, is_exchanged: bool) -> Ends4 {
        let by = u32::from(is_exchanged);
        Ends4 { addresses: self.addresses.rotate_left(32 * by), ports: self.ports.rotate_left(16 * by) }
    }
}

/// Source and destination address of IPv6, and source and destination port as one number.
type Plain6 = ((u128, u128), u32);

/// Bytes of an IPv4 header without options, and of what must be there of TCP's or UDP's header.
pub const PLAIN4: usize = 28;
/// The same of IPv6 without extension headers.
pub const PLAIN6: usize = 48;

/// Ends and protocol of a packet of TCP or UDP over IPv4 without options that is no fragment, as most are. None of others, which
/// [`flow`] looks at.
#[inline(always)]
pub fn plain_ip4(header: &[u8; PLAIN4]) -> Option<(Ends4, IpProtocol)> {
    let long = |at: usize| header[at..].first_chunk().map_or(0, |bytes| u64::from_be_bytes(*bytes));
    let (start, protocol) = (long(0), IpProtocol(header[9]));
    // RFC 791, 3.1: version 4, five words; more fragments, and the offset.
    let is_plain = start & 0xff00_0000_0000_3fff == 0x4500_0000_0000_0000;
    let ends = Ends4 { addresses: long(12), ports: long(16) as u32 };
    (is_plain && has_ports(protocol)).then_some((ends, protocol))
}

/// The same of an IPv6 packet without extension headers: for [`Key::ip6`].
#[inline(always)]
pub(crate) fn plain_ip6(header: &[u8; PLAIN6]) -> Option<(Plain6, IpProtocol)> {
    let address = |at: usize| header[at..].first_chunk().map_or(0, |bytes| u128::from_be_bytes(*bytes));
    let protocol = IpProtocol(header[6]);
    let ports = u32::from_be_bytes([header[40], header[41], header[42], header[43]]);
    (header[0] >> 4 == 6 && has_ports(protocol)).then(|| (((address(8), address(24)), ports), protocol))
}

fn has_ports(protocol: IpProtocol) -> bool {
    matches!(protocol, IpProtocol::TCP | IpProtocol::UDP)
}

/// The flow of a packet of a frame.
///
/// # Errors
/// If the packet belongs to no flow.
pub fn flow_of<F: Family>(frame: &Frame, pool: &Pool, i: usize, upper: MetadataKey<Upper>) -> Result<Flow, NoFlow> {
    flow::<F>(frame.bytes(pool, i), frame.metadata(pool, i, upper))
}

#[cfg(test)]
mod tests;
