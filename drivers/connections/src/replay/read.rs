//! Reads flows from a capture.

use std::collections::BTreeMap;

use quiver_control::ObjectError;
use quiver_control::files::Reach;
use quiver_pg::PgMode;
use quiver_pg::recording::Recording;
use quiver_wire::{EtherType, EthernetHeader, Header, TcpFlags, UdpHeader, checksum};

use super::{Flow, Packet, Replay};
use crate::plan::Tuple;
use crate::profile::Transport;
use crate::segment::{self, Segment};

/// Bytes behind an IP header at most: a frame of it fits the generator's MTU.
const BYTES_MAX: usize = 9000;
/// Places of the checksum in headers of TCP and UDP.
const TCP_CHECKSUM: usize = 16;
const UDP_CHECKSUM: usize = 6;

/// Reads the flows of a transport and a family.
///
/// # Errors
/// The file is none, has no such flow, or packets that were cut off or put together.
pub fn read(reach: &Reach, path: &str, transport: Transport, is_ip4: bool) -> Result<Replay, ObjectError> {
    let recording = Recording::read(reach, path)?;
    recording.check(PgMode::Ethernet)?;
    let mut flows: Vec<(Tuple, Flow)> = vec![];
    let mut latest: BTreeMap<Ends, usize> = BTreeMap::new();
    let mut skipped = 0;
    for (at, frame) in recording.packets().enumerate() {
        let wrong = |what: &str, remedy| {
            ObjectError::field("replay", format!("{path}: packet {}: {what}", at + 1)).remedy(remedy)
        };
        let Some(bytes) = behind_ip(frame, is_ip4)
            .transpose()
            .map_err(|NotWhole| wrong("it is cut off", "capture whole packets (tcpdump -s 0)"))?
        else {
            skipped += 1;
            continue;
        };
        let Some(segment) =
            segment::read(frame, false).ok().filter(|of| of.tcp.is_some() == (transport == Transport::Tcp))
        else {
            skipped += 1;
            continue;
        };
        // The checksum of a datagram that ends before its packet is not of all that is sent.
        if transport == Transport::Udp && segment.payload.len() + UdpHeader::LENGTH != bytes.len() {
            skipped += 1;
            continue;
        }
        if bytes.len() > BYTES_MAX {
            let remedy = "capture without segmentation offload (ethtool -K DEVICE tso off gso off gro off)";
            return Err(wrong(&format!("it has {} bytes, and {BYTES_MAX} can be sent", bytes.len()), remedy));
        }
        let index = match latest.get(&ends(&segment.tuple)) {
            Some(index) if !begins_anew(&segment, &flows[*index]) => *index,
            _ => {
                flows.push((segment.tuple, Flow::default()));
                latest.insert(ends(&segment.tuple), flows.len() - 1);
                flows.len() - 1
            }
        };
        let (first, flow) = &mut flows[index];
        let end = usize::from(*first != segment.tuple);
        let after = flow.0[1 - end].len() as u32;
        flow.0[end].push(packet(bytes, &segment, after));
    }
    if flows.is_empty() {
        let family = if is_ip4 { "IPv4" } else { "IPv6" };
        let what = format!("{path}: no packet is of {transport} over {family}");
        return Err(
            ObjectError::field("replay", what).remedy("name another capture, or set transport, clients and servers")
        );
    }
    Ok(Replay { flows: flows.into_iter().map(|(_, flow)| flow).collect(), skipped })
}

/// Addresses and ports of both ends, in an order that is the same for both directions.
type Ends = [(u128, u16); 2];

fn ends(tuple: &Tuple) -> Ends {
    let mut ends = [(tuple.source, tuple.source_port), (tuple.destination, tuple.destination_port)];
    ends.sort_unstable();
    ends
}

/// Whether a segment is the beginning of another connection of the same ends: a SYN, where the last one was answered.
fn begins_anew(segment: &Segment<'_>, (_, flow): &(Tuple, Flow)) -> bool {
    let is_syn = segment.tcp.is_some_and(|tcp| tcp.flags.contains(TcpFlags::SYN) && !tcp.flags.contains(TcpFlags::ACK));
    is_syn && !flow.0[1].is_empty()
}

/// A packet of which a part is missing.
struct NotWhole;

/// The bytes behind the IP header of a frame of this family; None if it is another one.
fn behind_ip(frame: &[u8], is_ip4: bool) -> Option<Result<&[u8], NotWhole>> {
    let (ethernet, ip) = EthernetHeader::parse(frame)?;
    let field = |at: usize| Some(usize::from(u16::from_be_bytes([*ip.get(at)?, *ip.get(at + 1)?])));
    let (begin, end) = match (ethernet.ethertype, is_ip4) {
        (EtherType::IP4, true) => (usize::from(ip.first()? & 0xf) * 4, field(2)?),
        (EtherType::IP6, false) => (40, 40 + field(4)?),
        _ => return None,
    };
    Some(ip.get(begin..end).ok_or(NotWhole))
}

fn packet(bytes: &[u8], segment: &Segment<'_>, after: u32) -> Packet {
    let mut bytes: Box<[u8]> = bytes.into();
    let at = if segment.tcp.is_some() { TCP_CHECKSUM } else { UDP_CHECKSUM };
    for place in [0..4, at..at + 2] {
        bytes.get_mut(place).into_iter().for_each(|field| field.fill(0));
    }
    Packet { after, sum: checksum::of(&bytes), bytes, payload: segment.payload.len() as u32 }
}
