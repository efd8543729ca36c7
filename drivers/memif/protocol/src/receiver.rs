//! Receiving by a ring, in either role.
//!
//! A master takes what the slave put in front of its head, and moves the tail. A slave posts empty buffers in front of
//! its own head; the master fills them and moves the tail, and the slave posts them anew.

mod whole;

pub use whole::{Take, Taken, Whole};

use crate::Role;
use crate::places::{Place, Places};
use crate::ring::{Broken, Descriptor, Ring};

/// Descriptors looked at in one burst at most; no packet may have more.
pub const BURST: usize = 256;

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
        places: Places,
    },
}

impl Receiver {
    /// A master's end.
    pub fn master(ring: Ring) -> Receiver {
        Receiver::new(ring, Kind::Master)
    }
    /// A slave's end with a buffer for each descriptor, which [`Receiver::start`] posts.
    pub fn slave(ring: Ring, places: Places) -> Receiver {
        Receiver::new(ring, Kind::Slave { posted: 0, places })
    }
    fn new(ring: Ring, kind: Kind) -> Receiver {
        Receiver { ring, next: 0, kind, burst: Box::new([Fragment::default(); BURST]), taken: 0 }
    }
    /// Begins: the connection stands. Other implementations set all indices to zero when it does, so nothing may be
    /// posted before.
    pub fn start(&mut self) {
        if let Kind::Slave { posted, places } = &mut self.kind {
            for index in 0..self.ring.size() {
                self.ring.set_descriptor(index, empty(places.get(index)));
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
    /// Whether the peer has published nothing that was not taken.
    #[inline]
    pub fn is_empty(&self) -> bool {
        let published = match &self.kind {
            Kind::Master => self.ring.head(),
            Kind::Slave { .. } => self.ring.tail(),
        };
        published == self.next.wrapping_add(self.taken)
    }
    /// Gives back what was taken before, and says how many descriptors wait.
    #[inline(always)]
    fn look(&mut self) -> Result<usize, Broken> {
        self.release();
        let waiting = usize::from(self.waiting()?);
        if waiting > 0 && self.ring.regions().is_lost() { Err(Broken::Lost) } else { Ok(waiting) }
    }
    /// Takes descriptors of up to `most` whole packets, each checked, and brings their bytes near. They stay ours until
    /// [`Receiver::release`]; what an earlier burst left unreleased is released now.
    ///
    /// The last fragment of every packet has no next one, unless the peer cut the packet short or made it longer than
    /// [`BURST`] descriptors: such a packet, the last one of the burst, is to be dropped.
    #[inline]
    pub fn receive(&mut self, most: usize) -> Result<&[Fragment], Broken> {
        let waiting = self.look()?;
        let (mut packets, mut whole, mut taken) = (0, 0, 0);
        for i in 0..waiting.min(BURST) {
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
    /// Replaces the buffer of a ring entry by the one that begins at `offset`. For slaves. The caller owns the former
    /// buffer from now on.
    pub fn replace(&mut self, slot: usize, offset: u32) {
        if let Kind::Slave { places, .. } = &mut self.kind {
            places.set_offset(slot, offset);
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
                let mut left = self.taken;
                while left > 0 {
                    let cells = self.ring.stretch(*posted, left.into());
                    places.post(self.ring.slot(*posted), cells);
                    (*posted, left) = (posted.wrapping_add(cells.len() as u16), left - cells.len() as u16);
                }
                self.ring.set_head(*posted);
            }
        }
        (self.next, self.taken) = (end, 0);
    }
}

/// The fragment that the peer put into a ring entry.
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
            let own = places.get(index);
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
fn empty(place: Place) -> Descriptor {
    Descriptor { has_next: false, region: place.region, length: place.length, offset: place.offset }
}

/// The packets of a burst: the fragments of each.
pub fn packets(burst: &[Fragment]) -> impl Iterator<Item = &[Fragment]> {
    burst.split_inclusive(|fragment| !fragment.has_next)
}
