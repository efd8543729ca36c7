//! The bytes of a stream's packets: made once, and changed where packets differ.

use quiver_wire::checksum::{self, Sum};
use quiver_wire::{EtherType, IpProtocol};

use crate::stream::{PgStream, VlanTag, headers};
use crate::tag::Tag;
use crate::values::{Sequence, Value, Values};

/// A packet made once, in which only fields that vary are written.
pub(crate) struct Template {
    bytes: Vec<u8>,
    fields: Vec<(usize, usize, Sequence)>,
    sizes: Sequence,
    /// Where the IPv4 header begins.
    ip: usize,
    /// Whether fields of the IPv4 header vary.
    header_varies: bool,
    /// The size of the last packet; zero before the first.
    size: usize,
    /// The sum of its IPv4 header up to the addresses.
    sum: Sum,
}

impl Template {
    pub fn new(stream: &PgStream) -> Template {
        let longest = stream.size.largest() as usize;
        let headers = headers(stream);
        let (ip, udp) = (headers - 28, headers - 8);
        let mut bytes = vec![0; longest.max(headers + Tag::LENGTH)];
        let mut fields = vec![];
        fn field<T: Value>(
            fields: &mut Vec<(usize, usize, Sequence)>,
            at: usize,
            length: usize,
            values: &Values<T>,
            seed: u64,
        ) {
            // Fields are told apart, so that two random ones do not go together.
            fields.push((at, length, values.sequence(seed ^ (at as u64) << 48)));
        }
        field(&mut fields, 0, 6, &stream.destination_mac, stream.seed);
        field(&mut fields, 6, 6, &stream.source_mac, stream.seed);
        let outer = match stream.vlan_tag {
            VlanTag::Dot1q => EtherType::DOT1Q,
            VlanTag::Dot1ad => EtherType::DOT1AD,
        };
        let tags = [(outer, &stream.vlan), (EtherType::DOT1Q, &stream.inner_vlan)];
        for (number, (tag, vlan)) in tags.into_iter().filter_map(|(tag, vlan)| Some((tag, vlan.as_ref()?))).enumerate()
        {
            let at = 12 + 4 * number;
            bytes[at..at + 2].copy_from_slice(&tag.get().to_be_bytes());
            field(&mut fields, at + 2, 2, vlan, stream.seed);
        }
        bytes[ip - 2..ip].copy_from_slice(&EtherType::IP4.get().to_be_bytes());
        bytes[ip] = 0x45;
        bytes[ip + 8] = stream.ttl;
        bytes[ip + 9] = IpProtocol::UDP.0;
        field(&mut fields, ip + 12, 4, &stream.source, stream.seed);
        field(&mut fields, ip + 16, 4, &stream.destination, stream.seed);
        field(&mut fields, udp, 2, &stream.source_port, stream.seed);
        field(&mut fields, udp + 2, 2, &stream.destination_port, stream.seed);
        let (sizes, sum) = (stream.size.sequence(stream.seed), Sum::default());
        let mut template = Template { bytes, fields, sizes, ip, header_varies: false, size: 0, sum };
        template.write(0);
        template.fields.retain(|(.., sequence)| !sequence.is_constant());
        template.header_varies = template.fields.iter().any(|(at, ..)| (ip..udp).contains(at));
        template
    }
    /// Writes the fields of packet `number` that vary.
    fn write(&mut self, number: u64) {
        for (at, length, sequence) in &self.fields {
            let value = sequence.at(number).to_be_bytes();
            self.bytes[*at..at + length].copy_from_slice(&value[8 - length..]);
        }
    }
    /// Packet `number` of the stream, with this tag at its end. Its UDP checksum is zero, which says that there is none (RFC
    /// 768).
    #[inline]
    pub fn packet(&mut self, number: u64, tag: [u8; Tag::LENGTH]) -> &[u8] {
        let size = (self.sizes.at(number) as usize).min(self.bytes.len());
        let is_resized = self.size != size;
        if is_resized {
            self.resize(size);
        }
        if !self.fields.is_empty() {
            self.write(number);
        }
        if is_resized || self.header_varies {
            self.sum_up();
        }
        self.bytes[size - Tag::LENGTH..size].copy_from_slice(&tag);
        &self.bytes[..size]
    }
    /// Fills in the lengths of a packet of another size, and takes the tag of the last one away.
    fn resize(&mut self, size: usize) {
        let (ip, length) = (self.ip, (size - self.ip) as u16);
        self.bytes[ip + 2..ip + 4].copy_from_slice(&length.to_be_bytes());
        self.bytes[ip + 24..ip + 26].copy_from_slice(&(length - 20).to_be_bytes());
        self.bytes[ip + 10..ip + 12].fill(0);
        self.sum = checksum::of(&self.bytes[ip..ip + 12]);
        if let Some(tag) = self.size.checked_sub(Tag::LENGTH) {
            self.bytes[tag..self.size].fill(0);
        }
        self.size = size;
    }
    /// Fills in the checksum of IPv4.
    #[inline]
    fn sum_up(&mut self) {
        let Some(header) = self.bytes[self.ip..].first_chunk_mut::<20>() else { return };
        let mut sum = self.sum;
        for at in [12, 14, 16, 18] {
            sum = sum.add_word(u16::from_be_bytes([header[at], header[at + 1]]));
        }
        [header[10], header[11]] = sum.checksum().to_be_bytes();
    }
}
