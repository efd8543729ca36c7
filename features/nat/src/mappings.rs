//! Mappings of endpoint-independent mode (RFC 4787, 4.1): an end on the inside keeps its outside end, whatever it is connected with.
//!
//! A mapping is a [`Counted`] entry that sessions of all workers hold. Hosts' packets find it by the end on the inside, those from the
//! outside by the outside end; both only to begin a session. Its port is one of the worker that made it, which takes ports of ended mappings
//! back when it makes others.

use std::io;

use quiver_session::second::Ip4End;
use quiver_table::{Directory, Inserted, KeyedHash, Reference};

use crate::counted::{Counted, Made, Shelf, Words};

quiver_control::choice! {
    /// The outside end of a host's sessions.
    #[derive(Default)]
    pub enum MappingMode {
        /// Each session has one of its own, and sessions to different destinations may share it.
        #[default]
        EndpointDependent = "endpoint-dependent",
        /// All sessions of an end on the inside have the same one, and no other host has it.
        EndpointIndependent = "endpoint-independent",
    } as "nat-mapping", "endpoint-dependent or endpoint-independent";
}

quiver_control::choice! {
    /// Hosts on the outside that may send packets to the outside end of a mapping.
    #[derive(Default)]
    pub enum Filtering {
        /// All hosts.
        #[default]
        EndpointIndependent = "endpoint-independent",
        /// Those with an address to which the host on the inside has a session.
        AddressDependent = "address-dependent",
        /// Only ends to which the host on the inside has a session.
        AddressAndPortDependent = "address-and-port-dependent",
    } as "nat-filtering", "endpoint-independent, address-dependent or address-and-port-dependent";
}

/// The end on the inside of a mapping.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Inside {
    /// Address and port.
    pub end: Ip4End,
    /// Context of the first keys of its sessions.
    pub context: u32,
    /// IP protocol number.
    pub protocol: u8,
}

/// A mapping.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shared {
    /// The end on the inside.
    pub inside: Inside,
    /// The outside end.
    pub outside: Ip4End,
    /// Hosts that may begin sessions from the outside.
    pub filtering: Filtering,
}

/// Address, port and protocol in a word.
fn word(end: Ip4End, protocol: u8) -> u64 {
    u64::from(end.address) << 32 | u64::from(end.port) << 16 | u64::from(protocol)
}
fn of_word(word: u64) -> (Ip4End, u8) {
    (Ip4End { address: (word >> 32) as u32, port: (word >> 16) as u16 }, word as u8)
}

/// Bits of a value that say the filtering.
const FILTERING: u64 = 3 << 8;

impl Inside {
    fn key(&self) -> [u64; 2] {
        [word(self.end, self.protocol), self.context.into()]
    }
}

impl Shared {
    fn words(&self) -> Words {
        let filtering = match self.filtering {
            Filtering::EndpointIndependent => 0,
            Filtering::AddressDependent => 1 << 8,
            Filtering::AddressAndPortDependent => 2 << 8,
        };
        Words { key: self.inside.key(), value: word(self.outside, self.inside.protocol) | filtering }
    }
    fn of(words: &Words) -> Shared {
        let (end, protocol) = of_word(words.key[0]);
        let (outside, _) = of_word(words.value);
        let filtering = match words.value & FILTERING {
            0 => Filtering::EndpointIndependent,
            0x100 => Filtering::AddressDependent,
            _ => Filtering::AddressAndPortDependent,
        };
        Shared { inside: Inside { end, context: words.key[1] as u32, protocol }, outside, filtering }
    }
}

/// Key by which the directory of contacts knows that the host of an outside end has a session to an address.
fn contact(outside: Ip4End, protocol: u8, far: u32) -> Words {
    Words { key: [word(outside, protocol), far.into()], value: 0 }
}

/// Lines of a worker without entries: for that worker alone.
#[derive(Debug, Default)]
pub struct Shelves {
    mappings: Shelf,
    contacts: Shelf,
}

/// The mappings of all workers.
pub struct Mappings {
    inside: Counted,
    /// By outside ends.
    outside: Directory,
    hash: KeyedHash,
    /// Addresses to which hosts have sessions, for filtering by address.
    contacts: Counted,
}

/// Ended entries that a worker takes back when a session begins: more than one, so that none pile up.
pub const COLLECTED: usize = 16;

impl Mappings {
    /// No mappings, of so many sessions at most.
    ///
    /// # Errors
    /// If the system refuses the address space.
    pub fn new(workers: usize, sessions: usize, secret: [u64; 4]) -> io::Result<Mappings> {
        Ok(Mappings {
            inside: Counted::new(workers, sessions, secret)?,
            outside: Directory::new(sessions * 2)?,
            hash: KeyedHash::new(secret),
            contacts: Counted::new(workers, sessions, secret)?,
        })
    }
    fn outside_hash(&self, outside: u64) -> u64 {
        self.hash.hash(&[outside])
    }
    /// The mapping of an end on the inside.
    pub fn from(&self, inside: &Inside) -> Option<Shared> {
        self.inside.find(&inside.key()).map(|words| Shared::of(&words))
    }
    /// The same, held by a session.
    pub fn hold(&self, inside: &Inside) -> Option<Shared> {
        self.inside.hold(&inside.key()).map(|words| Shared::of(&words))
    }
    /// The mapping of an outside end.
    pub fn of_outside(&self, outside: Ip4End, protocol: u8) -> Option<Shared> {
        let wanted = word(outside, protocol);
        let mut found = None;
        self.outside.find(self.outside_hash(wanted), |at| {
            found = self.inside.look(at, |words| words.value & !FILTERING == wanted);
            found.is_some()
        })?;
        found.map(|words| Shared::of(&words))
    }
    /// The mapping of an outside end, if it lets packets from an address in that belong to no session.
    pub fn to(&self, outside: Ip4End, protocol: u8, far: u32) -> Option<Shared> {
        let found = self.of_outside(outside, protocol)?;
        let is_let_in = match found.filtering {
            Filtering::EndpointIndependent => true,
            Filtering::AddressDependent => self.contacts.find(&contact(outside, protocol, far).key).is_some(),
            Filtering::AddressAndPortDependent => false,
        };
        is_let_in.then_some(found)
    }
    /// Makes a mapping of a worker, held by a session.
    pub fn make(&self, worker: usize, shelves: &mut Shelves, new: &Shared) -> Made {
        let words = new.words();
        let made = self.inside.make(worker, &mut shelves.mappings, &words);
        if let Made::New(at) = made {
            let wanted = words.value & !FILTERING;
            let is_same = |other: Reference| self.inside.look(other, |words| words.value & !FILTERING == wanted);
            // The port is this mapping's alone, so no other has the end.
            let inserted = self.outside.insert(self.outside_hash(wanted), at, |other| is_same(other).is_some());
            debug_assert!(matches!(inserted, Inserted::New), "{new:?}");
        }
        made
    }
    /// A session that held a mapping has ended.
    pub fn release(&self, inside: &Inside) {
        self.inside.release(&inside.key(), |at, words| {
            self.outside.remove(self.outside_hash(words.value & !FILTERING), at);
        });
    }
    /// Notes that the host of an outside end has a session to an address. False if there is no room.
    pub fn hold_contact(
        &self,
        worker: usize,
        shelves: &mut Shelves,
        (outside, protocol): (Ip4End, u8),
        far: u32,
    ) -> bool {
        self.contacts.collect(worker, &mut shelves.contacts, COLLECTED, |_| {});
        let words = contact(outside, protocol, far);
        // Another worker may make it or end it in the same moment.
        (0..COLLECTED).any(|_| {
            self.contacts.hold(&words.key).is_some()
                || matches!(self.contacts.make(worker, &mut shelves.contacts, &words), Made::New(_))
        })
    }
    /// Such a session has ended.
    pub fn release_contact(&self, (outside, protocol): (Ip4End, u8), far: u32) {
        self.contacts.release(&contact(outside, protocol, far).key, |_, _| {});
    }
    /// Takes back what has ended of a worker's mappings, `most` at most; `each` hears of outside ends and protocols. Returns whether some are
    /// left.
    pub fn collect(&self, worker: usize, shelves: &mut Shelves, most: usize, mut each: impl FnMut(Ip4End, u8)) -> bool {
        self.inside.collect(worker, &mut shelves.mappings, most, |words| {
            let (outside, protocol) = of_word(words.value);
            each(outside, protocol);
        })
    }
    /// The mapping in a line of a worker, with the number of its sessions; for readers on other threads.
    pub fn line(&self, worker: usize, line: u32) -> Option<(Shared, u32)> {
        self.inside.entry(worker, line).map(|(words, sessions)| (Shared::of(&words), sessions))
    }
    /// Lines of a worker that may have mappings: those with the lowest numbers.
    pub fn lines(&self, worker: usize) -> u32 {
        self.inside.usable(worker)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const UDP: u8 = 17;

    fn mapping(host: u32, outside: u16, filtering: Filtering) -> Shared {
        let inside = Inside { end: Ip4End { address: host, port: 5000 }, context: 3, protocol: UDP };
        Shared { inside, outside: Ip4End { address: 99, port: outside }, filtering }
    }

    #[test]
    fn a_mapping_is_found_from_both_sides_until_its_last_session_ends() {
        let mappings = Mappings::new(1, 8, [1, 2, 3, 4]).expect("there is address space");
        let mut shelves = Shelves::default();
        let new = mapping(10, 6000, Filtering::EndpointIndependent);
        assert!(matches!(mappings.make(0, &mut shelves, &new), Made::New(_)));
        assert_eq!(mappings.hold(&new.inside), Some(new));
        for other in [Inside { context: 4, ..new.inside }, Inside { protocol: 6, ..new.inside }] {
            assert_eq!(mappings.from(&other), None);
        }
        assert_eq!(mappings.to(new.outside, UDP, 77), Some(new));
        assert_eq!((mappings.to(new.outside, 6, 77), mappings.to(new.inside.end, UDP, 77)), (None, None));
        let lines = 0..mappings.lines(0);
        assert_eq!(lines.filter_map(|line| mappings.line(0, line)).collect::<Vec<_>>(), [(new, 2)]);
        mappings.release(&new.inside);
        assert_eq!((mappings.from(&new.inside), mappings.to(new.outside, UDP, 77)), (Some(new), Some(new)));
        mappings.release(&new.inside);
        assert_eq!((mappings.from(&new.inside), mappings.to(new.outside, UDP, 77)), (None, None));
        let mut freed = vec![];
        mappings.collect(0, &mut shelves, 9, |end, protocol| freed.push((end, protocol)));
        assert_eq!(freed, [(new.outside, UDP)]);
    }

    #[test]
    fn filters_let_in_what_they_say() {
        let mappings = Mappings::new(1, 8, [1, 2, 3, 4]).expect("there is address space");
        let mut shelves = Shelves::default();
        let by_address = mapping(10, 6000, Filtering::AddressDependent);
        let by_both = mapping(11, 6001, Filtering::AddressAndPortDependent);
        for new in [by_address, by_both] {
            assert!(matches!(mappings.make(0, &mut shelves, &new), Made::New(_)));
            assert!((0..2).all(|_| mappings.hold_contact(0, &mut shelves, (new.outside, UDP), 77)));
        }
        let to = |of: Shared, far| mappings.to(of.outside, UDP, far);
        assert_eq!((to(by_address, 77), to(by_address, 78), to(by_both, 77)), (Some(by_address), None, None));
        mappings.release_contact((by_address.outside, UDP), 77);
        assert_eq!(to(by_address, 77), Some(by_address));
        mappings.release_contact((by_address.outside, UDP), 77);
        assert_eq!(to(by_address, 77), None);
    }
}
