//! Packets that a product carries from a receive queue to transmit queues without a buffer of ours.
//!
//! A queue whose packets lie in memory that others write to must copy them anyway before they are looked at. For a
//! product the copy need not be a buffer: the same few slots take one burst after the other, and are hot for that. What
//! the product lets go of is not received yet; it is received into buffers then, from the first odd packet on.

use crate::isa::{Isa, Kernel, Lanes, Mask16};
use crate::stage::{Body, Columns, Header, PacketLanes};
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

/// An odd number of cache lines, so that the packets' first lines spread over all sets of a cache.
#[repr(align(64))]
struct Slot([u8; HEADROOM + SLOT]);

/// A receive queue that can copy packets to a relay.
pub trait Source {
    /// Copies waiting packets to the relay by [`Relay::push`], `most` at most, and stops at one that is no plain packet.
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
    slots: Vec<Slot>,
    /// Where packets begin in their slots.
    offset: [u32; BURST],
    length: [u32; BURST],
    /// Their bytes as they came.
    received: [u32; BURST],
    len: usize,
    /// Packets from the front that went all the way.
    through: usize,
}

impl Relay {
    pub(crate) fn new() -> Relay {
        let slots = (0..BURST).map(|_| Slot([0; HEADROOM + SLOT])).collect();
        Relay { slots, offset: [0; BURST], length: [0; BURST], received: [0; BURST], len: 0, through: 0 }
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
    /// Appends a packet of `length` bytes, which `fill` writes. False, and nothing appended, if there is no room for it
    /// or `fill` says so.
    #[inline(always)]
    pub fn push(&mut self, length: usize, fill: impl FnOnce(&mut [u8]) -> bool) -> bool {
        let i = self.len;
        let Some(Slot(slot)) = self.slots.get_mut(i) else { return false };
        let Some(to) = slot[HEADROOM..].get_mut(..length) else { return false };
        if !fill(to) {
            return false;
        }
        (self.offset[i], self.length[i], self.received[i]) = (HEADROOM as u32, length as u32, length as u32);
        self.len = i + 1;
        true
    }
    /// Packets from the front that went all the way, and their bytes as they came.
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
        PacketLanes {
            header,
            offset: column(isa, &self.offset, base),
            length: column(isa, &self.length, base),
            rx,
            tx: zero,
            flags: zero,
            hop: zero,
            next: zero,
            live: Mask16::first(self.len() - base),
        }
    }
    /// Writes back what the stages changed of the live lanes.
    #[inline(always)]
    fn keep<I: Isa>(&mut self, base: usize, back: u32, p: &PacketLanes<I>, before: Lanes<I>, writes: Columns) {
        if writes.has(Columns::HEADER) {
            let (front, offsets) = (p.header.front(), before.array());
            for lane in p.live {
                let at = (offsets[lane].saturating_sub(back) as usize).min(SLOT);
                self.slots[(base + lane) & (BURST - 1)].0[at..at + 32].copy_from_slice(&front[lane]);
            }
        }
        if writes.has(Columns::OFFSET) {
            self.offset[base..base + 16].copy_from_slice(&p.offset.array());
            self.length[base..base + 16].copy_from_slice(&p.length.array());
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
    /// Bytes of each packet.
    #[inline(always)]
    pub fn packets(self) -> impl ExactSizeIterator<Item = &'r [u8]> {
        self.rows.iter().map(move |row| {
            let i = usize::from(*row) & (BURST - 1);
            let (at, length) = (self.relay.offset[i] as usize, self.relay.length[i] as usize);
            self.relay.slots[i].0.get(at..at + length).unwrap_or_default()
        })
    }
}

/// The type of a product's loop over a relay.
pub(crate) fn relay_kernel<S: crate::stage::Stage>() -> &'static str {
    std::any::type_name::<RelayLoop<'static, S::Body<'static>>>()
}

/// A product's loop: packets that go all the way are handed to the ports; it ends at the first odd one.
pub(crate) struct RelayLoop<'a, B> {
    pub body: B,
    pub relay: &'a mut Relay,
    pub output: &'a mut Ports,
    pub interface: u16,
}
impl<B: Body> Kernel for RelayLoop<'_, B> {
    #[inline(always)]
    fn run<I: Isa>(self, isa: I) {
        let RelayLoop { mut body, relay, output, interface } = self;
        let len = relay.len();
        for base in (0..len).step_by(16) {
            seam("about to step sixteen packets");
            let first = if base == 0 { 0 } else { base + 32 };
            for i in first..(base + 48).min(len) {
                body.ahead(relay.window(i, B::BACK), interface);
            }
            let mut p = relay.lanes(isa, base, interface, &body);
            let (present, before) = (p.live, p.offset);
            body.step(&mut p);
            p.live = p.live & output.relays(p.tx);
            // What comes behind an odd packet, of its flow perhaps, would be sent before it.
            let left = (present & !p.live).and_behind();
            p.live = p.live & !left;
            body.commit(&p);
            relay.keep(base, B::BACK, &p, before, B::WRITES);
            relay.through = base + p.live.0.count_ones() as usize;
            output.push_relayed(base, &p);
            if left != Mask16(0) {
                return;
            }
        }
    }
}
