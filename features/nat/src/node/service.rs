//! `nat44-ed-rewrite`: the service that rewrites packets of sessions. Nothing refuses them behind it but what refuses packets without NAT.

use quiver_engine::{Context, Frame, Node, arcs};
use quiver_session::node::pass::{Packet, Reads, Work};
use quiver_session::record::Status;
use quiver_session::translation::Session;
use quiver_wire::IpProtocol;

use super::rows::{rewrite_plain_row, rewrite_row};
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
        let Some(work) = self.reads.begin(cx, Next::ARCS.len()) else {
            (0..frame.len()).for_each(|i| frame.next[i] = Next::NoSession.into());
            return;
        };
        let (ingress, translator) = (self.routes.ingress.read(cx.guard), work.translator());
        work.each((cx, frame), Next::NoSession, |work, cx, frame, i, packet| {
            let received = |frame: &Frame| ingress.slot(frame.rx[i]);
            let plain = translator.as_ref();
            let plain = plain.and_then(|translator| rewrite_plain_row(cx, (frame, i), (translator, &packet), received));
            let way = match plain {
                Some(way) => way,
                None => match self.rewrite(cx, (frame, i), work, packet) {
                    Some((session, is_from_inside)) => session::way_of(&session, is_from_inside, received(frame)),
                    // A session without NAT.
                    None => Way::On,
                },
            };
            if !way.turns(frame, i, [Next::Hairpin, Next::Again]) {
                work.pass(cx, frame, i, packet);
            }
        });
    }
}

impl Rewrite {
    /// Rewrites any other row. Returns its session, and whether it comes from the inside; None of a session without NAT.
    #[cold]
    #[inline(never)]
    fn rewrite(
        &self,
        cx: &mut Context<'_>,
        (frame, i): (&mut Frame, usize),
        work: &Work<'_>,
        packet: Packet<'_>,
    ) -> Option<(Session, bool)> {
        let session = work.sessions.translated(work.sessions.at(cx.worker, packet.mark.index()))?;
        let is_from_inside = packet.mark.direction() == direction(&session, true);
        let status = packet.record.status();
        let is_icmp = IpProtocol(session.second.key.protocol) == IpProtocol::ICMP4;
        if is_icmp && status.timeout != self.icmp_timeout && !cx.is_rehearsal() {
            // The state of the session has changed, and its time with it.
            work.set_status(packet, Status { timeout: self.icmp_timeout, ..status });
        }
        rewrite_row(cx, frame, i, &session, is_from_inside);
        Some((session, is_from_inside))
    }
}
