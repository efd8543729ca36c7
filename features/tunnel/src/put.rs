//! Putting a packet into a datagram: the headers in front of it; or, where a driver was to complete the packet, a datagram for each
//! packet that comes of that.

use std::cell::Cell;

use quiver_engine::{Context, Flags, Frame};
use quiver_wire::{EtherType, EthernetHeader, MacAddress, Segments};
use zerocopy::IntoBytes;

use crate::outer::{Datagram, Outer};

/// How a packet goes on.
#[derive(Clone, Copy, Debug)]
pub struct Way<'o> {
    /// What it begins with.
    pub inner: Inner,
    /// The headers in front of it.
    pub outer: &'o Outer,
    /// UDP's source port.
    pub source_port: u16,
    /// The ECN field of the outer header.
    pub ecn: u8,
    /// What the node on the way reads: an adjacency.
    pub hop: u32,
    /// The arc.
    pub next: u16,
}

/// What packets begin with.
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
    /// What differs in the next datagram from others, with so many bytes of payload.
    #[inline(always)]
    pub fn datagram(&self, source_port: u16, ecn: u8, payload: usize) -> Datagram {
        let identification = self.next.replace(self.next.get().wrapping_add(1));
        Datagram { source_port, identification, ecn, payload }
    }
    /// Puts row `i` into a datagram, and sets the row's arc and hop.
    #[inline(always)]
    pub fn put(&self, cx: &mut Context, frame: &mut Frame, i: usize, way: &Way<'_>) -> Result<(), Unfit> {
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
    fn in_place(&self, cx: &mut Context, frame: &mut Frame, i: usize, way: &Way<'_>) -> Result<(), Unfit> {
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
    /// Carries a packet's offload out, and emits what comes of it in its place.
    #[cold]
    fn complete(&self, cx: &mut Context, frame: &mut Frame, i: usize, way: &Way<'_>) -> Result<(), Unfit> {
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
