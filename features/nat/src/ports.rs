//! Outside ports: a bitmap for each worker, address and protocol.
//!
//! Workers have disjoint ranges of the ports of each address, so that none asks another one. A port with a bit is free for any
//! destination. When all bits are taken, sessions to other destinations share ports: the directory of second keys decides whether a
//! tuple is free.
//!
//! Ports of mappings, which endpoint-independent mode has, rest when they are freed (RFC 6888, REQ-8): two more bitmaps have those of this
//! period and of the last one, and a period is as long as the rest. So a port rests for one to two periods, at no cost for each.

use std::collections::BTreeMap;
use std::ops::Range;

use atomic_refcell::{AtomicRefCell, AtomicRefMut};
use quiver_session::second::Ip4End;
use quiver_wire::IpProtocol;

use crate::mappings::{Mappings, Shelves};

/// The first port that is given to sessions: those below are of well-known services (RFC 6335, 6).
pub const FIRST_PORT: u32 = 1024;
/// Behind the last port.
const END: u32 = 1 << 16;
/// Bits of a word.
const BITS: usize = 64;
/// Words in which a port of the same parity is looked for.
const NEAR: usize = 16;
/// The places of a word with even numbers.
const EVEN: u64 = 0x5555_5555_5555_5555;

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
    resting: Resting,
}

/// Ports that rest.
#[derive(Debug, Default)]
struct Resting {
    /// Bits of those that were freed in this period, and in the one before; empty until a port rests.
    periods: [Box<[u64]>; 2],
    /// Number of ports of each.
    numbers: [u32; 2],
    /// Ticks when this period began.
    since: u32,
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
        PortSet { words: fill(free.len()), free, last, range, taken: 0, resting: Resting::default() }
    }
    /// Number of ports that are taken, or rest.
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
    /// words, however many are taken. If none is free, ports that rest are.
    pub fn take_next(&mut self) -> Option<u16> {
        loop {
            let from = self.last + 1;
            let place = self.next_free(from).or_else(|| self.next_free(0));
            if place.is_some() || !self.end_rest() {
                return place.map(|place| self.give_out(place));
            }
        }
    }
    /// The same; the port has the parity of another one if such a port is near (RFC 4787, REQ-4).
    pub fn take_like(&mut self, port: u16) -> Option<u16> {
        let is_odd = (u32::from(port) ^ self.range.start) & 1 == 1;
        let like = if is_odd { !EVEN } else { EVEN };
        let near = |from: usize| {
            (from / BITS..self.free.len()).take(NEAR).find_map(|at| {
                let first = if at == from / BITS { from % BITS } else { 0 };
                next_bit(self.free[at] & like, first).map(|bit| at * BITS + bit)
            })
        };
        let found = near(self.last + 1).or_else(|| near(0));
        found.map(|place| self.give_out(place)).or_else(|| self.take_next())
    }
    fn give_out(&mut self, place: usize) -> u16 {
        self.take_place(place);
        self.last = place;
        self.port(place)
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
        if let Some(place) = self.place(port).filter(|place| !self.is_free(*place)) {
            self.free_places(place / BITS, 1 << (place % BITS));
        }
    }
    fn free_places(&mut self, at: usize, bits: u64) {
        self.free[at] |= bits;
        self.words[at / BITS] |= 1 << (at % BITS);
        self.taken -= bits.count_ones();
    }
    /// Frees a port that was taken, once it has rested for so many ticks.
    pub fn rest(&mut self, port: u16, (now, ticks): (u32, u32)) {
        if ticks == 0 {
            return self.free(port);
        }
        self.pass_time((now, ticks));
        let Some(place) = self.place(port).filter(|place| !self.is_free(*place)) else { return };
        let resting = &mut self.resting;
        if resting.numbers == [0; 2] {
            resting.since = now;
        }
        if resting.periods[0].is_empty() {
            resting.periods = [(); 2].map(|()| vec![0; self.free.len()].into());
        }
        resting.periods[0][place / BITS] |= 1 << (place % BITS);
        resting.numbers[0] += 1;
    }
    /// Frees ports that have rested for so many ticks.
    pub fn pass_time(&mut self, (now, ticks): (u32, u32)) {
        let passed = now.wrapping_sub(self.resting.since);
        if self.resting.numbers == [0; 2] || passed < ticks {
            return;
        }
        self.wake(1);
        self.resting.periods.swap(0, 1);
        self.resting.numbers.swap(0, 1);
        self.resting.since = now;
        if passed / 2 >= ticks {
            self.wake(1);
        }
    }
    /// Ends the rest of the ports that have rested longest. False if no port rests.
    fn end_rest(&mut self) -> bool {
        self.wake(1) || self.wake(0)
    }
    /// Frees the ports of a period; false if there are none.
    fn wake(&mut self, period: usize) -> bool {
        if std::mem::take(&mut self.resting.numbers[period]) == 0 {
            return false;
        }
        let mut resting = std::mem::take(&mut self.resting.periods[period]);
        for (at, bits) in resting.iter_mut().enumerate().filter(|(_, bits)| **bits != 0) {
            self.free_places(at, std::mem::take(bits));
        }
        self.resting.periods[period] = resting;
        true
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
#[derive(Debug, Default)]
pub struct WorkerPorts {
    range: Range<u32>,
    sets: BTreeMap<(u32, u8), PortSet>,
    /// For mappings of this worker.
    pub shelves: Shelves,
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
    /// Takes ports of mappings that have ended, `most` at most, which rest for so many ticks. Returns whether some are left.
    pub fn collect(&mut self, mappings: &Mappings, worker: usize, most: usize, time: (u32, u32)) -> bool {
        let mut shelves = std::mem::take(&mut self.shelves);
        let free = |end: Ip4End, protocol| self.set(end.address, protocol).rest(end.port, time);
        let is_left = mappings.collect(worker, &mut shelves, most, free);
        self.shelves = shelves;
        is_left
    }
    /// Ports of an address that are taken: of TCP, UDP and ICMP.
    pub fn taken(&self, address: u32) -> [u32; 3] {
        [0, 1, 2].map(|class| self.sets.get(&(address, class)).map_or(0, PortSet::taken))
    }
}

/// The ports of all workers, of which each worker touches its own, and mappings, which all share.
pub struct Ports {
    workers: Box<[AtomicRefCell<WorkerPorts>]>,
    /// Mappings.
    pub mappings: Mappings,
}

impl Ports {
    /// All ports are free.
    pub fn new(workers: usize, mappings: Mappings) -> Ports {
        let of = |worker| {
            let range = range_of(worker, workers);
            AtomicRefCell::new(WorkerPorts { range, ..WorkerPorts::default() })
        };
        Ports { workers: (0..workers).map(of).collect(), mappings }
    }
    /// Number of workers.
    pub fn workers(&self) -> usize {
        self.workers.len()
    }
    /// The ports of a worker: for that worker.
    ///
    /// # Panics
    /// If they are borrowed already: a programming error.
    pub fn of(&self, worker: usize) -> Option<AtomicRefMut<'_, WorkerPorts>> {
        self.workers.get(worker).map(|ports| ports.borrow_mut())
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

    #[test]
    fn a_freed_port_rests_for_its_time_unless_no_other_is_free() {
        let mut ports = PortSet::new(1024..1028, 0);
        assert_eq!((0..4).filter_map(|_| ports.take_next()).count(), 4);
        const REST: u32 = 120;
        ports.rest(1026, (1000, REST));
        ports.pass_time((1000 + REST - 1, REST));
        assert_eq!((ports.take(1026), ports.taken()), (false, 4), "it rests");
        ports.rest(1025, (1000 + REST - 1, REST));
        ports.pass_time((1000 + REST, REST));
        assert_eq!((ports.take(1026), ports.take(1025)), (false, false), "they rest until the next period ends");
        ports.pass_time((1000 + 2 * REST, REST));
        assert_eq!((ports.take(1026), ports.take(1025), ports.taken()), (true, true, 4));
        // Without other ports, the port that has rested longest is given first.
        ports.rest(1024, (5000, REST));
        ports.rest(1027, (5000 + REST, REST));
        assert_eq!([0; 3].map(|_| ports.take_next()), [Some(1024), Some(1027), None]);
        ports.rest(1024, (9000, REST));
        ports.pass_time((9000 + 2 * REST, REST));
        assert_eq!((ports.take(1024), ports.taken()), (true, 4), "after a long time it is free at once");
        ports.rest(1024, (9999, 0));
        assert!(ports.take(1024), "without a time it does not rest");
    }

    #[test]
    fn parity_is_preserved_while_such_ports_are_near() {
        for first in [1024, 1025] {
            let mut ports = PortSet::new(first..first + 6, 0);
            let given: Vec<_> = [7, 9, 11].into_iter().filter_map(|port| ports.take_like(port)).collect();
            assert!(given.len() == 3 && given.iter().all(|port| port % 2 == 1), "{given:?}");
            assert_eq!(ports.take_like(13).map(|port| port % 2), Some(0), "there is no other one");
        }
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
