//! `ip4-mfib-forward`, `ip6-mfib-forward`: packets for groups that have a route, on the arcs `ip4-multicast` and
//! `ip6-multicast`. If the route lets them come from where they came (RFC 5110, 2.1: the check of the reverse path), copies go to
//! its interfaces but the receiving one, and to us; the last one is the original.
//!
//! A packet without a route continues along the arc; so does a local packet that its route does not accept.
//!
//! Drops: `rpf-failure`: from an interface that the route does not accept; `route-drop`; `hop-limit-expired`: of a
//! packet to be forwarded; `beyond-scope`: the packet must not leave its link; `no-receiver`; `no-buffer`: too few
//! buffers for all copies, later ones in the list are missing.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use quiver_engine::channel::Outbox;
use quiver_engine::{Context, Counter, Flags, Frame, Node, Row, Snapshot, arcs};
use quiver_ip::Ingress;
use quiver_ip::ingress::{IpInterface, slot_of};
use quiver_wire::{Header, IpHeader};

use crate::family::Multicast;
use crate::signal::Signal;
use crate::view::{Entry, Out, Port, View, entry, port};

arcs! {
    /// Where packets, and copies of them, go.
    pub enum Next of F: Multicast {
        Unrouted => next_feature,
        Link => node (F::REWRITE),
        Router => node (F::NAMES.rewrite),
        Local => features (F::NAMES.local),
        RpfFailure => drop "rpf-failure",
        Dropped => drop "route-drop",
        Expired => drop "hop-limit-expired",
        BeyondScope => drop "beyond-scope",
        NoReceiver => drop "no-receiver",
        NoBuffer => drop "no-buffer",
    }
}

/// The node.
pub struct Forward<F: Multicast> {
    /// The routes.
    pub view: Snapshot<View<F>>,
    /// The interfaces' tables and groups.
    pub ingress: Snapshot<Ingress<F>>,
    /// This worker's counters of packets by route.
    pub passed: Arc<Row>,
    /// Its counter of packets that no route has taken.
    pub refused: Arc<Row<Counter>>,
    /// Queue to the reader of signals.
    pub signals: Outbox<Signal>,
}

impl<F: Multicast> Node for Forward<F> {
    fn process(&mut self, cx: &mut Context, frame: &mut Frame) {
        let (view, ingress) = (self.view.read(cx.guard), self.ingress.read(cx.guard));
        for i in 0..frame.len() {
            let interface = ingress.interfaces.get(frame.rx[i] as usize);
            let next = interface.map_or(Next::Unrouted, |interface| self.look(view, interface, cx, frame, i));
            frame.next[i] = next.into();
        }
    }
}

impl<F: Multicast> Forward<F> {
    /// Sends the copies of a packet; the way of the original.
    fn look(&self, view: &View<F>, interface: &IpInterface<F>, cx: &mut Context, frame: &mut Frame, i: usize) -> Next {
        let Some((header, _)) = F::Header::parse(frame.bytes(cx.pool, i)) else { return Next::Unrouted };
        let (source, group, hops) = (header.source(), header.destination(), header.hop_limit());
        let (rx, is_member) = (frame.rx[i], interface.is_in(group));
        let slot = slot_of(interface.word) as usize;
        let leaf = view.leaf(cx.guard, slot, group);
        // A leaf may be newer than what this frame began with.
        let newest = || Some(self.view.read(cx.guard)).filter(|_| leaf != 0)?.group(leaf, group);
        let routes = view.group(leaf, group).or_else(newest);
        let Some(route) = routes.and_then(|routes| routes.find(source)) else {
            self.refused.add(0, u64::from(!is_member));
            return Next::Unrouted;
        };
        let on_port = route.port(rx);
        if let Some(on_port) = on_port {
            let is_connected = || interface.addresses.iter().any(|own| own.prefix().contains(source));
            let signals = (route.flags & entry::SIGNAL != 0) != (on_port.flags & port::NEGATE_SIGNAL != 0);
            if signals || (route.flags & entry::CONNECTED != 0 && is_connected()) {
                self.signal(route, on_port, frame.bytes(cx.pool, i));
            }
        }
        let is_accepted = on_port.is_some_and(|on_port| on_port.flags & port::ACCEPT != 0);
        if !is_accepted && route.flags & entry::ACCEPT_ALL == 0 {
            self.refused.add(0, u64::from(!is_member));
            return if is_member { Next::Unrouted } else { Next::RpfFailure };
        }
        self.passed.add(route.counter, 1, frame.length[i].into());
        if route.flags & entry::DROP != 0 {
            return Next::Dropped;
        }
        let is_local = route.local || is_member;
        // What is sent on has a hop less to go, and does not leave the link that its addresses mean something on.
        let stays = match () {
            () if F::is_of_link(group) || F::is_link_local(source) => Some(Next::BeyondScope),
            () if hops < 2 && !frame.flags(i).has(Flags::LOCAL) => Some(Next::Expired),
            () => None,
        };
        let outs = route.outs.iter().filter(|out| out.interface != rx);
        match stays {
            Some(reason) if !is_local && outs.clone().next().is_some() => reason,
            Some(_) => replicate(cx, frame, i, [].iter(), is_local),
            None => replicate(cx, frame, i, outs, is_local),
        }
    }
    /// Tells that a packet has come, unless that is to be read still.
    fn signal(&self, route: &Entry, on_port: &Port, packet: &[u8]) {
        if !self.signals.is_heard() || on_port.signalled.swap(true, Relaxed) {
            return;
        }
        let kept = if on_port.flags & port::DONT_PRESERVE != 0 { 0 } else { packet.len().min(Signal::PACKET_MAX) };
        let packet = packet.get(..kept).unwrap_or_default().to_vec();
        if !self.signals.send(Signal { serial: route.serial, interface: on_port.interface, packet }) {
            on_port.signalled.store(false, Relaxed);
        }
    }
}

/// Sends a packet to all receivers; the way of the original.
fn replicate<'o>(
    cx: &mut Context,
    frame: &mut Frame,
    i: usize,
    outs: impl Iterator<Item = &'o Out>,
    is_local: bool,
) -> Next {
    let mut outs = outs.peekable();
    while let Some(out) = outs.next() {
        let next = if out.to_router { Next::Router } else { Next::Link };
        if outs.peek().is_none() && !is_local {
            frame.hop[i] = out.hop;
            return next;
        }
        let Some(mut copy) = frame.copy(cx.pool, i) else { return Next::NoBuffer };
        copy.hop = out.hop;
        cx.emit(next, copy);
    }
    if is_local { Next::Local } else { Next::NoReceiver }
}
