//! `ip4-reassembly`, `ip6-reassembly`: keep the fragments of packets for us until they are whole, and let these go to `ip4-local`
//! again.
//!
//! Each worker keeps its own: the parts of a packet have the same hash, so one worker receives them all. What is kept is bounded
//! in packets, parts and bytes; at a limit new packets are dropped, and those that have begun go on.

use std::collections::HashMap;

use quiver_engine::channel::Outbox;
use quiver_engine::graph::NodeId;
use quiver_engine::{ArcSpec, Context, Frame, Node, Snapshot, Worker, arcs};
use quiver_ip::{Fault, Ingress};
use quiver_wire::{Header, IpHeader};

use crate::assembly::{Assembly, LONGEST, Refused};
use crate::family::{Part, Reassembled};

arcs! {
    /// Where packets go from here.
    pub enum Next of F: Reassembled {
        Whole => node (F::NAMES.local),
        Kept => done "kept",
        Error => node (F::NAMES.error),
        Overlap => drop "overlapping-fragments",
        TooMany => drop "too-many-fragments",
        Full => drop "reassembly-full",
        TimedOut => drop "reassembly-timeout",
        NoBuffers => drop "no-buffers",
        BadLength => drop "bad-fragment-length",
        TooLong => drop "reassembled-too-long",
    }
}

/// The arcs of a family, which may not have the last ones.
pub(crate) const fn arcs_of<F: Reassembled>() -> &'static [ArcSpec] {
    Next::arcs::<F>().split_at(F::ARCS).0
}

/// What a worker keeps at most.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Packets.
    pub packets: usize,
    /// Parts of a packet.
    pub parts: usize,
    /// Bytes of all.
    pub bytes: usize,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { packets: 1024, parts: 64, bytes: 4 << 20 }
    }
}

/// What the parts of a packet have in common: the table of the interface that received them, and what they say.
type Key<F> = (u32, <F as quiver_wire::IpFamily>::Address, <F as quiver_wire::IpFamily>::Address, u32, u8);

/// A packet that is not whole yet.
struct Begun {
    assembly: Assembly,
    /// What is in front of the payload, and the first part as it came.
    head: Option<Vec<u8>>,
    first: Vec<u8>,
    /// The interface that received the part that came first.
    rx: u16,
    /// When it did, in nanoseconds.
    since: u64,
}

/// The node.
pub struct Reassembly<F: Reassembled> {
    ingress: Snapshot<Ingress<F>>,
    /// Tells control that something waits here, where nothing did.
    waits: Outbox<()>,
    limits: Limits,
    begun: HashMap<Key<F>, Begun>,
    bytes: usize,
    /// Whether those are to be ended that have waited for too long.
    ending: bool,
}

impl<F: Reassembled> Reassembly<F> {
    /// A node that keeps nothing yet.
    pub fn new(ingress: Snapshot<Ingress<F>>, waits: Outbox<()>, limits: Limits) -> Reassembly<F> {
        Reassembly { ingress, waits, limits, begun: HashMap::new(), bytes: 0, ending: false }
    }
    /// Ends the wait of those that have waited for too long, in this turn. False if nothing waits any more.
    pub fn end(worker: &mut Worker, node: NodeId) -> bool {
        let Some(this) = worker.graph().node_mut::<Reassembly<F>>(node) else { return false };
        this.ending = true;
        let is_waiting = !this.begun.is_empty();
        worker.wake_node(node);
        is_waiting
    }
    /// Ends what has waited for too long: its sender is told if the first part has come (RFC 792; RFC 8200, 4.5).
    fn give_up(&mut self, cx: &mut Context) {
        let patience = F::PATIENCE.as_nanos() as u64;
        let is_over = |begun: &Begun| cx.now.saturating_sub(begun.since) >= patience;
        // In an order that does not depend on the table's secret: the same packets give the same events.
        let mut over: Vec<Key<F>> =
            self.begun.iter().filter(|(_, begun)| is_over(begun)).map(|(key, _)| *key).collect();
        over.sort_unstable();
        for key in over {
            let Some(begun) = self.begun.remove(&key) else { continue };
            self.bytes -= begun.assembly.bytes();
            if begun.assembly.is_given_up() {
                continue;
            }
            let Some(mut packet) = cx.pool.packet(&begun.first) else { continue };
            packet.rx = begun.rx;
            packet.hop = Fault::REASSEMBLY.0;
            cx.emit(if begun.head.is_some() { Next::Error } else { Next::TimedOut }, packet);
        }
    }
    /// Where a fragment goes, and why its sender is told; the whole packet, if it is the last that was missing.
    fn take(&mut self, packet: &[u8], rx: u16, now: u64, table: u32) -> (Next, Fault, Option<Vec<u8>>) {
        let nothing = Fault(0);
        let Some((part, (ip, _))) = F::part(packet).zip(F::Header::parse(packet)) else {
            return (Next::BadLength, nothing, None);
        };
        let Part { identification, protocol, offset, more, ref head, bytes, pointers } = part;
        let wrong = |next, pointer| match F::problem(pointer) {
            Some(fault) => (Next::Error, fault, None),
            None => (next, nothing, None),
        };
        // RFC 8200, 4.5: all but the last are whole units of eight bytes.
        if bytes.is_empty() || (more && bytes.len() % 8 != 0) {
            return wrong(Next::BadLength, pointers.0);
        }
        if head.len() + offset + bytes.len() > LONGEST {
            return wrong(Next::TooLong, pointers.1);
        }
        let key = (table, ip.source(), ip.destination(), identification, protocol);
        let is_new = !self.begun.contains_key(&key);
        if self.bytes + bytes.len() > self.limits.bytes || (is_new && self.begun.len() >= self.limits.packets) {
            return (Next::Full, nothing, None);
        }
        if self.begun.is_empty() {
            // Where control has no room, it has been told already.
            self.waits.send(());
        }
        let begun = self.begun.entry(key).or_insert_with(|| Begun {
            assembly: Assembly::default(),
            head: None,
            first: packet.to_vec(),
            rx,
            since: now,
        });
        if offset == 0 {
            (begun.head, begun.first) = (Some(part.head.clone()), packet.to_vec());
        }
        let before = begun.assembly.bytes();
        let added = begun.assembly.add(offset, more, bytes, self.limits.parts);
        self.bytes = self.bytes + begun.assembly.bytes() - before;
        match added {
            Ok(None) => (Next::Kept, nothing, None),
            Err(Refused::Overlap) => (Next::Overlap, nothing, None),
            Err(Refused::TooMany) => (Next::TooMany, nothing, None),
            Ok(Some(payload)) => {
                let whole = begun.head.as_ref().and_then(|head| F::whole(head, &payload));
                self.bytes -= begun.assembly.bytes();
                self.begun.remove(&key);
                match whole {
                    Some(whole) => (Next::Kept, nothing, Some(whole)),
                    None => wrong(Next::TooLong, pointers.1),
                }
            }
        }
    }
}

impl<F: Reassembled> Node for Reassembly<F> {
    fn process(&mut self, cx: &mut Context, frame: &mut Frame) {
        if std::mem::take(&mut self.ending) {
            self.give_up(cx);
        }
        for i in 0..frame.len() {
            let rx = frame.rx[i];
            let table = self.ingress.read(cx.guard).word(rx.into()) & 0xffff;
            let packet: Vec<u8> = frame.segments(cx.pool, i).flatten().copied().collect();
            let (mut next, fault, whole) = self.take(&packet, rx, cx.now, table);
            if let Some(whole) = whole {
                match cx.pool.packet(&whole) {
                    Some(mut packet) => {
                        packet.rx = rx;
                        cx.emit(Next::Whole, packet);
                    }
                    None => next = Next::NoBuffers,
                }
            }
            frame.hop[i] = fault.0;
            frame.next[i] = next.into();
        }
    }
}
