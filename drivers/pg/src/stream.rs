//! Streams: what a generator's interface is to receive, or another one to send. Objects of kind `pg-streams`.

use std::net::{Ipv4Addr, Ipv6Addr};

use quiver_control::Object;
use quiver_control::object::{Problems, Record};
use quiver_interface::InterfaceName;
use quiver_wire::{MacAddress, VlanId};
use serde_json::json;

use crate::values::{FrameSize, Values, Vni};

/// The size of frames if none is said.
const SIZE: FrameSize = FrameSize::new(64).expect("it is one");

/// Stream of packets that a packet generator interface receives or transmits.
#[derive(Object, Clone, Debug, PartialEq)]
#[object(kind = "pg-streams")]
pub struct PgStream {
    /// Name of the stream.
    #[key]
    pub name: String,
    /// Packet generator interface that provides the queue, and receives the packets unless `output` is set.
    pub interface: InterfaceName,
    /// Interface that transmits the packets, as if they had been routed there.
    pub output: Option<InterfaceName>,
    /// Receiving interface recorded in packets with `output`. Default: `interface`.
    pub received_by: Option<InterfaceName>,
    /// Whether packets are generated.
    #[default(false)]
    pub enabled: bool,
    /// Path of a pcap file whose packets are repeated; it is read once, when set. Without it, the fields below
    /// describe the packets.
    pub pcap: Option<String>,
    /// Ethernet source addresses of the frames.
    #[default(Values::One(MacAddress([2, 0, 0, 0, 0, 1])))]
    pub source_mac: Values<MacAddress>,
    /// Ethernet destination addresses of the frames.
    #[default(Values::One(MacAddress([2, 0, 0, 0, 0, 2])))]
    pub destination_mac: Values<MacAddress>,
    /// VLAN ids. Without them frames are untagged.
    pub vlan: Option<Values<VlanId>>,
    /// EtherType of the outer tag.
    #[default(VlanTag::Dot1q)]
    pub vlan_tag: VlanTag,
    /// VLAN ids of a second tag. Without them there is none.
    pub inner_vlan: Option<Values<VlanId>>,
    /// IPv4 source addresses of packets.
    #[default(Values::One(Ipv4Addr::new(10, 0, 0, 1)))]
    pub source: Values<Ipv4Addr>,
    /// IPv4 destination addresses of packets.
    #[default(Values::One(Ipv4Addr::new(10, 0, 1, 1)))]
    pub destination: Values<Ipv4Addr>,
    /// IPv6 source addresses. With them, packets are IPv6 with no next header (RFC 8200, 4.7) in place of IPv4 with
    /// UDP. Values of one field share their first or last 64 bits.
    pub ip6_source: Option<Values<Ipv6Addr>>,
    /// IPv6 destination addresses, for use with `ip6-source`.
    pub ip6_destination: Option<Values<Ipv6Addr>>,
    /// Whether IPv6 packets carry UDP with the ports below.
    #[default(false)]
    pub ip6_udp: bool,
    /// Whether the UDP checksum is left to the transmitter (offload). Otherwise IPv4 packets have none (RFC 768), and
    /// IPv6 packets a correct one (RFC 8200, 8.1).
    #[default(false)]
    pub checksum_offload: bool,
    /// IPv4 TTL or IPv6 hop limit.
    #[default(64)]
    pub ttl: u8,
    /// UDP source ports of packets.
    #[default(Values::One(1024))]
    pub source_port: Values<u16>,
    /// UDP destination ports of packets.
    #[default(Values::One(1024))]
    pub destination_port: Values<u16>,
    /// VNIs. With them, frames are VXLAN over UDP and IPv4 (RFC 7348); Ethernet addresses and tags are outer ones, IP
    /// addresses and ports inner ones.
    pub vxlan: Option<Values<Vni>>,
    /// Outer IPv4 source addresses of the tunnel.
    #[default(Values::One(Ipv4Addr::new(192, 0, 2, 1)))]
    pub tunnel_source: Values<Ipv4Addr>,
    /// Outer IPv4 destination addresses of the tunnel.
    #[default(Values::One(Ipv4Addr::new(192, 0, 2, 2)))]
    pub tunnel_destination: Values<Ipv4Addr>,
    /// Outer UDP source ports; the destination port is 4789.
    #[default(Values::One(49152))]
    pub tunnel_port: Values<u16>,
    /// Ethernet source addresses of inner frames.
    #[default(Values::One(MacAddress([2, 0, 0, 0, 0, 3])))]
    pub inner_source_mac: Values<MacAddress>,
    /// Ethernet destination addresses of inner frames.
    #[default(Values::One(MacAddress([2, 0, 0, 0, 0, 4])))]
    pub inner_destination_mac: Values<MacAddress>,
    /// Number of consecutive packets with the same field values, as in a flow of several packets. Sizes still vary.
    #[default(1)]
    pub repeat: u16,
    /// Frame size in bytes with the Ethernet header and without the FCS. `imix` is 28x64,16x570,4x1518.
    #[default(Values::One(SIZE))]
    pub size: Values<FrameSize>,
    /// Whether packets carry no sequence numbers, so that they may be too short for one.
    #[default(false)]
    pub unnumbered: bool,
    /// Packets per second; 0 is unlimited.
    #[default(0)]
    pub rate: u64,
    /// Number of packets in a burst.
    #[default(1)]
    pub burst: u16,
    /// Largest number of packets that a worker generates in one turn.
    #[default(256)]
    pub maxframe: u16,
    /// Worker that generates the packets; it takes over the interface's receive queue when the stream starts.
    /// Default: the queue's worker.
    pub worker: Option<u16>,
    /// Number of packets in all; 0 is unlimited.
    #[default(0)]
    pub limit: u64,
    /// Closed loop: largest number of packets in flight. One that leaves by an interface of the generator permits the
    /// next. 0 is an open loop.
    #[default(0)]
    pub window: u32,
    /// Seed of random field values.
    #[default(0)]
    pub seed: u64,
    /// Whether packets carry a timestamp, from which `show packet-generator` reports latencies.
    #[default(false)]
    pub latency: bool,
    /// Whether times between packets are counted.
    #[default(false)]
    pub gaps: bool,
}

impl PgStream {
    /// A stream without a name and an interface, and all else at its defaults.
    pub fn unnamed() -> PgStream {
        let nowhere = json!({"name": "", "interface": ""}).as_object().cloned().unwrap_or_default();
        PgStream::read_record(&nowhere, &mut Problems::default()).expect("all other fields have defaults")
    }
    /// Whether its packets have numbers, by which they are told again: those of files have none.
    pub(crate) fn is_numbered(&self) -> bool {
        self.pcap.is_none() && !self.unnumbered
    }
}

quiver_control::choice! {
    /// The first tag of a frame.
    pub enum VlanTag {
        /// A tag of customers, 0x8100.
        Dot1q = "dot1q",
        /// A tag of providers, 0x88a8.
        Dot1ad = "dot1ad",
    } as "vlan-tag", "dot1q or dot1ad";
}
