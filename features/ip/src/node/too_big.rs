//! Packets that are longer than the next link takes, and those with an offload, whatever their length: what becomes of them
//! behind the stage of `ip4-rewrite` or `ip6-rewrite`.
//!
//! One that the driver is to cut into segments passes if each of them fits. Of others that do not fit, those that must not be
//! fragmented are reported to their senders with the MTU (RFC 1191, RFC 8201); the rest is fragmented (RFC 1812, 5.2.6), unless
//! it would have to be segmented before, or its options leave no room in a fragment. Fragments leave behind the frame's
//! rows, so what comes after them in the frame does, too: it may be of the same flow.

use quiver_engine::{Context, Flags, Frame, Packet, Pool, Row};
use quiver_wire::{Header, IpHeader, IpProtocol, TcpHeader, UdpHeader};

use super::encapsulate::encapsulate;
use super::rewrite::Next;
use crate::adjacency::AdjacencyRow;
use crate::family::Family;
use crate::fault::Fault;
use crate::ingress::Ingress;

/// Bytes of a fragment at most: what one buffer has room for behind its headroom, so that none is a chain. Links with larger
/// frames get more fragments than they must.
const FRAGMENT_MAX: usize = 2048;

/// Decides about the rows whose arc is [`Next::TooBig`], each by the adjacency that `row_of` gives. Counts what is sent, by `hop`.
/// The node's arcs are those of `ip4-rewrite`; a node that rewrites packet by packet marks all its rows so.
pub fn process<F: Family>(
    cx: &mut Context,
    frame: &mut Frame,
    row_of: impl Fn(&Pool, &Frame, usize) -> AdjacencyRow,
    sent: &Row,
) {
    let mut has_fragments = false;
    for i in 0..frame.len() {
        if frame.next[i] == Next::TooBig as u16 {
            let (hop, row) = (frame.hop[i], row_of(cx.pool, frame, i));
            match decide::<F>(cx, frame, i, &row) {
                Decision::Passes => {
                    frame.next[i] = Next::Output.into();
                    sent.add(hop, 1, frame.length[i].into());
                }
                Decision::Leaves(next) => frame.next[i] = next.into(),
                Decision::Fragments(packets) => {
                    has_fragments = true;
                    for mut packet in packets {
                        (packet.rx, packet.tx, packet.hop) = (frame.rx[i], row.tx(), hop);
                        sent.add(hop, 1, packet.len() as u64);
                        cx.emit(Next::Output, packet);
                    }
                    frame.take(cx.pool, i).into_iter().for_each(|whole| cx.pool.free(whole));
                }
            }
        }
        if has_fragments && frame.next[i] == Next::Output as u16 {
            frame.take(cx.pool, i).into_iter().for_each(|packet| cx.emit(Next::Output, packet));
        }
    }
}

/// The row by which a packet goes, with what the way to its destination takes if that is less.
pub(super) fn to_host<F: Family>(
    ingress: &Ingress<F>,
    mut row: AdjacencyRow,
    pool: &Pool,
    frame: &Frame,
    i: usize,
) -> AdjacencyRow {
    let to = F::Header::parse(frame.bytes(pool, i)).map(|(header, _)| header.destination());
    if let Some(mtu) = to.and_then(|to| ingress.path_mtu(frame.rx[i], to)) {
        row.set_mtu(row.mtu().min(mtu));
    }
    row
}

/// What becomes of a packet.
enum Decision {
    /// It fits, and has its neighbour's header.
    Passes,
    /// It is not sent.
    Leaves(Next),
    /// These are sent in its place.
    Fragments(Vec<Packet>),
}

fn decide<F: Family>(cx: &mut Context, frame: &mut Frame, i: usize, row: &AdjacencyRow) -> Decision {
    let segment = segment_length::<F>(cx, frame, i);
    if segment.or_else(|| total_length::<F>(cx, frame, i)).is_some_and(|length| length <= row.mtu().into()) {
        return match encapsulate::<F>(cx.pool, frame, i, row) {
            true => Decision::Passes,
            false => Decision::Leaves(Next::CannotFragment),
        };
    }
    let local = frame.flags(i).has(Flags::LOCAL);
    if !F::may_fragment(frame.bytes(cx.pool, i), !local) {
        frame.hop[i] = Fault::too_big(row.mtu()).0;
        if F::REPORTED_OLDER
            && !local
            && let Some((header, _)) = F::Header::parse_mut(frame.bytes_mut(cx.pool, i))
        {
            F::take_hop(header);
        }
        return Decision::Leaves(Next::TooBig);
    }
    if segment.is_some() {
        return Decision::Leaves(Next::CannotFragment);
    }
    let bytes: Vec<u8> = frame.segments(cx.pool, i).flatten().copied().collect();
    let bytes = match frame.offload(cx.pool, i).filter(|_| frame.flags(i).has(Flags::OFFLOAD)) {
        Some(offload) => complete_checksum(bytes, offload, frame.offset[i]),
        None => bytes,
    };
    let Some(parts) = F::fragments(&bytes, usize::from(row.mtu()).min(FRAGMENT_MAX), !local) else {
        return Decision::Leaves(Next::CannotFragment);
    };
    let packets: Vec<_> = parts.iter().filter_map(|part| cx.pool.packet(&[row.header(), part].concat())).collect();
    if packets.len() < parts.len() {
        // Half a packet is of no use to anybody.
        packets.into_iter().for_each(|packet| cx.pool.free(packet));
        return Decision::Leaves(Next::NoBuffers);
    }
    Decision::Fragments(packets)
}

/// Bytes that the IP header says.
fn total_length<F: Family>(cx: &Context, frame: &Frame, i: usize) -> Option<usize> {
    F::Header::parse(frame.bytes(cx.pool, i)).map(|(header, _)| header.packet_length())
}

/// Bytes from the IP header on of each segment that the driver is to cut; None for a packet that goes as it is.
fn segment_length<F: Family>(cx: &Context, frame: &Frame, i: usize) -> Option<usize> {
    let offload = frame.offload(cx.pool, i).filter(|o| o.segmentation != 0 && o.segment_size != 0)?;
    let bytes = frame.bytes(cx.pool, i);
    let payload = F::payload(bytes)?;
    let transport = match payload.protocol {
        IpProtocol::TCP => TcpHeader::parse_at(bytes, payload.offset)?.0.header_length(),
        _ => UdpHeader::LENGTH,
    };
    Some(payload.offset + transport + usize::from(offload.segment_size))
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
