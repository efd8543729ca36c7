//! Streams: what a generator's interface is to receive, or another one to send. Objects of kind `pg-streams`.

use std::fs::File;
use std::net::{Ipv4Addr, Ipv6Addr};

use pcap_file::pcap::PcapReader;
use quiver_control::object::{Problems, Record};
use quiver_control::{Object, ObjectError};
use quiver_interface::InterfaceName;
use quiver_wire::{MacAddress, VlanId};
use serde_json::json;

use crate::layout::Layout;
use crate::tag::Tag;
use crate::values::{FrameSize, Values, Vni};

/// Packets of a file at most.
const RECORDED_MAX: usize = 65_536;

/// The size of frames if none is said.
const SIZE: FrameSize = FrameSize::new(64).expect("it is one");

/// A stream of packets that an interface of the packet generator receives, or that another one sends.
#[derive(Object, Clone, Debug, PartialEq)]
#[object(kind = "pg-streams")]
pub struct PgStream {
    /// The name of the stream.
    #[key]
    pub name: String,
    /// The interface of the packet generator from whose queue it comes, and which receives it unless `output` is set.
    pub interface: InterfaceName,
    /// The interface by which its packets are sent, as if they had been routed there, rather than received.
    pub output: Option<InterfaceName>,
    /// The interface that is taken to have received such packets; without it, that of the generator.
    pub received_by: Option<InterfaceName>,
    /// Whether packets are made.
    #[default(false)]
    pub enabled: bool,
    /// A pcap file whose packets are received as they are, again and again; without it, the fields below say what. It is
    /// read once, when it is set.
    pub pcap: Option<String>,
    /// Source addresses of Ethernet.
    #[default(Values::One(MacAddress([2, 0, 0, 0, 0, 1])))]
    pub source_mac: Values<MacAddress>,
    /// Destination addresses of Ethernet.
    #[default(Values::One(MacAddress([2, 0, 0, 0, 0, 2])))]
    pub destination_mac: Values<MacAddress>,
    /// VLANs; without them, frames have no tag.
    pub vlan: Option<Values<VlanId>>,
    /// Which tag says that.
    #[default(VlanTag::Dot1q)]
    pub vlan_tag: VlanTag,
    /// VLANs of a second tag behind the first; without them, there is none.
    pub inner_vlan: Option<Values<VlanId>>,
    /// Source addresses of IPv4.
    #[default(Values::One(Ipv4Addr::new(10, 0, 0, 1)))]
    pub source: Values<Ipv4Addr>,
    /// Destination addresses of IPv4.
    #[default(Values::One(Ipv4Addr::new(10, 0, 1, 1)))]
    pub destination: Values<Ipv4Addr>,
    /// Source addresses of IPv6. With them, packets are IPv6 in place of IPv4 and UDP, with nothing that IPv6 knows behind its
    /// header (RFC 8200, section 4.7). Those of a field share their first 64 bits, or the last.
    pub ip6_source: Option<Values<Ipv6Addr>>,
    /// Destination addresses of IPv6, beside its source addresses.
    pub ip6_destination: Option<Values<Ipv6Addr>>,
    /// Whether packets of IPv6 carry UDP with the ports below.
    #[default(false)]
    pub ip6_udp: bool,
    /// Whether the checksum of UDP is left to whoever sends packets on, as devices leave it. Without that, packets of IPv4
    /// have none (RFC 768), and those of IPv6, which must have one (RFC 8200, section 8.1), come with it.
    #[default(false)]
    pub checksum_offload: bool,
    /// The time to live of IPv4, and the hop limit of IPv6.
    #[default(64)]
    pub ttl: u8,
    /// Source ports of UDP.
    #[default(Values::One(1024))]
    pub source_port: Values<u16>,
    /// Destination ports of UDP.
    #[default(Values::One(1024))]
    pub destination_port: Values<u16>,
    /// VXLAN networks. With them, frames are carried by VXLAN over UDP and IPv4 (RFC 7348): addresses of Ethernet and tags are
    /// those of the tunnel's packets, addresses of IP and ports those of the packets inside.
    pub vxlan: Option<Values<Vni>>,
    /// Source addresses of the tunnel.
    #[default(Values::One(Ipv4Addr::new(192, 0, 2, 1)))]
    pub tunnel_source: Values<Ipv4Addr>,
    /// Destination addresses of the tunnel.
    #[default(Values::One(Ipv4Addr::new(192, 0, 2, 2)))]
    pub tunnel_destination: Values<Ipv4Addr>,
    /// Source ports of the tunnel; its destination port is 4789.
    #[default(Values::One(49152))]
    pub tunnel_port: Values<u16>,
    /// Source addresses of Ethernet in frames that the tunnel carries.
    #[default(Values::One(MacAddress([2, 0, 0, 0, 0, 3])))]
    pub inner_source_mac: Values<MacAddress>,
    /// Destination addresses of Ethernet in frames that the tunnel carries.
    #[default(Values::One(MacAddress([2, 0, 0, 0, 0, 4])))]
    pub inner_destination_mac: Values<MacAddress>,
    /// Packets in a row whose fields are the same, as those of a session that has more than one; sizes go on.
    #[default(1)]
    pub repeat: u16,
    /// Bytes of a frame, Ethernet header included, checksum not. `imix` is 28x64,16x570,4x1518.
    #[default(Values::One(SIZE))]
    pub size: Values<FrameSize>,
    /// Whether packets are without the numbers by which they are told again, so that those without room for one are possible.
    #[default(false)]
    pub unnumbered: bool,
    /// Packets in a second; 0 for as many as possible.
    #[default(0)]
    pub rate: u64,
    /// Packets that come at once.
    #[default(1)]
    pub burst: u16,
    /// Packets that a worker makes in one go at most.
    #[default(256)]
    pub maxframe: u16,
    /// The worker that makes them, which gets the interface's receive queue when the stream is started; without it, the one
    /// that has it.
    pub worker: Option<u16>,
    /// Packets in all; 0 for no end.
    #[default(0)]
    pub limit: u64,
    /// A closed loop: so many packets are on their way at most, and one that comes out of an interface of the generator
    /// makes room for the next; 0 for an open one.
    #[default(0)]
    pub window: u32,
    /// What random fields are drawn from.
    #[default(0)]
    pub seed: u64,
    /// Whether packets carry the moment in which they are made, so that `show packet-generator` tells how long they are on
    /// their way.
    #[default(false)]
    pub latency: bool,
    /// Whether the times between packets are counted.
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
    /// Bytes that the smallest packet has at least: headers, and a number if it has one.
    pub(crate) fn least(&self) -> u64 {
        (Layout::of(self).end + if self.unnumbered { 0 } else { Tag::LENGTH }) as u64
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

/// What holds of a stream by itself.
pub(crate) fn check(stream: &PgStream) -> Result<(), ObjectError> {
    let least = stream.least();
    if stream.pcap.is_none() && stream.size.smallest() < least {
        let what = format!("{} is not possible", stream.size);
        return Err(
            ObjectError::field("size", what).remedy(format!("from {least} to {} with these headers", FrameSize::MAX))
        );
    }
    if stream.received_by.is_some() && stream.output.is_none() {
        let what = "packets that are received are so by the stream's own interface";
        return Err(ObjectError::field("received-by", what).remedy("give an output, too, or leave it out"));
    }
    if stream.inner_vlan.is_some() && stream.vlan.is_none() {
        return Err(ObjectError::field("inner-vlan", "there is no tag before it").remedy("give a vlan, too"));
    }
    if stream.ip6_source.is_some() != stream.ip6_destination.is_some() {
        let (field, other) = match stream.ip6_source {
            Some(_) => ("ip6-destination", "ip6-source"),
            None => ("ip6-source", "ip6-destination"),
        };
        return Err(ObjectError::field(field, format!("there is none beside {other}")).remedy("give both, or neither"));
    }
    if stream.unnumbered && (stream.window > 0 || stream.latency) {
        let field = if stream.latency { "latency" } else { "window" };
        let what = "packets without numbers are not told again";
        return Err(ObjectError::field(field, what).remedy(format!("leave out {field} or unnumbered")));
    }
    if stream.ip6_udp && stream.ip6_source.is_none() {
        return Err(ObjectError::field("ip6-udp", "packets are none of IPv6").remedy("give ip6-source, too"));
    }
    if stream.checksum_offload && stream.vxlan.is_some() {
        return Err(
            ObjectError::field("checksum-offload", "a tunnel's packets have two of UDP").remedy("leave out vxlan")
        );
    }
    if stream.repeat == 0 {
        return Err(ObjectError::field("repeat", "0 packets never come").remedy("at least 1"));
    }
    if stream.burst == 0 {
        return Err(ObjectError::field("burst", "0 packets never come").remedy("at least 1"));
    }
    if stream.maxframe == 0 {
        return Err(ObjectError::field("maxframe", "0 packets never come").remedy("at least 1"));
    }
    if stream.window > 0 && stream.pcap.is_some() {
        return Err(ObjectError::field("window", "packets of a file have no numbers by which they are told again")
            .remedy("leave out window or pcap"));
    }
    if stream.latency && stream.pcap.is_some() {
        return Err(ObjectError::field(
            "latency",
            "packets of a file have no place for the moment in which they are sent",
        )
        .remedy("leave out latency or pcap"));
    }
    Ok(())
}

/// Reads the packets of a file, one at least.
pub(crate) fn recorded(path: &str) -> Result<Vec<Vec<u8>>, ObjectError> {
    let wrong = |what: String| ObjectError::field("pcap", format!("{path}: {what}"));
    let file = File::open(path).map_err(|error| wrong(error.to_string()))?;
    let mut reader = PcapReader::new(file).map_err(|error| wrong(error.to_string()))?;
    let mut packets = Vec::new();
    while let Some(packet) = reader.next_packet() {
        let packet = packet.map_err(|error| wrong(format!("packet {}: {error}", packets.len() + 1)))?;
        packets.push(packet.data.into_owned());
        if packets.len() > RECORDED_MAX {
            return Err(wrong(format!("there are more than {RECORDED_MAX} packets")).remedy("split the file"));
        }
    }
    match packets.is_empty() {
        true => Err(wrong("there is no packet".into()).remedy("give a file with packets")),
        false => Ok(packets),
    }
}
