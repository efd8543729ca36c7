//! `udp-encap-ip4`, `udp-encap-ip6`: packets whose route leads into an encapsulation, which `ip4-lookup-again` and
//! `ip6-lookup-again` hand on with its number, become the payload of datagrams. These are our own, and go on at the rewrite of
//! their family by the way to the other end, which flows are spread over like those of a route.
//!
//! What an offload left undone in a packet is done here: whoever sends the datagram would not find it. The packet keeps its hops: those that it goes
//! inside are hops of the datagram.
//!
//! Drops: `unresolved-encapsulation`, where there is no way to the other end; `too-long` for a datagram; `no-headroom` for one
//! more header in front; `not-completed`, where an offload cannot be carried out, or buffers are missing.

use std::cell::Cell;
use std::marker::PhantomData;
use std::sync::Arc;

use quiver_engine::{Context, Flags, Frame, Node, Paged, Row, Snapshot, arcs};
use quiver_ip::Family;
use quiver_ip::fib::hop::{self, Again};
use quiver_ip::fib::rows::{GroupRow, GroupRows};
use quiver_wire::{EthernetHeader, Header, MacAddress, Segments};
use zerocopy::IntoBytes;

use crate::config::Encap;
use crate::outer::{Ends, headers};

arcs! {
    /// Where packets go from here.
    pub enum Next {
        Rewrite4 => node "ip4-rewrite",
        Rewrite6 => node "ip6-rewrite",
        Unresolved => drop "unresolved-encapsulation",
        TooLong => drop "too-long",
        NoHeadroom => drop "no-headroom",
        NotCompleted => drop "not-completed",
    }
}

/// The first of the ports that say nothing but which flow it is (RFC 6335, 6; RFC 7510, 3).
const FLOW_PORTS: u16 = 0xc000;

/// The node.
pub struct Encapsulate<F: Family> {
    encaps: Snapshot<Paged<Option<Encap>>>,
    rows: (Snapshot<GroupRows>, Snapshot<GroupRows>),
    sent: Arc<Row>,
    /// The number of the next datagram.
    next: Cell<u16>,
    family: PhantomData<F>,
}

impl<F: Family> Encapsulate<F> {
    /// The node, with the encapsulations, what groups of IPv4 and IPv6 come to, and this worker's counters by number.
    pub fn new(
        encaps: Snapshot<Paged<Option<Encap>>>,
        rows: (Snapshot<GroupRows>, Snapshot<GroupRows>),
        sent: Arc<Row>,
        worker: usize,
    ) -> Encapsulate<F> {
        // Workers begin far from each other.
        let next = Cell::new((worker as u16).wrapping_mul(0x6180));
        Encapsulate { encaps, rows, sent, next, family: PhantomData }
    }
}

impl<F: Family> Node for Encapsulate<F> {
    fn process(&mut self, cx: &mut Context, frame: &mut Frame) {
        // In this order: a group's row was there before the encapsulation was published.
        let encaps = self.encaps.read(cx.guard);
        let rows = (self.rows.0.read(cx.guard), self.rows.1.read(cx.guard));
        let mut has_made = false;
        for i in 0..frame.len() {
            let number = match Again::of(frame.hop[i]) {
                Some(Again::Kind(of_kind)) => of_kind.index() as usize,
                _ => usize::MAX,
            };
            let Some(encap) = encaps.get(number).and_then(Option::as_ref) else {
                frame.next[i] = Next::Unresolved.into();
                continue;
            };
            let way = Way::of::<F>(encap, &rows.0[..], &rows.1[..], frame.bytes(cx.pool, i));
            let Some(way) = way else {
                frame.next[i] = Next::Unresolved.into();
                continue;
            };
            let length = frame.length[i];
            let done = match frame.flags(i).has(Flags::OFFLOAD) {
                true => completed::<F>(cx, frame, i, (&way, &self.next), &mut has_made),
                false => in_place(cx, frame, i, (&way, &self.next)),
            };
            if done.is_ok() {
                self.sent.add(number as u32, 1, length.into());
            }
            frame.next[i] = done.map_or_else(u16::from, |()| way.next());
            // They leave behind the frame's rows, so what comes after them does, too: it may be of the same flow.
            if has_made && done.is_ok() {
                let next = frame.next[i];
                frame.take(cx.pool, i).into_iter().for_each(|packet| cx.emit(next, packet));
            }
        }
    }
}

/// How a packet goes on.
struct Way<'e> {
    ends: &'e Ends,
    ports: (u16, u16),
    hop: u32,
}

impl Way<'_> {
    /// The way of a packet by its flow; None if there is none at present.
    fn of<'e, F: Family>(encap: &'e Encap, rows4: &[GroupRow], rows6: &[GroupRow], packet: &[u8]) -> Option<Way<'e>> {
        let rows = match encap.ends {
            Ends::V4(..) => rows4,
            Ends::V6(..) => rows6,
        };
        let hash = F::flow_hash_of(packet);
        let hop = rows.get(encap.group as usize)?.hop(hash);
        // The bucket is chosen by the lowest bits; what is left of the hash tells the flows of a bucket apart.
        let of_flow = FLOW_PORTS | (hash ^ hash >> 16) as u16;
        let source = if encap.source_port == 0 { of_flow } else { encap.source_port };
        (hop >= hop::FIRST_ADJACENCY).then_some(Way { ends: &encap.ends, ports: (source, encap.destination_port), hop })
    }
    fn next(&self) -> u16 {
        match self.ends {
            Ends::V4(..) => Next::Rewrite4.into(),
            Ends::V6(..) => Next::Rewrite6.into(),
        }
    }
}

/// A number, and the next time another.
fn take(next: &Cell<u16>) -> u16 {
    next.replace(next.get().wrapping_add(1))
}

/// Puts the headers before a packet.
fn in_place(cx: &mut Context, frame: &mut Frame, i: usize, (way, next): (&Way<'_>, &Cell<u16>)) -> Result<(), Next> {
    let length = frame.length[i] as usize;
    let sum = |sum: quiver_wire::Sum| {
        let (mut sum, mut at) = (sum, 0);
        for part in frame.segments(cx.pool, i) {
            // Halves of a word may lie in two buffers.
            sum = if at % 2 == 0 { sum.add_bytes(part) } else { sum.add_bytes(&[&[0], part].concat()) };
            at += part.len();
        }
        sum
    };
    let headers = headers(way.ends, way.ports, take(next), length, sum).ok_or(Next::TooLong)?;
    // The link's header needs room in front of these.
    let room = usize::from(frame.offset[i]).checked_sub(headers.len() + size_of::<EthernetHeader>());
    if room.is_none() || !frame.advance(cx.pool, i, -(headers.len() as isize)) {
        return Err(Next::NoHeadroom);
    }
    frame.bytes_mut(cx.pool, i).iter_mut().zip(&headers).for_each(|(to, from)| *to = *from);
    frame.hop[i] = way.hop;
    frame.set_flag(i, Flags::LOCAL);
    frame.clear_flag(i, Flags::LINK_GROUP);
    Ok(())
}

/// Carries a packet's offload out, and sends what comes of it in its place.
fn completed<F: Family>(
    cx: &mut Context,
    frame: &mut Frame,
    i: usize,
    (way, next): (&Way<'_>, &Cell<u16>),
    has_made: &mut bool,
) -> Result<(), Next> {
    const BACK: usize = EthernetHeader::LENGTH;
    let start = frame.offset[i].checked_sub(BACK as u16);
    let offload = frame.offload(cx.pool, i).zip(start).and_then(|(offload, start)| offload.to_virtio(start));
    let offload = offload.ok_or(Next::NotCompleted)?;
    // Whoever cuts packets wants a link's header before them.
    let (zero, ethertype) = (MacAddress::ZERO, F::ETHERTYPE);
    let link = EthernetHeader { destination: zero, source: zero, ethertype };
    let mut whole = link.as_bytes().to_vec();
    frame.segments(cx.pool, i).for_each(|part| whole.extend_from_slice(part));
    let mut parts = vec![];
    if offload.gso_type.is_segmented() {
        let mut segments = Segments::new(&whole, &offload).ok_or(Next::NotCompleted)?;
        let mut segment = vec![];
        while segments.next_into(&mut segment) {
            parts.push(std::mem::take(&mut segment));
        }
    } else {
        offload.complete_checksum(&mut whole).ok_or(Next::NotCompleted)?;
        parts.push(whole);
    }
    let mut packets = vec![];
    for part in &parts {
        let payload = part.get(BACK..).unwrap_or_default();
        let summed = |sum: quiver_wire::Sum| sum.add_bytes(payload);
        let headers = headers(way.ends, way.ports, take(next), payload.len(), summed).ok_or(Next::TooLong)?;
        packets.extend(cx.pool.packet(&[&headers[..], payload].concat()));
    }
    if packets.len() < parts.len() {
        // Half of what a sender gave as one is of little use to anybody.
        packets.into_iter().for_each(|packet| cx.pool.free(packet));
        return Err(Next::NotCompleted);
    }
    for mut packet in packets {
        (packet.rx, packet.hop) = (frame.rx[i], way.hop);
        packet.set_local();
        cx.emit(way.next(), packet);
    }
    *has_made = true;
    frame.take(cx.pool, i).into_iter().for_each(|whole| cx.pool.free(whole));
    Ok(())
}
