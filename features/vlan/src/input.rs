//! `vlan-input`: a sub-interface receives the frames whose tags match it. In layer 2 the frames keep their tags; for
//! layer 3 the tags come off, and the frame returns to `ethernet-input`.
//!
//! Drops: `too-short`, `unknown-vlan`, `interface-down`.

use std::sync::Arc;

use quiver_engine::counters::Row;
use quiver_engine::trace::Record;
use quiver_engine::{
    Ahead, ArcSpec, Body, Columns, Guard, Isa, LANES, Mask8, PacketLanes, Paged, Quarters, Snapshot, Stage, Windows,
    arcs,
};
use quiver_ethernet::Port;
use quiver_table::{ExactTable, ExactView};

use crate::matching::{MatchedSubInterface, Part, find, part, view};
use crate::tags::{INNER, OUTER, TAG, Tag, Tags, announced, is_announced, retag};

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
            last: NONE,
            ordinary: NONE,
            has_popped: false,
        }
    }
}

/// The stage at work.
pub struct InputBody<'f> {
    table: ExactView<'f>,
    parts: &'f Paged<Part>,
    ports: &'f Paged<Port>,
    received: &'f Row,
    /// The last interface, tags and their number, with the result: most frames have the same tags as the one before.
    last: ([u32; 4], Verdict),
    /// The same of the first packet: ordinary are those like it.
    ordinary: ([u32; 4], Verdict),
    /// Whether tags came off. Frames that keep theirs are as they were.
    has_popped: bool,
}

/// Result of the lookup of a frame's tags.
#[derive(Clone, Copy)]
struct Verdict {
    rx: u32,
    next: Next,
    /// Tags that come off.
    pop: u32,
    /// Whether a sub-interface receives it.
    found: bool,
}

/// Nothing was judged: no frame has so many tags.
const NONE: ([u32; 4], Verdict) =
    ([0, 0, 0, u32::MAX], Verdict { rx: 0, next: Next::UnknownVlan, pop: 0, found: false });

impl InputBody<'_> {
    /// Looks up the sub-interface of a frame by the words of its tags.
    #[inline(never)]
    fn judge(&self, rx: u32, [outer, inner]: [u32; 2], count: u32) -> Verdict {
        let tag = |word: u32| Tag { ethertype: (word >> 16) as u16, tci: word as u16 };
        let tags = Tags { first: [tag(outer), tag(inner)], count: count as usize };
        let is_layer2 = |interface: u32| self.ports.get(interface as usize).is_some_and(|port| port.is_layer2());
        let of_itself = |next, pop| Verdict { rx, next, pop, found: false };
        match find(&self.table, rx, &tags) {
            Some(MatchedSubInterface { interface, .. }) if !part(self.parts, interface).up => of_itself(Next::Down, 0),
            Some(MatchedSubInterface { interface, tags }) => {
                let of_part = |next, pop| Verdict { rx: interface, next, pop, found: true };
                if is_layer2(interface) { of_part(Next::Layer2, 0) } else { of_part(Next::Ethernet, tags as u32) }
            }
            // What no sub-interface wants is the interface's own in layer 2, and in layer 3 if its tag is no VLAN's.
            None if is_layer2(rx) => of_itself(Next::Layer2, 0),
            None if tags.count == 1 && tags.first[0].vlan() == 0 => of_itself(Next::Ethernet, 1),
            None => of_itself(Next::UnknownVlan, 0),
        }
    }
}

/// Bytes of a header without tags.
const HEADER: u32 = 14;

/// All of a tag's word but the priority.
const NO_PRIORITY: u32 = 0xffff_0fff;

impl Body for InputBody<'_> {
    const WRITES: Columns = Columns::RX.and(Columns::OFFSET);
    const READS: Quarters = Quarters::of(12, 24);
    const REWRITES: Quarters = Quarters::ALL;
    const HAS_ORDINARY: bool = true;
    #[inline(always)]
    fn ahead(&mut self, windows: Ahead<'_>, rx: u32) {
        if windows.is_empty() {
            return;
        }
        let window = windows.window(0);
        let word = |at: usize| window[at..].first_chunk().map_or(0, |bytes| u32::from_be_bytes(*bytes));
        // One tag, or two: what has more is looked at more closely.
        let count = [OUTER, INNER, INNER + TAG].into_iter().take_while(|at| is_announced(word(*at))).count() as u32;
        if let 1 | 2 = count {
            let behind = if count > 1 { word(INNER) & NO_PRIORITY } else { 0 };
            let key = [rx, word(OUTER) & NO_PRIORITY, behind, count];
            let verdict = self.judge(key[0], [key[1], key[2]], count);
            if let Next::Ethernet | Next::Layer2 = verdict.next {
                self.ordinary = (key, verdict);
            }
        }
    }
    #[inline(always)]
    fn rewrote(&self) -> Quarters {
        if self.has_popped { Self::REWRITES } else { Quarters::NONE }
    }
    #[inline(always)]
    fn ordinary_arc(&self) -> u16 {
        self.ordinary.1.next.into()
    }
    #[inline(always)]
    fn ordinary_moves(&self) -> i32 {
        (self.ordinary.1.pop << 2) as i32
    }
    #[inline(always)]
    fn ordinary<I: Isa>(&mut self, p: &mut PacketLanes<I>, windows: &mut Windows<'_>) -> bool {
        let ([_, outer, inner, count], verdict) = self.ordinary;
        let behind = p.header.word(INNER);
        let mut others = match count {
            1 => announced(behind),
            2 => (behind & NO_PRIORITY).ne(inner) | announced(p.header.word(INNER + TAG)),
            _ => return false,
        };
        others = others | (p.header.word(OUTER) & NO_PRIORITY).ne(outer) | p.length.lt((count << 2) + HEADER);
        if others.any() || !p.has_one_rx() {
            return false;
        }
        if verdict.found {
            let (lengths, mut bytes) = (p.length.each(), 0);
            for lane in 0..LANES {
                bytes += u64::from(lengths.at(lane));
            }
            self.received.add(verdict.rx, LANES as u64, bytes);
        }
        match verdict.pop {
            0 => {}
            1 => (0..LANES).for_each(|lane| retag(windows.of(lane), 0, TAG, &[])),
            _ => (0..LANES).for_each(|lane| retag(windows.of(lane), 0, 2 * TAG, &[])),
        }
        self.has_popped |= verdict.pop > 0;
        p.rx = p.rx.same(verdict.rx);
        p.length = p.length - (verdict.pop << 2);
        true
    }
    #[inline(always)]
    fn step<I: Isa>(&mut self, p: &mut PacketLanes<I>, windows: &mut Windows<'_>) {
        let (count, short) = Tags::count_of(p);
        p.leave(short, Next::TooShort);
        let (mut rx, counts) = (p.rx.array(), count.array());
        let (outer, inner) = (p.header.word(OUTER).array(), p.header.word(INNER).array());
        let (mut next, mut pop, mut found) = ([0; LANES], [0; LANES], 0u8);
        // PERF: eight frames mostly have the same tags, and then one of them is judged.
        let first = p.live.bits().next().unwrap_or(0);
        let (of_outer, of_inner) = (p.header.word(OUTER) & NO_PRIORITY, p.header.word(INNER) & NO_PRIORITY);
        let others = of_outer.ne(outer[first] & NO_PRIORITY)
            | (of_inner.ne(inner[first] & NO_PRIORITY) & count.gt(1))
            | p.rx.ne(rx[first])
            | count.ne(counts[first]);
        let judge = |body: &mut Self, lane: usize| {
            let behind = if counts[lane] > 1 { inner[lane] & NO_PRIORITY } else { 0 };
            let key = [rx[lane], outer[lane] & NO_PRIORITY, behind, counts[lane]];
            if key != body.last.0 {
                body.last = (key, body.judge(key[0], [key[1], key[2]], key[3]));
            }
            body.last.1
        };
        if (others & p.live).any() {
            let mut verdicts = [NONE.1; LANES];
            for lane in p.live.bits() {
                verdicts[lane] = judge(self, lane);
            }
            for lane in p.live.bits() {
                let verdict = verdicts[lane];
                (rx[lane], next[lane], pop[lane]) = (verdict.rx, verdict.next as u32, verdict.pop);
                found |= u8::from(verdict.found) << lane;
            }
        } else if p.live.any() {
            let verdict = judge(self, first);
            (rx, next, pop) = ([verdict.rx; LANES], [verdict.next as u32; LANES], [verdict.pop; LANES]);
            found = if verdict.found { p.live.bits().0 } else { 0 };
        }
        // Frames that are too short stay those of the interface that received them.
        p.rx = p.rx.replace(p.live, p.rx.with(&rx));
        self.received.of_lanes().add(p.live & p.live.with(Mask8(found)), p.rx, p.length);
        let next = p.next.with(&next);
        if (next.ne(Next::Ethernet as u32) & p.live).any() {
            p.leave(next.eq(Next::Down as u32), Next::Down);
            p.leave(next.eq(Next::UnknownVlan as u32), Next::UnknownVlan);
            p.leave(next.eq(Next::Layer2 as u32), Next::Layer2);
        }
        for lane in p.live.bits() {
            if pop[lane] != 0 {
                self.has_popped = true;
                retag(windows.of(lane), 0, pop[lane] as usize * TAG, &[]);
            }
        }
        p.advance(p.live, p.next.with(&pop) << 2);
    }
}

/// The tags, for the trace.
pub(crate) fn describe(record: &Record) -> String {
    let Some(tags) = Tags::read(&record.bytes) else { return format!("{} bytes", record.length) };
    let vlans: Vec<_> = tags.first.iter().take(tags.count).map(|tag| format!("vlan {}", tag.vlan())).collect();
    if vlans.is_empty() { "untagged".into() } else { vlans.join(" / ") }
}
