//! The directory of sessions against a naive map, filled to its limits, and with many writers.
use proptest::prelude::*;
use quiver_table::{Directory, Inserted, KeyedHash, Reference};
use std::collections::{HashMap, VecDeque};
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::thread;

/// The hash of a key by number, and the reference of the record with that number.
fn hash(n: u32) -> u64 {
    static HASH: LazyLock<KeyedHash> = LazyLock::new(|| KeyedHash::new([5; 4]));
    HASH.hash(&[n.into()])
}
fn record(n: u32) -> Reference {
    Reference { owner: n as u8, kind: n as u8 % 16, index: n }
}
fn insert(directory: &Directory, n: u32) -> Inserted {
    directory.insert(hash(n), record(n), |other| other.index == n)
}
fn finds(directory: &Directory, n: u32) -> bool {
    directory.find(hash(n), |other| other.index == n) == Some(record(n))
}

#[derive(Clone, Debug)]
enum Change {
    Insert(u32),
    Replace(u32),
    Remove(u32),
}

fn change() -> impl Strategy<Value = Change> {
    let key = || 0_u32..100;
    prop_oneof![4 => key().prop_map(Change::Insert), 1 => key().prop_map(Change::Replace), 3 => key().prop_map(Change::Remove)]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(50))]
    #[test]
    #[cfg_attr(miri, ignore = "it is about answers, not memory, and would take hours")]
    fn agrees_with_the_oracle(hashes in prop::collection::vec(any::<u64>(), 1..20), changes in prop::collection::vec(change(), 1..600)) {
        // Keys share hashes, so that buckets overflow and tags are not enough. The records are only added to.
        let directory = Directory::new(60).expect("address space");
        let (mut records, mut oracle) = (vec![], HashMap::<u32, Reference>::new());
        let hash = |key: u32| hashes[key as usize % hashes.len()];
        for change in changes {
            let new = Reference { owner: records.len() as u8 % 3, kind: 15, index: records.len() as u32 };
            let (Change::Insert(key) | Change::Replace(key) | Change::Remove(key)) = change;
            records.push(key);
            let known = oracle.get(&key).copied();
            match change {
                Change::Insert(_) => {
                    let inserted = directory.insert(hash(key), new, |other| records[other.index as usize] == key);
                    let expected = known.map_or(Inserted::New, Inserted::Known);
                    // It has 72 slots in the overflow area, and two buckets for each hash.
                    prop_assert!(inserted == expected || inserted == Inserted::Full && known.is_none() && oracle.len() > 60);
                    if inserted == Inserted::New {
                        oracle.insert(key, new);
                    }
                }
                Change::Replace(_) => {
                    let old = known.unwrap_or(Reference { owner: 0, kind: 0, index: 0 });
                    prop_assert_eq!(directory.replace(hash(key), old, new), known.is_some());
                    oracle.entry(key).and_modify(|to| *to = new);
                }
                Change::Remove(_) => {
                    let old = oracle.remove(&key).unwrap_or(new);
                    prop_assert_eq!(directory.remove(hash(key), old), known.is_some());
                    prop_assert!(!directory.remove(hash(key), old));
                }
            }
            prop_assert_eq!(directory.len(), oracle.len());
            for key in 0..100 {
                let found = directory.find(hash(key), |other| records[other.index as usize] == key);
                prop_assert_eq!(found, oracle.get(&key).copied());
            }
        }
    }
}

/// Exactly as many as it was made for, then sessions that come and go, none of which is refused.
#[test]
fn as_many_as_configured_fit_and_stay_when_others_come_and_go() {
    let sizes: &[u32] = if cfg!(miri) { &[1, 70] } else { &[0, 1, 7, 64, 1000, 1 << 16, 1 << 20] };
    for &capacity in sizes {
        let directory = Directory::new(capacity as usize).expect("address space");
        assert_eq!((directory.capacity(), directory.is_empty()), (capacity as usize, true));
        (0..capacity).for_each(|n| assert_eq!(insert(&directory, n), Inserted::New, "{n} of {capacity}"));
        assert!((0..capacity).all(|n| finds(&directory, n)));
        assert!((capacity..2 * capacity).all(|n| directory.find(hash(n), |other| other.index == n).is_none()));
        let (mut there, mut random) = ((0..capacity).collect::<Vec<_>>(), fastrand::Rng::with_seed(1));
        for n in capacity..capacity * if capacity > 1 << 16 { 1 } else { 4 } {
            let place = random.usize(..there.len());
            let gone = std::mem::replace(&mut there[place], n);
            assert!(directory.remove(hash(gone), record(gone)));
            assert_eq!(insert(&directory, n), Inserted::New, "{n} of {capacity}");
        }
        assert!(there.iter().all(|n| finds(&directory, *n)));
        assert_eq!(directory.len(), capacity as usize);
    }
}

#[test]
fn it_is_full_at_no_less_than_95_percent_of_its_slots() {
    let directory = Directory::new(if cfg!(miri) { 300 } else { 1 << 18 }).expect("address space");
    let taken = (0..).take_while(|n| insert(&directory, *n) == Inserted::New).count() as u32;
    assert!(f64::from(taken) > 0.95 * directory.slots() as f64, "{taken} of {}", directory.slots());
    assert!((0..taken).all(|n| finds(&directory, n)), "a refusal changes nothing");
    assert_eq!(insert(&directory, 0), Inserted::Known(record(0)));
    assert!(directory.remove(hash(0), record(0)));
    assert_eq!((directory.len() as u32, insert(&directory, 0)), (taken - 1, Inserted::New));
    assert!(directory.bytes() < directory.capacity() * 10 + 12_000, "{}", directory.bytes());
}

#[test]
fn candidates_are_the_entries_of_most_keys() {
    let directory = Directory::new(1 << 14).expect("address space");
    (0..1 << 14).for_each(|n| assert_eq!(insert(&directory, n), Inserted::New));
    let right = (0..1 << 14).filter(|n| directory.candidate(&directory.prefetch(hash(*n))) == Some(record(*n))).count();
    let wrong = (1 << 14..1 << 15).filter(|n| directory.candidate(&directory.prefetch(hash(*n))).is_some()).count();
    assert!(right > 15_900 && wrong < 20, "{right} of 16,384, and {wrong} keys that are not there");
}

/// Records that nobody uses, each until all threads have gone on since it was freed: as sessions' records rest, so that none changes its
/// key while another thread compares it.
struct Resting<'a> {
    /// Turns of all threads.
    turns: &'a [AtomicUsize],
    records: VecDeque<(usize, Vec<usize>)>,
}

impl Resting<'_> {
    fn rest(&mut self, record: usize) {
        let turns = self.turns.iter().map(|turn| turn.load(Ordering::SeqCst)).collect();
        self.records.push_back((record, turns));
    }
    fn take(&mut self) -> Option<usize> {
        let (_, then) = self.records.front()?;
        let has_rested = self.turns.iter().zip(then).all(|(now, then)| now.load(Ordering::SeqCst) > *then);
        has_rested.then(|| self.records.pop_front()).flatten().map(|(record, _)| record)
    }
}

/// Workers insert and remove few keys, while other keys change their records and stay. Each sees at once if a key has two entries, or if
/// one that stays is not found.
#[test]
fn many_writers_make_one_entry_per_key_and_lose_none() {
    const WORKERS: usize = 4;
    const KEYS: usize = 40;
    const ROUNDS: usize = if cfg!(miri) { 60 } else { 8_000 };
    /// Records of an owner.
    const RECORDS: usize = 64;
    /// Keys that an owner inserts at most.
    const MINE: usize = 16;
    /// The turn of a thread that has ended.
    const ENDED: usize = usize::MAX;
    // The keys have three hashes, so that they overflow.
    let hash = |key: u64| hash(key as u32 % 3);
    let directory = Directory::new(KEYS + WORKERS).expect("address space");
    let records: Vec<[AtomicU64; RECORDS]> =
        (0..WORKERS).map(|_| std::array::from_fn(|_| AtomicU64::new(u64::MAX))).collect();
    let is = |key: u64| {
        let records = &records;
        move |to: Reference| records[usize::from(to.owner)][to.index as usize].load(Ordering::SeqCst) == key
    };
    let entries: Vec<AtomicUsize> = (0..KEYS).map(|_| AtomicUsize::new(0)).collect();
    // Those of the workers, and of this thread.
    let turns: Vec<AtomicUsize> = (0..=WORKERS).map(|_| AtomicUsize::new(0)).collect();
    let left: Vec<Vec<(u64, Reference)>> = thread::scope(|scope| {
        let workers: Vec<_> = (0..WORKERS)
            .map(|owner| {
                let (directory, records, entries, turns) = (&directory, &records, &entries, &turns);
                scope.spawn(move || {
                    let reference = |index: usize| Reference { owner: owner as u8, kind: 3, index: index as u32 };
                    let mut random = fastrand::Rng::with_seed(owner as u64);
                    let records_of_none = (1..RECORDS).map(|record| (record, vec![0; turns.len()])).collect();
                    let (mut resting, mut mine) = (Resting { turns, records: records_of_none }, vec![]);
                    let (stays, mut current) = ((KEYS + owner) as u64, 0);
                    records[owner][current].store(stays, Ordering::SeqCst);
                    assert_eq!(directory.insert(hash(stays), reference(current), is(stays)), Inserted::New);
                    for _ in 0..ROUNDS {
                        turns[owner].fetch_add(1, Ordering::SeqCst);
                        let key = random.u64(..KEYS as u64);
                        if let Some(index) = resting.take() {
                            records[owner][index].store(key, Ordering::SeqCst);
                            match directory.insert(hash(key), reference(index), is(key)) {
                                Inserted::New => {
                                    assert_eq!(entries[key as usize].fetch_add(1, Ordering::SeqCst), 0, "two entries");
                                    let found = directory.find(hash(key), is(key));
                                    assert_eq!(found, Some(reference(index)), "of key {key}, which was inserted");
                                    mine.push((key, reference(index)));
                                }
                                known => {
                                    assert!(known != Inserted::Full);
                                    resting.rest(index);
                                }
                            }
                        }
                        if mine.len() > random.usize(..MINE) {
                            let (key, to) = mine.swap_remove(random.usize(..mine.len()));
                            entries[key as usize].fetch_sub(1, Ordering::SeqCst);
                            assert!(directory.remove(hash(key), to), "an entry was lost");
                            resting.rest(to.index as usize);
                        }
                        // The key that stays has another record.
                        match resting.take() {
                            Some(next) => {
                                records[owner][next].store(stays, Ordering::SeqCst);
                                assert!(directory.replace(hash(stays), reference(current), reference(next)));
                                resting.rest(std::mem::replace(&mut current, next));
                            }
                            None => thread::yield_now(),
                        }
                    }
                    turns[owner].store(ENDED, Ordering::SeqCst);
                    mine.push((stays, reference(current)));
                    mine
                })
            })
            .collect();
        let mut looks = 0_u64;
        while workers.iter().any(|worker| !worker.is_finished()) {
            turns[WORKERS].fetch_add(1, Ordering::SeqCst);
            // Those that were there and stayed.
            for owner in 0..WORKERS as u64 {
                let key = KEYS as u64 + owner;
                let was_there = directory.find(hash(key), is(key)).is_some();
                let is_there = directory.find(hash(key), is(key)).is_some();
                assert!(!was_there || is_there, "key {key} was not found after {looks} looks");
                looks += 1;
            }
        }
        workers.into_iter().map(|worker| worker.join().expect("no panic")).collect()
    });
    let left: HashMap<u64, Reference> = left.into_iter().flatten().collect();
    assert_eq!(directory.len(), left.len());
    for key in 0..(KEYS + WORKERS) as u64 {
        assert_eq!(directory.find(hash(key), is(key)), left.get(&key).copied(), "key {key}");
    }
}
