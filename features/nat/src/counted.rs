//! Counted entries: values that sessions of all workers share. Each is found by a key, and ends with its last session.
//!
//! An entry lies in a line of the worker that made it, and a directory leads every worker to it. Generation and count are one word: a worker
//! holds an entry by adding one to a count that is not zero, and sees in the same step that the words it has compared are those of the entry.
//! So lines are used again at once, without rounds of rest as those of sessions.
//!
//! The worker that takes the last hold removes the entry, and puts the line onto a stack of its owner. Only the owner takes lines from there,
//! all at once. No worker waits for another one.

use std::io;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use std::sync::atomic::fence;

use quiver_table::{Cells, Directory, Inserted, KeyedHash, Reference};
use zerocopy::FromZeros;

/// Key and value of an entry.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Words {
    /// The key.
    pub key: [u64; 2],
    /// The value.
    pub value: u64,
}

/// Generation in the upper half of a state, number of holds in the lower one.
const GENERATION: u64 = 1 << 32;
/// The directory may still refuse the entry: no other worker can hold it.
const TENTATIVE: u64 = 1 << 31;

fn holds(state: u64) -> u32 {
    state as u32 & !(TENTATIVE as u32)
}
fn is_live(state: u64) -> bool {
    holds(state) != 0 && state & TENTATIVE == 0
}

/// An entry in memory.
#[derive(Default, FromZeros)]
#[repr(C, align(64))]
struct Line {
    key: [AtomicU64; 2],
    value: AtomicU64,
    state: AtomicU64,
    /// Behind it on the owner's stack: one more than a line's number, or 0.
    next: AtomicU64,
    rest: [u64; 3],
}

impl Line {
    fn words(&self) -> Words {
        Words { key: [0, 1].map(|at: usize| self.key[at].load(Relaxed)), value: self.value.load(Relaxed) }
    }
    /// The words of a line, and its state then; None if another entry has begun meanwhile.
    fn read(&self) -> Option<(Words, u64)> {
        let state = self.state.load(Acquire);
        let words = self.words();
        fence(Acquire);
        (self.state.load(Relaxed) / GENERATION == state / GENERATION).then_some((words, state))
    }
    /// The words of an entry, if they are right.
    fn look(&self, is: impl Fn(&Words) -> bool) -> Option<Words> {
        let (words, state) = self.read()?;
        (is_live(state) && is(&words)).then_some(words)
    }
    /// The same, with one hold more.
    fn hold(&self, is: impl Fn(&Words) -> bool) -> Option<Words> {
        let mut state = self.state.load(Acquire);
        while is_live(state) {
            let words = self.words();
            if !is(&words) {
                return None;
            }
            match self.state.compare_exchange(state, state + 1, AcqRel, Acquire) {
                Ok(_) => return Some(words),
                Err(now) => state = now,
            }
        }
        None
    }
    /// Begins an entry in a line that has none: for the owner. It has one hold, and is tentative.
    fn begin(&self, words: &Words) {
        self.key.iter().zip(words.key).for_each(|(own, word)| own.store(word, Relaxed));
        self.value.store(words.value, Relaxed);
        let generation = self.state.load(Relaxed) & !(GENERATION - 1);
        self.state.store(generation.wrapping_add(GENERATION) | TENTATIVE | 1, Release);
    }
}

/// Lines of a worker that have no entry: for that worker alone.
#[derive(Debug, Default)]
pub struct Shelf {
    free: Vec<u32>,
    /// Lines that were never used begin here.
    fresh: u32,
    /// Taken from the stack, and not looked at yet: one more than a line's number, or 0.
    pending: u64,
}

/// Result of [`Counted::make`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Made {
    /// The entry is there, with one hold.
    New(Reference),
    /// Another worker has made one with this key in the same moment.
    Known,
    /// There is no room.
    Full,
}

/// Entries of all workers.
pub struct Counted {
    directory: Directory,
    hash: KeyedHash,
    lines: Box<[Cells<Line>]>,
    /// Stacks of lines whose entries have ended: one more than a line's number, or 0.
    ended: Box<[AtomicU64]>,
    most: usize,
}

impl Counted {
    /// No entries, and at most `most`.
    ///
    /// # Errors
    /// If the system refuses the address space.
    pub fn new(workers: usize, most: usize, secret: [u64; 4]) -> io::Result<Counted> {
        // Ended entries stay until their owner frees them.
        let most = most * 2;
        Ok(Counted {
            directory: Directory::new(most)?,
            hash: KeyedHash::new(secret),
            lines: (0..workers).map(|_| Cells::reserve(most, false)).collect::<io::Result<_>>()?,
            ended: (0..workers).map(|_| AtomicU64::new(0)).collect(),
            most,
        })
    }
    fn line(&self, at: Reference) -> Option<&Line> {
        self.lines.get(usize::from(at.owner))?.get(at.index as usize)
    }
    fn hash(&self, key: &[u64; 2]) -> u64 {
        self.hash.hash(key)
    }
    /// The words of the entry at a place, if they are right.
    pub fn look(&self, at: Reference, is: impl Fn(&Words) -> bool) -> Option<Words> {
        self.line(at)?.look(is)
    }
    /// The words of the entry of a key.
    pub fn find(&self, key: &[u64; 2]) -> Option<Words> {
        let mut found = None;
        self.directory.find(self.hash(key), |at| {
            found = self.look(at, |words| words.key == *key);
            found.is_some()
        })?;
        found
    }
    /// The same, with one hold more, which is released later.
    pub fn hold(&self, key: &[u64; 2]) -> Option<Words> {
        let mut found = None;
        self.directory.find(self.hash(key), |at| {
            found = self.line(at).and_then(|line| line.hold(|words| words.key == *key));
            found.is_some()
        })?;
        found
    }
    /// Makes an entry of a worker, with one hold, unless there is one with its key.
    pub fn make(&self, worker: usize, shelf: &mut Shelf, words: &Words) -> Made {
        let fresh = || {
            let fresh = shelf.fresh;
            ((fresh as usize) < self.most).then(|| {
                shelf.fresh += 1;
                fresh
            })
        };
        let Some(index) = shelf.free.pop().or_else(fresh) else { return Made::Full };
        let at = Reference { owner: worker as u8, kind: 0, index };
        let Some(line) = self.lines.get(worker).and_then(|lines| lines.obtain(index as usize)) else {
            shelf.free.push(index);
            return Made::Full;
        };
        line.begin(words);
        let is_same = |other| {
            let read = self.line(other).and_then(Line::read);
            read.is_some_and(|(known, state)| holds(state) != 0 && known.key == words.key)
        };
        match self.directory.insert(self.hash(&words.key), at, is_same) {
            Inserted::New => {
                line.state.fetch_and(!TENTATIVE, AcqRel);
                Made::New(at)
            }
            known => {
                line.state.fetch_and(!(GENERATION - 1), AcqRel);
                shelf.free.push(index);
                if matches!(known, Inserted::Known(_)) { Made::Known } else { Made::Full }
            }
        }
    }
    /// Takes back a hold on the entry of a key. With the last one the entry ends, which `ended` hears before the line can be used again.
    pub fn release(&self, key: &[u64; 2], ended: impl FnOnce(Reference, &Words)) {
        let hash = self.hash(key);
        let is = |at| self.look(at, |words| words.key == *key).is_some();
        let Some(at) = self.directory.find(hash, is) else { return };
        let (Some(line), Some(stack)) = (self.line(at), self.ended.get(usize::from(at.owner))) else { return };
        let words = line.words();
        if holds(line.state.fetch_sub(1, AcqRel)) > 1 {
            return;
        }
        self.directory.remove(hash, at);
        ended(at, &words);
        let mut top = stack.load(Relaxed);
        loop {
            line.next.store(top, Relaxed);
            match stack.compare_exchange_weak(top, u64::from(at.index) + 1, AcqRel, Relaxed) {
                Ok(_) => return,
                Err(now) => top = now,
            }
        }
    }
    /// Takes lines of a worker whose entries have ended, `most` at most; `each` hears of their words. Returns whether some are left.
    pub fn collect(&self, worker: usize, shelf: &mut Shelf, most: usize, mut each: impl FnMut(&Words)) -> bool {
        let (Some(stack), Some(lines)) = (self.ended.get(worker), self.lines.get(worker)) else { return false };
        for _ in 0..most {
            if shelf.pending == 0 && stack.load(Relaxed) != 0 {
                shelf.pending = stack.swap(0, AcqRel);
            }
            let Some(index) = shelf.pending.checked_sub(1) else { return false };
            let Some(line) = lines.get(index as usize) else { return false };
            each(&line.words());
            shelf.pending = line.next.load(Relaxed);
            shelf.free.push(index as u32);
        }
        shelf.pending != 0 || stack.load(Relaxed) != 0
    }
    /// Words and holds of each entry of a worker, by the numbers of lines; for readers on other threads.
    pub fn entry(&self, worker: usize, index: u32) -> Option<(Words, u32)> {
        let line = self.lines.get(worker)?.get(index as usize)?;
        let (words, state) = line.read().filter(|(_, state)| is_live(*state))?;
        Some((words, holds(state)))
    }
    /// Lines of a worker that may have entries: those with the lowest numbers.
    pub fn usable(&self, worker: usize) -> u32 {
        self.lines.get(worker).map_or(0, |lines| lines.usable() as u32)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::sync::atomic::AtomicUsize;

    use super::*;

    fn words(key: u64, value: u64) -> Words {
        Words { key: [key, !key], value }
    }

    #[test]
    fn an_entry_ends_with_its_last_hold_and_its_line_is_used_again() {
        let counted = Counted::new(2, 1, [1, 2, 3, 4]).expect("there is address space");
        let mut shelf = Shelf::default();
        let Made::New(at) = counted.make(1, &mut shelf, &words(7, 70)) else { panic!("it is the first one") };
        assert_eq!(counted.make(1, &mut shelf, &words(7, 71)), Made::Known);
        assert_eq!((counted.find(&[7, !7]), counted.find(&[8, !8])), (Some(words(7, 70)), None));
        assert_eq!(counted.hold(&[7, !7]), Some(words(7, 70)));
        assert_eq!(counted.entry(1, at.index), Some((words(7, 70), 2)));
        let mut ended = vec![];
        counted.release(&[7, !7], |at, words| ended.push((at, *words)));
        assert!(ended.is_empty());
        counted.release(&[7, !7], |at, words| ended.push((at, *words)));
        assert_eq!((ended, counted.hold(&[7, !7])), (vec![(at, words(7, 70))], None));
        // Its owner has not seen it yet: the other line is used.
        let Made::New(second) = counted.make(1, &mut shelf, &words(7, 72)) else { panic!("the first one has ended") };
        assert_ne!(at, second);
        assert_eq!(counted.make(1, &mut shelf, &words(8, 80)), Made::Full);
        let mut collected = vec![];
        assert!(!counted.collect(1, &mut shelf, 10, |words| collected.push(*words)));
        assert_eq!(collected, [words(7, 70)]);
        assert_eq!(counted.make(1, &mut shelf, &words(8, 80)), Made::New(at));
    }

    #[test]
    fn few_ended_entries_are_collected_at_a_time() {
        let counted = Counted::new(1, 100, [1, 2, 3, 4]).expect("there is address space");
        let mut shelf = Shelf::default();
        for key in 0..100 {
            assert!(matches!(counted.make(0, &mut shelf, &words(key, key)), Made::New(_)));
        }
        (0..100).for_each(|key| counted.release(&[key, !key], |_, _| {}));
        let mut seen = BTreeSet::new();
        let mut calls = 1;
        while counted.collect(0, &mut shelf, 30, |words| {
            seen.insert(words.value);
        }) {
            calls += 1;
        }
        assert_eq!((seen.len(), calls), (100, 4));
    }

    /// Threads hold, make and release the same few keys. While a thread holds an entry, every thread finds that one; each that has ended is
    /// collected once, and all end.
    #[test]
    fn threads_that_hold_a_key_have_the_same_value() {
        const THREADS: usize = 4;
        const KEYS: u64 = 3;
        let counted = Counted::new(THREADS, 64, [5, 6, 7, 8]).expect("there is address space");
        let (made, collected) = (AtomicUsize::new(0), AtomicUsize::new(0));
        std::thread::scope(|scope| {
            for worker in 0..THREADS {
                let (counted, made, collected) = (&counted, &made, &collected);
                scope.spawn(move || {
                    let (mut shelf, mut random) = (Shelf::default(), fastrand::Rng::with_seed(worker as u64));
                    let collect = |shelf: &mut Shelf| {
                        counted.collect(worker, shelf, 8, |_| {
                            collected.fetch_add(1, Relaxed);
                        });
                    };
                    for step in 0..50_000u64 {
                        collect(&mut shelf);
                        let key = random.u64(..KEYS);
                        let held = counted.hold(&[key, !key]).or_else(|| {
                            let new = words(key, (worker as u64) << 32 | step);
                            match counted.make(worker, &mut shelf, &new) {
                                Made::New(_) => {
                                    made.fetch_add(1, Relaxed);
                                    Some(new)
                                }
                                Made::Known => None,
                                Made::Full => panic!("there is room"),
                            }
                        });
                        let Some(held) = held else { continue };
                        assert_eq!((held.key, counted.find(&[key, !key])), ([key, !key], Some(held)));
                        counted.release(&[key, !key], |_, words| assert_eq!(*words, held));
                    }
                    collect(&mut shelf);
                });
            }
        });
        let mut shelves: Vec<_> = (0..THREADS).map(|_| Shelf::default()).collect();
        for (worker, shelf) in shelves.iter_mut().enumerate() {
            while counted.collect(worker, shelf, 64, |_| {
                collected.fetch_add(1, Relaxed);
            }) {}
        }
        assert_eq!(made.into_inner(), collected.into_inner());
        assert!((0..KEYS).all(|key| counted.find(&[key, !key]).is_none()));
    }
}
