//! Receiving by a ring, in either role.
//!
//! A master takes what the slave put in front of its head, and moves the tail. A slave posts empty buffers in front of
//! its own head; the master fills them and moves the tail, and the slave posts them anew.

use crate::Role;
use crate::region::{LINE, Regions, View};
use crate::ring::{Broken, Cell, Descriptor, Ring};

/// Descriptors looked at in one burst at most; no packet may have more.
pub const BURST: usize = 256;
/// How many packets ahead bytes are brought near.
///
/// PERF: a line that another core has written comes in 300 to 1,300 ticks, and a packet is done in 20 or more.
const AHEAD: usize = 24;

/// Where a buffer of a slave lies.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Place {
    /// The region.
    pub region: u16,
    /// Where it begins there.
    pub offset: u32,
    /// Its bytes.
    pub length: u32,
}

impl Place {
    /// Where a descriptor says that a buffer lies.
    #[inline(always)]
    pub(crate) fn of(Descriptor { region, offset, length, .. }: Descriptor) -> Place {
        Place { region, offset, length }
    }
}

/// A part of a packet: a copy of its descriptor, checked.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Fragment {
    /// Where its bytes lie.
    pub place: Place,
    /// The packet goes on in the next fragment.
    pub has_next: bool,
    /// Whether the bytes lie where they may. There is nothing to be read of one that is not.
    pub is_valid: bool,
}

/// What a look at the ring gave.
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

/// The receiving end of a ring.
pub struct Receiver {
    ring: Ring,
    /// The first descriptor not taken yet.
    next: u16,
    kind: Kind,
    burst: Box<[Fragment; BURST]>,
    /// Descriptors, from `next` on, that were taken and not given back.
    taken: u16,
}

enum Kind {
    Master,
    Slave {
        /// The first descriptor not posted.
        posted: u16,
        /// The buffer of each descriptor. What the peer writes of places is ignored.
        places: Box<[Place]>,
    },
}

impl Receiver {
    /// A master's end.
    pub fn master(ring: Ring) -> Receiver {
        Receiver::new(ring, Kind::Master)
    }
    /// A slave's end with a buffer for each descriptor, which [`Receiver::start`] posts.
    pub fn slave(ring: Ring, place: impl FnMut(u16) -> Place) -> Receiver {
        let places = (0..ring.size()).map(place).collect();
        Receiver::new(ring, Kind::Slave { posted: 0, places })
    }
    fn new(ring: Ring, kind: Kind) -> Receiver {
        Receiver { ring, next: 0, kind, burst: Box::new([Fragment::default(); BURST]), taken: 0 }
    }
    /// Begins: the connection stands. Other implementations set all indices to zero when it does, so nothing may be
    /// posted before.
    pub fn start(&mut self) {
        if let Kind::Slave { posted, places } = &mut self.kind {
            for (index, place) in places.iter().enumerate() {
                self.ring.set_descriptor(index as u16, empty(*place));
            }
            *posted = self.ring.size();
            self.ring.set_head(*posted);
        }
    }
    /// Which end it is.
    pub fn role(&self) -> Role {
        if matches!(self.kind, Kind::Master) { Role::Master } else { Role::Slave }
    }
    /// The ring.
    pub fn ring(&self) -> &Ring {
        &self.ring
    }
    /// Descriptors that the peer has published and that were not taken.
    #[inline]
    pub fn waiting(&self) -> Result<u16, Broken> {
        let next = self.next.wrapping_add(self.taken);
        match &self.kind {
            Kind::Master => self.ring.distance(next, self.ring.head(), self.ring.size()),
            Kind::Slave { posted, .. } => self.ring.distance(next, self.ring.tail(), posted.wrapping_sub(next)),
        }
    }
    /// Takes descriptors of up to `most` whole packets, each checked, and brings their bytes near. They stay ours until
    /// [`Receiver::release`]; what an earlier burst left unreleased is released now.
    ///
    /// The last fragment of every packet has no next one, unless the peer cut the packet short or made it longer than
    /// [`BURST`] descriptors: such a packet, the last one of the burst, is to be dropped.
    #[inline]
    pub fn receive(&mut self, most: usize) -> Result<&[Fragment], Broken> {
        self.release();
        let waiting = self.waiting()?;
        if waiting == 0 {
            return Ok(&[]);
        }
        if self.ring.regions().is_lost() {
            return Err(Broken::Lost);
        }
        let (mut packets, mut whole, mut taken) = (0, 0, 0);
        for i in 0..usize::from(waiting).min(BURST) {
            if packets == most {
                break;
            }
            let fragment = fragment(&self.ring, &self.kind, self.next.wrapping_add(i as u16));
            bring_near(&self.ring, fragment.place);
            self.burst[i] = fragment;
            taken = i + 1;
            if !fragment.has_next {
                (packets, whole) = (packets + 1, taken);
            }
        }
        // A packet that the burst has no room for comes first in the next one.
        if whole > 0 && taken == BURST {
            taken = whole;
        }
        self.taken = taken as u16;
        Ok(&self.burst[..taken])
    }
    /// The fragments taken last, to be read.
    #[inline(always)]
    pub fn burst(&self) -> &[Fragment] {
        &self.burst[..usize::from(self.taken)]
    }
    /// Shows `take` packets of one buffer each, `most` at most, up to the first that is none or that `take` refuses, or up
    /// to the ring's end, where it begins anew. They stay ours until [`Receiver::release`], as in [`Receiver::receive`], but
    /// are no burst.
    #[inline(always)]
    pub fn receive_whole(&mut self, most: usize, mut take: impl FnMut(Whole<'_>) -> bool) -> Result<Taken, Broken> {
        self.release();
        let waiting = usize::from(self.waiting()?);
        if waiting.min(most) == 0 {
            return Ok(Taken { packets: 0, others: waiting > 0 });
        }
        if self.ring.regions().is_lost() {
            return Err(Broken::Lost);
        }
        let (regions, cells) = (self.ring.regions(), self.ring.stretch(self.next, waiting.min(most)));
        // What differs by role is looked at once.
        let taken = match &self.kind {
            Kind::Master => whole(regions, cells, &mut take, |_, cell| Descriptor::load(cell)),
            Kind::Slave { places, .. } => {
                let places = places.get(self.ring.slot(self.next)..).unwrap_or_default();
                whole(regions, cells, &mut take, |i, cell| bounded(cell, places.get(i)))
            }
        };
        self.taken = taken as u16;
        Ok(Taken { packets: taken, others: waiting > taken })
    }
    /// Of a slave whose packets are taken where they are: shows `take` packets of one buffer each by their place in the
    /// ring and their length, `most` at most, up to the first that is none or that `take` gives nothing for, or up to the
    /// ring's end. What it gives is posted instead, and the packet's buffer is the caller's.
    #[inline(always)]
    pub fn exchange(
        &mut self,
        most: usize,
        mut take: impl FnMut(usize, u32) -> Option<Place>,
    ) -> Result<Taken, Broken> {
        self.release();
        let waiting = usize::from(self.waiting()?);
        if waiting.min(most) == 0 {
            return Ok(Taken { packets: 0, others: waiting > 0 });
        }
        if self.ring.regions().is_lost() {
            return Err(Broken::Lost);
        }
        let Kind::Slave { posted, places } = &mut self.kind else {
            return Ok(Taken { packets: 0, others: true });
        };
        let first = self.ring.slot(self.next);
        let own = places.get_mut(first..).unwrap_or_default();
        let mut taken = 0;
        for (i, (cell, place)) in self.ring.stretch(self.next, waiting.min(most)).iter().zip(own).enumerate() {
            let described = bounded(cell, Some(place));
            if described.has_next | (described.length == 0) {
                break;
            }
            let Some(other) = take(first + i, described.length) else { break };
            *place = other;
            // All buffers are posted when none is taken, so the one behind the last is in the place of the first.
            empty(other).store(cell);
            taken += 1;
        }
        (self.next, *posted) = (self.next.wrapping_add(taken), posted.wrapping_add(taken));
        self.ring.set_head(*posted);
        Ok(Taken { packets: taken.into(), others: waiting > taken.into() })
    }
    /// Copies a fragment's bytes; `to` is as long as they are. False if they do not lie where they may.
    #[inline(always)]
    #[must_use]
    pub fn read(&self, fragment: &Fragment, to: &mut [u8]) -> bool {
        self.read_from(fragment, 0, to)
    }
    /// The same for the bytes from `at` on, as many as `to` has.
    #[inline(always)]
    #[must_use]
    pub fn read_from(&self, fragment: &Fragment, at: usize, to: &mut [u8]) -> bool {
        let Place { region, offset, length } = fragment.place;
        let is_inside = at + to.len() <= length as usize;
        let region = self.ring.regions().get(region).filter(|_| fragment.is_valid && is_inside);
        region.is_some_and(|region| region.read(offset as usize + at, to))
    }
    /// The place in the ring of fragment `index` of the burst.
    pub fn slot(&self, index: usize) -> usize {
        self.ring.slot(self.next.wrapping_add(index as u16))
    }
    /// Of a slave: the next buffer that is posted in this place of the ring. The one before is the caller's from now on.
    pub fn replace(&mut self, slot: usize, place: Place) {
        if let Kind::Slave { places, .. } = &mut self.kind {
            places[slot] = place;
        }
    }
    /// Gives back the first so many of the descriptors that were taken, with which packets end; the others are taken anew
    /// by the next [`Receiver::receive`].
    #[inline]
    pub fn release_first(&mut self, descriptors: usize) {
        self.taken = self.taken.min(u16::try_from(descriptors).unwrap_or(u16::MAX));
        self.release();
    }
    /// Gives the descriptors that were taken back to the peer.
    #[inline]
    pub fn release(&mut self) {
        if self.taken == 0 {
            return;
        }
        let end = self.next.wrapping_add(self.taken);
        match &mut self.kind {
            Kind::Master => self.ring.set_tail(end),
            Kind::Slave { posted, places } => {
                for _ in 0..self.taken {
                    self.ring.set_descriptor(*posted, empty(places[usize::from(*posted) & (places.len() - 1)]));
                    *posted = posted.wrapping_add(1);
                }
                self.ring.set_head(*posted);
            }
        }
        (self.next, self.taken) = (end, 0);
    }
}

/// What the peer has put into a place of the ring.
#[inline(always)]
fn fragment(ring: &Ring, kind: &Kind, index: u16) -> Fragment {
    let described = ring.descriptor(index);
    let Descriptor { has_next, region, length, offset } = described;
    match kind {
        Kind::Master => {
            let found = ring.regions().get(region);
            let is_valid = found.is_some_and(|region| region.contains(offset as usize, length as usize));
            Fragment { place: Place::of(described), has_next, is_valid }
        }
        Kind::Slave { places, .. } => {
            let own = places[usize::from(index) & (places.len() - 1)];
            Fragment { place: Place { length, ..own }, has_next, is_valid: length <= own.length }
        }
    }
}
#[inline(always)]
fn bring_near(ring: &Ring, place: Place) {
    if let Some(region) = ring.regions().get(place.region) {
        region.prefetch(place.offset as usize);
    }
}
/// A descriptor of a buffer of ours: only what the master says of the packet counts, and it must fit.
#[inline(always)]
fn bounded(cell: &Cell, own: Option<&Place>) -> Descriptor {
    let described = Descriptor::load(cell);
    let own = own.copied().unwrap_or_default();
    // What does not fit has no length, so it is no packet here.
    let length = if described.length <= own.length { described.length } else { 0 };
    Descriptor { region: own.region, offset: own.offset, length, ..described }
}
/// Shows `take` the whole packets of a stretch, up to the first that is none; returns how many it took.
#[inline(always)]
fn whole(
    regions: &Regions,
    cells: &[Cell],
    take: &mut impl FnMut(Whole<'_>) -> bool,
    look: impl Fn(usize, &Cell) -> Descriptor,
) -> usize {
    let Some(first) = cells.first() else { return 0 };
    // Packets lie in one region, mostly.
    let mut number = look(0, first).region;
    let Some(mut region) = regions.get(number) else { return 0 };
    for (i, cell) in cells.iter().enumerate().take(AHEAD) {
        region.prefetch(look(i, cell).offset as usize);
    }
    for (i, cell) in cells.iter().enumerate() {
        if let Some(ahead) = cells.get(i + AHEAD) {
            region.prefetch(look(i + AHEAD, ahead).offset as usize);
        }
        let Descriptor { has_next, region: its, length, offset } = look(i, cell);
        if its != number {
            let Some(found) = regions.get(its) else { return i };
            (number, region) = (its, found);
        }
        let (offset, length) = (offset as usize, length as usize);
        let is_whole = !has_next & (length > 0) && region.contains(offset, length);
        if !is_whole || !take(Whole { region, offset, length }) {
            return i;
        }
    }
    cells.len()
}

fn empty(place: Place) -> Descriptor {
    Descriptor { has_next: false, region: place.region, length: place.length, offset: place.offset }
}

/// The packets of a burst: the fragments of each.
pub fn packets(burst: &[Fragment]) -> impl Iterator<Item = &[Fragment]> {
    burst.split_inclusive(|fragment| !fragment.has_next)
}
