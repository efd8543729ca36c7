//! Packets that are longer than the next link takes, and those with an offload, whatever their length: what becomes of them
//! behind the stage of `ip4-rewrite` or `ip6-rewrite`.
//!
//! One that the driver is to cut into segments passes if each of them fits. Of others that do not fit, those that must not be
//! fragmented are reported to their senders with the MTU (RFC 1191, RFC 8201); the rest is fragmented (RFC 1812, 5.2.6), unless
//! it would have to be segmented before, or its options leave no room in a fragment. The first fragment takes the packet's row. The others
//! leave behind the frame's rows, so what comes after them in the frame does, too: it may be of the same flow. They carry the ports of
//! the whole packet, so what filters by ports on the way out treats all of them as it would have treated the packet.

use quiver_engine::{Context, Flags, Frame, MetadataKey, Offload, Packet, Pool, Row};
use quiver_wire::{Header, IpHeader, IpProtocol, TcpHeader, UdpHeader};

use super::encapsulate::encapsulate;
use super::rewrite::Next;
use crate::adjacency::AdjacencyRow;
use crate::family::Family;
use crate::fault::Fault;
use crate::ingress::Ingress;
use crate::upper::Upper;

/// Bytes of a fragment at most: what one buffer has room for behind its headroom, so that none is a chain. Links with larger
/// frames get more fragments than they must.
const FRAGMENT_MAX: usize = 2048;

/// State for packets that a node fragments or refuses.
pub struct Cutting<'a> {
    /// Counters of sent packets, by hop.
    pub sent: &'a Row,
    /// Key of the metadata by which fragments have the ports of the packet.
    pub upper: MetadataKey<Upper>,
    /// Arc for packets whose link MTU is below the family's minimum. Their senders could not send shorter packets if
    /// they were told (RFC 8201, 4).
    pub link_too_small: u16,
}

/// Decides about the rows whose arc is [`Next::TooBig`], each by the adjacency that `row_of` gives. The node's first arcs are those of
/// `ip4-rewrite`; a node that rewrites packet by packet marks all its rows so.
pub fn process<F: Family>(
    cx: &mut Context,
    frame: &mut Frame,
    row_of: impl Fn(&Pool, &Frame, usize) -> AdjacencyRow,
    cutting: &Cutting<'_>,
) {
    let Cutting { sent, upper, link_too_small } = *cutting;
    let (mut has_fragments, mut bench) = (false, Bench::default());
    for i in 0..frame.len() {
        if frame.next[i] == Next::TooBig as u16 {
            let (hop, row) = (frame.hop[i], row_of(cx.pool, frame, i));
            let decision = decide::<F>(cx, frame, i, &row, &mut bench);
            if let Decision::IsCut { first_is_row } = decision {
                let is_local = frame.flags(i).has(Flags::LOCAL);
                // What was kept of a packet around which this one has been put since is none of its own.
                let said = Upper::of::<F>(&bench.whole);
                for part in &mut bench.parts {
                    (part.rx, part.tx, part.hop) = (frame.rx[i], row.tx(), hop);
                    if is_local {
                        part.set_local();
                    }
                    frame.trace_on(cx.pool, i, part);
                    frame.hand_on_metadata(cx.pool, i, part);
                    said.into_iter().for_each(|said| part.set_metadata(cx.pool, upper, said));
                    sent.add(hop, 1, part.len() as u64);
                }
                if first_is_row {
                    sent.add(hop, 1, frame.length[i].into());
                } else if !bench.parts.is_empty() {
                    frame.replace(cx.pool, i, bench.parts.remove(0));
                }
            }
            frame.next[i] = match decision {
                Decision::Passes => {
                    sent.add(hop, 1, frame.length[i].into());
                    Next::Output.into()
                }
                Decision::Leaves(next) => next.into(),
                Decision::LinkIsTooSmall => link_too_small,
                Decision::IsCut { .. } => Next::Output.into(),
            };
        }
        if has_fragments && frame.next[i] == Next::Output as u16 {
            frame.take(cx.pool, i).into_iter().for_each(|packet| cx.emit(Next::Output, packet));
        }
        has_fragments |= !bench.parts.is_empty();
        bench.parts.drain(..).for_each(|part| cx.emit(Next::Output, part));
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

/// Decision on a packet.
enum Decision {
    /// It fits, and has its neighbor's header.
    Passes,
    /// It is not sent.
    Leaves(Next),
    /// It is not sent: the link's MTU is below the family's minimum.
    LinkIsTooSmall,
    /// Its fragments are sent in its place. The first may reuse the packet's row, with its neighbor's header.
    IsCut { first_is_row: bool },
}

/// Where packets are cut: memory that those of a frame have in common.
#[derive(Default)]
struct Bench {
    /// All bytes of a packet.
    whole: Vec<u8>,
    /// First bytes of the first fragment, if the rest of that fragment stays in place.
    front: Vec<u8>,
    /// The fragments, as they are sent.
    parts: Vec<Packet>,
}

fn decide<F: Family>(cx: &mut Context, frame: &mut Frame, i: usize, row: &AdjacencyRow, bench: &mut Bench) -> Decision {
    let segment = segment_length::<F>(cx, frame, i);
    if segment.or_else(|| total_length::<F>(cx, frame, i)).is_some_and(|length| length <= row.mtu().into()) {
        return match encapsulate::<F>(cx.pool, frame, i, row) {
            true => Decision::Passes,
            false => Decision::Leaves(Next::CannotFragment),
        };
    }
    let local = frame.flags(i).has(Flags::LOCAL);
    if !F::may_fragment(frame.bytes(cx.pool, i), !local) {
        if row.mtu() < F::LINK_MTU_MIN {
            return Decision::LinkIsTooSmall;
        }
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
    let Bench { whole, front, parts } = bench;
    frame.gather(cx.pool, i, whole);
    if let Some(offload) = frame.offload(cx.pool, i) {
        complete_checksum(whole, offload, frame.offset[i]);
    }
    let header = row.header();
    let has_room = usize::from(frame.offset[i]) >= header.len();
    let stays = has_room && !frame.flags(i).has(Flags::CHAINED.with(Flags::OFFLOAD));
    let (mut first, mut is_short) = (None, false);
    let cut = F::cut(whole, usize::from(row.mtu()).min(FRAGMENT_MAX), !local, |[ip, behind, payload]| {
        let (start, is_first) = (ip.len() + behind.len(), first.is_none() && parts.is_empty());
        let end = start + payload.len();
        if is_first && stays && whole.get(start..end).is_some_and(|there| std::ptr::eq(there, payload)) {
            front.clear();
            [header, ip, behind].iter().for_each(|stretch| front.extend_from_slice(stretch));
            first = Some(end);
            return;
        }
        let part = if is_short { None } else { cx.pool.packet_of(&[header, ip, behind, payload]) };
        is_short |= part.is_none();
        parts.extend(part);
    });
    if cut.is_none() || is_short {
        // Half a packet is of no use to anybody.
        parts.drain(..).for_each(|part| cx.pool.free(part));
        return Decision::Leaves(if is_short && cut.is_some() { Next::NoBuffers } else { Next::CannotFragment });
    }
    if let Some(length) = first {
        frame.truncate(i, length as u32);
        frame.advance(cx.pool, i, -(header.len() as isize));
        frame.bytes_mut(cx.pool, i).iter_mut().zip(front.iter()).for_each(|(to, from)| *to = *from);
        frame.tx[i] = row.tx();
    }
    Decision::IsCut { first_is_row: first.is_some() }
}

/// Bytes that the IP header says.
fn total_length<F: Family>(cx: &Context, frame: &Frame, i: usize) -> Option<usize> {
    F::Header::parse(frame.bytes(cx.pool, i)).map(|(header, _)| header.packet_length())
}

/// Bytes from the IP header on of each segment that the driver is to cut; None for a packet that goes as it is.
pub fn segment_length<F: Family>(cx: &Context<'_>, frame: &Frame, i: usize) -> Option<usize> {
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
fn complete_checksum(bytes: &mut [u8], offload: Offload, offset: u16) {
    const TO_BE_COMPUTED: u8 = 1;
    let start = usize::from(offload.checksum_start).checked_sub(offset.into());
    if let Some(start) = start.filter(|_| offload.flags & TO_BE_COMPUTED != 0)
        && let Some(summed) = bytes.get_mut(start..)
    {
        let sum = quiver_wire::checksum::of(summed).checksum_not_zero();
        let place = summed.get_mut(offload.checksum_offset.into()..).and_then(|rest| rest.first_chunk_mut());
        place.into_iter().for_each(|place| *place = sum.to_be_bytes());
    }
}
