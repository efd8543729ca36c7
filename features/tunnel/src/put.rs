//! Putting a packet into a datagram: the headers in front of it; or, where a driver was to complete the packet, a datagram for each
//! packet that comes of that.

use std::cell::Cell;

use quiver_engine::{Context, Flags, Frame, Isa, LANES, Lanes, Mask8};
use quiver_ip::family::v4::flow as flow_of_ip4;
use quiver_wire::{EtherType, EthernetHeader, Header, Ip4Header, MacAddress, Segments, flow};
use zerocopy::IntoBytes;

use crate::outer::{Datagram, Outer};

/// Next step of a packet.
#[derive(Clone, Copy, Debug)]
pub struct NextStep<'o> {
    /// Type of the inner packet.
    pub inner: Inner,
    /// The headers in front of it.
    pub outer: &'o Outer,
    /// UDP's source port.
    pub source_port: u16,
    /// The ECN field of the outer header.
    pub ecn: u8,
    /// Adjacency for the next node.
    pub hop: u32,
    /// The arc.
    pub next: u16,
}

/// First header of an inner packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Inner {
    /// An Ethernet header.
    Frame,
    /// An IP header, of the family with this ethertype.
    Packet(EtherType),
}

/// Why a packet cannot be put into a datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unfit {
    /// The datagram would be longer than a packet can be.
    TooLong,
    /// There is no room for the headers in the packet's buffer.
    NoHeadroom,
    /// Its offload cannot be carried out, or buffers are missing.
    NotCompleted,
}

/// Puts packets into datagrams, for one worker.
#[derive(Clone)]
pub struct Putter {
    /// The identification of the next datagram.
    next: Cell<u16>,
    /// Whether packets of the present frame were emitted in place of their rows.
    has_emitted: Cell<bool>,
}

impl Putter {
    /// For a worker's node.
    pub fn new(worker: usize) -> Putter {
        // Workers begin far from each other.
        let next = Cell::new((worker as u16).wrapping_mul(0x6180));
        Putter { next, has_emitted: Cell::new(false) }
    }
    /// A new frame.
    pub fn begin(&self) {
        self.has_emitted.set(false);
    }
    /// Outer fields of the next datagram with a payload of `payload` bytes.
    #[inline(always)]
    pub fn datagram(&self, source_port: u16, ecn: u8, payload: usize) -> Datagram {
        let identification = self.next.replace(self.next.get().wrapping_add(1));
        Datagram { source_port, identification, ecn, payload }
    }
    /// The identifications of the datagrams of these lanes, in their order.
    #[inline(always)]
    pub fn identifications(&self, lanes: Mask8) -> [u32; LANES] {
        let first = u32::from(self.next.get());
        self.next.set((first + lanes.len() as u32) as u16);
        // PERF: these are one addition of columns.
        if lanes == Mask8::first(LANES) {
            return std::array::from_fn(|lane| (first + lane as u32) & 0xffff);
        }
        let (mut all, mut next) = ([0; LANES], first);
        for lane in lanes {
            all[lane] = next & 0xffff;
            next += 1;
        }
        all
    }
    /// Puts row `i` into a datagram, and sets the row's arc and hop.
    #[inline(always)]
    pub fn put(&self, cx: &mut Context, frame: &mut Frame, i: usize, way: &NextStep<'_>) -> Result<(), Unfit> {
        match frame.flags(i).has(Flags::OFFLOAD) {
            true => self.complete(cx, frame, i, way)?,
            false => self.in_place(cx, frame, i, way)?,
        }
        frame.next[i] = way.next;
        // Emitted packets leave behind the frame's rows, so what comes after them does, too: it may be of the same flow.
        if self.has_emitted.get() {
            frame.take(cx.pool, i).into_iter().for_each(|packet| cx.emit(way.next, packet));
        }
        Ok(())
    }
    #[inline(always)]
    fn in_place(&self, cx: &mut Context, frame: &mut Frame, i: usize, way: &NextStep<'_>) -> Result<(), Unfit> {
        let (length, headers) = (frame.length[i] as usize, way.outer.length());
        // The link's header needs room in front of these.
        let room = usize::from(frame.offset[i]).checked_sub(headers + size_of::<EthernetHeader>());
        if room.is_none() || !frame.advance(cx.pool, i, -(headers as isize)) {
            return Err(Unfit::NoHeadroom);
        }
        let sum = match way.outer.sums() {
            true => {
                let parts = frame.segments(cx.pool, i);
                let mut skip = headers;
                parts.fold(Default::default(), |sum: quiver_wire::Sum, part| {
                    let part = part.get(std::mem::take(&mut skip)..).unwrap_or_default();
                    sum.add_bytes(part)
                })
            }
            false => quiver_wire::Sum::default(),
        };
        let datagram = self.datagram(way.source_port, way.ecn, length);
        if !way.outer.put(frame.bytes_mut(cx.pool, i), &datagram, |front| front.add_word(sum.folded())) {
            frame.advance(cx.pool, i, headers as isize);
            return Err(Unfit::TooLong);
        }
        frame.hop[i] = way.hop;
        frame.set_flag(i, Flags::LOCAL);
        frame.clear_flag(i, Flags::LINK_GROUP);
        Ok(())
    }
    /// Completes a packet's offload, and emits the resulting packets in its place.
    #[cold]
    fn complete(&self, cx: &mut Context, frame: &mut Frame, i: usize, way: &NextStep<'_>) -> Result<(), Unfit> {
        // Whoever cuts packets wants a link's header before them.
        let link = match way.inner {
            Inner::Frame => vec![],
            Inner::Packet(ethertype) => {
                let (destination, source) = (MacAddress::ZERO, MacAddress::ZERO);
                EthernetHeader { destination, source, ethertype }.as_bytes().to_vec()
            }
        };
        let start = frame.offset[i].checked_sub(link.len() as u16);
        let offload = frame.offload(cx.pool, i).zip(start).and_then(|(offload, start)| offload.to_virtio(start));
        let offload = offload.ok_or(Unfit::NotCompleted)?;
        let back = link.len();
        let mut whole = link;
        frame.segments(cx.pool, i).for_each(|part| whole.extend_from_slice(part));
        let mut parts = vec![];
        if offload.gso_type.is_segmented() {
            let mut segments = Segments::new(&whole, &offload).ok_or(Unfit::NotCompleted)?;
            let mut segment = vec![];
            while segments.next_into(&mut segment) {
                parts.push(std::mem::take(&mut segment));
            }
        } else {
            offload.complete_checksum(&mut whole).ok_or(Unfit::NotCompleted)?;
            parts.push(whole);
        }
        let mut packets = vec![];
        for part in &parts {
            let payload = part.get(back..).unwrap_or_default();
            let mut datagram = vec![0; way.outer.length()];
            let fields = self.datagram(way.source_port, way.ecn, payload.len());
            if !way.outer.put(&mut datagram, &fields, |sum| sum.add_bytes(payload)) {
                packets.into_iter().for_each(|packet| cx.pool.free(packet));
                return Err(Unfit::TooLong);
            }
            datagram.extend_from_slice(payload);
            packets.extend(cx.pool.packet(&datagram));
        }
        if packets.len() < parts.len() {
            // Half of what a sender gave as one is of little use to anybody.
            packets.into_iter().for_each(|packet| cx.pool.free(packet));
            return Err(Unfit::NotCompleted);
        }
        for mut packet in packets {
            (packet.rx, packet.hop) = (frame.rx[i], way.hop);
            packet.set_local();
            cx.emit(way.next, packet);
        }
        self.has_emitted.set(true);
        frame.take(cx.pool, i).into_iter().for_each(|whole| cx.pool.free(whole));
        Ok(())
    }
}

/// The first of the ports that say nothing but which flow it is (RFC 6335, 6; RFC 7348, 5; RFC 7510, 3).
const FLOW_PORTS: u16 = 0xc000;

/// The source port of a flow with this hash. Its lowest bits have chosen among several ways, so others go in as well.
#[inline(always)]
pub fn flow_port(hash: u32) -> u16 {
    FLOW_PORTS | (hash ^ hash >> 16) as u16
}

/// UDP source ports of eight flows.
#[inline(always)]
pub fn flow_ports<I: Isa>(hashes: Lanes<I>) -> Lanes<I> {
    (hashes ^ hashes >> 16) & 0xffff | u32::from(FLOW_PORTS)
}

/// The hash of a frame's flow. That of most frames, which hold IPv4 without tags and options, eight lanes can find.
pub fn flow_hash(frame: &[u8]) -> u32 {
    match EthernetHeader::parse(frame) {
        Some((link, [Ip4Header::VERSION_IHL, ..])) if link.ethertype == EtherType::IP4 => {
            flow_of_ip4::hash_of(&frame[EthernetHeader::LENGTH..])
        }
        _ => flow::hash(frame, false),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;
    use std::net::Ipv4Addr;

    use quiver_wire::IpProtocol;

    /// A frame of a flow of UDP.
    fn frame(from: u32, to: u32, ports: u32) -> Vec<u8> {
        let link =
            EthernetHeader { destination: MacAddress::ZERO, source: MacAddress::ZERO, ethertype: EtherType::IP4 };
        let ip = Ip4Header::new(Ipv4Addr::from_bits(from), Ipv4Addr::from_bits(to), IpProtocol::UDP, 64, 8);
        [link.as_bytes(), ip.expect("short").as_bytes(), &ports.to_be_bytes(), &[0, 8, 0, 0]].concat()
    }

    #[test]
    fn flows_have_many_ports_whatever_part_of_them_differs() {
        let ways: [fn(u32) -> Vec<u8>; 4] = [
            |i| frame(0x0a00_0000 + i, 0x3000_0001, 0x0400_0400),
            |i| frame(0x0a00_0001, 0x3000_0000 + i, 0x0400_0400),
            |i| frame(0x0a00_0001, 0x3000_0001, 0x0400_0000 + i),
            |i| frame(0x0a00_0001, 0x3000_0001, i << 16 | 53),
        ];
        for (n, way) in ways.iter().enumerate() {
            let ports: HashSet<u16> = (0..4096).map(|i| flow_port(flow_hash(&way(i)))).collect();
            // Chance would give 3,624 of the 16,384.
            assert!(ports.len() > 3000, "way {n}: {}", ports.len());
            assert!(ports.iter().all(|port| *port >= FLOW_PORTS));
        }
    }
}
