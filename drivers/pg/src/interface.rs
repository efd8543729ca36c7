//! The generator's interfaces as objects.

use quiver_control::Object;
use quiver_wire::{EtherType, EthernetHeader, MacAddress};
use zerocopy::IntoBytes;

/// Interface of the packet generator: it receives streams, and counts or captures transmitted packets.
#[derive(Object, Clone, Debug, PartialEq)]
#[object(kind = "packet-generators", provides = "interface")]
pub struct PacketGenerator {
    /// Name of the interface, such as `pg0`.
    #[key]
    pub name: String,
    /// MAC address. Default: 02:fe:70:67 and the number in the name.
    #[fixed]
    pub hw_addr: Option<MacAddress>,
    /// Kind of its packets.
    #[fixed]
    #[default(PgMode::Ethernet)]
    pub mode: PgMode,
    /// Whether packets from files have TCP and UDP checksums left to the transmitter, as a device with checksum
    /// offload would pass them.
    #[fixed]
    #[default(false)]
    pub checksum_offload: bool,
    /// Segment size in bytes (GSO) of long TCP packets from files. With it, the interface also transmits long packets
    /// unsegmented.
    #[fixed]
    pub gso_size: Option<u16>,
    /// Whether it receives only frames to its own address, multicast and broadcast, as a device out of promiscuous
    /// mode.
    #[default(false)]
    pub mac_filter: bool,
}

quiver_control::choice! {
    /// Layer at which an interface's packets begin.
    pub enum PgMode {
        /// Ethernet frames.
        Ethernet = "ethernet",
        /// IPv4 packets, without a header before them.
        Ip4 = "ip4",
        /// IPv6 packets, without a header before them.
        Ip6 = "ip6",
    } as "pg-mode", "ethernet, ip4 or ip6";
}

/// Header that is put before each packet that comes in without one, and taken off where it leaves: inside, all packets
/// are frames.
pub(crate) fn header(mode: PgMode, mac: MacAddress) -> Vec<u8> {
    let ethertype = match mode {
        PgMode::Ethernet => return vec![],
        PgMode::Ip4 => EtherType::IP4,
        PgMode::Ip6 => EtherType::IP6,
    };
    EthernetHeader { destination: mac, source: MacAddress::ZERO, ethertype }.as_bytes().to_vec()
}
