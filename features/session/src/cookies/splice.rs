//! `sfdp-syn-proxy`: joins the halves of connections behind SYN cookies.
//!
//! Services see the server's half. A client's segment comes here before the first service, the server's behind the last one that passes it
//! on. Until the server has answered, each segment of the client repeats the SYN: there are no timers. Then the client's window is opened,
//! and from there on the difference between the cookie and the server's initial number is applied.

use quiver_engine::{Context, Frame, Node, arcs};
use quiver_table::Reference;

use super::compose::{Composed, Outgoing, SynOptions, compose};
use super::cookie::SCALE_MAX;
use super::proxy::{Proxied, Server};
use super::translate::{Shift, translate, translate_error};
use crate::node::pass::{Packet, Reads, Work};
use crate::record::{CLOSING, Direction, PROXIED, Status};
use crate::segment::{ACK, RST, SYN, Segment, place, segment};
use crate::sessions::Mark;

arcs! {
    /// Where packets go from here, besides services.
    pub enum Next {
        NoSession => drop "no-session",
        NoBuffers => drop "no-buffers",
        /// The server has not answered yet, has refused the connection, or answers another one.
        NotConnected => drop "not-connected",
    }
}

/// The node's name.
pub const NAME: &str = "sfdp-syn-proxy";

/// Offload flag: the checksum is still to be computed.
const UNFINISHED: u8 = 1;

/// The node.
pub struct Splice(pub Reads);

impl Work<'_> {
    /// Notes that a session, which has begun by a returned cookie, has a connection of two halves. The row has the SYN that the cookie
    /// answered, with the cookie as acknowledgment. False, and the session ends, if there is no room for it.
    pub(crate) fn begin_proxy(&self, (cx, frame, i): (&Context<'_>, &Frame, usize), at: Reference) -> bool {
        let segment = segment(frame.bytes(cx.pool, i), frame.length[i]);
        let proxies = self.sessions.proxies.get();
        let kept = segment.zip(self.owned.records.get(at.index)).is_some_and(|(segment, record)| {
            let Segment { sequence: initial, acknowledgment: cookie, window, .. } = segment;
            let (place, proxied) =
                ((at.index, record.identity().generation()), Proxied { cookie, initial, window, server: None });
            let status = record.status();
            record.set_status(Status { flags: status.flags | PROXIED, ..status });
            proxies.is_some_and(|proxies| proxies.set(self.worker, place, &proxied))
        });
        if !kept {
            self.end_session(at);
        }
        kept
    }
    /// The service behind this node.
    fn onward(&self, packet: &Packet<'_>) -> u16 {
        let (direction, position, is_error) = (packet.mark.direction(), packet.mark.position(), packet.mark.is_error());
        self.arc(match is_error {
            true => packet.service_of_error(),
            // The node had the turn of the service at the position before.
            false => packet.tenant.chains[direction as usize].service(position.saturating_sub(1)),
        })
    }
}

/// A row at work.
struct At<'a, 'c, 't> {
    work: &'a Work<'a>,
    cx: &'a mut Context<'c>,
    frame: &'a mut Frame,
    i: usize,
    packet: Packet<'t>,
}

impl At<'_, '_, '_> {
    /// A segment between the ends of the session, from the initiator or the responder.
    fn compose(&self, direction: Direction, segment: Outgoing) -> Option<Composed> {
        let key = self.packet.record.key()?;
        let is_from_high = self.packet.record.identity().is_from_high() == (direction == Direction::Forward);
        Some(compose(&key, &Outgoing { is_from_high, ..segment }))
    }
    /// Puts a segment in the row's place.
    ///
    /// # Errors
    /// There is no buffer for it.
    fn replace(&mut self, direction: Direction, segment: Outgoing) -> Result<(), Next> {
        let composed = self.compose(direction, segment).ok_or(Next::NoSession)?;
        let mut packet = self.cx.pool.packet(composed.bytes()).ok_or(Next::NoBuffers)?;
        packet.rx = self.frame.rx[self.i];
        packet.set_local();
        self.frame.hand_on_metadata(self.cx.pool, self.i, &mut packet);
        self.frame.trace_on(self.cx.pool, self.i, &mut packet);
        self.frame.replace(self.cx.pool, self.i, packet);
        Ok(())
    }
    /// Sends a segment to the server, beside the row: along the chain, or past its services.
    ///
    /// # Errors
    /// There is no buffer for it.
    fn tell_server(&mut self, segment: Outgoing, is_judged: bool) -> Result<(), Next> {
        let composed = self.compose(Direction::Forward, segment).ok_or(Next::NoSession)?;
        let mut made = self.cx.pool.packet(composed.bytes()).ok_or(Next::NoBuffers)?;
        made.rx = self.frame.rx[self.i];
        made.set_local();
        let Packet { mark, .. } = self.packet;
        let mark = Mark::new(mark.index(), mark.generation(), Direction::Forward).at(1);
        made.set_metadata(self.cx.pool, self.work.mark, mark);
        self.frame.trace_on(self.cx.pool, self.i, &mut made);
        let chain = &self.packet.tenant.chains[Direction::Forward as usize];
        let service = if is_judged { chain.service(0) } else { chain.last() };
        self.cx.emit(self.work.arc(service), made);
        Ok(())
    }
    fn is_closing(&self) -> bool {
        self.packet.record.status().flags & CLOSING != 0
    }
    /// Applies the difference between both halves to the row.
    fn translate(&mut self, shift: &Shift) {
        let offload = self.frame.offload(self.cx.pool, self.i);
        let is_unfinished = offload.is_some_and(|offload| offload.flags & UNFINISHED != 0);
        let is_error = self.packet.mark.is_error();
        let bytes = self.frame.bytes_mut(self.cx.pool, self.i);
        if is_error {
            translate_error(bytes, shift);
        } else if let Some(tcp) = place(bytes).and_then(|at| bytes.get_mut(at..)) {
            translate(tcp, shift, is_unfinished);
        }
    }
    /// A segment of the client to a server that has not answered.
    ///
    /// # Errors
    /// The arc by which it leaves, if it is dropped.
    fn ask(&mut self, proxied: &Proxied, segment: Segment) -> Result<(), Next> {
        let bare = Outgoing {
            is_from_high: false,
            flags: RST,
            sequence: segment.sequence,
            acknowledgment: 0,
            window: 0,
            options: None,
        };
        if segment.has(RST) {
            // What it acknowledges is a cookie.
            return self.replace(Direction::Forward, bare);
        }
        if self.is_closing() {
            return Err(Next::NotConnected);
        }
        let offer = proxied.offer();
        let options = SynOptions { mss: offer.mss, scale: offer.scale, sack: offer.sack };
        let syn = Outgoing {
            flags: SYN,
            sequence: proxied.initial,
            window: proxied.first_window(),
            options: Some(options),
            ..bare
        };
        self.replace(Direction::Forward, syn)
    }
    /// A segment of a server that has not answered yet.
    ///
    /// # Errors
    /// The arc by which it leaves, if it is dropped.
    fn answered(&mut self, proxied: &Proxied, segment: Segment) -> Result<(), Next> {
        let behind = proxied.initial.wrapping_add(1);
        let is_answer = segment.has(ACK) && segment.acknowledgment == behind;
        if segment.has(RST) && is_answer {
            let refusal = Outgoing {
                is_from_high: false,
                flags: RST | ACK,
                sequence: proxied.cookie.wrapping_add(1),
                acknowledgment: behind,
                window: 0,
                options: None,
            };
            return self.replace(Direction::Reverse, refusal);
        }
        if segment.has(SYN) && is_answer && !self.is_closing() {
            return self.connect(proxied, segment);
        }
        if segment.has(ACK) && !segment.has(RST) {
            // RFC 9293, 3.5.1: the server has an old connection of these ends, which a client in our place would reset.
            let reset = Outgoing {
                is_from_high: false,
                flags: RST,
                sequence: segment.acknowledgment,
                acknowledgment: 0,
                window: 0,
                options: None,
            };
            self.tell_server(reset, false)?;
        }
        Err(Next::NotConnected)
    }
    /// The server's SYN comes, for the first time or again: acknowledges it, and opens the client's window.
    ///
    /// # Errors
    /// The arc by which it leaves, if it is dropped.
    fn connect(&mut self, proxied: &Proxied, segment: Segment) -> Result<(), Next> {
        // RFC 7323, 2.2: windows are scaled if both SYNs said so.
        let scale = segment.scale.filter(|_| proxied.offer().scale.is_some()).map(|scale| scale.min(SCALE_MAX));
        let server = Server { initial: segment.sequence, scale };
        let proxied = Proxied { server: Some(server), ..*proxied };
        let (index, generation) = (self.packet.mark.index(), self.packet.mark.generation());
        let proxies = self.work.sessions.proxies.get().ok_or(Next::NoSession)?;
        if !proxies.set(self.work.worker, (index, generation), &proxied) {
            return Err(Next::NoSession);
        }
        let behind = proxied.initial.wrapping_add(1);
        let acknowledgment = Outgoing {
            is_from_high: false,
            flags: ACK,
            sequence: behind,
            acknowledgment: segment.sequence.wrapping_add(1),
            window: if scale.is_some() { proxied.window } else { proxied.first_window() },
            options: None,
        };
        self.tell_server(acknowledgment, true)?;
        let update = Outgoing {
            sequence: proxied.cookie.wrapping_add(1),
            acknowledgment: behind,
            window: segment.window >> proxied.own_scale(),
            ..acknowledgment
        };
        self.replace(Direction::Reverse, update)
    }
    /// A segment of a connection whose halves are both there.
    ///
    /// # Errors
    /// The arc by which it leaves, if it is dropped.
    fn join(&mut self, proxied: &Proxied, server: Server, segment: Option<Segment>) -> Result<(), Next> {
        let is_reverse = self.packet.mark.direction() == Direction::Reverse;
        if is_reverse && segment.is_some_and(|segment| segment.has(SYN)) && !self.packet.mark.is_error() {
            let again = segment.filter(|segment| segment.has(ACK) && segment.sequence == server.initial);
            let again = again.filter(|_| !self.is_closing()).ok_or(Next::NotConnected)?;
            return self.connect(proxied, again);
        }
        let shift = shift(proxied, server, (self.packet.mark.direction(), self.packet.mark.is_error()));
        self.translate(&shift);
        Ok(())
    }
    /// Has the row take its turn.
    ///
    /// # Errors
    /// The arc by which it leaves, if it is dropped.
    fn turn(&mut self, proxied: &Proxied) -> Result<(), Next> {
        let (direction, is_error) = (self.packet.mark.direction(), self.packet.mark.is_error());
        let segment = segment(self.frame.bytes(self.cx.pool, self.i), self.frame.length[self.i]);
        let segment = segment.filter(|_| !is_error);
        let forward = direction == Direction::Forward;
        if forward && self.is_closing() && segment.is_some_and(Segment::opens) {
            // RFC 9293, 3.6.1: the ports are used again, for a connection of one piece.
            return Ok(());
        }
        match (proxied.server, segment) {
            (Some(server), segment) => self.join(proxied, server, segment),
            // It quotes our SYN, or our answer.
            (None, None) if is_error => Ok(()),
            (None, Some(segment)) if forward => self.ask(proxied, segment),
            (None, Some(segment)) => self.answered(proxied, segment),
            (None, None) => Err(Next::NotConnected),
        }
    }
}

/// The changes to packets of a direction. Of an ICMP error it is what changes in the segment that it quotes, which has the other one.
fn shift(proxied: &Proxied, server: Server, (direction, is_error): (Direction, bool)) -> Shift {
    let ahead = proxied.cookie.wrapping_sub(server.initial);
    match direction {
        Direction::Forward if is_error => Shift { sequence: ahead.wrapping_neg(), ..Shift::default() },
        Direction::Reverse if is_error => Shift { acknowledgment: ahead, ..Shift::default() },
        Direction::Forward => {
            // A server that scales no windows expects none that are.
            let left = proxied.offer().scale.filter(|_| server.scale.is_none()).unwrap_or_default();
            Shift { acknowledgment: ahead.wrapping_neg(), window: (left, 0), ..Shift::default() }
        }
        Direction::Reverse => {
            let window = (server.scale.unwrap_or_default(), proxied.own_scale());
            Shift { sequence: ahead, window, ..Shift::default() }
        }
    }
}

impl Node for Splice {
    fn process(&mut self, cx: &mut Context, frame: &mut Frame) {
        let work = self.0.begin(cx, Next::ARCS.len());
        for i in 0..frame.len() {
            let known = work.as_ref().and_then(|work| Some((work, work.packet(cx, frame, i)?)));
            let Some((work, packet)) = known else {
                frame.next[i] = Next::NoSession.into();
                continue;
            };
            let (index, generation) = (packet.mark.index(), packet.mark.generation());
            let proxied = work.sessions.proxies.get().and_then(|all| all.get(work.worker, (index, generation)));
            let onward = work.onward(&packet);
            let turn = match proxied {
                Some(_) if cx.is_rehearsal() => Ok(()),
                Some(proxied) => At { work, cx: &mut *cx, frame: &mut *frame, i, packet }.turn(&proxied),
                None => Err(Next::NoSession),
            };
            frame.next[i] = turn.map_or_else(u16::from, |()| onward);
        }
    }
}
