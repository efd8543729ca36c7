//! Sessions by the source that began them, of tenants that limit how many a source may have.
//!
//! The table is exact, and its size depends on the sessions there are: a source has a count on each worker that owns sessions of it, and
//! the count goes with the last of these. Only that worker changes it; a worker that begins a session reads those of the others. So
//! workers that begin sessions of a source in the same moment may exceed the limit by one each.

use std::io;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};

use quiver_session_events::Reason;
use quiver_table::{Cells, Directory, Inserted, KeyedHash, Reference};
use zerocopy::FromZeros;

use crate::key::Key;
use crate::record::OWNED_MAX;
use crate::second::reference;

/// The source of sessions: the address of their initiator, and the slot of their tenant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Source {
    address: u128,
    /// Slot of the tenant 16 bits, format of the key 8 from bit 16 on.
    of: u32,
}

impl Source {
    /// The source of a session with a key, of the tenant in a slot; its initiator is the higher end or not.
    pub fn of(key: &Key, (slot, is_from_high): (u16, bool)) -> Source {
        let initiator = if is_from_high { key.high() } else { key.low() };
        Source { address: initiator.address, of: u32::from(slot) | u32::from(key.format().number()) << 16 }
    }
    fn words(&self) -> [u64; 2] {
        [(self.address >> 64) as u64, self.address as u64]
    }
}

/// Sessions of a source that a worker owns.
#[derive(Default, FromZeros)]
#[repr(C, align(32))]
struct Count {
    address: [AtomicU64; 2],
    of: AtomicU32,
    sessions: AtomicU32,
}

impl Count {
    fn store(&self, source: &Source) {
        self.address.iter().zip(source.words()).for_each(|(own, word)| own.store(word, Relaxed));
        self.of.store(source.of, Relaxed);
    }
    fn is(&self, source: &Source) -> bool {
        self.of.load(Relaxed) == source.of
            && self.address.iter().zip(source.words()).all(|(own, word)| own.load(Relaxed) == word)
    }
}

/// Free counts of a worker.
#[derive(Default)]
pub(crate) struct Free {
    /// Counts that were never used begin here.
    fresh: u32,
    free: Vec<u32>,
}

/// All counts.
pub(crate) struct Sources {
    directory: Directory,
    hash: KeyedHash,
    /// Those of each worker.
    counts: Box<[Cells<Count>]>,
}

impl Sources {
    /// None yet, of so many sessions of these workers at most.
    ///
    /// # Errors
    /// If the system refuses the address space of the table.
    pub fn new((workers, sessions): (usize, usize), secret: [u64; 4]) -> io::Result<Sources> {
        let most = (sessions * 2).min(OWNED_MAX);
        Ok(Sources {
            directory: Directory::new(sessions)?,
            hash: KeyedHash::new(secret),
            counts: (0..workers).map(|_| Cells::reserve(most, false)).collect::<io::Result<_>>()?,
        })
    }
    /// Bytes of the directory and of the counts.
    pub fn bytes(&self) -> usize {
        self.directory.bytes() + self.counts.iter().map(Cells::bytes).sum::<usize>()
    }
    fn hash(&self, worker: usize, source: &Source) -> u64 {
        let [first, second] = source.words();
        self.hash.hash(&[first, second, u64::from(source.of) | (worker as u64) << 32])
    }
    fn count(&self, at: Reference) -> Option<&Count> {
        self.counts.get(usize::from(at.owner))?.get(at.index as usize)
    }
    /// The count of a source on a worker. Of another worker it may have gone and be a new one: then it is wrong for one packet.
    fn find(&self, worker: usize, source: &Source) -> Option<(Reference, &Count)> {
        let is =
            |at: Reference| usize::from(at.owner) == worker && self.count(at).is_some_and(|count| count.is(source));
        let at = self.directory.find(self.hash(worker, source), is)?;
        Some((at, self.count(at)?))
    }
    /// Sessions of a source.
    fn sessions(&self, source: &Source) -> u32 {
        let counts = (0..self.counts.len()).filter_map(|worker| self.find(worker, source));
        counts.map(|(_, count)| count.sessions.load(Relaxed)).sum()
    }
    /// Counts a session of a worker at its source, which may have so many.
    ///
    /// # Errors
    /// The source has as many, or there is no room.
    pub fn enter(&self, (worker, free): (usize, &mut Free), source: &Source, most: u32) -> Result<(), Reason> {
        if self.sessions(source) >= most {
            return Err(Reason::SourceQuota);
        }
        if let Some((_, count)) = self.find(worker, source) {
            count.sessions.store(count.sessions.load(Relaxed) + 1, Relaxed);
            return Ok(());
        }
        let index = free.free.pop().unwrap_or(free.fresh);
        let count =
            self.counts.get(worker).and_then(|counts| counts.obtain(index as usize)).ok_or(Reason::TableFull)?;
        free.fresh = free.fresh.max(index + 1);
        count.store(source);
        count.sessions.store(1, Relaxed);
        let is_same =
            |at: Reference| usize::from(at.owner) == worker && self.count(at).is_some_and(|count| count.is(source));
        match self.directory.insert(self.hash(worker, source), reference(worker, index), is_same) {
            Inserted::New => Ok(()),
            _ => {
                free.free.push(index);
                Err(Reason::TableFull)
            }
        }
    }
    /// A session of a worker that its source counts ends.
    pub fn leave(&self, (worker, free): (usize, &mut Free), source: &Source) {
        let Some((at, count)) = self.find(worker, source) else { return };
        match count.sessions.load(Relaxed) {
            0 | 1 => {
                self.directory.remove(self.hash(worker, source), at);
                count.sessions.store(0, Relaxed);
                free.free.push(at.index);
            }
            more => count.sessions.store(more - 1, Relaxed),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashMap;

    fn source(address: u128, slot: u16) -> Source {
        Source { address, of: u32::from(slot) | 1 << 16 }
    }

    #[test]
    fn counts_are_those_of_a_naive_map_and_their_room_is_used_again() {
        const WORKERS: usize = 3;
        let sources = Sources::new((WORKERS, 64), [1, 2, 3, 4]).expect("there is address space");
        let mut free: [Free; WORKERS] = Default::default();
        let mut model: HashMap<(u128, u16), Vec<usize>> = HashMap::new();
        let mut random = fastrand::Rng::with_seed(1);
        let (mut refused, mut entered) = (0, 0);
        for _ in 0..50_000 {
            let (address, slot) = (random.u128(..12) << 100 | random.u128(..2), random.u16(..2));
            let (source, owners) = (source(address, slot), model.entry((address, slot)).or_default());
            if random.u8(..9) < 5 {
                let worker = random.usize(..WORKERS);
                let result = sources.enter((worker, &mut free[worker]), &source, 3);
                assert_eq!(result, if owners.len() < 3 { Ok(()) } else { Err(Reason::SourceQuota) });
                match result {
                    Ok(()) => (owners.push(worker), entered += 1).0,
                    Err(_) => refused += 1,
                }
            } else if !owners.is_empty() {
                let worker = owners.swap_remove(random.usize(..owners.len()));
                sources.leave((worker, &mut free[worker]), &source);
            }
            assert_eq!(sources.sessions(&source) as usize, model[&(address, slot)].len());
        }
        assert!(refused > 1000 && entered > 10_000, "{refused} and {entered}");
        // 48 sources at most, each with a count on each worker.
        assert!(free.iter().all(|free| free.fresh <= 48));
        for ((address, slot), owners) in model {
            let source = source(address, slot);
            owners.into_iter().for_each(|worker| sources.leave((worker, &mut free[worker]), &source));
        }
        assert!(sources.directory.is_empty());
        assert!(free.iter().all(|free| free.free.len() == free.fresh as usize), "no count is lost");
    }

    #[test]
    fn a_full_table_refuses_and_counts_nothing() {
        let sources = Sources::new((1, 8), [1, 2, 3, 4]).expect("there is address space");
        let mut free = Free::default();
        let entered = (0..10_000).filter(|address| sources.enter((0, &mut free), &source(*address, 0), 1).is_ok());
        let entered: Vec<_> = entered.collect();
        assert!(entered.len() >= 8 && entered.len() < 10_000, "{}", entered.len());
        for address in entered {
            sources.leave((0, &mut free), &source(address, 0));
        }
        assert_eq!((sources.directory.len(), free.free.len()), (0, free.fresh as usize));
    }
}
