//! `ip4-punt-listener`, `ip6-punt-listener`: behind `ip4-local` and `ip6-local`, where packets go that nobody took. Those that
//! are punted, by their protocol and port or because nobody takes them, go onto the feature arc of punted packets, or to control,
//! which gives them to programs; senders of the others are told that nobody listens (RFC 1122, 3.2.2.1), as if the node were not
//! there. `ip4-punt-echo-reply`, `ip6-punt-echo-reply`: the same of answers to echo requests that nobody here has sent; those that
//! no program has go onto the arc.

use std::marker::PhantomData;

use quiver_engine::buffer::HEADROOM;
use quiver_engine::{Context, Frame, Node, Snapshot, arcs};
use quiver_ip::fault::{Fault, FaultKind};
use quiver_wire::{EthernetHeader, Header, IpProtocol, MacAddress};
use zerocopy::IntoBytes;

use crate::delivery::By;
use crate::family::Punted;
use crate::reason::Reason;
use crate::sockets::{Held, Outbox};
use crate::traffic::{Taken, Taker};

arcs! {
    /// Where packets go from here.
    pub enum Next of F: Punted {
        Unheard => node (F::NAMES.error),
        Punt => features (F::NAMES.punt),
        Delivered => done "delivered",
        Full => drop "punt-queue-full",
    }
}

/// A node.
pub struct Listener<F: Punted> {
    taken: Snapshot<Taken>,
    held: Outbox,
    /// The reason of all its packets, which no protocol or port stands for then.
    reason: Option<Reason>,
    family: PhantomData<F>,
}

impl<F: Punted> Listener<F> {
    /// Finds what is taken, of packets that nobody took or of those of one reason; packets for programs are held for control.
    pub fn new(taken: Snapshot<Taken>, held: Outbox, reason: Option<Reason>) -> Listener<F> {
        Listener { taken, held, reason, family: PhantomData }
    }
}

/// Reason why no node took a packet from `ip4-local` or `ip6-local`. None if the packet is malformed or has parts that
/// must be understood.
pub(crate) fn reason_of<F: Punted>(fault: Fault) -> Option<Reason> {
    match fault.kind() {
        FaultKind::Port => Some(F::UNKNOWN_PORT),
        FaultKind::Protocol => Some(F::UNKNOWN_PROTOCOL),
        _ => None,
    }
}

/// The taker of a packet, and the protocol and port of its registration.
pub(crate) fn taker<F: Punted>(taken: &Taken, packet: &[u8]) -> Option<(Taker, (u8, u16))> {
    let payload = F::payload(packet)?;
    let port = match payload.protocol {
        IpProtocol::UDP | IpProtocol::TCP => {
            packet.get(payload.offset + 2..)?.first_chunk().map(|port| u16::from_be_bytes(*port))
        }
        _ => None,
    };
    let protocol = payload.protocol.0;
    let found = |port| taken.configured.get((protocol, port)).map(|taker| (taker, (protocol, port)));
    port.filter(|port| *port != 0).and_then(found).or_else(|| found(0))
}

/// The frame that row `i` came in, without tags, which rooms of layer 2 have taken out; of a packet that came in fragments, one
/// that says what it carries.
fn frame_of<F: Punted>(cx: &Context, frame: &mut Frame, i: usize) -> Vec<u8> {
    let has_header = usize::from(frame.offset[i]) >= HEADROOM + EthernetHeader::LENGTH;
    let is_whole = has_header && frame.advance(cx.pool, i, -(EthernetHeader::LENGTH as isize));
    let mut bytes = vec![];
    frame.gather(cx.pool, i, &mut bytes);
    if is_whole {
        return bytes;
    }
    let none = MacAddress::ZERO;
    let header = EthernetHeader { destination: none, source: none, ethertype: F::ETHERTYPE };
    [header.as_bytes(), &bytes].concat()
}

impl<F: Punted> Node for Listener<F> {
    fn process(&mut self, cx: &mut Context, frame: &mut Frame) {
        let taken = self.taken.read(cx.guard);
        for i in 0..frame.len() {
            let Some(reason) = self.reason.or_else(|| reason_of::<F>(Fault(frame.hop[i]))) else {
                frame.next[i] = Next::Unheard.into();
                continue;
            };
            let by_port = match self.reason {
                None if !taken.configured.is_empty() => taker::<F>(taken, frame.bytes(cx.pool, i)),
                _ => None,
            };
            let by_port = by_port.map(|(taker, key)| (taker, By::port::<F>(key)));
            let found = by_port.or_else(|| Some((*taken.reasons.get(&reason)?, By::Reason(reason))));
            frame.next[i] = match found {
                None if self.reason.is_some() || taken.unspoken && reason == F::UNKNOWN_PROTOCOL => Next::Punt,
                None => Next::Unheard,
                Some((Taker::Arc, _)) => Next::Punt,
                Some((Taker::Socket, by)) => {
                    let bytes = frame_of::<F>(cx, frame, i);
                    let held = Held { by, rx: frame.rx[i], bytes };
                    if self.held.send(held) { Next::Delivered } else { Next::Full }
                }
            }
            .into();
        }
    }
}
