//! The exact-match table against a naive oracle, at its limits, and under readers while it changes.
#![cfg(not(loom))]
use proptest::prelude::*;
use quiver_table::{Domain, ExactError, ExactWriter, Keys128, STILL};
use std::collections::HashMap;
use std::thread;

#[derive(Clone, Debug)]
enum Change {
    Insert(u64, u64),
    Remove(u64),
    Touch(u64),
}

fn change() -> impl Strategy<Value = Change> {
    // Few keys, so that they meet again; neighbours, and some far apart.
    let key = || prop_oneof![1_u64..400, (1_u64..50).prop_map(|key| key << 48)];
    prop_oneof![
        5 => (key(), any::<u64>()).prop_map(|(key, value)| Change::Insert(key, value)),
        3 => key().prop_map(Change::Remove),
        2 => key().prop_map(Change::Touch),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]
    #[test]
    #[cfg_attr(miri, ignore = "it is about answers, not memory, and would take hours")]
    fn agrees_with_the_oracle(seed in any::<u64>(), changes in prop::collection::vec(change(), 1..800)) {
        let domain = Domain::new();
        let mut reader = domain.register();
        let mut table = ExactWriter::new(&domain, 1000, seed).unwrap();
        let shared = table.reader();
        let mut oracle: HashMap<u64, (u64, u32)> = HashMap::new();
        for (i, change) in changes.into_iter().enumerate() {
            // A clock that wraps around on the way, and stands still for a moment: that stamp is never stored.
            let stamp = (u32::MAX - 100).wrapping_add(i as u32);
            let key = match change {
                Change::Insert(key, value) => {
                    let old = oracle.insert(key, (value, stamp)).map(|(value, _)| value);
                    prop_assert_eq!(table.insert(key, value, stamp).unwrap(), old);
                    key
                }
                Change::Remove(key) => {
                    prop_assert_eq!(table.remove(key), oracle.remove(&key).map(|(value, _)| value));
                    key
                }
                Change::Touch(key) => {
                    if let Some(entry) = shared.view(reader.guard()).find(key) {
                        entry.touch(stamp);
                    }
                    if stamp != STILL {
                        oracle.entry(key).and_modify(|(_, last_seen)| *last_seen = stamp);
                    }
                    key
                }
            };
            let value = shared.view(reader.guard()).get(key);
            prop_assert_eq!(value, oracle.get(&key).map(|(value, _)| *value));
            // A stamp that a worker set before the table grew only the writer knows for a while.
            prop_assert_eq!(table.get(key).map(|row| (row.value, row.last_seen)), oracle.get(&key).copied());
            // Sometimes the reader passes, sometimes the writer has to do without vacated slots.
            if i % 50 == 0 {
                reader.quiescent();
                domain.reclaim();
            }
        }
        prop_assert_eq!(table.len(), oracle.len());
        let mut rows: Vec<_> = table.iter().map(|row| (row.key, (row.value, row.last_seen))).collect();
        let mut expected: Vec<_> = oracle.into_iter().collect();
        rows.sort_unstable();
        expected.sort_unstable();
        prop_assert_eq!(&rows, &expected);
        let kept = expected.iter().filter(|(key, _)| key % 2 == 0).count();
        prop_assert_eq!(table.retain(|row| row.key % 2 == 0), expected.len() - kept);
        prop_assert_eq!(table.len(), kept);
        for (key, (value, _)) in expected {
            let left = (key % 2 == 0).then_some(value);
            prop_assert_eq!(shared.view(reader.guard()).get(key), left);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]
    #[test]
    #[cfg_attr(miri, ignore = "it is about answers, not memory, and would take hours")]
    fn wide_keys_agree_with_the_oracle(
        seed in any::<u64>(),
        // Keys that have one of their halves in common.
        changes in prop::collection::vec((0_u128..20, 1_u64..20, prop::option::weighted(0.6, any::<u32>())), 1..800),
    ) {
        let domain = Domain::new();
        let mut reader = domain.register();
        let mut table = ExactWriter::<Keys128>::of_lines(&domain, 1000, seed).unwrap();
        let shared = table.reader();
        let mut oracle: HashMap<u128, u32> = HashMap::new();
        for (i, (upper, lower, value)) in changes.into_iter().enumerate() {
            let key = upper << 64 | u128::from(lower);
            match value {
                Some(value) => prop_assert_eq!(table.insert(key, value, 0).unwrap(), oracle.insert(key, value)),
                None => prop_assert_eq!(table.remove(key), oracle.remove(&key)),
            }
            let view = shared.view(reader.guard());
            for key in [key, key ^ 1 << 64, key ^ 1, key.rotate_left(64)] {
                prop_assert_eq!(view.get(key), oracle.get(&key).copied(), "{:x}", key);
            }
            if i % 50 == 0 {
                reader.quiescent();
                domain.reclaim();
            }
        }
        let mut rows: Vec<_> = table.iter().map(|row| (row.key, row.value)).collect();
        let mut expected: Vec<_> = oracle.into_iter().collect();
        rows.sort_unstable();
        expected.sort_unstable();
        prop_assert_eq!((table.len(), rows), (expected.len(), expected));
    }
}

#[test]
fn an_empty_table_gives_its_memory_back() {
    let domain = Domain::new();
    let mut reader = domain.register();
    let mut table = ExactWriter::new(&domain, 10_000, 7).unwrap();
    let nothing = table.memory_bytes();
    let shared = table.reader();
    for round in 0..3 {
        (1..=10_000).for_each(|key| assert!(matches!(table.insert(key, key + round, 0), Ok(None))));
        assert!(table.memory_bytes() > 100 * nothing);
        let view = shared.view(reader.guard());
        assert_eq!(view.get(10_000), Some(10_000 + round));
        // One by one, or all at once.
        if round == 1 {
            assert_eq!(table.retain(|_| false), 10_000);
        } else {
            (1..=10_000).for_each(|key| assert_eq!(table.remove(key), Some(key + round)));
        }
        assert_eq!((table.len(), table.iter().count(), table.memory_bytes()), (0, 0, nothing));
        reader.quiescent();
        assert_eq!(shared.view(reader.guard()).get(10_000), None);
    }
    domain.reclaim();
    assert_eq!(domain.pending(), 0, "nothing of former sizes is kept");
}

#[test]
fn limits_are_typed_errors_that_change_nothing() {
    let domain = Domain::new();
    let mut reader = domain.register();
    let mut table = ExactWriter::new(&domain, 100, 0).unwrap();
    assert!(matches!(table.insert(0, 1, 1), Err(ExactError::NoKey)));
    assert!(table.reader().view(reader.guard()).find(0).is_none(), "an empty slot is not an entry of key 0");
    for key in 1..=100 {
        table.insert(key, key, 0).unwrap();
    }
    assert!(matches!(table.insert(101, 1, 1), Err(ExactError::Full { entries_max: 100 })));
    assert_eq!((table.len(), table.get(101)), (100, None));
    assert_eq!(table.insert(7, 70, 1).unwrap(), Some(7), "an entry that exists can change");

    // A reader that never passes keeps every vacated slot, until the table has no other.
    let (key, error) = (101..1000)
        .find_map(|key| {
            assert!(table.remove(key - 100).is_some());
            table.insert(key, key, 0).err().map(|error| (key, error))
        })
        .expect("slots wait for the reader");
    assert!(matches!(error, ExactError::Draining { waiting: 50.. }), "{error}");
    assert_eq!(table.len(), 99);
    reader.quiescent();
    table.insert(key, key, 0).expect("the reader has passed");
    assert_eq!(table.len(), 100);
    assert!(table.iter().all(|row| row.value == row.key));
}

#[test]
fn a_stamp_set_on_the_former_table_is_not_lost() {
    let domain = Domain::new();
    let mut reader = domain.register();
    let mut table = ExactWriter::new(&domain, 1000, 0).unwrap();
    table.insert(5, 50, 10).unwrap();
    table.insert(6, 60, 20).unwrap();
    let shared = table.reader();
    let former = shared.view(reader.guard());
    let size = table.memory_bytes();
    for key in 100..500 {
        table.insert(key, 0, 0).unwrap();
    }
    assert!(table.memory_bytes() > size);
    former.find(5).unwrap().touch(30);
    shared.view(reader.guard()).find(6).unwrap().touch(40);
    reader.quiescent();
    domain.reclaim();
    table.remove(500);
    assert_eq!(table.get(5).unwrap().last_seen, 30);
    assert_eq!(table.get(6).unwrap().last_seen, 40);
}

#[test]
fn an_entry_in_a_workers_hands_never_becomes_another() {
    let domain = Domain::new();
    let reader = domain.register();
    let mut table = ExactWriter::new(&domain, 100, 0).unwrap();
    table.insert(1, 10, 0).unwrap();
    let shared = table.reader();
    let entry = shared.view(reader.guard()).find(1).unwrap();
    table.remove(1);
    for key in 2..20 {
        table.insert(key, 0, 0).unwrap();
        table.remove(key);
        domain.reclaim();
    }
    for key in 100..110 {
        table.insert(key, 0, 0).unwrap();
    }
    entry.touch(99);
    assert!(table.iter().all(|row| row.last_seen == 0), "the slot was given to another key");
}

#[test]
fn a_million_entries() {
    const ENTRIES: u64 = if cfg!(miri) { 200 } else { 1_000_000 };
    let domain = Domain::new();
    let mut table = ExactWriter::new(&domain, ENTRIES as usize, 0x5eed).unwrap();
    let key = |i: u64| (1 << 48) | (0x0242_0000_0000 + i);
    for i in 0..ENTRIES {
        table.insert(key(i), i, 0).unwrap();
    }
    domain.reclaim();
    let reader = domain.register();
    let shared = table.reader();
    let view = shared.view(reader.guard());
    assert!((0..ENTRIES).all(|i| view.get(key(i)) == Some(i) && view.get(key(i + ENTRIES)).is_none()));
    assert!((table.memory_bytes() as u64) < ENTRIES.max(1000) * 140, "{}", table.memory_bytes());
}

/// Entries come, change and go, and the table grows. A value tells its key, so a reader that finds the value
/// of another key, as in a slot used again too early, notices.
#[test]
fn readers_find_the_value_of_their_key_or_none() {
    const TURNS: u64 = if cfg!(miri) { 20 } else { 100_000 };
    const KEYS: u64 = 48;
    let domain = Domain::new();
    let mut table = ExactWriter::new(&domain, 10_000, 0).unwrap();
    for key in 1001..=1016 {
        table.insert(key, key << 32, 0).unwrap();
    }
    thread::scope(|scope| {
        let readers = [(); 2].map(|()| {
            let (shared, mut reader) = (table.reader(), domain.register());
            scope.spawn(move || {
                for turn in 0..TURNS {
                    let view = shared.view(reader.guard());
                    for key in 1..=KEYS {
                        if let Some(entry) = view.find(key) {
                            assert_eq!(entry.value() >> 32, key);
                            entry.touch(turn as u32);
                        }
                    }
                    for key in 1001..=1016 {
                        assert_eq!(view.get(key).unwrap() >> 32, key, "it is never removed");
                    }
                    if turn % 7 == 0 { reader.offline() } else { reader.quiescent() }
                }
            })
        });
        let mut round = 0;
        while readers.iter().any(|reader| !reader.is_finished()) {
            round += 1;
            for key in 1..=KEYS / 2 {
                let key = if round % 2 == 0 { key * 2 } else { key * 2 - 1 };
                if table.insert(key, key << 32 | round & 0xffff, 0).is_ok() && round % 5 == 0 {
                    table.insert(key, key << 32 | 0xffff, 0).unwrap();
                }
            }
            for key in 1001..=1016 {
                table.insert(key, key << 32 | round & 0xffff, 0).unwrap();
            }
            for key in 1..=KEYS {
                table.remove(key);
            }
            domain.reclaim();
        }
    });
    assert_eq!(table.len(), 16);
    domain.reclaim();
    table.remove(1001).unwrap();
    assert_eq!(domain.pending(), 1);
}

/// The same of wide keys, whose halves are stored one after the other: two keys that would make a third.
#[test]
fn readers_of_wide_keys_find_the_value_of_their_key_or_none() {
    const TURNS: u32 = if cfg!(miri) { 20 } else { 100_000 };
    const KEYS: u128 = 24;
    let domain = Domain::new();
    let mut table = ExactWriter::<Keys128>::of_lines(&domain, 1000, 0).unwrap();
    let key = |n: u128| (n / 4) << 64 | (1 + n % 4);
    thread::scope(|scope| {
        let readers = [(); 2].map(|()| {
            let (shared, mut reader) = (table.reader(), domain.register());
            scope.spawn(move || {
                for _ in 0..TURNS {
                    let view = shared.view(reader.guard());
                    for n in 0..KEYS {
                        assert!(view.get(key(n)).is_none_or(|value| u128::from(value) >> 16 == n));
                    }
                    reader.quiescent();
                }
            })
        });
        let mut round = 0;
        while readers.iter().any(|reader| !reader.is_finished()) {
            round += 1;
            for n in (0..KEYS).filter(|n| n % 3 == round % 3) {
                let _ = table.insert(key(n), (n as u32) << 16 | round as u32 & 0xffff, 0);
            }
            (0..KEYS).filter(|n| n % 5 != round % 5).for_each(|n| _ = table.remove(key(n)));
            domain.reclaim();
        }
    });
}
