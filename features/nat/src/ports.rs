//! Outside ports: a bitmap for each worker, address and protocol.
//!
//! Workers have disjoint ranges of the ports of each address, so that none asks another one. A port with a bit is free for any
//! destination. When all bits are taken, sessions to other destinations share ports: the directory of second keys decides whether a
//! tuple is free.

use std::collections::BTreeMap;
use std::ops::Range;

use atomic_refcell::{AtomicRefCell, AtomicRefMut};
use quiver_wire::IpProtocol;

/// The first port that is given to sessions: those below are of well-known services (RFC 6335, 6).
pub const FIRST_PORT: u32 = 1024;
/// Behind the last port.
const END: u32 = 1 << 16;
/// Bits of a word.
const BITS: usize = 64;

/// The ports that a worker may give out.
pub fn range_of(worker: usize, workers: usize) -> Range<u32> {
    let each = (END - FIRST_PORT) / workers.max(1) as u32;
    let first = FIRST_PORT + each * worker as u32;
    first..first + each
}

/// Ports of one address and protocol: a bit for each, set if the port is free.
#[derive(Debug)]
pub struct PortSet {
    range: Range<u32>,
    free: Box<[u64]>,
    /// A bit for each word that has a free port.
    words: Box<[u64]>,
    /// The place of the port that was given out last.
    last: usize,
    taken: u32,
}

impl PortSet {
    /// All of a range are free. The first one that [`PortSet::take_next`] gives out is that of a number, modulo their number.
    pub fn new(range: Range<u32>, first: u32) -> PortSet {
        let fill = |bits: usize| -> Box<[u64]> {
            let word = |at: usize| match bits.saturating_sub(at * BITS) {
                left if left >= BITS => u64::MAX,
                left => (1 << left) - 1,
            };
            (0..bits.div_ceil(BITS)).map(word).collect()
        };
        let free = fill(range.len());
        let last = (first as usize + range.len().saturating_sub(1)) % range.len().max(1);
        PortSet { words: fill(free.len()), free, last, range, taken: 0 }
    }
    /// Number of ports that are taken.
    pub fn taken(&self) -> u32 {
        self.taken
    }
    /// Whether a port is of this range.
    pub fn has(&self, port: u16) -> bool {
        self.range.contains(&u32::from(port))
    }
    fn place(&self, port: u16) -> Option<usize> {
        self.has(port).then(|| (u32::from(port) - self.range.start) as usize)
    }
    fn port(&self, place: usize) -> u16 {
        (self.range.start + place as u32) as u16
    }
    fn is_free(&self, place: usize) -> bool {
        self.free[place / BITS] & 1 << (place % BITS) != 0
    }
    /// Takes a port; false if it is taken, or not of this range.
    pub fn take(&mut self, port: u16) -> bool {
        let Some(place) = self.place(port).filter(|place| self.is_free(*place)) else { return false };
        self.take_place(place);
        true
    }
    fn take_place(&mut self, place: usize) {
        let at = place / BITS;
        self.free[at] &= !(1 << (place % BITS));
        if self.free[at] == 0 {
            self.words[at / BITS] &= !(1 << (at % BITS));
        }
        self.taken += 1;
    }
    /// Takes the next free port behind the one that was given out last, so that a freed one is not used again at once. Looks at a few
    /// words, however many are taken.
    pub fn take_next(&mut self) -> Option<u16> {
        let from = self.last + 1;
        let place = self.next_free(from).or_else(|| self.next_free(0))?;
        self.take_place(place);
        self.last = place;
        Some(self.port(place))
    }
    fn next_free(&self, from: usize) -> Option<usize> {
        let first = next_bit(*self.free.get(from / BITS)?, from % BITS).map(|bit| from / BITS * BITS + bit);
        first.or_else(|| {
            let word = from / BITS + 1;
            let mut at = word / BITS;
            let mut bit = next_bit(*self.words.get(at)?, word % BITS);
            while bit.is_none() {
                at += 1;
                bit = next_bit(*self.words.get(at)?, 0);
            }
            let word = at * BITS + bit?;
            Some(word * BITS + next_bit(self.free[word], 0)?)
        })
    }
    /// A port of the range by a number, taken or not: for sessions that share it.
    pub fn shared(&self, number: u32) -> u16 {
        self.port(number as usize % self.range.len().max(1))
    }
    /// Frees a port that was taken.
    pub fn free(&mut self, port: u16) {
        let Some(place) = self.place(port).filter(|place| !self.is_free(*place)) else { return };
        let at = place / BITS;
        self.free[at] |= 1 << (place % BITS);
        self.words[at / BITS] |= 1 << (at % BITS);
        self.taken -= 1;
    }
}

/// The lowest bit of a word from a place on.
fn next_bit(word: u64, from: usize) -> Option<usize> {
    let rest = word & u64::MAX << from;
    (rest != 0).then(|| rest.trailing_zeros() as usize)
}

/// A protocol that has ports of its own; identifiers of ICMP echoes count as ports (RFC 5508, REQ-1).
fn class(protocol: u8) -> u8 {
    match IpProtocol(protocol) {
        IpProtocol::TCP => 0,
        IpProtocol::UDP => 1,
        _ => 2,
    }
}

/// Ports of a worker, and the number of its sessions.
#[derive(Debug)]
pub struct WorkerPorts {
    range: Range<u32>,
    sets: BTreeMap<(u32, u8), PortSet>,
    /// Sessions of this worker.
    pub sessions: u32,
    /// Counts attempts to share a port, so that they spread.
    pub shared: u32,
}

impl WorkerPorts {
    /// The ports of an address, for a protocol.
    pub fn set(&mut self, address: u32, protocol: u8) -> &mut PortSet {
        let (range, class) = (&self.range, class(protocol));
        // Ports that hosts choose themselves are often low: others begin somewhere else, by Fibonacci hashing.
        let first = (address << 2 | u32::from(class)).wrapping_mul(0x9e37_79b9) >> 8;
        self.sets.entry((address, class)).or_insert_with(|| PortSet::new(range.clone(), first))
    }
    /// Ports of an address that are taken: of TCP, UDP and ICMP.
    pub fn taken(&self, address: u32) -> [u32; 3] {
        [0, 1, 2].map(|class| self.sets.get(&(address, class)).map_or(0, PortSet::taken))
    }
}

/// The ports of all workers. Each worker touches its own.
#[derive(Debug)]
pub struct Ports(Box<[AtomicRefCell<WorkerPorts>]>);

impl Ports {
    /// All ports are free.
    pub fn new(workers: usize) -> Ports {
        let of = |worker| {
            let range = range_of(worker, workers);
            AtomicRefCell::new(WorkerPorts { range, sets: BTreeMap::new(), sessions: 0, shared: 0 })
        };
        Ports((0..workers).map(of).collect())
    }
    /// The ports of a worker: for that worker.
    ///
    /// # Panics
    /// If they are borrowed already: a programming error.
    pub fn of(&self, worker: usize) -> Option<AtomicRefMut<'_, WorkerPorts>> {
        self.0.get(worker).map(|ports| ports.borrow_mut())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn workers_share_no_port_and_leave_out_well_known_ones() {
        for workers in 1..9 {
            let mut seen = BTreeSet::new();
            for worker in 0..workers {
                for port in range_of(worker, workers) {
                    assert!((FIRST_PORT..END).contains(&port) && seen.insert(port), "{worker} of {workers}: {port}");
                }
            }
            assert!(seen.len() > (END - FIRST_PORT) as usize - workers);
        }
    }

    #[test]
    fn every_port_is_given_out_once_and_freed_ones_again() {
        let mut ports = PortSet::new(range_of(0, 1), 7);
        let all: BTreeSet<_> = std::iter::from_fn(|| ports.take_next()).collect();
        assert_eq!((all.len(), ports.taken()), (64_512, 64_512));
        assert_eq!((all.first(), all.last()), (Some(&1024), Some(&65535)));
        ports.free(40_000);
        assert_eq!((ports.take(40_001), ports.take_next(), ports.take_next()), (false, Some(40_000), None));
        ports.free(1);
        assert_eq!(ports.taken(), 64_512, "it is none of this range");
    }

    #[test]
    fn a_freed_port_is_not_the_next_one() {
        let mut ports = PortSet::new(1024..1124, 0);
        assert_eq!((ports.take_next(), ports.take_next()), (Some(1024), Some(1025)));
        ports.free(1025);
        assert_eq!(ports.take_next(), Some(1026));
    }

    /// Against a set: any order of takes and frees gives no port twice, refuses only when all are taken, and takes a wanted port exactly
    /// if it is free.
    #[test]
    fn any_order_agrees_with_a_set() {
        let mut random = fastrand::Rng::with_seed(1);
        for size in [1, 2, 63, 64, 65, 100, 4096, 4097, 64_512] {
            let range = FIRST_PORT..FIRST_PORT + size;
            let (mut ports, mut taken) = (PortSet::new(range.clone(), size), BTreeSet::new());
            for step in 0..20_000u32 {
                match random.u32(..4) {
                    0 => {
                        let wanted = random.u32(range.start - 1..range.end + 1) as u16;
                        let is_free = range.contains(&u32::from(wanted)) && !taken.contains(&wanted);
                        assert_eq!(ports.take(wanted), is_free, "{size} {step}");
                        if is_free {
                            taken.insert(wanted);
                        }
                    }
                    1 if !taken.is_empty() && random.bool() => {
                        let nth = random.usize(..taken.len().min(100));
                        let port = *taken.iter().nth(nth).expect("there are so many");
                        taken.remove(&port);
                        ports.free(port);
                    }
                    _ => match ports.take_next() {
                        Some(port) => {
                            assert!(range.contains(&u32::from(port)) && taken.insert(port), "{size} {step}: {port}");
                        }
                        None => assert_eq!(taken.len(), range.len(), "{size} {step}"),
                    },
                }
                assert_eq!(ports.taken() as usize, taken.len());
            }
        }
    }
}
