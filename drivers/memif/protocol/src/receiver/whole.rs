//! Packets of one buffer each, taken many at a time: what most packets are.

use super::{Kind, Receiver, empty};
use crate::ahead::Ahead;
use crate::places::{Buffers, Eight, Place, Told};
use crate::region::{GROUP, LINE, Regions, Sources, View};
use crate::ring::{Broken, Cell, Descriptor, Ring};

/// Number of packets that are prefetched ahead of the current one.
///
/// PERF: a line that another core has written comes in 300 to 1,300 ticks, and a packet is done in 20 or more.
const AHEAD: usize = 16;

/// Result of a look at the ring.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Taken {
    /// Packets that were taken.
    pub packets: usize,
    /// Whether others waited behind them.
    pub others: bool,
}

/// A packet that waits, in one buffer.
#[derive(Clone, Copy)]
pub struct Whole<'r> {
    region: View<'r>,
    offset: usize,
    /// Its bytes, one at least.
    pub length: usize,
}
impl Whole<'_> {
    /// Copies its bytes from `at` on, as many as `to` has. False if there are fewer.
    #[inline(always)]
    #[must_use]
    pub fn read_from(&self, at: usize, to: &mut [u8]) -> bool {
        at + to.len() <= self.length && self.region.read(self.offset + at, to)
    }
    /// Copies the lines from its first byte on, as many as `to` has, whatever is behind its last byte. False if they are
    /// not there.
    #[inline(always)]
    #[must_use]
    pub fn read_lines(&self, to: &mut [[u8; LINE]]) -> bool {
        self.region.read_lines(self.offset, to)
    }
}

/// A consumer of packets that lie in one buffer each.
pub trait Take {
    /// Takes one. False if it cannot.
    fn one(&mut self, packet: Whole<'_>) -> bool;
    /// Takes eight of these lengths, one byte at least, and of so many lines at most: all of them, or none. They are offered
    /// one by one then.
    #[inline(always)]
    fn group(&mut self, _lengths: &[u32; GROUP], _lines: usize, _packets: Sources<'_>) -> bool {
        false
    }
}
impl<F: FnMut(Whole<'_>) -> bool> Take for F {
    #[inline(always)]
    fn one(&mut self, packet: Whole<'_>) -> bool {
        self(packet)
    }
}

impl Receiver {
    /// Shows `take` packets of one buffer each, `most` at most, up to the first that is none or that `take` refuses, or up
    /// to the ring's end, where it begins anew. They stay ours until [`Receiver::release`], as in [`Receiver::receive`], but
    /// are no burst.
    #[inline(always)]
    pub fn receive_whole(&mut self, most: usize, mut take: impl Take) -> Result<Taken, Broken> {
        let waiting = self.look()?;
        let (ring, stretch) = (&self.ring, (self.next, waiting.min(most)));
        // What differs by role is looked at once.
        let taken = match &self.kind {
            Kind::Master => whole(ring, stretch, Told, &mut take),
            Kind::Slave { places, .. } => whole(ring, stretch, places.known(ring.slot(self.next)), &mut take),
        };
        self.taken = taken as u16;
        Ok(Taken { packets: taken, others: waiting > taken })
    }
    /// Of a slave whose packets are taken where they are: shows `take` packets of one buffer each by their place in the
    /// ring and their length, `most` at most, up to the first that is none or that `take` gives nothing for, or up to the
    /// ring's end. The buffer that begins where it says is posted instead, and the packet's buffer is the caller's.
    #[inline(always)]
    pub fn exchange(&mut self, most: usize, mut take: impl FnMut(usize, u32) -> Option<u32>) -> Result<Taken, Broken> {
        let waiting = self.look()?;
        if waiting.min(most) == 0 {
            return Ok(Taken { packets: 0, others: waiting > 0 });
        }
        let Kind::Slave { posted, places } = &mut self.kind else {
            return Ok(Taken { packets: 0, others: true });
        };
        let first = self.ring.slot(self.next);
        let cells = self.ring.stretch(self.next, waiting.min(most));
        let claim = |from: usize| self.ring.claim(self.next, from, cells.len());
        claim(0);
        claim(GROUP);
        let mut taken = 0;
        for (i, cell) in cells.iter().enumerate() {
            if i.is_multiple_of(GROUP) {
                claim(i + AHEAD);
            }
            let own = places.known(first);
            let (described, room) = (own.packet(i, cell), own.room(i, cell));
            if described.has_next | (described.length == 0) {
                break;
            }
            let Some(offset) = take(first + i, described.length) else { break };
            places.set_offset(first + i, offset);
            // All buffers are posted when none is taken, so the one behind the last is in the place of the first.
            empty(Place { offset, ..room }).store(cell);
            taken += 1;
        }
        (self.next, *posted) = (self.next.wrapping_add(taken), posted.wrapping_add(taken));
        self.ring.set_head(*posted);
        Ok(Taken { packets: taken.into(), others: waiting > taken.into() })
    }
}

/// Shows `take` the whole packets of a stretch, up to the first that is none; returns how many it took.
#[inline(always)]
fn whole<B: Buffers>(ring: &Ring, (next, n): (u16, usize), buffers: B, take: &mut impl Take) -> usize {
    let (regions, cells) = (ring.regions(), ring.stretch(next, n));
    let Some(first) = cells.first() else { return 0 };
    // Packets lie in one region, mostly.
    let Descriptor { region: number, length, .. } = buffers.packet(0, first);
    let Some(region) = regions.get(number) else { return 0 };
    // They are as long as those before them, mostly.
    let mut ahead = Ahead { ring, next, cells, buffers, region, lines: (length as usize).div_ceil(LINE) };
    (0..AHEAD).step_by(GROUP).for_each(|from| ahead.fetch(from));
    let mut at = 0;
    while at < cells.len() {
        let behind = &cells[at..];
        ahead.fetch(at + AHEAD);
        if let Some(eight) = behind.first_chunk()
            && let Some(Eight { offsets, lengths, bits }) = buffers.packets(at, eight, number)
            && let most = bits as usize / LINE + 1
            && let Some(packets) = region.sources(&offsets, most)
            && take.group(&lengths, most, packets)
        {
            ahead.lines = most;
            at += GROUP;
            continue;
        }
        let few = &behind[..behind.len().min(GROUP)];
        let taken = one_by_one(regions, (at, few), buffers, take);
        at += taken;
        if taken < few.len() {
            break;
        }
    }
    at
}

/// The same of a few, from a number in the stretch on, wherever they lie.
#[inline(always)]
fn one_by_one<B: Buffers>(regions: &Regions, (at, cells): (usize, &[Cell]), buffers: B, take: &mut impl Take) -> usize {
    for (i, cell) in cells.iter().enumerate() {
        let Descriptor { has_next, region, length, offset } = buffers.packet(at + i, cell);
        let Some(region) = regions.get(region) else { return i };
        let (offset, length) = (offset as usize, length as usize);
        let is_whole = !has_next & (length > 0) && region.contains(offset, length);
        if !is_whole || !take.one(Whole { region, offset, length }) {
            return i;
        }
    }
    cells.len()
}
