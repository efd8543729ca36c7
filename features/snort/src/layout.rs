//! Places in the memory that an instance shares with its inspector: headers, descriptors and rings of each queue pair, and behind all
//! of them the slots for packets. Sizes are those of version 3 of the protocol (`daq_vpp_shared.h` of VPP 26.10).

use std::ops::RangeInclusive;

/// Version of the protocol.
pub const VERSION: u32 = 3;
/// The word by which a client knows a queue pair's header.
pub const COOKIE: u64 = 0xa196_c3e8_2a4b_c68f;
/// Packets of a queue at least and at most; a power of two.
pub const QUEUE_SIZES: RangeInclusive<u32> = 8..=16_384;
/// Bytes of a packet at most.
pub const PACKET_MAX: usize = u16::MAX as usize;

/// Places in a queue pair's header.
pub mod header {
    /// Packets that were ever offered; written by quiverd.
    pub const OFFERED: usize = 0;
    /// Whether the inspector was woken and has not looked yet.
    pub const OFFERED_PENDING: usize = 8;
    /// [`COOKIE`](super::COOKIE).
    pub const COOKIE: usize = 16;
    /// Verdicts that were ever given; written by the inspector.
    pub const JUDGED: usize = 64;
    /// Whether quiverd was woken and has not looked yet.
    pub const JUDGED_PENDING: usize = 88;
    /// Bytes of the header.
    pub const BYTES: usize = 128;
}

/// Places in a descriptor.
pub mod descriptor {
    /// Metadata of the packet; the inspector writes the verdict over its first word.
    pub const METADATA: usize = 8;
    /// Bytes of a descriptor.
    pub const BYTES: usize = 24;
}

/// Bytes of an entry of the ring of empty buffers.
const EMPTY_BYTES: usize = 16;
/// Entries of the ring of empty buffers, of which none is ever filled: an inspector that wants to inject a packet finds no buffer.
pub const LOG2_EMPTY: u8 = 3;
const LINE: usize = 64;
const PAGE: usize = 4096;
/// Bytes from one slot to the next. Of its pages only those take memory that a packet has touched.
const STRIDE: usize = 17 * PAGE;
/// Slots begin at different lines, so that their first ones do not compete for the same places of caches.
const COLORS: usize = 32;
const _: () = assert!(PACKET_MAX + (COLORS - 1) * LINE <= STRIDE);
/// Bytes of the memory at most: what a descriptor's offset can reach.
const BYTES_MAX: usize = u32::MAX as usize;

/// Size of an instance's memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size {
    pairs: usize,
    log2_queue: u8,
}

/// Places of a queue pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// Its header, behind which are the descriptors.
    pub header: usize,
    /// Ring of the numbers of offered descriptors.
    pub offered: usize,
    /// Ring of the numbers of judged ones.
    pub judged: usize,
    /// Ring of empty buffers.
    pub empty: usize,
    /// The first slot.
    slots: usize,
}

impl Place {
    /// The place of a descriptor.
    pub fn descriptor(&self, number: u16) -> usize {
        self.header + header::BYTES + usize::from(number) * descriptor::BYTES
    }
    /// The place of the packet of a descriptor.
    pub fn packet(&self, number: u16) -> usize {
        let number = usize::from(number);
        self.slots + number * STRIDE + number % COLORS * LINE
    }
}

impl Size {
    /// The size for pairs of queues with so many packets each, a power of two within [`QUEUE_SIZES`]. None if descriptors could not
    /// reach all of them.
    pub fn new(pairs: usize, queue: u32) -> Option<Size> {
        let size = Size { pairs, log2_queue: queue.max(1).ilog2() as u8 };
        let is_right = queue.is_power_of_two() && QUEUE_SIZES.contains(&queue) && pairs > 0 && pairs <= u16::MAX.into();
        (is_right && size.bytes() <= BYTES_MAX).then_some(size)
    }
    /// Packets of a queue.
    pub fn queue(self) -> usize {
        1 << self.log2_queue
    }
    /// The logarithm of that, of base 2.
    pub fn log2_queue(self) -> u8 {
        self.log2_queue
    }
    fn descriptors(self) -> usize {
        (header::BYTES + self.queue() * descriptor::BYTES).next_multiple_of(LINE)
    }
    fn ring(self) -> usize {
        (self.queue() * 2).next_multiple_of(LINE)
    }
    /// Bytes of the rings of a pair.
    fn rings(self) -> usize {
        self.descriptors() + 2 * self.ring() + (EMPTY_BYTES << LOG2_EMPTY)
    }
    fn slots(self) -> usize {
        (self.pairs * self.rings()).next_multiple_of(PAGE)
    }
    /// Places of a pair.
    pub fn place(self, pair: usize) -> Place {
        let header = pair * self.rings();
        let offered = header + self.descriptors();
        let judged = offered + self.ring();
        let slots = self.slots() + pair * self.queue() * STRIDE;
        Place { header, offered, judged, empty: judged + self.ring(), slots }
    }
    /// Bytes of all.
    pub fn bytes(self) -> usize {
        self.slots() + self.pairs * self.queue() * STRIDE
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_lie_behind_each_other_and_inside() {
        for (pairs, queue) in [(1, 8), (2, 16), (5, 1024)] {
            let size = Size::new(pairs, queue).expect("it fits");
            let mut stretches = vec![];
            for pair in 0..pairs {
                let place = size.place(pair);
                assert_eq!([place.header, place.offered, place.judged, place.empty].map(|at| at % LINE), [0; 4]);
                stretches.push((place.header, header::BYTES + size.queue() * descriptor::BYTES));
                stretches.push((place.offered, size.queue() * 2));
                stretches.push((place.judged, size.queue() * 2));
                stretches.push((place.empty, EMPTY_BYTES << LOG2_EMPTY));
                stretches.extend((0..queue as u16).map(|number| (place.packet(number), PACKET_MAX)));
            }
            stretches.sort_unstable();
            let apart = stretches.windows(2).all(|two| two[0].0 + two[0].1 <= two[1].0);
            let (last, bytes) = stretches[stretches.len() - 1];
            assert!(apart && last + bytes <= size.bytes(), "{pairs} {queue}");
        }
    }

    #[test]
    fn sizes_that_descriptors_cannot_reach_are_refused() {
        assert!(Size::new(1, 16_384).is_some() && Size::new(4, 16_384).is_none());
        assert!(
            [0, 4, 12, 32_768].map(|queue| Size::new(1, queue)).iter().all(Option::is_none)
                && Size::new(0, 8).is_none()
        );
    }
}
