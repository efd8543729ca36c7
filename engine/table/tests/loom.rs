//! Every interleaving of a reader and a writer, under loom's memory model:
//! `RUSTFLAGS="--cfg loom" cargo test --release -p quiver-table --test loom`
#![cfg(loom)]
use loom::cell::UnsafeCell;
use loom::thread;
use quiver_table::spsc;
use quiver_table::{Directory, Domain, Inserted, Publisher, Reference};

/// Loom fails a run in which a read and the drop's write are not ordered, and so one in which a version is
/// dropped while it is read.
struct Version(UnsafeCell<u32>);
// SAFETY: it is only read while shared; loom checks that the write in `drop` races with none.
#[allow(unsafe_code)]
unsafe impl Sync for Version {}
impl Version {
    fn new(number: u32) -> Version {
        Version(UnsafeCell::new(number))
    }
    #[allow(unsafe_code)]
    fn number(&self) -> u32 {
        // SAFETY: the pointer is valid inside `with`.
        self.0.with(|number| unsafe { *number })
    }
}
impl Drop for Version {
    #[allow(unsafe_code)]
    fn drop(&mut self) {
        // SAFETY: the pointer is valid inside `with_mut`.
        self.0.with_mut(|number| unsafe { *number = u32::MAX });
    }
}

#[test]
fn a_version_is_not_freed_before_the_quiescent_point() {
    loom::model(|| {
        let domain = Domain::new();
        let mut publisher = Publisher::new(&domain, Version::new(0));
        let (mut reader, snapshot) = (domain.register(), publisher.snapshot());
        let worker = thread::spawn(move || {
            for _ in 0..2 {
                let version = snapshot.read(reader.guard());
                assert!(version.number() <= 1);
                reader.quiescent();
            }
        });
        publisher.publish(Version::new(1));
        domain.reclaim();
        domain.reclaim();
        worker.join().unwrap();
    });
}

#[test]
fn a_reader_that_wakes_is_not_overlooked() {
    loom::model(|| {
        let domain = Domain::new();
        let mut publisher = Publisher::new(&domain, Version::new(0));
        let (mut reader, snapshot) = (domain.register(), publisher.snapshot());
        let worker = thread::spawn(move || {
            reader.online();
            assert!(snapshot.read(reader.guard()).number() <= 1);
            reader.offline();
            assert!(snapshot.read(reader.guard()).number() <= 1);
        });
        publisher.publish(Version::new(1));
        domain.reclaim();
        worker.join().unwrap();
        assert!(domain.reclaim() <= 1);
        assert_eq!(domain.pending(), 0);
    });
}

#[test]
fn a_slot_of_a_ring_is_one_sides_at_a_time() {
    loom::model(|| {
        let (mut writer, mut reader) = spsc::ring(2, || 0);
        let sender = thread::spawn(move || {
            // The third waits for a slot that is given back; loom fails the run in which both sides have one.
            for number in 1..=3 {
                while writer.fill(|slot| *slot += number).is_none() {
                    thread::yield_now();
                }
                writer.publish();
            }
            writer
        });
        let mut seen = vec![];
        while seen.len() < 3 {
            match reader.take(std::mem::take) {
                Some(number) => seen.push(number),
                None => {
                    reader.release();
                    thread::yield_now();
                }
            }
        }
        reader.release();
        let writer = sender.join().unwrap();
        assert_eq!(seen, [1, 2, 3], "in order, and each slot was empty when it was filled");
        assert!(writer.is_drained(writer.mark()));
    });
}

/// A worker falls asleep while another one hands it packets: either it sees them, or it is woken.
#[test]
fn a_reader_that_falls_asleep_is_woken_or_sees_what_came() {
    use loom::sync::Arc;
    use loom::sync::atomic::{AtomicBool, Ordering, fence};
    loom::model(|| {
        let (mut writer, mut reader) = spsc::ring(2, || 0);
        let (asleep, rung) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
        let (theirs, bell) = (asleep.clone(), rung.clone());
        let sender = thread::spawn(move || {
            writer.fill(|slot| *slot = 1);
            writer.publish();
            fence(Ordering::SeqCst);
            if theirs.load(Ordering::SeqCst) {
                bell.store(true, Ordering::SeqCst);
            }
        });
        asleep.store(true, Ordering::SeqCst);
        fence(Ordering::SeqCst);
        let saw = !reader.is_empty();
        sender.join().unwrap();
        assert!(saw || rung.load(Ordering::SeqCst), "it would sleep for ever");
    });
}

/// Two buckets of two slots, and one for overflow.
const SLOTS: usize = 4;
/// A hash whose two buckets are both. All keys have it, so that tags tell them not apart.
const HASH: u64 = 0xffff_ffff;
/// The key that two insertions are about; those of other keys have other numbers.
const KEY: u32 = 7;

/// Record `index` of a key.
fn reference(key: u32, index: u32) -> Reference {
    Reference { owner: 0, kind: 0, index: key * 10 + index }
}
fn is(key: u32) -> impl Fn(Reference) -> bool {
    move |to| to.index / 10 == key
}
fn insert(directory: &Directory, key: u32, index: u32) -> Inserted {
    directory.insert(HASH, reference(key, index), is(key))
}
/// A directory with entries of other keys.
fn directory_with(others: u32) -> loom::sync::Arc<Directory> {
    let directory = Directory::new(SLOTS).expect("memory");
    (0..others).for_each(|key| assert_eq!(insert(&directory, key, 0), Inserted::New));
    loom::sync::Arc::new(directory)
}
/// Every order with up to so many preemptions.
fn model_with(preemptions: usize, test: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(preemptions);
    // Searches look at slot after slot.
    builder.max_branches = 5_000;
    builder.check(test);
}

/// Insertions of one key in a directory with entries of others, while the first of these is removed.
fn insert_at_once(others: u32, insertions: u32, removes: bool, preemptions: usize) {
    model_with(preemptions, move || {
        let directory = directory_with(others);
        let threads: Vec<_> = (1..insertions)
            .map(|index| {
                let directory = directory.clone();
                thread::spawn(move || insert(&directory, KEY, index))
            })
            .collect();
        let mut results = vec![];
        if removes {
            assert!(directory.remove(HASH, reference(0, 0)));
        } else {
            results.push(insert(&directory, KEY, 0));
        }
        results.extend(threads.into_iter().map(|thread| thread.join().unwrap()));
        let winner = directory.find(HASH, is(KEY)).expect("one of them is there");
        assert_eq!(results.iter().filter(|result| **result == Inserted::New).count(), 1, "{results:?}");
        let others_know = |result: &Inserted| [Inserted::New, Inserted::Known(winner)].contains(result);
        assert!(results.iter().all(others_know), "{results:?}, but {winner:?} is there");
        let stayed = u32::from(removes)..others;
        assert_eq!(directory.len() as u32, stayed.len() as u32 + 1);
        assert!(directory.remove(HASH, winner));
        assert_eq!(directory.find(HASH, is(KEY)), None, "there is no other");
        for key in stayed {
            assert!(directory.remove(HASH, reference(key, 0)), "entry {key} was lost");
        }
        // Nothing is left of what was undone: as many entries fit as before.
        for key in 0..6 {
            assert_eq!(insert(&directory, key, 0), Inserted::New);
        }
    });
}

#[test]
fn two_insertions_of_a_key_make_one_entry() {
    insert_at_once(0, 2, false, 4);
}

#[test]
fn three_insertions_of_a_key_make_one_entry() {
    insert_at_once(0, 3, false, 2);
}

#[test]
fn two_insertions_in_the_overflow_area_make_one_entry() {
    insert_at_once(4, 2, false, 4);
}

/// One of them may take the place that becomes free, before or behind that of the other.
#[test]
fn two_insertions_make_one_entry_while_another_is_removed() {
    insert_at_once(1, 3, true, 2);
    insert_at_once(4, 3, true, 2);
}

#[test]
fn an_insertion_finds_an_entry_or_takes_its_place_when_that_is_removed() {
    for others in [0, 4] {
        model_with(4, move || {
            let directory = directory_with(others);
            assert_eq!(insert(&directory, KEY, 0), Inserted::New);
            let theirs = directory.clone();
            let other = thread::spawn(move || insert(&theirs, KEY, 1));
            assert!(directory.remove(HASH, reference(KEY, 0)));
            let found = match other.join().unwrap() {
                Inserted::New => Some(reference(KEY, 1)),
                known => {
                    assert_eq!(known, Inserted::Known(reference(KEY, 0)));
                    None
                }
            };
            assert_eq!(directory.find(HASH, is(KEY)), found);
        });
    }
}

#[test]
fn a_reader_finds_what_stays_while_others_come_and_go() {
    model_with(4, || {
        let directory = directory_with(5);
        let theirs = directory.clone();
        let writer = thread::spawn(move || {
            assert_eq!(insert(&theirs, 5, 0), Inserted::New);
            assert!(theirs.remove(HASH, reference(5, 0)));
            assert!(theirs.remove(HASH, reference(0, 0)));
        });
        // It lies in the overflow area.
        assert_eq!(directory.find(HASH, is(4)), Some(reference(4, 0)));
        assert_eq!(directory.find(HASH, is(3)), Some(reference(3, 0)));
        writer.join().unwrap();
    });
}

/// Its record is another one from then on, and the old record has another key.
#[test]
fn a_reader_and_an_insertion_find_a_key_whose_record_is_replaced() {
    use loom::sync::Arc;
    use loom::sync::atomic::{AtomicU32, Ordering};
    for inserts in [false, true] {
        model_with(4, move || {
            let directory = directory_with(0);
            let keys = Arc::new([AtomicU32::new(KEY), AtomicU32::new(0)]);
            let [old, new] = [0, 1].map(|index| Reference { owner: 0, kind: 0, index });
            assert_eq!(directory.insert(HASH, old, |_| false), Inserted::New);
            let (theirs, keys_of_reader) = (directory.clone(), keys.clone());
            let reader = thread::spawn(move || {
                let is = |to: Reference| keys_of_reader[to.index as usize].load(Ordering::SeqCst) == KEY;
                if inserts {
                    let own = Reference { owner: 1, kind: 0, index: 2 };
                    match theirs.insert(HASH, own, |to| to != own && is(to)) {
                        Inserted::Known(known) => Some(known),
                        _ => None,
                    }
                } else {
                    theirs.find(HASH, is)
                }
            });
            keys[1].store(KEY, Ordering::SeqCst);
            assert!(directory.replace(HASH, old, new));
            keys[0].store(0, Ordering::SeqCst);
            let found = reader.join().unwrap();
            assert!(found == Some(old) || found == Some(new), "{found:?}");
        });
    }
}
