//! `ethernet-input`: frames of an interface in layer 2 go there whole; of one in layer 3, those for us go to the node that
//! has claimed their ethertype ([`crate::claim`]), with `offset` behind the Ethernet header. What came in a frame for many is flagged so.
//!
//! Drops: `too-short`, `not-for-us`, `unknown-ethertype`.

use quiver_engine::trace::Record;
use quiver_engine::{
    Ahead, Alike, ArcSpec, Body, Columns, Field, Flags, Guard, Isa, Lanes, Mask, PacketLanes, Paged, Quarters,
    Snapshot, Stage, Windows, arcs, unlikely,
};
use quiver_wire::{EtherType, EthernetHeader, Header};

use crate::ethertypes::{NODE, Taken};
use crate::ports::Port;

arcs! {
    /// Where frames go by mode and address; behind these arcs come those of ethertypes that rooms have claimed.
    pub enum Next {
        Layer2 => features "l2-input",
        Vlan => node "vlan-input",
        TooShort => drop "too-short",
        NotForUs => drop "not-for-us",
        UnknownType => drop "unknown-ethertype",
    }
}

const DESTINATION_HIGH: Field = Field::new(0, 32);
const DESTINATION_LOW: Field = Field::new(4, 16);
const FIRST_OCTET: Field = Field::new(0, 8);
const TYPE: Field = Field::new(12, 16);
const LENGTH: u32 = 14;

/// The node.
#[derive(Clone)]
pub struct EthernetInput {
    ports: Snapshot<Paged<Port>>,
    ethertypes: Snapshot<Vec<Taken>>,
}

impl EthernetInput {
    pub(crate) fn new(ports: Snapshot<Paged<Port>>, ethertypes: Snapshot<Vec<Taken>>) -> EthernetInput {
        EthernetInput { ports, ethertypes }
    }
}

impl Stage for EthernetInput {
    const NAME: &'static str = NODE;
    const ARCS: &'static [ArcSpec] = Next::ARCS;
    type Body<'f> = EthernetBody<'f>;
    #[inline(always)]
    fn enter<'f>(&'f mut self, guard: Guard<'f>) -> EthernetBody<'f> {
        let (ports, ethertypes) = (self.ports.read(guard), self.ethertypes.read(guard));
        EthernetBody { ports, ethertypes, high: 0, low: 0, ordinary: Ordinary::NONE }
    }
}

/// The node's work on a frame.
pub struct EthernetBody<'f> {
    ports: &'f Paged<Port>,
    ethertypes: &'f [Taken],
    /// The two words of the port that received all of the frame.
    high: u32,
    low: u32,
    ordinary: Ordinary,
}

/// Which packets of a frame are ordinary: those like the first one.
struct Ordinary {
    ethertype: u32,
    /// Where they go, and how far their headers move.
    arc: u16,
    moves: u32,
}
impl Ordinary {
    /// None: no ethertype is so large.
    const NONE: Ordinary = Ordinary { ethertype: u32::MAX, arc: 0, moves: 0 };
    /// Those of an ethertype that a port receives, whose second word this is.
    fn of(ethertype: u32, low: u32, ethertypes: &[Taken]) -> Ordinary {
        let has = |flags: u32| low & flags != 0;
        if ethertype == DOT1Q || ethertype == DOT1AD {
            // The destination of a tagged frame is checked when its tags are off.
            return match has(Port::UNTAGGED) || has(Port::LAYER2) && !has(Port::TAGS) {
                true => Ordinary::NONE,
                false => Ordinary { ethertype, arc: Next::Vlan.into(), moves: 0 },
            };
        }
        match ethertypes.iter().find(|taken| taken.ethertype == ethertype) {
            Some(taken) if !has(Port::LAYER2 | Port::UNTAGGED) => Ordinary { ethertype, arc: taken.arc, moves: LENGTH },
            _ => Ordinary::NONE,
        }
    }
}

/// The lanes of interfaces that belong to layer 2 with all their frames, whatever these are.
#[inline(always)]
fn wholly_layer2<I: Isa>(low: Lanes<I>) -> Mask<I> {
    (low & (Port::LAYER2 | Port::TAGS | Port::UNTAGGED)).eq(Port::LAYER2)
}

impl Body for EthernetBody<'_> {
    const WRITES: Columns = Columns::OFFSET.and(Columns::FLAGS);
    const READS: Quarters = Quarters::of(0, 16);
    const LENGTH_MIN: u32 = LENGTH;
    const HAS_ORDINARY: bool = true;
    #[inline(always)]
    fn alike(&mut self, rx: u32, _: u32) -> Option<Alike> {
        let low = self.ports.get(rx as usize).map_or(0, |port| port.low);
        let is_layer2 = low & (Port::LAYER2 | Port::TAGS | Port::UNTAGGED) == Port::LAYER2;
        is_layer2.then_some(Alike { arc: Next::Layer2.into(), tx: None, hop: None })
    }
    #[inline(always)]
    fn begin(&mut self, rx: Option<u32>, _: Option<u32>) {
        if let Some(port) = rx.and_then(|rx| self.ports.get(rx as usize)) {
            (self.high, self.low) = (port.high, port.low);
        }
    }
    #[inline(always)]
    fn ahead(&mut self, windows: Ahead<'_>, _: u32) {
        if !windows.is_empty() {
            let window = windows.window(0);
            let ethertype = u16::from_be_bytes([window[12], window[13]]);
            self.ordinary = Ordinary::of(ethertype.into(), self.low, self.ethertypes);
        }
    }
    #[inline(always)]
    fn ordinary_arc(&self) -> u16 {
        self.ordinary.arc
    }
    #[inline(always)]
    fn ordinary_moves(&self) -> i32 {
        self.ordinary.moves as i32
    }
    #[inline(always)]
    fn ordinary<I: Isa>(&mut self, p: &mut PacketLanes<I>, _: &mut Windows<'_>) -> bool {
        let mut others = p.header.get(TYPE).ne(self.ordinary.ethertype) | p.length.lt(LENGTH);
        if self.ordinary.moves != 0 {
            let (high, low) = (p.header.get(DESTINATION_HIGH), p.header.get(DESTINATION_LOW));
            others = others | high.ne(self.high) | low.ne(self.low & 0xffff);
        }
        p.length = p.length - self.ordinary.moves;
        !others.any() && !p.any.has(Flags::LINK_GROUP)
    }
    #[inline(always)]
    fn step<I: Isa>(&mut self, p: &mut PacketLanes<I>, _: &mut Windows<'_>) {
        let port = |rx: u32| self.ports.get(rx as usize);
        let low = p.of_rx(self.low, |rx| port(rx).map_or(0, |port| port.low));
        let high = p.of_rx(self.high, |rx| port(rx).map_or(0, |port| port.high));
        let ethertype = p.header.get(TYPE);
        let ours = p.header.get(DESTINATION_HIGH).eq(high) & p.header.get(DESTINATION_LOW).eq(low & 0xffff);
        let ordinary = ours & (low & (Port::LAYER2 | Port::UNTAGGED)).eq(0);
        let tagged = ethertype.eq(DOT1Q) | ethertype.eq(DOT1AD);
        if (p.live.without(ordinary) | tagged | p.length.lt(LENGTH)).any() {
            unlikely();
            p.leave(p.length.lt(LENGTH), Next::TooShort);
            p.leave(wholly_layer2(low), Next::Layer2);
            let layer2 = (low & Port::LAYER2).ne(0);
            let expected = tagged & (low & Port::TAGS).ne(0) | (low & Port::UNTAGGED).ne(0).without(tagged);
            p.leave(layer2.without(expected), Next::Layer2);
            // Whom a tagged frame is for is looked at when its tags are off.
            p.leave(tagged | expected, Next::Vlan);
            let group = (p.header.get(FIRST_OCTET) & 1).ne(0);
            p.leave(!(ours | group), Next::NotForUs);
            p.flag(group & p.live, Flags::LINK_GROUP);
        } else {
            p.unflag(Flags::LINK_GROUP);
        }
        let accepted = p.live;
        for taken in self.ethertypes {
            p.leave(ethertype.eq(taken.ethertype), taken.arc);
        }
        let unknown = p.live;
        p.leave(unknown, Next::UnknownType);
        p.advance(accepted.without(unknown), LENGTH);
    }
}
const DOT1Q: u32 = EtherType::DOT1Q.get() as u32;
const DOT1AD: u32 = EtherType::DOT1AD.get() as u32;

/// Addresses and ethertype, for the trace.
pub(crate) fn describe(record: &Record) -> String {
    match EthernetHeader::parse(&record.bytes) {
        Some((header, _)) => format!("{} -> {} {}", header.source, header.destination, header.ethertype),
        None => format!("{} bytes", record.length),
    }
}
