//! The bytes of a stream's packets: made once, and changed where packets differ.

use quiver_wire::{EtherType, IpProtocol, checksum};

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
    /// Where the tag of the last packet begins.
    tag: usize,
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
        let mut template = Template { bytes, fields, sizes: stream.size.sequence(stream.seed), ip, tag: headers };
        template.write(0);
        template.fields.retain(|(.., sequence)| !sequence.is_constant());
        template
    }
    /// Writes the fields of packet `number` that vary.
    fn write(&mut self, number: u64) {
        for (at, length, sequence) in &self.fields {
            let value = sequence.at(number).to_be_bytes();
            self.bytes[*at..at + length].copy_from_slice(&value[8 - length..]);
        }
    }
    /// Packet `number` of the stream. Its UDP checksum is zero, which says that there is none (RFC 768).
    pub fn packet(&mut self, number: u64, tag: Tag) -> &[u8] {
        self.bytes[self.tag..self.tag + Tag::LENGTH].fill(0);
        self.write(number);
        let (size, ip) = ((self.sizes.at(number) as usize).min(self.bytes.len()), self.ip);
        let length = (size - ip) as u16;
        self.bytes[ip + 2..ip + 4].copy_from_slice(&length.to_be_bytes());
        self.bytes[ip + 24..ip + 26].copy_from_slice(&(length - 20).to_be_bytes());
        self.bytes[ip + 10..ip + 12].fill(0);
        let sum = checksum::of(&self.bytes[ip..ip + 20]).checksum();
        self.bytes[ip + 10..ip + 12].copy_from_slice(&sum.to_be_bytes());
        self.tag = size - Tag::LENGTH;
        self.bytes[self.tag..size].copy_from_slice(&tag.to_bytes());
        &self.bytes[..size]
    }
}
