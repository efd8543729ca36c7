//! `vlan-input`: frames whose tags name a sub-interface are received by it. In layer 2 they keep their tags; for layer 3
//! the tags come off, and `ethernet-input` sees the frame again.
//!
//! Drops: `too-short`, `unknown-vlan`, `interface-down`.

use std::cell::Cell;
use std::sync::Arc;

use quiver_engine::counters::Row;
use quiver_engine::trace::Record;
use quiver_engine::{
    ArcSpec, Body, Columns, Context, Frame, Guard, Isa, Mask16, Node, PacketLanes, Paged, Snapshot, Stage, StageNode,
    arcs,
};
use quiver_ethernet::Port;
use quiver_table::{ExactTable, ExactView};

use crate::matching::{Found, Part, find, part, view};
use crate::tags::{INNER, OUTER, Tag, Tags};

arcs! {
    /// Where frames go.
    pub enum Next {
        Ethernet => node "ethernet-input",
        Layer2 => features "l2-input",
        TooShort => drop "too-short",
        UnknownVlan => drop "unknown-vlan",
        Down => drop "interface-down",
    }
}

/// The stage.
#[derive(Clone)]
pub struct VlanInput {
    pub(crate) table: ExactTable,
    pub(crate) parts: Snapshot<Paged<Part>>,
    pub(crate) ports: Snapshot<Paged<Port>>,
    pub(crate) received: Arc<Row>,
}

/// The node. It counts what sub-interfaces receive in layer 2 as well.
pub struct VlanInputNode(pub StageNode<VlanInput>);

impl Node for VlanInputNode {
    fn process(&mut self, cx: &mut Context, frame: &mut Frame) {
        self.0.process(cx, frame);
        let VlanInput { parts, received, .. } = &self.0.0;
        let parts = parts.read(cx.guard);
        for i in 0..frame.len() {
            // An interface that is no part is none that is up.
            if frame.next[i] == u16::from(Next::Layer2) && part(parts, frame.rx[i]).up {
                received.add(frame.rx[i].into(), 1, frame.length[i].into());
            }
        }
    }
}

impl Stage for VlanInput {
    const NAME: &'static str = "vlan-input";
    const ARCS: &'static [ArcSpec] = Next::ARCS;
    type Body<'f> = InputBody<'f>;
    #[inline(always)]
    fn enter<'f>(&'f mut self, guard: Guard<'f>) -> InputBody<'f> {
        InputBody {
            table: view(&self.table, guard),
            parts: self.parts.read(guard),
            ports: self.ports.read(guard),
            received: &self.received,
            found: Cell::new(0),
            lengths: Cell::new([0; 16]),
        }
    }
}

/// The stage at work.
pub struct InputBody<'f> {
    table: ExactView<'f>,
    parts: &'f Paged<Part>,
    ports: &'f Paged<Port>,
    received: &'f Row,
    /// The lanes whose sub-interface was found, and their lengths as they came; from `step` to `commit`.
    found: Cell<u16>,
    lengths: Cell<[u32; 16]>,
}

/// What becomes of frames with certain tags.
#[derive(Clone, Copy)]
struct Verdict {
    rx: u32,
    next: Next,
    /// Tags that come off.
    pop: u32,
    /// Whether a sub-interface receives it.
    found: bool,
}

impl InputBody<'_> {
    /// Judges frames of an interface by their tags, whose words these are.
    #[inline(never)]
    fn judge(&self, rx: u32, [outer, inner]: [u32; 2], count: u32) -> Verdict {
        let tag = |word: u32| Tag { ethertype: (word >> 16) as u16, tci: word as u16 };
        let tags = Tags { first: [tag(outer), tag(inner)], count: count as usize };
        let is_layer2 = |interface: u16| self.ports.get(usize::from(interface)).is_some_and(|port| port.is_layer2());
        let of_itself = |next, pop| Verdict { rx, next, pop, found: false };
        match find(&self.table, rx as u16, &tags) {
            Some(Found { interface, .. }) if !part(self.parts, interface).up => of_itself(Next::Down, 0),
            Some(Found { interface, tags }) => {
                let of_part = |next, pop| Verdict { rx: interface.into(), next, pop, found: true };
                if is_layer2(interface) { of_part(Next::Layer2, 0) } else { of_part(Next::Ethernet, tags as u32) }
            }
            // What no sub-interface wants is the interface's own in layer 2, and in layer 3 if its tag is no VLAN's.
            None if is_layer2(rx as u16) => of_itself(Next::Layer2, 0),
            None if tags.count == 1 && tags.first[0].vlan() == 0 => of_itself(Next::Ethernet, 1),
            None => of_itself(Next::UnknownVlan, 0),
        }
    }
}

/// All of a tag's word but the priority.
const NO_PRIORITY: u32 = 0xffff_0fff;

impl Body for InputBody<'_> {
    const WRITES: Columns = Columns::RX.and(Columns::OFFSET).and(Columns::HEADER);
    #[inline(always)]
    fn step<I: Isa>(&self, p: &mut PacketLanes<I>) {
        let (count, short) = Tags::count_of(p);
        p.leave(short, Next::TooShort);
        let (mut rx, counts) = (p.rx.array(), count.array());
        let (outer, inner) = (p.header.word(OUTER).array(), p.header.word(INNER).array());
        let (mut next, mut pop, mut found) = ([0; 16], [0; 16], 0u16);
        // Sixteen frames mostly have the same tags.
        let mut last = ([0; 4], Verdict { rx: 0, next: Next::UnknownVlan, pop: 0, found: false });
        last.0[3] = u32::MAX;
        for lane in p.live.bits() {
            let behind = if counts[lane] > 1 { inner[lane] & NO_PRIORITY } else { 0 };
            let key = [rx[lane], outer[lane] & NO_PRIORITY, behind, counts[lane]];
            if key != last.0 {
                last = (key, self.judge(key[0], [key[1], key[2]], key[3]));
            }
            let verdict = last.1;
            (rx[lane], next[lane], pop[lane]) = (verdict.rx, verdict.next as u32, verdict.pop);
            found |= u16::from(verdict.found) << lane;
        }
        self.found.set(found);
        self.lengths.set(p.length.array());
        p.rx = p.rx.with(&rx);
        let (next, pop) = (p.next.with(&next), p.next.with(&pop));
        p.leave(next.eq(Next::Down as u32), Next::Down);
        p.leave(next.eq(Next::UnknownVlan as u32), Next::UnknownVlan);
        p.leave(next.eq(Next::Layer2 as u32), Next::Layer2);
        for n in 1..=2 {
            let off = p.live.without(pop.lt(n));
            if off.any() {
                p.cut_tag(off);
            }
        }
    }
    #[inline(always)]
    fn commit<I: Isa>(&mut self, p: &mut PacketLanes<I>) {
        self.received.add_lanes(p.live.bits() & Mask16(self.found.get()), &p.rx.array(), &self.lengths.get());
    }
}

/// The tags, for the trace.
pub(crate) fn describe(record: &Record) -> String {
    let Some(tags) = Tags::read(&record.bytes) else { return format!("{} bytes", record.length) };
    let vlans: Vec<_> = tags.first.iter().take(tags.count).map(|tag| format!("vlan {}", tag.vlan())).collect();
    if vlans.is_empty() { "untagged".into() } else { vlans.join(" / ") }
}
