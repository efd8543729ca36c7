//! Packets of one piece, put into a ring many at a time.

use super::{Kind, Sent, Transmitter};
use crate::places::{Buffers, Place, Told};
use crate::region::{LINE, Store, View};
use crate::ring::{Broken, Cell, Descriptor, Ring};

/// The buffers of so many packets are claimed together, while those before them are written.
///
/// PERF: the peer has read them; without it each packet's store waits for its line, some 300 ticks on near cores, and the
/// processor's store buffer is full after some 50 of them (docs/decisions/0022).
const GROUP: usize = 16;

/// A packet in whole lines.
#[derive(Clone, Copy)]
pub struct Lines<'a> {
    /// Its bytes, and zeros behind them that fill up the last line.
    pub lines: &'a [[u8; LINE]],
    /// Its bytes.
    pub length: usize,
}

/// A packet in one piece.
pub trait Payload: Copy {
    /// Its bytes.
    fn bytes(&self) -> &[u8];
    /// How many there are.
    fn length(&self) -> usize;
    /// How many lines they take.
    fn lines(&self) -> usize;
    /// Copies them into a buffer. False, and nothing that a reader may see copied, if that cannot be.
    fn write(&self, region: View<'_>, place: Place, store: Store) -> bool;
}
impl Payload for Lines<'_> {
    #[inline(always)]
    fn bytes(&self) -> &[u8] {
        self.lines.as_flattened().get(..self.length).unwrap_or_default()
    }
    #[inline(always)]
    fn length(&self) -> usize {
        self.length
    }
    #[inline(always)]
    fn lines(&self) -> usize {
        self.lines.len()
    }
    #[inline(always)]
    fn write(&self, region: View<'_>, place: Place, store: Store) -> bool {
        let fits = self.lines.len() * LINE <= place.length as usize;
        fits && region.write_lines(place.offset as usize, self.lines, store)
    }
}
impl Payload for &[u8] {
    #[inline(always)]
    fn bytes(&self) -> &[u8] {
        self
    }
    #[inline(always)]
    fn length(&self) -> usize {
        self.len()
    }
    #[inline(always)]
    fn lines(&self) -> usize {
        self.len().div_ceil(LINE)
    }
    #[inline(always)]
    fn write(&self, region: View<'_>, place: Place, store: Store) -> bool {
        let (offset, room) = (place.offset as usize, place.length as usize);
        match store {
            Store::Plain | Store::Claimed => self.len() <= room && region.write(offset, self),
            // Lines that are filled up must not reach beyond the buffer.
            Store::Streaming => self.len().next_multiple_of(LINE) <= room && region.stream(offset, self),
        }
    }
}

impl Transmitter {
    /// Puts packets into the ring, one after the other, until there is no room now; returns how many were dealt with and how
    /// many lines were written. Those that need more buffers than the ring has are handed to `refuse`.
    #[inline(always)]
    pub fn send_all<P: Payload>(
        &mut self,
        packets: impl ExactSizeIterator<Item = P>,
        refuse: impl FnMut(P),
    ) -> Result<(usize, u64), Broken> {
        // What differs by kind is looked at once.
        match self.store {
            Store::Plain | Store::Claimed => self.send_all_by::<false, P>(packets, refuse),
            Store::Streaming => self.send_all_by::<true, P>(packets, refuse),
        }
    }
    #[inline(always)]
    fn send_all_by<const STREAM: bool, P: Payload>(
        &mut self,
        mut packets: impl ExactSizeIterator<Item = P>,
        mut refuse: impl FnMut(P),
    ) -> Result<(usize, u64), Broken> {
        self.has_streamed |= STREAM;
        let claims = self.store == Store::Claimed;
        let (mut done, mut lines, mut has_looked) = (0, 0, false);
        if self.free == 0 {
            has_looked = true;
            self.begin()?;
        }
        loop {
            let (ring, slot) = (&self.ring, self.ring.slot(self.next));
            let cells = ring.stretch(self.next, packets.len().min(self.free.into()));
            let run = match &self.kind {
                Kind::Master => put::<STREAM, P, _>(ring, (self.next, claims), cells, Told, &mut packets),
                Kind::Slave { places, .. } => {
                    put::<STREAM, P, _>(ring, (self.next, claims), cells, places.known(slot), &mut packets)
                }
            };
            (self.next, self.free) = (self.next.wrapping_add(run.packets), self.free - run.packets);
            (done, lines) = (done + usize::from(run.packets), lines + run.lines);
            let Some(odd) = run.odd else {
                let is_full = self.free == 0 && (std::mem::replace(&mut has_looked, true) || self.begin()? == 0);
                if is_full || packets.len() == 0 {
                    return Ok((done, lines));
                }
                continue;
            };
            let mut sent = self.send_slowly(odd.bytes())?;
            if sent != Sent::Yes && !std::mem::replace(&mut has_looked, true) {
                self.begin()?;
                sent = self.send_slowly(odd.bytes())?;
            }
            match sent {
                Sent::Yes => lines += odd.lines() as u64,
                Sent::Full => return Ok((done, lines)),
                Sent::TooLong => refuse(odd),
            }
            done += 1;
        }
    }
    #[cold]
    #[inline(never)]
    fn send_slowly(&mut self, bytes: &[u8]) -> Result<Sent, Broken> {
        self.send(bytes.len(), std::iter::once(bytes))
    }
}

/// Packets put into a ring, one buffer each.
struct Run<P> {
    packets: u16,
    lines: u64,
    /// The packet behind them, which needs more than one buffer, or one that begins with no line.
    odd: Option<P>,
}

/// Puts packets into a stretch of the ring from an index on, up to one that is odd. The first lines of
/// buffers that are written through the caches are claimed ahead, if that is wanted.
#[inline(always)]
fn put<const STREAM: bool, P: Payload, B: Buffers>(
    ring: &Ring,
    (next, claims): (u16, bool),
    cells: &[Cell],
    buffers: B,
    packets: &mut impl Iterator<Item = P>,
) -> Run<P> {
    let regions = ring.regions();
    let store = if STREAM { Store::Streaming } else { Store::Plain };
    // Buffers lie in one region, mostly.
    let mut number = cells.first().map_or(0, |first| buffers.room(0, first).region);
    let mut region = regions.get(number);
    // Past the caches, descriptors are written by the line.
    let mut four = [Descriptor::default(); 4];
    let mut run = Run { packets: 0, lines: 0, odd: None };
    let claim_descriptors = |from: usize| {
        ring.claim(next.wrapping_add(from as u16), cells.len().saturating_sub(from).min(GROUP));
    };
    let claim_buffers = |region: Option<View<'_>>, from: usize| {
        let (Some(region), Some(behind)) = (region, cells.get(from..)) else { return };
        for (i, cell) in behind.iter().enumerate().take(GROUP) {
            region.claim(buffers.offset(from + i, cell) as usize);
        }
    };
    if claims {
        claim_descriptors(0);
        claim_descriptors(GROUP);
        claim_buffers(region, 0);
    }
    'groups: for (g, group) in cells.chunks(GROUP).enumerate() {
        let base = g * GROUP;
        if claims {
            claim_descriptors(base + 2 * GROUP);
            claim_buffers(region, base + GROUP);
        }
        for (i, cell) in group.iter().enumerate() {
            let Some(packet) = packets.next() else { break 'groups };
            let (index, place) = (next.wrapping_add((base + i) as u16), buffers.room(base + i, cell));
            if place.region != number {
                (number, region) = (place.region, regions.get(place.region));
            }
            if !region.is_some_and(|region| packet.write(region, place, store)) {
                run.odd = Some(packet);
                break 'groups;
            }
            let (Place { region, offset, .. }, length) = (place, packet.length() as u32);
            let descriptor = Descriptor { has_next: false, region, length, offset };
            if STREAM {
                four[usize::from(index & 3)] = descriptor;
            } else {
                descriptor.store(cell);
            }
            (run.packets, run.lines) = (run.packets + 1, run.lines + packet.lines() as u64);
            if STREAM && index & 3 == 3 {
                note(ring, index.wrapping_add(1), run.packets.min(4), &four);
            }
        }
    }
    let end = next.wrapping_add(run.packets);
    if STREAM {
        note(ring, end, run.packets.min(end & 3), &four);
    }
    run
}
/// Writes the last `n` descriptors before an index, of one group of four.
#[inline(always)]
fn note(ring: &Ring, end: u16, n: u16, four: &[Descriptor; 4]) {
    let from = end.wrapping_sub(n);
    if n == 4 && ring.stream_descriptors(from, four) {
        return;
    }
    for i in 0..n {
        let index = from.wrapping_add(i);
        ring.set_descriptor(index, four[usize::from(index & 3)]);
    }
}
