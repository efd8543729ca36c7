//! Where a slave puts its rings and buffers: rings from slave to master first, then those the other way, then a buffer
//! for each descriptor, all in region 0. Other implementations do it so, too, but none relies on it.

use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;

use crate::Role;
use crate::interrupt::Interrupt;
use crate::link::{Link, LinkError, Offer, RingOffer, ring_bytes};
use crate::message::Mode;
use crate::places::Places;
use crate::receiver::Receiver;
use crate::region::{Region, RegionError, Regions};
use crate::ring::Ring;
use crate::slave::Agreed;
use crate::transmitter::Transmitter;

/// Bytes of a buffer at most: what a packet can have.
pub const BUFFER_MAX: u32 = 64 << 10;
const LINE: usize = 64;

/// Why a slave cannot make its memory.
#[derive(Debug, thiserror::Error)]
pub enum LayoutError {
    /// Offsets of rings and buffers have 32 bits.
    #[error("{0} bytes for rings and buffers; 4 GiB are possible: take fewer queues, smaller rings or smaller buffers")]
    TooLarge(u64),
    /// A buffer of no bytes, or of more than a packet can have.
    #[error("buffers of {0} bytes are not possible; 64 to {BUFFER_MAX} are")]
    Buffer(u32),
    /// The system.
    #[error(transparent)]
    Region(#[from] RegionError),
    /// The system has no more descriptors of files.
    #[error("the system refused an eventfd: {0}")]
    Interrupt(#[from] rustix::io::Errno),
    /// Our own rings are not as we made them: a peer that had the file already has written to it.
    #[error(transparent)]
    Link(#[from] LinkError),
}

/// The places of everything.
#[derive(Clone, Copy, Debug)]
pub struct Layout {
    s2m_rings: usize,
    m2s_rings: usize,
    log2_ring_size: u8,
    buffer: u32,
    stride: usize,
}

impl Layout {
    /// Lays out the agreed rings, with buffers of `buffer` bytes; None if the buffers are in another region.
    pub fn new(agreed: &Agreed, buffer: Option<u32>) -> Result<Layout, LayoutError> {
        if let Some(buffer) = buffer.filter(|buffer| !(64..=BUFFER_MAX).contains(buffer)) {
            return Err(LayoutError::Buffer(buffer));
        }
        let buffer = buffer.unwrap_or(0);
        let lines = (buffer as usize).div_ceil(LINE);
        // An odd number of lines: the first lines of all buffers would compete for a few sets of the caches otherwise.
        let stride = if buffer == 0 { 0 } else { (lines | 1) * LINE };
        let layout = Layout {
            s2m_rings: agreed.s2m_rings.into(),
            m2s_rings: agreed.m2s_rings.into(),
            log2_ring_size: agreed.log2_ring_size,
            buffer,
            stride,
        };
        let bytes = layout.bytes();
        if bytes as u64 > u64::from(u32::MAX) { Err(LayoutError::TooLarge(bytes as u64)) } else { Ok(layout) }
    }
    /// Whether there are buffers behind the rings; else they are elsewhere.
    pub fn has_buffers(&self) -> bool {
        self.buffer > 0
    }
    fn rings(&self) -> usize {
        self.s2m_rings + self.m2s_rings
    }
    /// Bytes from one ring to the next: whole lines, so that two rings share none.
    fn ring_stride(&self) -> usize {
        ring_bytes(self.log2_ring_size).next_multiple_of(128)
    }
    /// Bytes of region 0.
    pub fn bytes(&self) -> usize {
        self.rings() * (self.ring_stride() + (self.stride << self.log2_ring_size))
    }
    /// The number of a ring among all: those from slave to master come first.
    fn number(&self, is_s2m: bool, index: usize) -> usize {
        if is_s2m { index } else { self.s2m_rings + index }
    }
    /// Where a ring lies in region 0.
    pub fn ring(&self, is_s2m: bool, index: usize) -> u32 {
        (self.number(is_s2m, index) * self.ring_stride()) as u32
    }
    /// Where the buffer of a ring's descriptor begins in region 0.
    pub fn buffer_offset(&self, is_s2m: bool, index: usize, descriptor: u16) -> u32 {
        let buffers = (self.number(is_s2m, index) << self.log2_ring_size) + usize::from(descriptor);
        (self.rings() * self.ring_stride() + buffers * self.stride) as u32
    }
    /// The buffers of a ring's descriptors.
    pub fn places(&self, is_s2m: bool, index: usize, ring: &Ring) -> Places {
        Places::of(ring, 0, self.buffer, |descriptor| self.buffer_offset(is_s2m, index, descriptor))
    }
}

/// A slave's memory, ready to be offered.
pub struct SlaveMemory {
    /// The offer to send to the master.
    pub offer: Offer<Arc<OwnedFd>>,
    /// The same, for our own use.
    pub link: Link<Arc<OwnedFd>>,
    /// Where everything lies.
    pub layout: Layout,
}

impl SlaveMemory {
    /// Makes region 0 and its rings. `more` are regions where buffers lie that the peer may use in place, each with its
    /// file; then region 0 has rings only.
    pub fn make(
        agreed: &Agreed,
        buffer: Option<u32>,
        mode: Mode,
        more: Vec<(Arc<OwnedFd>, u64)>,
    ) -> Result<SlaveMemory, LayoutError> {
        let layout = Layout::new(agreed, buffer)?;
        let (first, file) = Region::create("memif", layout.bytes())?;
        let mut regions = vec![first];
        for (file, size) in &more {
            regions.push(Region::map(file.as_fd(), *size)?);
        }
        let regions = Arc::new(Regions::new(regions));
        let ring = |is_s2m, index| {
            let (offset, log2_size) = (layout.ring(is_s2m, index), layout.log2_ring_size);
            if let Some(ring) = Ring::at(&regions, 0, offset, log2_size) {
                ring.initialise();
            }
            Ok(RingOffer { region: 0, offset, log2_size, interrupt: Interrupt::make()? })
        };
        let rings = |is_s2m, count| (0..count).map(|index| ring(is_s2m, index)).collect::<Result<_, LayoutError>>();
        let (s2m, m2s) = (rings(true, layout.s2m_rings)?, rings(false, layout.m2s_rings)?);
        let mut files = vec![(Arc::new(file), layout.bytes() as u64)];
        files.extend(more);
        let offer = Offer { regions: files, s2m, m2s };
        let link = Link::over(regions, offer.clone(), Role::Slave, mode)?;
        Ok(SlaveMemory { offer, link, layout })
    }
}

impl Link<Arc<OwnedFd>> {
    /// The receiving ends of all rings; `layout` is that of a slave whose buffers are in region 0.
    pub fn receivers(&self, layout: Option<&Layout>) -> Vec<Receiver> {
        let end = |(index, queue): (usize, &crate::Queue<_>)| match layout {
            Some(layout) => Receiver::slave(queue.ring.clone(), layout.places(false, index, &queue.ring)),
            None => Receiver::master(queue.ring.clone()),
        };
        self.receive.iter().enumerate().map(end).collect()
    }
    /// The sending ends of all rings; `layout` as for [`Link::receivers`].
    pub fn transmitters(&self, layout: Option<&Layout>) -> Vec<Transmitter> {
        let end = |(index, queue): (usize, &crate::Queue<_>)| match layout {
            Some(layout) => Transmitter::slave(queue.ring.clone(), layout.places(true, index, &queue.ring)),
            None => Transmitter::master(queue.ring.clone()),
        };
        self.transmit.iter().enumerate().map(end).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::Text;

    fn agreed(s2m_rings: u16, m2s_rings: u16, log2_ring_size: u8) -> Agreed {
        Agreed { s2m_rings, m2s_rings, log2_ring_size, max_region: 255, master: Text::new("") }
    }

    #[test]
    fn nothing_overlaps() {
        let layout = Layout::new(&agreed(2, 3, 4), Some(2048)).expect("it fits");
        let mut spans = vec![];
        for (is_s2m, rings) in [(true, 2), (false, 3)] {
            for index in 0..rings {
                let ring = layout.ring(is_s2m, index) as usize;
                spans.push(ring..ring + ring_bytes(4));
                for descriptor in 0..16 {
                    let offset = layout.buffer_offset(is_s2m, index, descriptor) as usize;
                    assert_eq!(offset % 64, 0);
                    spans.push(offset..offset + 2048);
                }
            }
        }
        spans.sort_by_key(|span| span.start);
        assert!(spans.windows(2).all(|pair| pair[0].end <= pair[1].start));
        assert!(spans.last().is_some_and(|last| last.end <= layout.bytes()));
    }

    #[test]
    fn first_lines_of_buffers_are_spread_over_all_sets_of_a_cache() {
        for buffer in [2048, 2240, 4096, 9216] {
            let layout = Layout::new(&agreed(1, 1, 10), Some(buffer)).expect("it fits");
            let mut sets = [0; 64];
            (0..1024).for_each(|n| sets[layout.buffer_offset(true, 0, n) as usize / LINE % 64] += 1);
            assert_eq!(sets, [16; 64], "buffers of {buffer} bytes");
        }
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        assert!(matches!(Layout::new(&agreed(256, 256, 14), Some(2048)), Err(LayoutError::TooLarge(_))));
        assert!(matches!(Layout::new(&agreed(1, 1, 4), Some(63)), Err(LayoutError::Buffer(63))));
    }
}
