//! `sfdp-l4-lifecycle` and `sfdp-tcp-check`: the states of sessions.
//!
//! `sfdp-tcp-check` follows TCP connections. `sfdp-l4-lifecycle` does so, too, unless the chain has the other one; a session of
//! another protocol is established by the first packet of its responder.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use quiver_engine::{Context, Frame, Node, arcs};
use quiver_session_events::Reason;
use quiver_wire::IpProtocol;

use super::pass::{Packet, Reads, Work};
use crate::policy::{Judges, Judgment};
use crate::record::{Direction, State, Status};
use crate::segment::{Segment, is_fragment, is_tcp, segment};
use crate::tcp::{FirstWithoutSyn, follow};
use crate::timeouts::ESTABLISHED;
use crate::windows::Verdict;

arcs! {
    /// Where packets go from here, besides services.
    pub enum Next {
        NoSession => drop "no-session",
        NoSyn => drop "no-syn",
        Flags => drop "tcp-flags",
        OutOfWindow => drop "tcp-out-of-window",
        Fragment => drop "tcp-fragment",
    }
}

/// Names of the nodes.
pub const LIFECYCLE: &str = "sfdp-l4-lifecycle";
/// The same, of TCP alone.
pub const TCP_CHECK: &str = "sfdp-tcp-check";

/// Whether sessions whose first packet is no SYN are blocked: for all tenants, as in VPP.
#[derive(Clone, Default)]
pub struct Blocks(Arc<AtomicBool>);

impl Blocks {
    /// Sets the action.
    pub fn set(&self, first: FirstWithoutSyn) {
        self.0.store(first == FirstWithoutSyn::Security, Relaxed);
    }
    /// The action.
    pub fn get(&self) -> FirstWithoutSyn {
        if self.0.load(Relaxed) { FirstWithoutSyn::Security } else { FirstWithoutSyn::Remove }
    }
}

/// The node, of TCP alone or not.
pub struct Lifecycle {
    reads: Reads,
    blocks: Blocks,
    /// The number of `sfdp-tcp-check`; None if this is it.
    check: Option<u8>,
}

impl Lifecycle {
    /// The node of all protocols, with the number of the service that checks TCP.
    pub fn of_all(reads: Reads, blocks: Blocks, check: u8) -> Lifecycle {
        Lifecycle { reads, blocks, check: Some(check) }
    }
    /// The node of TCP.
    pub fn of_tcp(reads: Reads, blocks: Blocks) -> Lifecycle {
        Lifecycle { reads, blocks, check: None }
    }
    /// Follows a packet of another protocol.
    fn other(&self, work: &Work<'_>, packet: Packet<'_>) {
        let status = packet.record.status();
        if self.check.is_some() && status.state == State::Embryonic && packet.mark.direction() == Direction::Reverse {
            work.set_status(packet, Status { state: State::Established, timeout: ESTABLISHED, ..status });
        }
    }
    /// Follows a TCP segment.
    ///
    /// # Errors
    /// The arc by which it leaves, if it is dropped.
    fn tcp(
        &self,
        work: &Work<'_>,
        cx: &Context<'_>,
        (frame, i): (&Frame, usize),
        packet: Packet<'_>,
    ) -> Result<(), Next> {
        let chain = &packet.tenant.chains[packet.mark.direction() as usize];
        if self.check.is_some_and(|check| chain.has(check)) {
            return Ok(());
        }
        let bytes = frame.bytes(cx.pool, i);
        let segment = segment(bytes, frame.length[i]);
        if packet.tenant.is_strict && !judge_strictly(work, cx, bytes, (packet, segment))? {
            return Ok(());
        }
        let segment = match segment {
            Some(segment) => segment,
            None if packet.mark.is_first() => Segment::UNKNOWN,
            // A later fragment has no flags.
            None => return Ok(()),
        };
        let before = packet.record.status();
        follow(packet.record, packet.mark, segment, self.blocks.get());
        work.status_changed(packet, before);
        if packet.record.is_blocked() { Err(Next::NoSyn) } else { Ok(()) }
    }
}

/// Judges a segment by the windows of its connection; whether it is part of it.
///
/// # Errors
/// The arc by which it leaves, if it is dropped.
#[inline(never)]
fn judge_strictly(
    work: &Work<'_>,
    cx: &Context<'_>,
    bytes: &[u8],
    (packet, segment): (Packet<'_>, Option<Segment>),
) -> Result<bool, Next> {
    let Packet { record, mark, .. } = packet;
    let Some(windows) = work.sessions.windows(cx.worker, mark.index()) else { return Ok(true) };
    // Its bytes cannot be known: fragments of it may be missing, or overlap.
    let segment = match segment.filter(|_| !is_fragment(bytes)) {
        Some(segment) => segment,
        None => return if windows.has(mark.generation()) || mark.is_first() { Err(Next::Fragment) } else { Ok(true) },
    };
    match windows.judge((mark.generation(), mark.direction()), &segment, record.status()) {
        None | Some(Verdict::Follow) => Ok(true),
        Some(Verdict::Pass) => Ok(false),
        Some(Verdict::Flags) => Err(Next::Flags),
        Some(Verdict::OutOfWindow) => Err(Next::OutOfWindow),
    }
}

/// Where policy comes first, a connection begins with its SYN. Segments of one that has no session any more, and what is unsolicited, are
/// refused, whatever is set for others.
fn judge(cx: &Context<'_>, frame: &Frame, (i, _): (usize, u16)) -> Judgment {
    let packet = frame.bytes(cx.pool, i);
    let opens = segment(packet, frame.length[i]).is_some_and(Segment::opens) && !is_fragment(packet);
    let is_refused = is_tcp(packet) && !opens;
    is_refused.then(|| (Next::NoSyn.into(), Reason::NoSyn))
}

impl Node for Lifecycle {
    fn process(&mut self, cx: &mut Context, frame: &mut Frame) {
        self.reads.each_judged(
            (cx, frame),
            (Next::ARCS.len(), Next::NoSession),
            (Judges::WithoutSession, judge),
            |work, cx, frame, i, packet| {
                let is_tcp = packet.record.identity().protocol() == IpProtocol::TCP.0;
                let judged = match (cx.is_rehearsal(), is_tcp) {
                    (true, _) => Ok(()),
                    (_, true) => self.tcp(work, cx, (frame, i), packet),
                    _ => {
                        self.other(work, packet);
                        Ok(())
                    }
                };
                match judged {
                    Ok(()) => work.pass(cx, frame, i, packet),
                    Err(next) => frame.next[i] = next.into(),
                }
            },
        );
    }
}
