//! The directory of sessions as a stage uses it: many keys at a time, whose lines are on their way together.

use std::hint::black_box;

use quiver_engine::isa::{prefetch, ticks};
use quiver_table::directory::Home;
use quiver_table::{Directory, Inserted, KeyedHash, Reference, in_huge_pages};

use super::{Row, median};
use crate::shape::mix;

/// Sessions as in CSIT's largest profile: 63 ports of each of 65,536 hosts, in a directory configured for 2^22.
const SESSIONS: u32 = 63 << 16;
const CONFIGURED: usize = 1 << 22;
/// Keys that are looked up together.
const BATCH: usize = 64;
/// Keys between two readings of the clock: short enough that some windows are not disturbed.
const WINDOW: u32 = 1 << 14;
const WINDOWS: u32 = 500;
/// How often each session is replaced by another.
const TURNS: u32 = 4;
/// Has no factor in common with the number of sessions, so multiples of it are all sessions in another order.
const STRIDE: u64 = 2_654_435_761;

type Key = [u64; 2];

/// Addresses, ports and protocol of a session by number.
fn key(n: u32) -> Key {
    let (host, port) = (u64::from(n / 63), u64::from(n % 63));
    [(0xc0a8_0000 + host) << 32 | 0x1401_0001, (1024 + port) << 48 | 80 << 32 | 6]
}

/// A session's record: a line, whose key is compared.
#[repr(align(64))]
#[derive(Clone, Copy)]
struct Record {
    key: Key,
    /// State, counters and the like.
    _rest: [u64; 6],
}

struct Sessions {
    directory: Directory,
    hash: KeyedHash,
    records: Box<[Record]>,
}

impl Sessions {
    fn new() -> Result<Sessions, String> {
        Ok(Sessions {
            directory: Directory::new(CONFIGURED).map_err(|error| format!("no address space: {error}"))?,
            hash: KeyedHash::new([1, 2, 3, 4]),
            records: in_huge_pages(CONFIGURED, |_| Record { key: [0; 2], _rest: [0; 6] }),
        })
    }
    fn has(&self, to: Reference, key: &Key) -> bool {
        self.records.get(to.index as usize).is_some_and(|record| record.key == *key)
    }
    /// Looks keys up in stages: their buckets, then the records of candidates, then their keys. Returns how many are there.
    fn find(&self, keys: &[Key; BATCH]) -> usize {
        let (mut hashes, mut homes) = ([0; BATCH], [Home::default(); BATCH]);
        let (mut candidates, mut found) = ([None; BATCH], 0);
        for ((hash, home), key) in hashes.iter_mut().zip(&mut homes).zip(keys) {
            *hash = self.hash.hash(key);
            *home = self.directory.prefetch(*hash);
        }
        for (candidate, home) in candidates.iter_mut().zip(&homes) {
            *candidate = self.directory.candidate(home);
            if let Some(record) = candidate.and_then(|to| self.records.get(to.index as usize)) {
                prefetch(record);
            }
        }
        for ((candidate, hash), key) in candidates.into_iter().zip(hashes).zip(keys) {
            let is_found = candidate.is_some_and(|to| self.has(to, key))
                || self.directory.find(hash, |to| self.has(to, key)).is_some();
            found += usize::from(is_found);
        }
        found
    }
    /// How many of these sessions, all of which are there, lie outside of their two buckets.
    fn overflowed(&self, keys: &[Key]) -> usize {
        let candidate = |key: &&Key| self.directory.candidate(&self.directory.prefetch(self.hash.hash(key)));
        keys.iter().filter(|key| !candidate(key).is_some_and(|to| self.has(to, key))).count()
    }
    /// Sessions end and others begin, in their records, which are these from the first on.
    fn replace(&mut self, gone: &[Key; BATCH], keys: &[Key; BATCH], first: u32) -> Result<(), String> {
        let mut hashes = [0; BATCH];
        for (hash, key) in hashes.iter_mut().zip(gone) {
            *hash = self.hash.hash(key);
            self.directory.prefetch(*hash);
        }
        for (index, hash) in (first..).zip(hashes) {
            if !self.directory.remove(hash, Reference { owner: 0, kind: 0, index }) {
                return Err(format!("session {index} is not there"));
            }
        }
        self.open(keys, first)
    }
    /// New sessions, with the lookups that do not find them. The first record is given, the others follow.
    fn open(&mut self, keys: &[Key; BATCH], first: u32) -> Result<(), String> {
        let mut hashes = [0; BATCH];
        for (hash, key) in hashes.iter_mut().zip(keys) {
            *hash = self.hash.hash(key);
            self.directory.prefetch(*hash);
        }
        for ((index, hash), key) in (first..).zip(hashes).zip(keys) {
            if let Some(record) = self.records.get_mut(index as usize) {
                *record = Record { key: *key, _rest: [0; 6] };
            }
            let new = Reference { owner: 0, kind: 0, index };
            match self.directory.insert(hash, new, |to| self.has(to, key)) {
                Inserted::New => {}
                refused => return Err(format!("session {index} is refused: {refused:?}")),
            }
        }
        Ok(())
    }
}

/// Session `n` of the order in which they are opened, whose hosts and ports follow each other at random. Beyond the last come others.
fn in_order(n: u32) -> Key {
    key(n / SESSIONS * SESSIONS + (u64::from(n % SESSIONS) * STRIDE % u64::from(SESSIONS)) as u32)
}

/// The keys of a window.
fn window(first: u32, key: impl Fn(u32) -> Key) -> Vec<Key> {
    (first..first + WINDOW).map(key).collect()
}

/// Ticks per key of a window.
fn time(keys: &[Key], each: impl FnMut(&[Key; BATCH]) -> Result<(), String>) -> Result<f64, String> {
    let start = ticks();
    black_box(keys).as_chunks::<BATCH>().0.iter().try_for_each(each)?;
    Ok((ticks() - start) as f64 / keys.len() as f64)
}

/// Median ticks of lookups at random, each of which finds its session, or none does.
fn look_up(sessions: &Sessions, from: u32, expected: usize) -> Result<f64, String> {
    let mut times = vec![];
    for first in (0..WINDOWS * WINDOW).step_by(WINDOW as usize) {
        let keys = window(first, |n| in_order(from + (mix(n.into()) % u64::from(SESSIONS)) as u32));
        times.push(time(&keys, |keys| match sessions.find(keys) {
            found if found == expected => Ok(()),
            found => Err(format!("{found} of {BATCH} keys are found, not {expected}")),
        })?);
    }
    Ok(median(times))
}

/// Sessions are opened until all are there, and then found in random order, and others looked for. Then each is replaced by another.
pub fn sessions() -> Result<Vec<Row>, String> {
    let mut sessions = Sessions::new()?;
    let (mut new, mut replaced, mut overflowed) = (vec![], vec![], [0; 2]);
    for first in (0..SESSIONS).step_by(WINDOW as usize) {
        let mut next = first;
        new.push(time(&window(first, in_order), |keys| {
            sessions.open(keys, next)?;
            next += BATCH as u32;
            Ok(())
        })?);
    }
    if sessions.directory.len() != SESSIONS as usize {
        return Err(format!("{} of {SESSIONS} sessions are there", sessions.directory.len()));
    }
    let (hit, miss) = (look_up(&sessions, 0, BATCH)?, look_up(&sessions, SESSIONS, 0)?);
    let count = |sessions: &Sessions, from: u32| -> usize {
        (from..from + SESSIONS).step_by(WINDOW as usize).map(|n| sessions.overflowed(&window(n, in_order))).sum()
    };
    overflowed[0] = count(&sessions, 0);
    // Each record's session is replaced some times.
    for first in (0..TURNS * SESSIONS).step_by(WINDOW as usize) {
        let (gone, mut next) = (window(first, in_order), first % SESSIONS);
        let mut gone = gone.as_chunks::<BATCH>().0.iter();
        replaced.push(time(&window(first + SESSIONS, in_order), |keys| {
            let gone = gone.next().ok_or("both are windows")?;
            sessions.replace(gone, keys, next)?;
            next += BATCH as u32;
            Ok(())
        })?);
    }
    overflowed[1] = count(&sessions, TURNS * SESSIONS);
    let hit_then = look_up(&sessions, TURNS * SESSIONS, BATCH)?;
    let row = |what, value, unit| Row { what, to: "4,128,768 sessions".into(), value, unit };
    let share = |count: usize| 100.0 * count as f64 / f64::from(SESSIONS);
    Ok(vec![
        row("new session, looked up and entered", median(new), "ticks each"),
        row("session found, its record compared", hit, "ticks each"),
        row("unknown session looked up", miss, "ticks each"),
        row("session ends and another begins", median(replaced), "ticks each"),
        row("session found after all were replaced", hit_then, "ticks each"),
        row("sessions outside of their two buckets", share(overflowed[0]), "%"),
        row("the same after all were replaced", share(overflowed[1]), "%"),
        row("directory for 2^22", sessions.directory.bytes() as f64 / f64::from(1 << 20), "MB"),
    ])
}
