//! Rows of frames that are rewritten.

use quiver_engine::{Context, Flags, Frame};
use quiver_session::node::pass::Packet;
use quiver_session::translation::Session;
use quiver_session::translator::{Translation, Translator};
use quiver_wire::{Header, Ip4Header, IpProtocol};

use super::session::{self, Way, flag, has, translated};
use crate::rewrite::{TO_TCP_SUM, TO_UDP_SUM, rewrite, rewrite_error, rewrite_plain};

/// Rewrites a row whose packet is plain; returns where it is looked up. `received` is the slot of the table of the interface that received it.
/// None of others, which stay as they are.
#[inline(always)]
pub(super) fn rewrite_plain_row(
    cx: &mut Context<'_>,
    (frame, i): (&mut Frame, usize),
    (translator, packet): (&Translator<'_>, &Packet<'_>),
    received: impl FnOnce(&Frame) -> u32,
) -> Option<Way> {
    let Translation { ends, flags, note, is_from_inside, is_outbound } = translator.translation(packet)?;
    let is_plain = flags & flag::FORWARDED == 0 && !frame.flags(i).has(Flags::OFFLOAD);
    let is_rewritten = is_plain
        && match IpProtocol(packet.record.identity().protocol()) {
            IpProtocol::TCP => {
                let first = frame.first_mut::<TO_TCP_SUM>(cx.pool, i);
                first.is_some_and(|first| rewrite_plain(first, ends, false))
            }
            IpProtocol::UDP => {
                let first = frame.first_mut::<TO_UDP_SUM>(cx.pool, i);
                first.is_some_and(|first| rewrite_plain(first, ends, true))
            }
            _ => false,
        };
    is_rewritten.then(|| session::way((flags, note), (is_from_inside, is_outbound), || received(frame)))
}

/// Rewrites a row that begins with its IP header.
pub(super) fn rewrite_row(cx: &mut Context<'_>, frame: &mut Frame, i: usize, session: &Session, is_from_inside: bool) {
    if has(&session.second, flag::FORWARDED) {
        return;
    }
    let is_unfinished = frame.offload(cx.pool, i).is_some_and(|offload| offload.flags & 1 != 0);
    rewrite(frame.bytes_mut(cx.pool, i), &translated(session, is_from_inside), is_unfinished);
}

/// Rewrites a row that is an ICMP error about a packet of a session; false if it is malformed.
pub(super) fn rewrite_row_error(
    cx: &mut Context<'_>,
    frame: &mut Frame,
    i: usize,
    session: &Session,
    is_from_inside: bool,
) -> bool {
    let Some((header, _)) = Ip4Header::parse(frame.bytes(cx.pool, i)) else { return false };
    let (source, destination) = (header.source().to_bits(), header.destination().to_bits());
    // It quotes a packet of the other direction, as that was on this side.
    let (before, after) = (translated(session, !is_from_inside).reversed(), translated(session, is_from_inside));
    // Routers on the inside have no address outside: the host's one stands for them (RFC 5508, REQ-5). Those outside have their own.
    let source = if is_from_inside || source == before.source.address { after.source.address } else { source };
    let destination = if destination == before.destination.address { after.destination.address } else { destination };
    rewrite_error(frame.bytes_mut(cx.pool, i), (source, destination), &after.reversed())
}
