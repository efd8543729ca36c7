//! The differences between kinds of tunnels.

use quiver_engine::{Isa, Lanes, Mask};
use quiver_wire::{EtherType, UdpPort, Vni};

/// A kind of tunnels over UDP, each of which is an interface.
pub trait Kind: Send + Sync + 'static {
    /// The word by which commands and objects name it.
    const WORD: &'static str;
    /// The kind of its interfaces.
    const NAME: &'static str;
    /// The port that IANA has assigned.
    const PORT: UdpPort;
    /// Bytes of the header that tunnels write behind UDP's: at most 16, an even number.
    const HEADER_LENGTH: usize;
    /// The nodes that put packets into datagrams of IPv4 and IPv6.
    const ENCAPSULATE: [&'static str; 2];
    /// The nodes that take them out again.
    const INPUT: [&'static str; 2];
    /// The features that hand datagrams to those without a lookup of their destination.
    const BYPASS: [&'static str; 2];
    /// Whether headers may have options.
    const HAS_OPTIONS: bool;

    /// The tunnel header of packets of a network with this payload type.
    fn header(vni: Vni, protocol: EtherType) -> Vec<u8>;
    /// Reads the first two words of eight headers: the packets whose headers are ordinary and whose payload is an
    /// Ethernet frame, and their networks.
    fn of_words<I: Isa>(words: [Lanes<I>; 2]) -> (Mask<I>, Lanes<I>);
    /// Parses the bytes behind the UDP header, as far as they lie in the packet's first buffer.
    fn parse(datagram: &[u8]) -> Result<Header, Malformed>;
}

/// The header of a tunnelled packet, as a receiver needs it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// The network.
    pub vni: Vni,
    /// Its bytes, options included.
    pub length: usize,
    /// Whether it has options.
    pub has_options: bool,
    /// Ethertype of the payload, if the header has one.
    pub protocol: Option<EtherType>,
}

/// The bytes behind the UDP header are no valid header of this kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Malformed {
    /// It is cut off, or says that it has no network.
    Header,
    /// Its options do not end where it says, or an option not where the options do.
    Options,
    /// It has an option that must be understood, and is not.
    CriticalOption,
}
