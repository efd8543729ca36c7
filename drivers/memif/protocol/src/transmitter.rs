//! Sending by a ring, in either role.
//!
//! A slave fills buffers of its own and moves the head. A master fills the buffers that the slave has posted, and moves
//! the tail. Buffers are never read; descriptors are read only by a master, which learns places from them.

mod burst;

pub use burst::{Burst, Group, Lines, Never, Payload};

use crate::Role;
use crate::places::{Place, Places};
use crate::region::{Store, fence_streams};
use crate::ring::{Broken, Descriptor, Ring};

/// After so many packets that were sent in place, those that are back are taken back.
///
/// PERF: a look at the peer's index is dear; the fewer buffers are lent, the more of them are in the caches.
const RECLAIMED: u16 = 64;

/// Result of sending a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Sent {
    /// It is in the ring; [`Transmitter::publish`] shows it to the peer.
    Yes,
    /// There is no room now.
    Full,
    /// It needs more buffers than the ring has.
    TooLong,
}

/// The sending end of a ring.
pub struct Transmitter {
    ring: Ring,
    /// The first descriptor not filled yet.
    next: u16,
    /// Descriptors from there on that may be filled, as far as we know.
    free: u16,
    /// `next` at the last time when a slave reclaimed its buffers.
    looked: u16,
    kind: Kind,
    store: Store,
    has_streamed: bool,
}

enum Kind {
    Master,
    Slave {
        /// The buffer of each descriptor; none where packets are sent from where they are.
        places: Places,
        /// The first descriptor that the master has not given back, as far as was looked.
        oldest: u16,
    },
}

impl Transmitter {
    /// A master's end.
    pub fn master(ring: Ring) -> Transmitter {
        Transmitter::new(ring, Kind::Master)
    }
    /// A slave's end with a buffer for each descriptor.
    pub fn slave(ring: Ring, places: Places) -> Transmitter {
        Transmitter::new(ring, Kind::Slave { places, oldest: 0 })
    }
    fn new(ring: Ring, kind: Kind) -> Transmitter {
        Transmitter { ring, next: 0, free: 0, looked: 0, kind, store: Store::Plain, has_streamed: false }
    }
    /// Which end it is.
    pub fn role(&self) -> Role {
        if matches!(self.kind, Kind::Master) { Role::Master } else { Role::Slave }
    }
    /// The ring.
    pub fn ring(&self) -> &Ring {
        &self.ring
    }
    /// Sets the method of writing bytes.
    pub fn set_store(&mut self, store: Store) {
        self.store = store;
    }
    /// Looks how many descriptors may be filled. Those that are known of stay so: [`Transmitter::send_all`] looks itself when
    /// they are used up, the others do not.
    ///
    /// PERF: the peer writes its index all the time, so a look at it costs some 250 ticks.
    #[inline]
    pub fn begin(&mut self) -> Result<u16, Broken> {
        let size = self.ring.size();
        self.free = match &mut self.kind {
            Kind::Master => self.ring.distance(self.next, self.ring.head(), size)?,
            Kind::Slave { .. } => size - self.ring.distance(self.ring.tail(), self.next, size)?,
        };
        Ok(self.free)
    }
    /// Puts a packet of `length` bytes into the ring, as a chain if it is longer than a buffer. `segments` are its
    /// parts.
    #[inline]
    pub fn send<'a>(&mut self, length: usize, mut segments: impl Iterator<Item = &'a [u8]>) -> Result<Sent, Broken> {
        if self.free == 0 {
            return Ok(Sent::Full);
        }
        let place = self.place(self.next)?;
        if length <= place.length as usize
            && let Some(bytes) = segments.next()
        {
            if bytes.len() == length {
                self.write(place, bytes)?;
                self.fill(place, length, false);
                return Ok(Sent::Yes);
            }
            return self.send_chain(length, std::iter::once(bytes).chain(segments));
        }
        self.send_chain(length, segments)
    }
    /// Puts a packet of several parts, or of more than one buffer, into the ring.
    fn send_chain<'a>(&mut self, length: usize, mut segments: impl Iterator<Item = &'a [u8]>) -> Result<Sent, Broken> {
        // All of it, or nothing: the peer may have posted buffers of any length, so they are added up first.
        let (mut needed, mut room) = (0, 0);
        while room < length || needed == 0 {
            if needed == self.free {
                let is_all = self.free == self.ring.size();
                return Ok(if is_all { Sent::TooLong } else { Sent::Full });
            }
            room += self.place(self.next.wrapping_add(needed))?.length as usize;
            needed += 1;
        }
        let (mut segment, mut left): (&[u8], usize) = (&[], length);
        for _ in 0..needed {
            let place = self.place(self.next)?;
            // A hostile slave may have changed the length since: what is written fits what is written to, and the
            // packet may end up cut.
            let here = left.min(place.length as usize);
            let mut at = 0;
            while at < here {
                if segment.is_empty() {
                    let Some(more) = segments.next() else { break };
                    segment = more;
                    continue;
                }
                let (part, rest) = segment.split_at(segment.len().min(here - at));
                let to = Place { offset: place.offset.saturating_add(at as u32), ..place };
                self.write_plain(to, part)?;
                (at, segment) = (at + part.len(), rest);
            }
            left -= here;
            self.fill(place, here, left > 0);
        }
        Ok(Sent::Yes)
    }
    /// Of a slave: sends a packet from where it is, in these places. They are the peer's until [`Transmitter::reclaim`]
    /// has counted them; only places that it has counted are used again.
    #[inline]
    pub fn send_in_place(&mut self, places: &[Place]) -> Sent {
        if places.len() > usize::from(self.free) {
            let is_too_long = places.len() > usize::from(self.ring.size());
            return if is_too_long { Sent::TooLong } else { Sent::Full };
        }
        for (i, place) in places.iter().enumerate() {
            self.fill(*place, place.length as usize, i + 1 < places.len());
        }
        Sent::Yes
    }
    /// The same for packets of one part each, `count` at most, as many as there is room for. `place` is told the number of
    /// each, and its place in the ring. Returns how many.
    #[inline(always)]
    pub fn send_parts(&mut self, count: usize, mut place: impl FnMut(usize, usize) -> Place) -> usize {
        let n = self.free.min(u16::try_from(count).unwrap_or(u16::MAX));
        for i in 0..n {
            let place = place(i.into(), self.ring.slot(self.next));
            self.fill(place, place.length as usize, false);
        }
        n.into()
    }
    /// Whether it is time for [`Transmitter::reclaim`], where so many are to be sent in place: there may be no room else, or
    /// enough have been sent since.
    pub fn is_to_reclaim(&self, count: usize) -> bool {
        usize::from(self.free) < count || self.next.wrapping_sub(self.looked) >= RECLAIMED
    }
    /// Of a slave: the places in the ring that the master has given back since the last call, the oldest first. They may
    /// be filled now, and others may not, even if the master gives them back meanwhile: what is in them is still lent. So
    /// this takes the place of [`Transmitter::begin`] where packets are sent in place.
    pub fn reclaim(&mut self) -> Result<impl Iterator<Item = usize> + use<>, Broken> {
        let (next, tail, ring) = (self.next, self.ring.tail(), &self.ring);
        self.looked = next;
        let (mut from, mut count) = (0, 0);
        if let Kind::Slave { oldest, .. } = &mut self.kind {
            count = ring.distance(*oldest, tail, next.wrapping_sub(*oldest).min(ring.size()))?;
            from = std::mem::replace(oldest, tail);
            // None are, if more was sent than was counted: whoever looked by `begin` has used places that are lent.
            self.free = ring.size().saturating_sub(next.wrapping_sub(tail));
        }
        let last = ring.size() - 1;
        Ok((0..count).map(move |i| usize::from(from.wrapping_add(i) & last)))
    }
    /// The place in the ring that was filled last.
    pub fn last_slot(&self) -> usize {
        self.ring.slot(self.next.wrapping_sub(1))
    }
    /// The buffer behind a descriptor.
    #[inline(always)]
    fn place(&self, index: u16) -> Result<Place, Broken> {
        match &self.kind {
            Kind::Slave { places, .. } => Ok(places.get(index)),
            Kind::Master => Ok(Place::of(self.ring.descriptor(index))),
        }
    }
    #[inline(always)]
    fn write(&mut self, place: Place, bytes: &[u8]) -> Result<(), Broken> {
        if self.store == Store::Streaming {
            let region = self.ring.regions().get(place.region).ok_or(Broken::Place)?;
            if bytes.write(region, place, Store::Streaming) {
                self.has_streamed = true;
                return Ok(());
            }
        }
        self.write_plain(place, bytes)
    }
    #[inline(always)]
    fn write_plain(&self, place: Place, bytes: &[u8]) -> Result<(), Broken> {
        let region = self.ring.regions().get(place.region).ok_or(Broken::Place)?;
        if region.write(place.offset as usize, bytes) { Ok(()) } else { Err(Broken::Place) }
    }
    /// Writes the next descriptor.
    #[inline(always)]
    fn fill(&mut self, place: Place, length: usize, has_next: bool) {
        let descriptor = Descriptor { has_next, region: place.region, length: length as u32, offset: place.offset };
        self.ring.set_descriptor(self.next, descriptor);
        self.next = self.next.wrapping_add(1);
        self.free -= 1;
    }
    /// Shows the peer everything that was put into the ring. Whether it wants to be woken by its eventfd.
    #[inline]
    pub fn publish(&mut self) -> bool {
        if std::mem::take(&mut self.has_streamed) {
            fence_streams();
        }
        match &self.kind {
            Kind::Master => self.ring.set_tail(self.next),
            Kind::Slave { .. } => self.ring.set_head(self.next),
        }
        self.ring.wants_interrupt()
    }
}
