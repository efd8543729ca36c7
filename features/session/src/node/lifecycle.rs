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
use crate::policy::Judgment;
use crate::record::{BLOCKED, Direction, State, Status};
use crate::tcp::{FirstWithoutSyn, Segment, follow, is_tcp, segment};
use crate::timeouts::ESTABLISHED;

arcs! {
    /// Where packets go from here, besides services.
    pub enum Next {
        NoSession => drop "no-session",
        NoSyn => drop "no-syn",
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
        if self.check.is_some() && status.state == State::Embryonic && packet.mark.direction == Direction::Reverse {
            work.set_status(packet, Status { state: State::Established, timeout: ESTABLISHED, ..status });
        }
    }
    /// Follows a TCP segment; false if it is dropped.
    fn tcp(&self, work: &Work<'_>, cx: &Context<'_>, (frame, i): (&Frame, usize), packet: Packet<'_>) -> bool {
        let chain = &packet.tenant.chains[packet.mark.direction as usize];
        if self.check.is_some_and(|check| chain.has(check)) {
            return true;
        }
        let segment = match segment(frame.bytes(cx.pool, i), frame.length[i]) {
            Some(segment) => segment,
            None if packet.mark.is_first => Segment::UNKNOWN,
            // A later fragment has no flags.
            None => return true,
        };
        let before = packet.record.status();
        follow(packet.record, packet.mark, segment, self.blocks.get());
        work.status_changed(packet, before);
        packet.record.status().flags & BLOCKED == 0
    }
}

/// Where policy comes first, a connection begins with its SYN. Segments of one that has no session any more, and what is unsolicited, are
/// refused, whatever is set for others.
fn judge(cx: &Context<'_>, frame: &Frame, i: usize) -> Judgment {
    let packet = frame.bytes(cx.pool, i);
    let is_refused = is_tcp(packet) && !segment(packet, frame.length[i]).is_some_and(Segment::opens);
    is_refused.then(|| (Next::NoSyn.into(), Reason::NoSyn))
}

impl Node for Lifecycle {
    fn process(&mut self, cx: &mut Context, frame: &mut Frame) {
        self.reads.each_judged(
            (cx, frame),
            (Next::ARCS.len(), Next::NoSession),
            judge,
            |work, cx, frame, i, packet| {
                let is_tcp = packet.record.identity().protocol() == IpProtocol::TCP.0;
                let passes = cx.is_rehearsal() || !is_tcp || self.tcp(work, cx, (frame, i), packet);
                if !is_tcp && !cx.is_rehearsal() {
                    self.other(work, packet);
                }
                if passes {
                    work.pass(cx, frame, i, packet);
                } else {
                    frame.next[i] = Next::NoSyn.into();
                }
            },
        );
    }
}
