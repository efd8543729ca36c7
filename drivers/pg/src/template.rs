//! The bytes of a stream's packets: made once, and changed where packets differ.

use quiver_engine::buffer::SEGMENT_MAX;
use quiver_wire::checksum::{self, Sum};
use quiver_wire::offload::NEEDS_CHECKSUM;
use quiver_wire::{EtherType, Header as _, Ip4Header, Ip6Header, IpProtocol, VirtioNetHeader};

use crate::layout::{IP4, IP6, Layout, UDP};
use crate::stream::{PgStream, VlanTag};
use crate::tag::Tag;
use crate::values::{Sequence, Value, Values, drawn};

/// The destination port of VXLAN (RFC 7348, section 5).
const VXLAN_PORT: u16 = 4789;
/// The flag that says that there is a network's number.
const VXLAN_HAS_NUMBER: u8 = 0x08;
/// Next-header value of an IPv6 header without a following one (RFC 8200, section 4.7).
const NO_NEXT_HEADER: u8 = 59;
/// Where the checksum stands in a header of UDP.
const UDP_CHECKSUM: usize = 6;

/// A packet made once, of which only fields that vary are written into each copy.
pub(crate) struct Template {
    bytes: Vec<u8>,
    /// Fields that vary, except the IPv4 addresses, which the headers hold.
    fields: Vec<Field>,
    sizes: Sequence,
    /// Packets in a row whose fields are the same.
    repeat: u64,
    /// The innermost header, and that of the tunnel if there is one.
    headers: Vec<Header>,
    /// Where UDP's checksum is made, or is left to others.
    checksum: Option<Checksum>,
    /// Whether packets end with a tag.
    is_tagged: bool,
    /// The size of the last packet; zero before the first.
    size: usize,
    /// Room for a packet, if the longest one needs several buffers.
    room: Vec<u8>,
}

/// A header of IPv4, with UDP behind it, or of IPv6.
struct Header {
    at: usize,
    is_ip6: bool,
    /// Where UDP begins behind it, if it does.
    udp: Option<usize>,
    /// The addresses of IPv4 that vary.
    addresses: Vec<Field>,
    /// The sum of an IPv4 header without them.
    sum: Sum,
}

/// The checksum of UDP behind the innermost header.
#[derive(Clone, Copy, Debug)]
struct Checksum {
    ip: usize,
    is_ip6: bool,
    udp: usize,
    /// Whether it is left to others: the field holds what is not part of UDP (virtio 1.2, 5.1.6.2).
    is_left: bool,
}

impl Checksum {
    fn write(self, packet: &mut [u8]) {
        let Some((headers, behind)) = packet.split_at_mut_checked(self.udp) else { return };
        let length = behind.len() as u32;
        let Some(ip) = headers.get(self.ip..) else { return };
        let sum = match self.is_ip6 {
            false => Ip4Header::parse(ip)
                .map(|(ip, _)| checksum::pseudo_header4(ip.source(), ip.destination(), IpProtocol::UDP, length)),
            true => Ip6Header::parse(ip)
                .map(|(ip, _)| checksum::pseudo_header6(ip.source(), ip.destination(), IpProtocol::UDP, length)),
        };
        let Some(sum) = sum.filter(|_| behind.len() >= UDP) else { return };
        behind[UDP_CHECKSUM..UDP].fill(0);
        let field = if self.is_left { sum.folded() } else { sum.add_bytes(behind).checksum_not_zero() };
        behind[UDP_CHECKSUM..UDP].copy_from_slice(&field.to_be_bytes());
    }
}

/// A field: place, length, values.
struct Field {
    at: usize,
    length: usize,
    values: Sequence,
    /// The last packet, and the place of its value in a range.
    last: (u64, u64),
}

impl Field {
    /// Writes the value of packet `number`, and tells it.
    #[inline]
    fn write(&mut self, number: u64, bytes: &mut [u8]) -> u64 {
        let value = match &self.values {
            Sequence::Range { first, count } => first + place(&mut self.last, number, *count),
            Sequence::Drawn { ends, count } => drawn(*ends, place(&mut self.last, number, *count)),
            other => other.at(number),
        };
        let octets = value.to_be_bytes();
        let Some(field) = bytes.get_mut(self.at..self.at + self.length) else { return value };
        // A length that is known costs no call.
        match self.length {
            2 => field.copy_from_slice(&octets[6..]),
            4 => field.copy_from_slice(&octets[4..]),
            6 => field.copy_from_slice(&octets[2..]),
            length => field.copy_from_slice(&octets[8 - length..]),
        }
        value
    }
}

/// The place of packet `number` in a round, by the last packet and its place.
///
/// PERF: a division costs more than all else here, and packets come one after the other.
#[inline]
fn place(last: &mut (u64, u64), number: u64, count: u64) -> u64 {
    let place = match number.wrapping_sub(last.0) {
        0 => last.1,
        1 if last.1 + 1 < count => last.1 + 1,
        1 => 0,
        _ => number % count,
    };
    *last = (number, place);
    place
}

/// Fields that are being gathered.
struct Fields {
    list: Vec<Field>,
    seed: u64,
}

impl Fields {
    fn add<T: Value>(&mut self, at: usize, length: usize, values: &Values<T>) {
        // Fields are told apart, so that two random ones do not go together.
        let values = values.sequence(self.seed ^ (at as u64) << 48);
        self.list.push(Field { at, length, values, last: (0, 0) });
    }
}

impl Template {
    pub fn new(stream: &PgStream) -> Template {
        let (longest, layout) = (stream.size.largest() as usize, Layout::of(stream));
        let mut bytes = vec![0; longest.max(layout.end + Tag::LENGTH)];
        let mut fields = Fields { list: vec![], seed: stream.seed };
        fields.add(0, 6, &stream.destination_mac);
        fields.add(6, 6, &stream.source_mac);
        let outer = match stream.vlan_tag {
            VlanTag::Dot1q => EtherType::DOT1Q,
            VlanTag::Dot1ad => EtherType::DOT1AD,
        };
        let tags = [(outer, &stream.vlan), (EtherType::DOT1Q, &stream.inner_vlan)];
        for (number, (tag, vlan)) in tags.into_iter().filter_map(|(tag, vlan)| Some((tag, vlan.as_ref()?))).enumerate()
        {
            let at = 12 + 4 * number;
            bytes[at..at + 2].copy_from_slice(&tag.get().to_be_bytes());
            fields.add(at + 2, 2, vlan);
        }
        if let (Some(at), Some(networks)) = (layout.tunnel, &stream.vxlan) {
            ip4(&mut bytes, at, stream.ttl);
            let udp = at + IP4;
            fields.add(at + 12, 4, &stream.tunnel_source);
            fields.add(at + 16, 4, &stream.tunnel_destination);
            fields.add(udp, 2, &stream.tunnel_port);
            bytes[udp + 2..udp + 4].copy_from_slice(&VXLAN_PORT.to_be_bytes());
            let vxlan = udp + UDP;
            bytes[vxlan] = VXLAN_HAS_NUMBER;
            fields.add(vxlan + 4, 3, networks);
            fields.add(layout.ethernet, 6, &stream.inner_destination_mac);
            fields.add(layout.ethernet + 6, 6, &stream.inner_source_mac);
        }
        let ip = layout.ip;
        match (&stream.ip6_source, &stream.ip6_destination) {
            (Some(source), Some(destination)) => {
                bytes[ip - 2..ip].copy_from_slice(&EtherType::IP6.get().to_be_bytes());
                bytes[ip] = 0x60;
                let next = if stream.ip6_udp { IpProtocol::UDP.0 } else { NO_NEXT_HEADER };
                bytes[ip + 6..ip + 8].copy_from_slice(&[next, stream.ttl]);
                for (at, addresses) in [(ip + 8, source), (ip + 24, destination)] {
                    let [above, number] = addresses.first().map(u64::to_be_bytes);
                    bytes[at..at + 16].copy_from_slice(&[above, number].concat());
                    fields.add(if addresses.vary_above() { at } else { at + 8 }, 8, addresses);
                }
            }
            _ => {
                ip4(&mut bytes, ip, stream.ttl);
                fields.add(ip + 12, 4, &stream.source);
                fields.add(ip + 16, 4, &stream.destination);
            }
        }
        if let Some(udp) = layout.udp {
            fields.add(udp, 2, &stream.source_port);
            fields.add(udp + 2, 2, &stream.destination_port);
        }
        let header = |at, is_ip6, udp| Header { at, is_ip6, udp, addresses: vec![], sum: Sum::default() };
        let tunnel = layout.tunnel.map(|at| header(at, false, Some(at + IP4)));
        let is_made = stream.checksum_offload || layout.is_ip6;
        let checksum = layout.udp.filter(|_| is_made);
        let mut template = Template {
            bytes,
            fields: fields.list,
            sizes: stream.size.sequence(stream.seed),
            repeat: stream.repeat.max(1).into(),
            headers: [header(ip, layout.is_ip6, layout.udp)].into_iter().chain(tunnel).collect(),
            checksum: checksum.map(|udp| Checksum { ip, is_ip6: layout.is_ip6, udp, is_left: stream.checksum_offload }),
            is_tagged: stream.is_numbered(),
            size: 0,
            room: if longest > SEGMENT_MAX { vec![0; longest] } else { vec![] },
        };
        let Template { bytes, fields, headers, .. } = &mut template;
        fields.iter_mut().for_each(|field| _ = field.write(0, bytes));
        fields.retain(|field| !field.values.is_constant());
        for header in headers {
            header.addresses = fields.extract_if(.., |field| header.sums_up(field.at)).collect();
            header.addresses.iter().for_each(|field| bytes[field.at..field.at + field.length].fill(0));
        }
        template
    }
    /// The size of packet `number` of the stream, which is filled in next.
    #[inline]
    pub fn size(&mut self, number: u64) -> usize {
        if self.size == 0 || !self.sizes.is_constant() {
            let size = (self.sizes.at(number) as usize).min(self.bytes.len());
            if size != self.size {
                self.resize(size);
            }
        }
        self.size
    }
    /// Checksum and segmentation left to do for its packets.
    pub fn left(&self) -> Option<VirtioNetHeader> {
        let Checksum { udp, .. } = self.checksum.filter(|checksum| checksum.is_left)?;
        Some(VirtioNetHeader {
            flags: NEEDS_CHECKSUM,
            checksum_start: (udp as u16).into(),
            checksum_offset: (UDP_CHECKSUM as u16).into(),
            ..VirtioNetHeader::NONE
        })
    }
    /// Fills in packet `number`, with this tag at its end if there is room for one. UDP checksums that are neither made nor left to
    /// others are zero, which says that there is none (RFC 768; of VXLAN, RFC 7348, section 4.1).
    ///
    /// PERF: what varies is written into the copy, and IPv4's checksum is of the values, not of what was written: a copy or a sum of
    /// what has just been written in pieces would wait for the stores.
    #[inline]
    pub fn fill(&mut self, number: u64, tag: [u8; Tag::LENGTH], packet: &mut [u8]) {
        let Some(bytes) = self.bytes.get(..packet.len()) else { return };
        packet.copy_from_slice(bytes);
        let number = if self.repeat == 1 { number } else { number / self.repeat };
        self.fields.iter_mut().for_each(|field| _ = field.write(number, packet));
        self.headers.iter_mut().for_each(|header| header.fill(number, packet));
        if let Some(end) = packet.last_chunk_mut().filter(|_| self.is_tagged) {
            *end = tag;
        }
        if let Some(checksum) = self.checksum {
            checksum.write(packet);
        }
    }
    /// Packet `number`, which does not fit into one buffer.
    pub fn long(&mut self, number: u64, tag: [u8; Tag::LENGTH]) -> &[u8] {
        let mut room = std::mem::take(&mut self.room);
        let length = self.size.min(room.len());
        self.fill(number, tag, &mut room[..length]);
        self.room = room;
        &self.room[..length]
    }
    /// Writes the lengths of packets of another size.
    fn resize(&mut self, size: usize) {
        let Template { bytes, headers, .. } = self;
        headers.iter_mut().for_each(|header| header.resize(bytes, size));
        self.size = size;
    }
}

impl Header {
    /// Fills in the lengths for a packet of this size.
    fn resize(&mut self, bytes: &mut [u8], size: usize) {
        let (ip, length) = (self.at, (size - self.at) as u16);
        if let Some(udp) = self.udp {
            bytes[udp + 4..udp + 6].copy_from_slice(&((size - udp) as u16).to_be_bytes());
        }
        if self.is_ip6 {
            bytes[ip + 4..ip + 6].copy_from_slice(&(length - IP6 as u16).to_be_bytes());
            return;
        }
        bytes[ip + 2..ip + 4].copy_from_slice(&length.to_be_bytes());
        bytes[ip + 10..ip + 12].fill(0);
        self.sum = checksum::of(&bytes[ip..ip + IP4]);
        self.write_checksum(self.sum, bytes);
    }
    /// Writes the addresses of packet `number` that vary, and the checksum.
    #[inline]
    fn fill(&mut self, number: u64, packet: &mut [u8]) {
        if self.addresses.is_empty() {
            return;
        }
        let mut sum = self.sum;
        for field in &mut self.addresses {
            let value = field.write(number, packet);
            sum = sum.add_word((value >> 16) as u16).add_word(value as u16);
        }
        self.write_checksum(sum, packet);
    }
    /// Whether the field in this place is one that the checksum of IPv4 sums up: an address.
    fn sums_up(&self, at: usize) -> bool {
        !self.is_ip6 && (self.at + 12..self.at + IP4).contains(&at)
    }
    /// Fills in the checksum of IPv4.
    #[inline]
    fn write_checksum(&self, sum: Sum, bytes: &mut [u8]) {
        if let Some(field) = bytes.get_mut(self.at + 10..self.at + 12) {
            field.copy_from_slice(&sum.checksum().to_be_bytes());
        }
    }
}

/// Writes the constant fields of an IPv4 header before UDP, and the ethertype before it.
fn ip4(bytes: &mut [u8], at: usize, ttl: u8) {
    bytes[at - 2..at].copy_from_slice(&EtherType::IP4.get().to_be_bytes());
    bytes[at] = 0x45;
    bytes[at + 8] = ttl;
    bytes[at + 9] = IpProtocol::UDP.0;
}
