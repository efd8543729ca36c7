//! Packets of one piece, put into a ring many at a time.

use super::{Kind, Sent, Transmitter};
use crate::ahead::Ahead;
use crate::places::{Buffers, Place, Told};
use crate::region::{GROUP, LINE, Regions, Store, View, most};
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
    /// Number of bytes.
    fn length(&self) -> usize;
    /// Number of cache lines that the bytes take.
    fn lines(&self) -> usize;
    /// Copies the bytes into a buffer. Returns false if that is impossible; then readers see no copied byte.
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
    /// A packet.
    type Packet: Payload;
    /// Eight packets.
    type Group<'g>: Group + Copy
    where
        Self: 'g;
    /// Number of packets left.
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
    /// The packets' lengths.
    fn lengths(&self) -> &[u32; GROUP];
    /// Shows the first line of each, with zeros behind the packet.
    fn each_first(&self, see: impl FnMut(usize, &[u8; LINE]));
    /// A line of one of them, if it has it, with zeros behind the packet.
    fn line(&self, i: usize, line: usize) -> Option<&[u8; LINE]>;
}
/// No group.
#[derive(Clone, Copy)]
pub enum Never {}
impl Group for Never {
    fn lengths(&self) -> &[u32; GROUP] {
        match *self {}
    }
    fn each_first(&self, _: impl FnMut(usize, &[u8; LINE])) {
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
    let mut run = Run { packets: 0, lines: 0, odd: None };
    // Buffers lie in one region, mostly.
    let Some(first) = cells.first() else { return run };
    let number = buffers.room(0, first).region;
    let Some(region) = regions.get(number) else {
        run.odd = packets.next();
        return run;
    };
    // Packets are as long as those before them, mostly.
    let lines = packets.group().map_or(1, |first| lines_of(first.lengths()));
    let mut ahead = Ahead { ring, next, cells, buffers, region, lines };
    if claims {
        (0..AHEAD).step_by(GROUP).for_each(|from| ahead.claim(from));
    }
    // Past the caches, descriptors are written by the line: those before the first line come one by one.
    let mut single = if STREAM { usize::from(next.wrapping_neg() & 3) } else { 0 };
    let mut at = 0;
    while at < cells.len() {
        let behind = &cells[at..];
        if claims {
            ahead.claim(at + AHEAD);
        }
        if single == 0
            && let Some(eight) = behind.first_chunk()
            && let Some(from) = packets.group()
            && let Some((offsets, room)) = buffers.rooms(at, eight, number)
            && let most = lines_of(from.lengths())
            && most * LINE <= room as usize
            && let Some(to) = region.destinations(&offsets, most, store)
        {
            from.each_first(|i, line| to.write_first(i, line));
            // Anew from memory: scalars of their own are no reason not to add them up by registers.
            let lengths = from.lengths();
            // Most packets are one line.
            if most > 1 {
                for i in 0..GROUP {
                    let its = lengths[i].div_ceil(LINE as u32) as usize;
                    for line in 1..its {
                        if let Some(bytes) = from.line(i, line) {
                            to.write(i, line, bytes);
                        }
                    }
                    run.lines = run.lines.wrapping_add(its.saturating_sub(1) as u64);
                }
            }
            if !STREAM || !stream_eight(ring, next.wrapping_add(at as u16), number, &offsets, lengths) {
                buffers.describe(eight, number, &offsets, lengths);
            }
            ahead.lines = most;
            at += GROUP;
            packets.skip_group();
            continue;
        }
        let few = &behind[..behind.len().min(if single > 0 { single } else { GROUP })];
        single = 0;
        let done = put_few(regions, (at, few), (buffers, store), packets, &mut run);
        at += done;
        if done < few.len() {
            break;
        }
    }
    run.packets = at as u16;
    // So far, lines behind the first ones were counted.
    run.lines = run.lines.wrapping_add(at as u64);
    run
}
/// Puts packets into a few places of the ring, which have this number in a stretch, up to one that is odd; returns how many.
#[inline(always)]
fn put_few<P: Burst, B: Buffers>(
    regions: &Regions,
    (at, cells): (usize, &[Cell]),
    (buffers, store): (B, Store),
    packets: &mut P,
    run: &mut Run<P::Packet>,
) -> usize {
    for (i, cell) in cells.iter().enumerate() {
        let Some(packet) = packets.next() else { return i };
        let place = buffers.room(at + i, cell);
        if !regions.get(place.region).is_some_and(|region| packet.write(region, place, store)) {
            run.odd = Some(packet);
            return i;
        }
        let (Place { region, offset, .. }, length) = (place, packet.length() as u32);
        Descriptor { has_next: false, region, length, offset }.store(cell);
        // The first one is counted by the packet; one of no bytes has none.
        run.lines = run.lines.wrapping_add(packet.lines() as u64).wrapping_sub(1);
    }
    cells.len()
}
/// The lines that the longest of eight packets has, one at least; more than any buffer has if none has a byte.
#[inline(always)]
fn lines_of(lengths: &[u32; GROUP]) -> usize {
    most(lengths).wrapping_sub(1) as usize / LINE + 1
}
/// Writes eight descriptors past the caches, the first at a multiple of four. False if that cannot be.
#[inline(always)]
fn stream_eight(ring: &Ring, index: u16, region: u16, offsets: &[u32; GROUP], lengths: &[u32; GROUP]) -> bool {
    let at = |i: usize| Descriptor { has_next: false, region, length: lengths[i], offset: offsets[i] };
    ring.stream_descriptors(index, &[at(0), at(1), at(2), at(3)])
        && ring.stream_descriptors(index.wrapping_add(4), &[at(4), at(5), at(6), at(7)])
}
