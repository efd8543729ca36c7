//! Upper-layer fields behind the IP header that tell flows apart: ports, or ICMP's type and code.
//!
//! Only the first fragment of a packet carries them. Shallow reassembly keeps them for the later fragments as metadata;
//! nodes that need ports read it there ([`key`]).

use quiver_control::Control;
use quiver_engine::{
    Dataplane, DataplaneError, Field, Flags, Isa, Lanes, Mask, Metadata, MetadataKey, PacketLanes, Quarters,
};
use quiver_wire::IpProtocol;

use crate::family::{BACK, Family, Payload};

/// Upper-layer fields of a packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Upper {
    /// Source port, or ICMP's type.
    pub source: u16,
    /// Destination port, or ICMP's code.
    pub destination: u16,
    /// TCP flags.
    pub tcp_flags: u8,
}

/// Where TCP has its flags.
const TCP_FLAGS: usize = 13;

impl Upper {
    /// Reads the fields of a packet that begins with its IP header. They are zero for protocols without them. None for
    /// later fragments and truncated packets.
    pub fn of<F: Family>(packet: &[u8]) -> Option<Upper> {
        Upper::read(packet, &F::payload(packet)?)
    }
    /// The same where the payload is known.
    pub fn read(packet: &[u8], payload: &Payload) -> Option<Upper> {
        if payload.fragment.is_some_and(|place| place > 0) {
            return None;
        }
        let bytes = packet.get(payload.offset..)?;
        match payload.protocol {
            IpProtocol::TCP | IpProtocol::UDP => {
                let &[a, b, c, d] = bytes.first_chunk()?;
                let has_flags = payload.protocol == IpProtocol::TCP;
                let tcp_flags = if has_flags { *bytes.get(TCP_FLAGS)? } else { 0 };
                let (source, destination) = (u16::from_be_bytes([a, b]), u16::from_be_bytes([c, d]));
                Some(Upper { source, destination, tcp_flags })
            }
            IpProtocol::ICMP4 | IpProtocol::ICMP6 => {
                let &[kind, code] = bytes.first_chunk()?;
                Some(Upper { source: kind.into(), destination: code.into(), tcp_flags: 0 })
            }
            _ => Some(Upper::default()),
        }
    }
}

impl Metadata for Upper {
    fn to_word(self) -> u64 {
        let ([a, b], [c, d]) = (self.source.to_be_bytes(), self.destination.to_be_bytes());
        u64::from_be_bytes([a, b, c, d, self.tcp_flags, 0, 0, 0])
    }
    fn of_word(word: u64) -> Upper {
        let [a, b, c, d, tcp_flags, ..] = word.to_be_bytes();
        Upper { source: u16::from_be_bytes([a, b]), destination: u16::from_be_bytes([c, d]), tcp_flags }
    }
}

/// The key's place among the control side's rooms.
struct Key(MetadataKey<Upper>);

/// By which what the first fragment of a packet said is kept with the others.
///
/// # Panics
/// If the room of IP is not registered: a programming error, named.
pub fn key(control: &Control) -> MetadataKey<Upper> {
    control.room::<Key>().0
}

pub(crate) fn register(control: &Control) -> Result<(), DataplaneError> {
    let key = control.room_mut::<Dataplane>().metadata("upper-layer")?;
    control.insert_room(Key(key));
    Ok(())
}

/// Protocol, ports and flags of eight packets, from their windows, which begin [`BACK`] bytes before the IP header.
pub struct UpperLanes<I: Isa> {
    /// The protocol behind the IP header.
    pub protocol: Lanes<I>,
    /// As [`Upper::source`]; of protocols that have no such thing something else.
    pub source: Lanes<I>,
    /// As [`Upper::destination`].
    pub destination: Lanes<I>,
    /// As [`Upper::tcp_flags`]. None of families whose windows end before them.
    pub tcp_flags: Option<Lanes<I>>,
    /// Packets of which all this holds. Of others, those with options or extension headers, later fragments, short and chained ones, ask
    /// [`Upper::of`].
    pub known: Mask<I>,
}

impl<I: Isa> UpperLanes<I> {
    /// That of packets whose length counts from the IP header on.
    #[inline(always)]
    pub fn of<F: Family>(p: &PacketLanes<I>) -> UpperLanes<I> {
        let protocol = p.header.get(const { Field::new(BACK as usize + F::PROTOCOL_OFFSET, 8) });
        let ports = p.header.get(const { Field::new(BACK as usize + F::HEADER_LENGTH, 32) });
        let (mut source, mut destination) = (ports >> 16, ports & 0xffff);
        let is = |kind: IpProtocol| protocol.eq(u32::from(kind.0));
        let is_icmp = is(IpProtocol::ICMP4) | is(IpProtocol::ICMP6);
        if is_icmp.any() {
            (source, destination) =
                (source.replace(is_icmp, ports >> 24), destination.replace(is_icmp, ports >> 16 & 0xff));
        }
        let at = const { if flags_at::<F>() < 64 { flags_at::<F>() } else { BACK as usize } };
        let tcp_flags = p.header.get(Field::new(at, 8));
        let whole = F::is_plain(p).without(p.flagged(Flags::CHAINED));
        UpperLanes {
            protocol,
            source,
            destination,
            tcp_flags: (flags_at::<F>() < 64).then_some(tcp_flags),
            known: whole & p.length.gt((F::HEADER_LENGTH + TCP_FLAGS) as u32),
        }
    }
}

/// The bytes of the window that [`UpperLanes`] and [`addresses`] take.
pub const fn reads<F: Family>() -> Quarters {
    let end = flags_at::<F>() + 1;
    Quarters::of(BACK as usize, if end < 64 { end } else { 64 })
}

/// Where the window has the flags of TCP behind a header without options.
const fn flags_at<F: Family>() -> usize {
    BACK as usize + F::HEADER_LENGTH + TCP_FLAGS
}

/// The words of the senders' and the receivers' addresses, as far as the family has them.
#[inline(always)]
pub fn addresses<F: Family, I: Isa>(p: &PacketLanes<I>) -> [[Lanes<I>; 4]; 2] {
    [words::<F, I>(p, F::SOURCE_OFFSET), words::<F, I>(p, F::DESTINATION_OFFSET)]
}
#[inline(always)]
fn words<F: Family, I: Isa>(p: &PacketLanes<I>, at: usize) -> [Lanes<I>; 4] {
    let mut words = [p.hop.same(0); 4];
    for (n, word) in words.iter_mut().enumerate().take(usize::from(F::ADDRESS_BITS) / 32) {
        *word = p.header.get(Field::new(BACK as usize + at + 4 * n, 32));
    }
    words
}
