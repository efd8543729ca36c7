//! `nat44-ed-rewrite`: the service that rewrites packets of sessions. Nothing refuses them behind it but what refuses packets without NAT.

use quiver_engine::{Context, Frame, Node, arcs};
use quiver_ip::fib::hop::Continuation;
use quiver_session::node::pass::Reads;
use quiver_session::record::Status;
use quiver_wire::IpProtocol;

use super::input::rewrite_row;
use super::session::{self, Way, direction};
use crate::egress::Routes;

arcs! {
    /// Where packets go from here, besides services.
    pub enum Next {
        NoSession => drop "no-session",
        Again => node "ip4-lookup-again",
        Hairpin => node "nat44-ed-input",
    }
}

/// The node's name.
pub const NAME: &str = "nat44-ed-rewrite";

/// The node.
pub struct Rewrite {
    /// Sessions.
    pub reads: Reads,
    /// Tables of interfaces.
    pub routes: Routes,
    /// Timeout of ICMP sessions.
    pub icmp_timeout: u8,
}

impl Node for Rewrite {
    fn process(&mut self, cx: &mut Context, frame: &mut Frame) {
        let ingress = self.routes.ingress.read(cx.guard);
        self.reads.each((cx, frame), (Next::ARCS.len(), Next::NoSession), |work, cx, frame, i, packet| {
            let at = work.sessions.at(cx.worker, packet.mark.index);
            let Some(session) = work.sessions.translated(at) else {
                // A session without NAT.
                return work.pass(cx, frame, i, packet);
            };
            let is_from_inside = packet.mark.direction == direction(&session, true);
            let status = packet.record.status();
            let is_icmp = IpProtocol(session.second.key.protocol) == IpProtocol::ICMP4;
            if is_icmp && status.timeout != self.icmp_timeout && !cx.is_rehearsal() {
                // The state of the session has changed, and its time with it.
                work.set_status(packet, Status { timeout: self.icmp_timeout, ..status });
            }
            rewrite_row(cx, frame, i, &session, is_from_inside);
            match session::way(&session, is_from_inside, ingress.slot(frame.rx[i])) {
                Way::On => work.pass(cx, frame, i, packet),
                Way::Hairpin => frame.next[i] = Next::Hairpin.into(),
                Way::Table(slot) => {
                    frame.hop[i] = Continuation::Destination(slot).hop();
                    frame.next[i] = Next::Again.into();
                }
            }
        });
    }
}
