//! `ip4-too-big`: packets longer than the next link takes, and those with an offload, whatever their length.
//!
//! One that the driver is to cut into segments passes if each of them fits. Of others that do not fit, those that must not be
//! fragmented are reported to their senders with the MTU (RFC 1191); the rest is fragmented (RFC 1812, 5.2.6), unless
//! it would have to be segmented before, or its options leave no room in a fragment. Fragments leave behind the frame's
//! rows, so what comes after them in the frame does, too: it may be of the same flow.

use std::sync::Arc;

use quiver_engine::{Context, Flags, Frame, Node, Row, Snapshot, arcs};
use quiver_wire::{Header, Ip4Header, IpProtocol, TcpHeader, UdpHeader, V4};

use super::encapsulate::encapsulate;
use super::fragment::fragments;
use crate::adjacency::AdjacencyTable;
use crate::fault::Fault;

arcs! {
    /// Where packets go from `ip4-too-big`.
    pub enum Next {
        Output => features "ip4-output",
        MustNotFragment => node "icmp4-error",
        CannotFragment => drop "cannot-be-fragmented",
        NoBuffers => drop "no-buffers",
    }
}

/// The node.
pub struct Ip4TooBig {
    /// The neighbours.
    pub adjacencies: Snapshot<AdjacencyTable<V4>>,
    /// This worker's counters of packets by neighbour.
    pub sent: Arc<Row>,
}

impl Node for Ip4TooBig {
    fn process(&mut self, cx: &mut Context, frame: &mut Frame) {
        let table = self.adjacencies.read(cx.guard);
        let mut has_fragments = false;
        for i in 0..frame.len() {
            let (hop, row) = (frame.hop[i], table.row(frame.hop[i]));
            let segment = segment_length(cx, frame, i);
            if segment.or_else(|| total_length(cx, frame, i)).is_some_and(|length| length <= row.mtu().into()) {
                if !encapsulate(cx.pool, frame, i, row) {
                    frame.next[i] = Next::CannotFragment.into();
                    continue;
                }
                self.sent.add(hop, 1, frame.length[i].into());
                if has_fragments {
                    frame.take(cx.pool, i).into_iter().for_each(|packet| cx.emit(Next::Output, packet));
                }
                continue;
            }
            let Some((header, _)) = Ip4Header::parse(frame.bytes(cx.pool, i)) else {
                frame.next[i] = Next::CannotFragment.into();
                continue;
            };
            if header.dont_fragment() {
                frame.hop[i] = Fault::fragmentation_needed(row.mtu()).0;
                frame.next[i] = Next::MustNotFragment.into();
                continue;
            }
            if segment.is_some() {
                frame.next[i] = Next::CannotFragment.into();
                continue;
            }
            let local = frame.flags(i).has(Flags::LOCAL);
            let bytes: Vec<u8> = frame.segments(cx.pool, i).flatten().copied().collect();
            let bytes = match frame.offload(cx.pool, i).filter(|_| frame.flags(i).has(Flags::OFFLOAD)) {
                Some(offload) => complete_checksum(bytes, offload, frame.offset[i]),
                None => bytes,
            };
            let Some(parts) = fragments(&bytes, row.mtu().into(), !local) else {
                frame.next[i] = Next::CannotFragment.into();
                continue;
            };
            let mut packets = vec![];
            for part in &parts {
                let bytes = [row.header(), part].concat();
                packets.extend(cx.pool.packet(&bytes));
            }
            if packets.len() < parts.len() {
                // Half a packet is of no use to anybody.
                packets.into_iter().for_each(|packet| cx.pool.free(packet));
                frame.next[i] = Next::NoBuffers.into();
                continue;
            }
            has_fragments = true;
            for mut packet in packets {
                (packet.rx, packet.tx, packet.hop) = (frame.rx[i], row.tx(), hop);
                self.sent.add(hop, 1, packet.len() as u64);
                cx.emit(Next::Output, packet);
            }
            if let Some(whole) = frame.take(cx.pool, i) {
                cx.pool.free(whole);
            }
        }
    }
}

/// Bytes that the IP header says.
fn total_length(cx: &Context, frame: &Frame, i: usize) -> Option<usize> {
    Ip4Header::parse(frame.bytes(cx.pool, i)).map(|(header, _)| header.total_length.get().into())
}

/// Bytes from the IP header on of each segment that the driver is to cut; None for a packet that goes as it is.
fn segment_length(cx: &Context, frame: &Frame, i: usize) -> Option<usize> {
    let offload = frame.offload(cx.pool, i).filter(|o| o.segmentation != 0 && o.segment_size != 0)?;
    let (header, rest) = Ip4Header::parse(frame.bytes(cx.pool, i))?;
    let rest = rest.get(header.header_length().checked_sub(Ip4Header::LENGTH)?..)?;
    let transport = match header.protocol {
        IpProtocol::TCP => TcpHeader::parse(rest)?.0.header_length(),
        _ => UdpHeader::LENGTH,
    };
    Some(header.header_length() + transport + usize::from(offload.segment_size))
}

/// Computes the checksum that a driver would have computed: fragments have none of their own.
fn complete_checksum(mut bytes: Vec<u8>, offload: quiver_engine::Offload, offset: u16) -> Vec<u8> {
    const TO_BE_COMPUTED: u8 = 1;
    let start = usize::from(offload.checksum_start).checked_sub(offset.into());
    if let Some(start) = start.filter(|_| offload.flags & TO_BE_COMPUTED != 0)
        && let Some(summed) = bytes.get_mut(start..)
    {
        let sum = quiver_wire::checksum::of(summed).checksum_not_zero();
        let place = summed.get_mut(offload.checksum_offset.into()..).and_then(|rest| rest.first_chunk_mut());
        place.into_iter().for_each(|place| *place = sum.to_be_bytes());
    }
    bytes
}
