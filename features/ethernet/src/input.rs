//! `ethernet-input`: frames of an interface in layer 2 go there whole; of one in layer 3, those for us go on by their
//! ethertype, with `offset` at the layer 3 header. What came in a frame for many is flagged so.
//!
//! Drops: `too-short`, `not-for-us`, `unknown-ethertype`.

use quiver_engine::trace::Record;
use quiver_engine::{
    Ahead, Alike, ArcSpec, Body, Columns, Field, Flags, Guard, Isa, Lanes, Mask, PacketLanes, Paged, Quarters,
    Snapshot, Stage, Windows, arcs, unlikely,
};
use quiver_wire::{EtherType, EthernetHeader, Header};

use crate::ports::Port;

arcs! {
    /// Where frames go by mode, address and ethertype.
    pub enum Next {
        Ip4 => node "ip4-input",
        Ip6 => node "ip6-input",
        Arp => node "arp-input",
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
pub struct EthernetInput(Snapshot<Paged<Port>>);

impl EthernetInput {
    pub(crate) fn new(ports: Snapshot<Paged<Port>>) -> EthernetInput {
        EthernetInput(ports)
    }
}

impl Stage for EthernetInput {
    const NAME: &'static str = "ethernet-input";
    const ARCS: &'static [ArcSpec] = Next::ARCS;
    type Body<'f> = EthernetBody<'f>;
    #[inline(always)]
    fn enter<'f>(&'f mut self, guard: Guard<'f>) -> EthernetBody<'f> {
        EthernetBody { ports: self.0.read(guard), high: 0, low: 0, ordinary: Ordinary::NONE }
    }
}

/// The node's work on a frame.
pub struct EthernetBody<'f> {
    ports: &'f Paged<Port>,
    /// The two words of the port that received all of the frame.
    high: u32,
    low: u32,
    ordinary: Ordinary,
}

/// Which packets of a frame are ordinary: those like the first one.
struct Ordinary {
    ethertype: u32,
    /// Where they go, and how far their headers move.
    next: Next,
    moves: u32,
}
impl Ordinary {
    /// None: no ethertype is so large.
    const NONE: Ordinary = Ordinary { ethertype: u32::MAX, next: Next::Ip4, moves: 0 };
    /// Those of an ethertype that a port receives, whose second word this is.
    fn of(ethertype: u32, low: u32) -> Ordinary {
        let has = |flags: u32| low & flags != 0;
        match ethertype {
            IP4 if !has(Port::LAYER2 | Port::UNTAGGED) => Ordinary { ethertype, next: Next::Ip4, moves: LENGTH },
            IP6 if !has(Port::LAYER2 | Port::UNTAGGED) => Ordinary { ethertype, next: Next::Ip6, moves: LENGTH },
            // The destination of a tagged frame is checked when its tags are off.
            DOT1Q | DOT1AD if !has(Port::UNTAGGED) && (!has(Port::LAYER2) || has(Port::TAGS)) => {
                Ordinary { ethertype, next: Next::Vlan, moves: 0 }
            }
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
    fn alike(&mut self, rx: u16, _: u16) -> Option<Alike> {
        let low = self.ports.get(rx.into()).map_or(0, |port| port.low);
        let is_layer2 = low & (Port::LAYER2 | Port::TAGS | Port::UNTAGGED) == Port::LAYER2;
        is_layer2.then_some(Alike { arc: Next::Layer2.into(), tx: None, hop: None })
    }
    #[inline(always)]
    fn begin(&mut self, rx: Option<u16>, _: Option<u16>) {
        if let Some(port) = rx.and_then(|rx| self.ports.get(rx.into())) {
            (self.high, self.low) = (port.high, port.low);
        }
    }
    #[inline(always)]
    fn ahead(&mut self, windows: Ahead<'_>, _: u16) {
        if !windows.is_empty() {
            let window = windows.window(0);
            self.ordinary = Ordinary::of(u32::from(u16::from_be_bytes([window[12], window[13]])), self.low);
        }
    }
    #[inline(always)]
    fn ordinary_arc(&self) -> u16 {
        self.ordinary.next.into()
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
        let (ip4, ip6) = (ethertype.eq(IP4), ethertype.eq(IP6));
        let ours = p.header.get(DESTINATION_HIGH).eq(high) & p.header.get(DESTINATION_LOW).eq(low & 0xffff);
        let ordinary = ours & (ip4 | ip6) & (low & (Port::LAYER2 | Port::UNTAGGED)).eq(0);
        if (p.live.without(ordinary) | p.length.lt(LENGTH)).any() {
            unlikely();
            p.leave(p.length.lt(LENGTH), Next::TooShort);
            p.leave(wholly_layer2(low), Next::Layer2);
            let layer2 = (low & Port::LAYER2).ne(0);
            let tagged = ethertype.eq(DOT1Q) | ethertype.eq(DOT1AD);
            let expected = tagged & (low & Port::TAGS).ne(0) | (low & Port::UNTAGGED).ne(0).without(tagged);
            p.leave(layer2.without(expected), Next::Layer2);
            // Whom a tagged frame is for is looked at when its tags are off.
            p.leave(tagged | expected, Next::Vlan);
            let group = (p.header.get(FIRST_OCTET) & 1).ne(0);
            p.leave(!(ours | group), Next::NotForUs);
            p.flag(group & p.live, Flags::LINK_GROUP);
            let arp = ethertype.eq(ARP);
            p.leave(!(ip4 | ip6 | arp), Next::UnknownType);
            p.advance(p.live, LENGTH);
            p.leave(arp, Next::Arp);
        } else {
            p.unflag(Flags::LINK_GROUP);
            p.offset = p.offset + LENGTH;
            p.length = p.length - LENGTH;
        }
        if (ip6 & p.live).any() {
            p.leave(ip6, Next::Ip6);
        }
    }
}
const IP4: u32 = EtherType::IP4.get() as u32;
const IP6: u32 = EtherType::IP6.get() as u32;
const ARP: u32 = EtherType::ARP.get() as u32;
const DOT1Q: u32 = EtherType::DOT1Q.get() as u32;
const DOT1AD: u32 = EtherType::DOT1AD.get() as u32;

/// Addresses and ethertype, for the trace.
pub(crate) fn describe(record: &Record) -> String {
    match EthernetHeader::parse(&record.bytes) {
        Some((header, _)) => format!("{} -> {} {}", header.source, header.destination, header.ethertype),
        None => format!("{} bytes", record.length),
    }
}
