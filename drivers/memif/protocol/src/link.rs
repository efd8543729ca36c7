//! Result of a handshake: the mapped memory and its rings.

use std::os::fd::AsFd;
use std::sync::Arc;

use crate::interrupt::Interrupt;
use crate::message::{AddRing, Mode};
use crate::region::{Region, RegionError, Regions};
use crate::ring::{HEAD_LENGTH, Ring};
use crate::{LOG2_RING_SIZE_MAX, REGIONS_MAX, RINGS_MAX, Refusal, Role};

/// A ring as it was offered. `F` is a file: an eventfd in reality, anything in a simulation.
#[derive(Clone, Debug, PartialEq)]
pub struct RingOffer<F> {
    /// The region that it lies in.
    pub region: u16,
    /// Where it begins there.
    pub offset: u32,
    /// Its descriptors, as a power of two.
    pub log2_size: u8,
    /// The eventfd that wakes the receiver when it is written to.
    pub interrupt: F,
}

/// Everything that a slave offers and a master accepts.
#[derive(Clone, Debug, PartialEq)]
pub struct Offer<F> {
    /// Files of shared memory and their bytes.
    pub regions: Vec<(F, u64)>,
    /// Rings from slave to master.
    pub s2m: Vec<RingOffer<F>>,
    /// Rings from master to slave.
    pub m2s: Vec<RingOffer<F>>,
}

impl<F> Default for Offer<F> {
    fn default() -> Offer<F> {
        Offer { regions: vec![], s2m: vec![], m2s: vec![] }
    }
}

impl<F> Offer<F> {
    /// Appends a region, if it is the next one.
    pub(crate) fn add_region(&mut self, index: u16, size: u64, file: Option<F>) -> Result<(), Refusal> {
        if usize::from(index) != self.regions.len() || self.regions.len() >= REGIONS_MAX {
            return Err(Refusal::RegionIndex);
        }
        self.regions.push((file.ok_or(Refusal::NoFile)?, size));
        Ok(())
    }
    /// Appends a ring, if it is the next one of its direction and lies in its region.
    pub(crate) fn add_ring(&mut self, ring: &AddRing, file: Option<F>) -> Result<(), Refusal> {
        let rings = if ring.is_s2m() { &mut self.s2m } else { &mut self.m2s };
        if usize::from(ring.index.get()) != rings.len() || rings.len() >= RINGS_MAX {
            return Err(Refusal::RingIndex);
        }
        let (offset, log2_size) = (ring.offset.get(), ring.log2_ring_size);
        if log2_size > LOG2_RING_SIZE_MAX || ring.private_header_size.get() != 0 || offset % 16 != 0 {
            return Err(Refusal::Ring);
        }
        let (_, size) = self.regions.get(usize::from(ring.region.get())).ok_or(Refusal::RegionIndex)?;
        if u64::from(offset) + ring_bytes(log2_size) as u64 > *size {
            return Err(Refusal::Ring);
        }
        let interrupt = file.ok_or(Refusal::NoFile)?;
        rings.push(RingOffer { region: ring.region.get(), offset, log2_size, interrupt });
        Ok(())
    }
}

/// Bytes of a ring with its head.
pub fn ring_bytes(log2_size: u8) -> usize {
    HEAD_LENGTH + (16 << log2_size)
}

/// Why an agreed link cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum LinkError {
    /// A region cannot be mapped.
    #[error("region {index}: {source}")]
    Region {
        /// Its number.
        index: usize,
        /// The error.
        source: RegionError,
    },
    /// A ring does not begin with the number that all rings begin with.
    #[error("wrong cookie on {direction} ring {index}")]
    Cookie {
        /// `tx` from slave to master, `rx` the other way: the slave's view, as others say it.
        direction: &'static str,
        /// Its number.
        index: usize,
    },
    /// A file that could block a writer.
    #[error("a ring's file is no eventfd")]
    Interrupt,
}

/// One direction of traffic: a ring and what wakes its receiver.
#[derive(Clone)]
pub struct Queue<F> {
    /// The ring.
    pub ring: Ring,
    /// Its eventfd.
    pub interrupt: F,
}

/// A connection: both ends' rings over mapped memory.
pub struct Link<F> {
    /// Which end we are.
    pub role: Role,
    /// The mode of the interface: Ethernet, IP or punt.
    pub mode: Mode,
    /// The mapped regions.
    pub regions: Arc<Regions>,
    /// The rings that we receive by.
    pub receive: Vec<Queue<F>>,
    /// The rings that we send by.
    pub transmit: Vec<Queue<F>>,
}

impl<F: AsFd> Link<F> {
    /// Maps the regions of a slave, and begins its rings anew: a master's part when CONNECT comes.
    pub fn map(offer: Offer<F>, mode: Mode) -> Result<Link<F>, LinkError> {
        if !offer.s2m.iter().chain(&offer.m2s).all(|ring| Interrupt::is_one(&ring.interrupt)) {
            return Err(LinkError::Interrupt);
        }
        let map = |(index, (file, size)): (usize, &(F, u64))| {
            Region::map(file.as_fd(), *size).map_err(|source| LinkError::Region { index, source })
        };
        let regions: Vec<Region> = offer.regions.iter().enumerate().map(map).collect::<Result<_, _>>()?;
        Link::over(Arc::new(Regions::new(regions)), offer, Role::Master, mode)
    }
}
impl<F> Link<F> {
    /// The same with files that can be shared.
    pub fn shared(self) -> Link<Arc<F>> {
        let share = |queues: Vec<Queue<F>>| {
            let share = |queue: Queue<F>| Queue { ring: queue.ring, interrupt: Arc::new(queue.interrupt) };
            queues.into_iter().map(share).collect()
        };
        let Link { role, mode, regions, receive, transmit } = self;
        Link { role, mode, regions, receive: share(receive), transmit: share(transmit) }
    }
    /// The link over regions that are mapped already: a slave's part when it makes its offer.
    pub fn over(regions: Arc<Regions>, offer: Offer<F>, role: Role, mode: Mode) -> Result<Link<F>, LinkError> {
        let rings = |rings: Vec<RingOffer<F>>, direction| {
            let ring = |(index, offer): (usize, RingOffer<F>)| {
                let ring = Ring::at(&regions, offer.region, offer.offset, offer.log2_size);
                let ring = ring.filter(Ring::has_cookie).ok_or(LinkError::Cookie { direction, index })?;
                Ok(Queue { ring, interrupt: offer.interrupt })
            };
            rings.into_iter().enumerate().map(ring).collect::<Result<Vec<_>, LinkError>>()
        };
        let (s2m, m2s) = (rings(offer.s2m, "tx")?, rings(offer.m2s, "rx")?);
        let (receive, transmit) = if role == Role::Master { (s2m, m2s) } else { (m2s, s2m) };
        Ok(Link { role, mode, regions, receive, transmit })
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use std::os::fd::OwnedFd;

    use super::*;

    #[test]
    fn a_ring_whose_file_is_no_eventfd_is_refused() {
        let (region, file) = Region::create("test", ring_bytes(4)).expect("memory");
        let regions = Arc::new(Regions::new(vec![region]));
        Ring::at(&regions, 0, 0, 4).expect("it fits").initialise();
        let file = Arc::new(file);
        let map = |interrupt: Arc<OwnedFd>| {
            let ring = RingOffer { region: 0, offset: 0, log2_size: 4, interrupt };
            let offer = Offer { regions: vec![(file.clone(), ring_bytes(4) as u64)], m2s: vec![ring], s2m: vec![] };
            Link::map(offer, Mode::Ethernet).map(|link| link.transmit.len())
        };
        assert!(matches!(map(file.clone()), Err(LinkError::Interrupt)), "memory is no eventfd");
        assert_eq!(map(Interrupt::make().expect("an eventfd")).ok(), Some(1));
    }
}
