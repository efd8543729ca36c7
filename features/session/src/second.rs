//! Second keys: a session whose packets are translated is found by the tuple behind the translation, too.
//!
//! A session of a worker can have a [`Second`]: the tuple that its packets have on the far side, and what the room that translates keeps
//! with it. Seconds have a directory of their own, so that sessions without one cost nothing, and are counted once. They end with their
//! sessions, and the room hears of it. [`translation`](crate::translation) has what rooms call.

use std::io;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

pub use quiver_table::Reference;
use quiver_table::directory::Home;
use quiver_table::{Cells, Directory, Inserted, KeyedHash};
use zerocopy::FromZeros;

use crate::key::{Ends4, Key};
use crate::record::OWNED_MAX;

/// Kind of entries in both directories: there is one.
const KIND: u8 = 0;

/// Flag of a [`Second`] that all rooms share: the end on this side is the higher end of the first key.
pub const INSIDE_HIGH: u16 = 1 << 0;

/// An IPv4 address and a port, or the identifier of an ICMP echo.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ip4End {
    /// Address.
    pub address: u32,
    /// Port.
    pub port: u16,
}

/// The tuple of packets on the far side of a translation. It is not normalized: packets from `far` to `near` are found by it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SecondKey {
    /// The end there.
    pub far: Ip4End,
    /// The address and port to which the end on this side is translated.
    pub near: Ip4End,
    /// Context there.
    pub context: u32,
    /// IP protocol number.
    pub protocol: u8,
}

impl SecondKey {
    /// Addresses, ports with context, protocol.
    fn words(&self) -> [u64; 3] {
        let addresses = u64::from(self.far.address) << 32 | u64::from(self.near.address);
        let ports = u64::from(self.far.port) << 48 | u64::from(self.near.port) << 32 | u64::from(self.context);
        [addresses, ports, self.protocol.into()]
    }
}

/// A session's second key, and what the room that translates keeps with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Second {
    /// The key.
    pub key: SecondKey,
    /// Flags of the room; [`INSIDE_HIGH`] among them.
    pub flags: u16,
    /// A number of the room.
    pub note: u32,
}

/// The third word: protocol 8 bits, live 1 bit, flags 16 from bit 16 on, note 32 from bit 32 on.
const LIVE: u64 = 1 << 8;

/// The third word.
#[derive(Clone, Copy)]
pub(crate) struct Rest(u64);

impl Rest {
    #[inline(always)]
    pub(crate) fn is_live(self) -> bool {
        self.0 & LIVE != 0
    }
    #[inline(always)]
    pub(crate) fn flags(self) -> u16 {
        (self.0 >> 16) as u16
    }
    #[inline(always)]
    pub(crate) fn has(self, flag: u16) -> bool {
        self.flags() & flag != 0
    }
    #[inline(always)]
    pub(crate) fn note(self) -> u32 {
        (self.0 >> 32) as u32
    }
}

/// A [`Second`] in memory, of atomic words, as a record.
#[derive(Default, FromZeros)]
#[repr(C, align(32))]
pub(crate) struct Line([AtomicU64; 3], [u8; 8]);

impl Line {
    fn store(&self, second: &Second) {
        let [addresses, ports, protocol] = second.key.words();
        self.0[0].store(addresses, Relaxed);
        self.0[1].store(ports, Relaxed);
        let rest = protocol | u64::from(second.flags) << 16 | u64::from(second.note) << 32;
        self.0[2].store(rest | LIVE, Release);
    }
    /// Whether it has a key, by its words: addresses, ports with context, protocol.
    #[inline(always)]
    pub(crate) fn has_words(&self, [addresses, ports, protocol]: &[u64; 3]) -> bool {
        let differs = ((self.0[2].load(Relaxed) & 0x1ff) ^ (protocol | LIVE))
            | (self.0[0].load(Relaxed) ^ addresses)
            | (self.0[1].load(Relaxed) ^ ports);
        differs == 0
    }
    /// The third word.
    #[inline(always)]
    pub(crate) fn rest(&self) -> Rest {
        Rest(self.0[2].load(Relaxed))
    }
    /// The ends of packets from the far side.
    #[inline(always)]
    pub(crate) fn ends(&self) -> Ends4 {
        Ends4 { addresses: self.0[0].load(Relaxed), ports: (self.0[1].load(Relaxed) >> 32) as u32 }
    }
    #[inline(always)]
    fn load(&self) -> Option<Second> {
        let rest = self.0[2].load(Acquire);
        let (addresses, ports) = (self.0[0].load(Relaxed), self.0[1].load(Relaxed));
        let far = Ip4End { address: (addresses >> 32) as u32, port: (ports >> 48) as u16 };
        let near = Ip4End { address: addresses as u32, port: (ports >> 32) as u16 };
        let key = SecondKey { far, near, context: ports as u32, protocol: rest as u8 };
        let rest = Rest(rest);
        let second = Second { key, flags: rest.flags(), note: rest.note() };
        rest.is_live().then_some(second)
    }
    fn clear(&self) {
        self.0[2].store(0, Relaxed);
    }
}

/// Called by a worker, of a session of its own that ends: the worker, the session's key and its second.
pub(crate) type Ended = Box<dyn Fn(usize, &Key, &Second) + Send + Sync>;

/// All seconds.
pub(crate) struct Seconds {
    directory: Directory,
    hash: KeyedHash,
    /// The lines of each worker, by the indexes of its records.
    lines: Box<[Cells<Line>]>,
    ended: Ended,
}

impl Seconds {
    /// None yet, of so many sessions of these workers at most.
    ///
    /// # Errors
    /// If the system refuses the address space of the tables.
    pub(crate) fn new((workers, sessions): (usize, usize), secret: [u64; 4], ended: Ended) -> io::Result<Seconds> {
        let most = (sessions * 2).min(OWNED_MAX);
        Ok(Seconds {
            directory: Directory::new(sessions)?,
            hash: KeyedHash::new(secret),
            lines: (0..workers).map(|_| Cells::reserve(most, true)).collect::<io::Result<_>>()?,
            ended,
        })
    }
    fn hash(&self, key: &SecondKey) -> u64 {
        self.hash.hash(&key.words())
    }
    /// The places that the directory has for a key of these words, which are fetched.
    #[inline(always)]
    pub(crate) fn prefetch_words(&self, words: &[u64; 3]) -> Home {
        self.directory.prefetch(self.hash.hash(words))
    }
    /// The session that a key most likely has.
    #[inline(always)]
    pub(crate) fn candidate(&self, home: &Home) -> Option<Reference> {
        self.directory.candidate(home)
    }
    /// The lines of a worker.
    #[inline(always)]
    pub(crate) fn lines_of(&self, worker: usize) -> Option<&Cells<Line>> {
        self.lines.get(worker)
    }
    #[inline(always)]
    fn line(&self, worker: usize, index: u32) -> Option<&Line> {
        self.lines.get(worker)?.get(index as usize)
    }
    /// The same; allocates it. None beyond the last one, or if the system has no memory; for the owner.
    fn allocate(&self, worker: usize, index: u32) -> Option<&Line> {
        self.lines.get(worker)?.obtain(index as usize)
    }
    /// The second of a session.
    #[inline(always)]
    pub(crate) fn get(&self, worker: usize, index: u32) -> Option<Second> {
        self.line(worker, index)?.load()
    }
    /// The session of a key.
    #[inline(always)]
    pub(crate) fn find(&self, key: &SecondKey) -> Option<Reference> {
        self.directory.find(self.hash(key), |reference| self.is(reference, key))
    }
    /// Prefetches where the directory has a key.
    #[inline(always)]
    pub(crate) fn prefetch(&self, key: &SecondKey) {
        let _ = self.directory.prefetch(self.hash(key));
    }
    /// Gives a session, which has none, a second.
    ///
    /// # Errors
    /// The session that has its key; None if there is no room.
    pub(crate) fn insert(&self, at: Reference, second: &Second) -> Result<(), Option<Reference>> {
        let line = self.allocate(usize::from(at.owner), at.index).ok_or(None)?;
        line.store(second);
        let new = reference(usize::from(at.owner), at.index);
        let is_same = |other| self.is(other, &second.key);
        match self.directory.insert(self.hash(&second.key), new, is_same) {
            Inserted::New => Ok(()),
            known => {
                line.clear();
                Err(if let Inserted::Known(other) = known { Some(other) } else { None })
            }
        }
    }
    fn is(&self, reference: Reference, key: &SecondKey) -> bool {
        self.line(usize::from(reference.owner), reference.index).is_some_and(|line| line.has_words(&key.words()))
    }
    /// The session ends.
    pub(crate) fn end(&self, (worker, index): (usize, u32), key: &Key) {
        let Some(line) = self.line(worker, index) else { return };
        let Some(second) = line.load() else { return };
        self.directory.remove(self.hash(&second.key), reference(worker, index));
        line.clear();
        (self.ended)(worker, key, &second);
    }
    /// Bytes of the directory and of the lines.
    pub(crate) fn bytes(&self) -> usize {
        self.directory.bytes() + self.lines.iter().map(Cells::bytes).sum::<usize>()
    }
}

/// The place of a worker's session.
pub(crate) fn reference(worker: usize, index: u32) -> Reference {
    Reference { owner: worker as u8, kind: KIND, index }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_keeps_its_second_and_knows_its_key() {
        let line = Line::default();
        let end = |address, port| Ip4End { address, port };
        let key = SecondKey { far: end(1, 2), near: end(u32::MAX, u16::MAX), context: 5, protocol: 6 };
        let second = Second { key, flags: 0x8001, note: u32::MAX - 1 };
        assert_eq!((line.load(), line.has_words(&key.words())), (None, false));
        line.store(&second);
        assert_eq!((line.load(), line.has_words(&key.words())), (Some(second), true));
        for other in [
            SecondKey { far: end(2, 2), ..key },
            SecondKey { near: end(u32::MAX, 7), ..key },
            SecondKey { context: 6, ..key },
            SecondKey { protocol: 17, ..key },
        ] {
            assert!(!line.has_words(&other.words()), "{other:?}");
        }
        line.clear();
        assert_eq!((line.load(), line.has_words(&key.words())), (None, false));
    }
}
