//! Packets of one piece, put into a ring many at a time.

use super::{Kind, Sent, Transmitter};
use crate::places::{Buffers, Place, Told};
use crate::region::{GROUP, LINE, Store, View};
use crate::ring::{Broken, Cell, Descriptor, Ring};

/// The buffers of so many packets are claimed ahead of the one that is written.
///
/// PERF: the peer has read them; without it each packet's store waits for its line, some 300 ticks on near cores, and the
/// processor's store buffer is full after some 50 of them (docs/decisions/0022).
const AHEAD: usize = 16;

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

/// Packets in one piece each, one after the other.
pub trait Burst {
    /// What each is.
    type Packet: Payload;
    /// What eight of them are.
    type Group<'g>: Group + Copy
    where
        Self: 'g;
    /// How many there are still.
    fn left(&self) -> usize;
    /// The next one.
    fn next(&mut self) -> Option<Self::Packet>;
    /// The next eight, if they can be had together. They stay the next ones until they are skipped.
    fn group(&self) -> Option<Self::Group<'_>>;
    /// The next eight are done.
    fn skip_group(&mut self);
}
/// Eight packets in whole lines.
pub trait Group {
    /// The lines that one has at most.
    fn lines(&self) -> usize;
    /// How long each is.
    fn length(&self, i: usize) -> u32;
    /// The first line of one of them, with zeros behind the packet.
    fn first(&self, i: usize) -> &[u8; LINE];
    /// A line of one of them, if it has it, with zeros behind the packet.
    fn line(&self, i: usize, line: usize) -> Option<&[u8; LINE]>;
}
/// No group.
#[derive(Clone, Copy)]
pub enum Never {}
impl Group for Never {
    fn lines(&self) -> usize {
        match *self {}
    }
    fn length(&self, _: usize) -> u32 {
        match *self {}
    }
    fn first(&self, _: usize) -> &[u8; LINE] {
        match *self {}
    }
    fn line(&self, _: usize, _: usize) -> Option<&[u8; LINE]> {
        match *self {}
    }
}
impl<P: Payload, I: ExactSizeIterator<Item = P>> Burst for I {
    type Packet = P;
    type Group<'g>
        = Never
    where
        I: 'g;
    #[inline(always)]
    fn left(&self) -> usize {
        self.len()
    }
    #[inline(always)]
    fn next(&mut self) -> Option<P> {
        Iterator::next(self)
    }
    #[inline(always)]
    fn group(&self) -> Option<Never> {
        None
    }
    fn skip_group(&mut self) {}
}

impl Transmitter {
    /// Puts packets into the ring, one after the other, until there is no room now; returns how many were dealt with and how
    /// many lines were written. Those that need more buffers than the ring has are handed to `refuse`.
    #[inline(always)]
    pub fn send_all<B: Burst>(&mut self, packets: B, refuse: impl FnMut(B::Packet)) -> Result<(usize, u64), Broken> {
        // What differs by kind is looked at once.
        match self.store {
            Store::Plain | Store::Claimed => self.send_all_by::<false, B>(packets, refuse),
            Store::Streaming => self.send_all_by::<true, B>(packets, refuse),
        }
    }
    #[inline(always)]
    fn send_all_by<const STREAM: bool, B: Burst>(
        &mut self,
        mut packets: B,
        mut refuse: impl FnMut(B::Packet),
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
            let cells = ring.stretch(self.next, packets.left().min(self.free.into()));
            let run = match &self.kind {
                Kind::Master => put::<STREAM, B, _>(ring, (self.next, claims), cells, Told, &mut packets),
                Kind::Slave { places, .. } => {
                    put::<STREAM, B, _>(ring, (self.next, claims), cells, places.known(slot), &mut packets)
                }
            };
            (self.next, self.free) = (self.next.wrapping_add(run.packets), self.free - run.packets);
            (done, lines) = (done + usize::from(run.packets), lines + run.lines);
            let Some(odd) = run.odd else {
                let is_full = self.free == 0 && (std::mem::replace(&mut has_looked, true) || self.begin()? == 0);
                if is_full || packets.left() == 0 {
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
fn put<const STREAM: bool, P: Burst, B: Buffers>(
    ring: &Ring,
    (next, claims): (u16, bool),
    cells: &[Cell],
    buffers: B,
    packets: &mut P,
) -> Run<P::Packet> {
    let regions = ring.regions();
    let store = if STREAM { Store::Streaming } else { Store::Plain };
    // Buffers lie in one region, mostly.
    let mut number = cells.first().map_or(0, |first| buffers.room(0, first).region);
    let mut region = regions.get(number);
    // Past the caches, descriptors are written by the line.
    let mut four = [Descriptor::default(); 4];
    let mut run = Run { packets: 0, lines: 0, odd: None };
    let mut describe = |ring: &Ring, at: usize, cell: &Cell, descriptor: Descriptor| {
        if !STREAM {
            return descriptor.store(cell);
        }
        let index = next.wrapping_add(at as u16);
        four[usize::from(index & 3)] = descriptor;
        if index & 3 == 3 {
            note(ring, index.wrapping_add(1), (at as u16 + 1).min(4), &four);
        }
    };
    // Packets are as long as those before them, mostly.
    let mut lines = packets.group().map_or(1, |first| first.lines());
    let claim = |region: Option<View<'_>>, from: usize, lines: usize| {
        if !claims {
            return;
        }
        let Some(region) = region else { return };
        ring.claim(next, from, cells.len());
        buffers.show_lines(from, cells, lines, |offset| region.claim(offset));
    };
    for from in (0..AHEAD).step_by(GROUP) {
        claim(region, from, lines);
    }
    let mut at = 0;
    'groups: for group in cells.chunks(GROUP) {
        claim(region, at + AHEAD, lines);
        if let Some(eight) = group.first_chunk()
            && let Some(from) = packets.group()
            && let Some((offsets, room)) = buffers.rooms(at, eight, number)
            && let most = from.lines().max(1)
            && most * LINE <= room as usize
            && let Some(to) = region.and_then(|region| region.destinations(&offsets, most, store))
        {
            for i in 0..GROUP {
                to.write_first(i, from.first(i));
                let (region, length, offset) = (number, from.length(i), offsets[i]);
                describe(ring, at + i, &eight[i], Descriptor { has_next: false, region, length, offset });
            }
            run.lines += GROUP as u64;
            lines = most;
            // Most packets are one line.
            if most > 1 {
                for i in 0..GROUP {
                    let its = from.length(i).div_ceil(LINE as u32) as usize;
                    for line in 1..its {
                        if let Some(bytes) = from.line(i, line) {
                            to.write(i, line, bytes);
                        }
                    }
                    run.lines += its.saturating_sub(1) as u64;
                }
            }
            at += GROUP;
            packets.skip_group();
            continue;
        }
        for cell in group {
            let Some(packet) = packets.next() else { break 'groups };
            let place = buffers.room(at, cell);
            if place.region != number {
                (number, region) = (place.region, regions.get(place.region));
            }
            if !region.is_some_and(|region| packet.write(region, place, store)) {
                run.odd = Some(packet);
                break 'groups;
            }
            let (Place { region, offset, .. }, length) = (place, packet.length() as u32);
            describe(ring, at, cell, Descriptor { has_next: false, region, length, offset });
            run.lines += packet.lines() as u64;
            at += 1;
        }
    }
    run.packets = at as u16;
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
