//! Packets that a product carries from a receive queue to transmit queues without a buffer of ours.
//!
//! A queue whose packets lie in memory that others write to must copy them anyway before they are looked at. For a
//! product the copy need not be a buffer: the same few slots take one burst after the other, and are hot for that. What
//! the product lets go of is copied on into buffers, for the nodes; if there are none, it stays in the queue.

use crate::aside::{Aside, FlowOf};
use crate::buffer::Pool;
use crate::isa::{Isa, Kernel, Lanes, Level, Mask, Mask16};
use crate::stage::{AHEAD, Body, Columns, Header, PacketLanes};
use crate::tx::{Ports, TxContext};
use quiver_table::simulation::seam;

/// Packets of a burst at most.
///
/// PERF: their first lines fit into the nearest cache beside the rings', and there are enough of them to look ahead.
pub const BURST: usize = 128;
/// Bytes in front of a packet, for headers to grow into.
const HEADROOM: usize = 64;
/// Bytes of a packet at most; longer ones are received into buffers.
pub const SLOT: usize = 2048;
/// Bytes of a cache line.
const LINE: usize = 64;

/// An odd number of cache lines, so that the packets' first lines spread over all sets of a cache; more than a line behind
/// the packet, since packets are copied by whole lines.
#[repr(align(64))]
struct Slot([u8; HEADROOM + SLOT + 2 * LINE]);

/// A receive queue that can copy packets to a relay.
pub trait Source {
    /// Whether packets may wait. Cheap, since it is asked for every turn.
    fn has_packets(&self) -> bool;
    /// Copies waiting packets to the relay by [`Relay::fill`], `most` at most, and stops at one that is no plain packet.
    /// They stay in the queue, and are received again unless they are dealt with. Whether others wait behind them. Never
    /// waits.
    fn load(&mut self, relay: &mut Relay, most: usize) -> bool;
    /// The first so many packets of those loaded last are dealt with.
    fn dealt_with(&mut self, packets: usize);
}

/// A transmit queue that can take packets from a relay.
pub trait Sink {
    /// Sends packets from the front of the list; returns how many it dealt with. The engine drops the rest as `tx-full`.
    /// Never waits.
    fn send(&mut self, cx: &mut TxContext, packets: Relayed<'_>) -> usize;
}

/// A burst.
pub struct Relay {
    /// What sources and sinks run on.
    pub level: Level,
    /// PERF: an array, so that no look into it asks how long it is.
    slots: Box<[Slot; BURST]>,
    /// Where packets begin in their slots.
    offset: [u32; BURST],
    length: [u32; BURST],
    /// Their bytes as they came.
    received: [u32; BURST],
    len: usize,
    /// Packets from the front that went all the way, or were copied for the nodes.
    through: usize,
}

impl Relay {
    pub(crate) fn new(level: Level) -> Relay {
        let slots: Box<[Slot]> = (0..BURST).map(|_| Slot([0; HEADROOM + SLOT + 2 * LINE])).collect();
        let Ok(slots) = slots.try_into() else { unreachable!("there are BURST of them") };
        Relay { level, slots, offset: [0; BURST], length: [0; BURST], received: [0; BURST], len: 0, through: 0 }
    }
    pub(crate) fn clear(&mut self) {
        (self.len, self.through) = (0, 0);
    }
    /// Packets in it.
    #[inline(always)]
    pub fn len(&self) -> usize {
        self.len.min(BURST)
    }
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }
    /// Begins to fill it, from the first slot on.
    #[inline(always)]
    pub fn fill(&mut self) -> Filling<'_> {
        let Relay { slots, length, len, offset, received, .. } = self;
        *len = 0;
        Filling { slots, at: 0, room: BURST, length, len, offset, received }
    }
    /// Packets from the front that are dealt with, and their bytes as they came.
    pub(crate) fn through(&self) -> (usize, u64) {
        let mut bytes = 0;
        for length in &self.received[..self.through.min(BURST)] {
            bytes += u64::from(*length);
        }
        (self.through, bytes)
    }
    /// Sixty-four bytes of a packet's slot.
    #[inline(always)]
    fn window(&self, i: usize, back: u32) -> &[u8; 64] {
        let at = (self.offset[i & (BURST - 1)].saturating_sub(back) as usize).min(SLOT);
        match self.slots[i & (BURST - 1)].0[at..].first_chunk() {
            Some(window) => window,
            None => unreachable!("64 bytes stand behind SLOT"),
        }
    }
    #[inline(always)]
    fn lanes<I: Isa, B: Body>(&self, isa: I, base: usize, interface: u16, body: &B) -> PacketLanes<I> {
        let rx = Lanes::splat(isa, interface.into());
        let mut header = Header::unread(isa);
        if B::WRITES.has(Columns::HEADER) || body.reads(rx) {
            let mut windows = [self.window(base, B::BACK); 16];
            for lane in 0..16 {
                windows[lane] = self.window(base + lane, B::BACK);
            }
            header = Header::load(isa, &windows);
        }
        let zero = Lanes::splat(isa, 0);
        let offset = column(isa, &self.offset, base);
        PacketLanes {
            header,
            // Packets begin behind the headroom.
            window: offset - B::BACK,
            offset,
            length: column(isa, &self.length, base),
            rx,
            tx: zero,
            flags: zero,
            hop: zero,
            next: zero,
            live: Mask::new(isa, Mask16::first(self.len() - base)),
        }
    }
    /// Writes back what the stages changed of the live lanes.
    #[inline(always)]
    fn keep<I: Isa>(&mut self, base: usize, p: &PacketLanes<I>, writes: Columns) {
        if writes.has(Columns::HEADER) {
            let windows = p.window.array();
            p.header.put(p.live, writes, |lane, at, bytes| {
                let at = (windows[lane] as usize).min(SLOT) + at;
                self.slots[(base + lane) & (BURST - 1)].0[at..at + bytes.len()].copy_from_slice(bytes);
            });
        }
        if writes.has(Columns::OFFSET) {
            self.offset[base..base + 16].copy_from_slice(&p.offset.array());
            self.length[base..base + 16].copy_from_slice(&p.length.array());
        }
    }
}

/// A relay that is being filled. What was pushed is in it when this is dropped.
pub struct Filling<'r> {
    slots: &'r mut [Slot; BURST],
    at: usize,
    /// Packets that may be in it at most.
    room: usize,
    length: &'r mut [u32; BURST],
    len: &'r mut usize,
    offset: &'r mut [u32; BURST],
    received: &'r mut [u32; BURST],
}
impl Filling<'_> {
    /// Appends a packet of `length` bytes, which `fill` writes in whole lines, whatever it writes behind the packet. False,
    /// and nothing appended, if there is no room for it or `fill` says so.
    #[inline(always)]
    pub fn push(&mut self, length: usize, fill: impl FnOnce(&mut [[u8; LINE]]) -> bool) -> bool {
        if self.at >= self.room || length > SLOT {
            return false;
        }
        let i = self.at & (BURST - 1);
        let to = &mut self.slots[i].0[HEADROOM..];
        if !fill(&mut to.as_chunks_mut().0[..length.div_ceil(LINE)]) {
            // Nothing is pushed behind a hole.
            self.room = self.at;
            return false;
        }
        // Sinks copy whole lines, too: nobody's bytes of before may go with this packet.
        if let Some(behind) = to[length..].first_chunk_mut() {
            *behind = [0; LINE];
        }
        self.length[i] = length as u32;
        self.at += 1;
        true
    }
    /// Appends `N` packets of these lengths, none of which takes more than so many lines; `first` writes the first line of
    /// one of them, by the packet's number, and `fill` others, by the line's number, too; whatever they write behind the
    /// packet. False, and nothing appended, if there is no room for all of them.
    #[inline(always)]
    pub fn push_group<const N: usize>(
        &mut self,
        lengths: &[u32; N],
        lines: usize,
        first: impl Fn(usize, &mut [u8; LINE]),
        fill: impl Fn(usize, usize, &mut [u8; LINE]),
    ) -> bool {
        if self.at + N > self.room || lines > SLOT / LINE {
            return false;
        }
        let (Some(slots), Some(to)) = (group_mut::<_, N>(self.slots, self.at), group_mut(self.length, self.at)) else {
            return false;
        };
        *to = *lengths;
        for i in 0..N {
            let (to, length) = (&mut slots[i].0[HEADROOM..], (lengths[i] as usize).min(SLOT));
            let (to, _) = to.as_chunks_mut::<LINE>();
            first(i, &mut to[0]);
            // Most packets are one line, and a loop costs as much again.
            if lines > 1 {
                for line in 1..length.div_ceil(LINE) {
                    if let Some(bytes) = to.get_mut(line) {
                        fill(i, line, bytes);
                    }
                }
            }
        }
        for i in 0..N {
            // As behind one that is pushed alone.
            let end = HEADROOM + (lengths[i] as usize).min(SLOT);
            if let Some(behind) = slots[i].0[end..].first_chunk_mut() {
                *behind = [0; LINE];
            }
        }
        self.at += N;
        true
    }
}
#[inline(always)]
fn group_mut<T, const N: usize>(all: &mut [T; BURST], at: usize) -> Option<&mut [T; N]> {
    all.get_mut(at..)?.first_chunk_mut()
}
#[inline(always)]
fn group<T, const N: usize>(all: &[T; BURST], at: usize) -> Option<&[T; N]> {
    all.get(at..)?.first_chunk()
}
impl Drop for Filling<'_> {
    #[inline(always)]
    fn drop(&mut self) {
        *self.len = self.at;
        // PERF: by what stages take together, up to the last packet, and no further: a burst of eight is no more than one.
        let columns = self.offset.as_chunks_mut::<16>().0.iter_mut().zip(self.received.as_chunks_mut::<16>().0);
        for ((offset, received), length) in columns.zip(self.length.as_chunks::<16>().0).take(self.at.div_ceil(16)) {
            (*offset, *received) = ([HEADROOM as u32; 16], *length);
        }
    }
}

#[inline(always)]
fn column<I: Isa>(isa: I, column: &[u32; BURST], base: usize) -> Lanes<I> {
    let mut a = [0; 16];
    a.copy_from_slice(&column[base..base + 16]);
    Lanes::new(isa, &a)
}

/// Packets of a relay that leave by one port, in order.
#[derive(Clone, Copy)]
pub struct Relayed<'r> {
    relay: &'r Relay,
    rows: &'r [u8],
}

impl<'r> Relayed<'r> {
    pub(crate) fn new(relay: &'r Relay, rows: &'r [u8]) -> Relayed<'r> {
        Relayed { relay, rows }
    }
    /// What the sink runs on.
    pub fn level(self) -> Level {
        self.relay.level
    }
    /// The packets.
    #[inline(always)]
    pub fn packets(self) -> impl ExactSizeIterator<Item = Carried<'r>> {
        (0..self.rows.len()).map(move |n| self.packet(n).unwrap_or(Carried { lines: &[], length: 0 }))
    }
    /// How many there are.
    #[inline(always)]
    pub fn count(self) -> usize {
        self.rows.len()
    }
    /// One of them, by its number.
    #[inline(always)]
    pub fn packet(self, n: usize) -> Option<Carried<'r>> {
        let i = usize::from(*self.rows.get(n)?) & (BURST - 1);
        let (at, length) = (self.relay.offset[i] as usize, self.relay.length[i] as usize);
        let bytes = self.relay.slots[i].0.get(at..at + length.div_ceil(LINE) * LINE).unwrap_or_default();
        Some(Carried { lines: bytes.as_chunks().0, length })
    }
    /// `N` of them from a number on, if they lie side by side.
    #[inline(always)]
    pub fn group<const N: usize>(self, n: usize) -> Option<Neighbours<'r, N>> {
        let rows: &[u8; N] = self.rows.get(n..)?.first_chunk()?;
        let (first, last) = (usize::from(*rows.first()?), usize::from(*rows.last()?));
        // Rows are in order, and none is there twice.
        if last != first + N - 1 {
            return None;
        }
        let Relay { slots, offset, length, .. } = self.relay;
        let (slots, offset, length) = (group(slots, first)?, group(offset, first)?, group(length, first)?);
        let most = |of: &[u32; N]| of.iter().fold(0, |most, one| most.max(*one)) as usize;
        Some(Neighbours { slots, offset, length, lines: most(length).div_ceil(LINE) })
    }
}

/// Packets of a relay that lie side by side.
#[derive(Clone, Copy)]
pub struct Neighbours<'r, const N: usize> {
    slots: &'r [Slot; N],
    offset: &'r [u32; N],
    length: &'r [u32; N],
    /// The lines that one has at most.
    pub lines: usize,
}
impl<const N: usize> Neighbours<'_, N> {
    /// How long one is.
    #[inline(always)]
    pub fn length(&self, i: usize) -> u32 {
        self.length.get(i).copied().unwrap_or_default()
    }
    /// The first line of one of them, with zeros behind the packet.
    #[inline(always)]
    pub fn first(&self, i: usize) -> &[u8; LINE] {
        let at = (self.offset[i] as usize).min(size_of::<Slot>() - LINE);
        match self.slots[i].0[at..].first_chunk() {
            Some(line) => line,
            None => unreachable!("a line stands behind"),
        }
    }
    /// A line of one of them, if it has it, with zeros behind the packet.
    #[inline(always)]
    pub fn line(&self, i: usize, line: usize) -> Option<&[u8; LINE]> {
        let at = *self.offset.get(i)? as usize + line * LINE;
        self.slots.get(i)?.0.get(at..)?.first_chunk()
    }
}

/// A packet of a relay.
#[derive(Clone, Copy)]
pub struct Carried<'r> {
    /// Its bytes, and zeros behind them that fill up the last line.
    pub lines: &'r [[u8; LINE]],
    /// Its bytes.
    pub length: usize,
}

/// The type of a product's loop over a relay.
pub(crate) fn relay_kernel<S: crate::stage::Stage>() -> &'static str {
    std::any::type_name::<RelayLoop<'static, S::Body<'static>>>()
}

/// A product's loop: packets that go all the way are handed to the ports; odd ones, and those behind them that are of their
/// flows, are copied into buffers, for the nodes. It ends where there is no buffer for one.
pub(crate) struct RelayLoop<'a, B> {
    pub body: B,
    pub pool: &'a mut Pool,
    pub relay: &'a mut Relay,
    pub aside: &'a mut Aside,
    pub output: &'a mut Ports,
    pub interface: u16,
}
impl<B: Body> Kernel for RelayLoop<'_, B> {
    #[inline(always)]
    fn run<I: Isa>(self, isa: I) {
        let RelayLoop { mut body, pool, relay, aside, output, interface } = self;
        let len = relay.len();
        for base in (0..len).step_by(16) {
            seam("about to step sixteen packets");
            if body.looks_ahead(interface) {
                let first = if base == 0 { 0 } else { base + AHEAD };
                for i in first..(base + AHEAD + 16).min(len) {
                    body.ahead(relay.window(i, B::BACK), interface);
                }
            }
            let mut p = relay.lanes(isa, base, interface, &body);
            let came = p.live;
            body.step(&mut p);
            let port = if B::BY_PARTS { output.ports_of(p.tx) } else { p.tx };
            p.live = p.live & output.relays(port);
            let (mut present, left) = (came.bits(), came.without(p.live).bits());
            let mut is_cut = false;
            if left != Mask16(0) || !aside.flows.is_empty() {
                let held = relay.hold_back((base, B::BACK), interface, pool, (present, left), aside, B::flow);
                is_cut = held.done != present;
                present = held.done;
                p.live = p.live & p.live.with(present & !held.back);
            }
            body.commit(&mut p);
            relay.keep(base, &p, B::WRITES);
            if B::BY_PARTS {
                output.count_parts(&p);
                p.tx = port;
            }
            relay.through = base + present.0.count_ones() as usize;
            output.push_relayed(base, &p);
            if is_cut {
                return;
            }
        }
    }
}

/// What became of packets that were to be held back.
struct Held {
    /// Those that are.
    back: Mask16,
    /// The first ones of the group, up to one for which there was no buffer.
    done: Mask16,
}

impl Relay {
    /// Copies odd packets of a group, and what would overtake them, into buffers.
    #[cold]
    #[inline(never)]
    fn hold_back(
        &self,
        (base, back): (usize, u32),
        interface: u16,
        pool: &mut Pool,
        (present, odd): (Mask16, Mask16),
        aside: &mut Aside,
        flow: FlowOf,
    ) -> Held {
        let held = aside.flows.hold_back(present, odd, |lane| self.window(base + lane, back), flow);
        for lane in held {
            let i = (base + lane) & (BURST - 1);
            let (at, length) = (self.offset[i] as usize, self.length[i] as usize);
            let packet = self.slots[i].0.get(at..at + length).unwrap_or_default();
            if !aside.frame.push_bytes(pool, packet, interface) {
                return Held { back: held, done: Mask16::first(lane) };
            }
        }
        Held { back: held, done: present }
    }
}
