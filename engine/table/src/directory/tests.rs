//! States that other threads leave for a moment, made by hand.
use super::*;
use crate::KeyedHash;

/// The first bucket of this hash comes before the second, which is another one.
const HASH: u64 = 0x1_ffff_ffff;

fn record(index: u32) -> Reference {
    Reference { owner: 1, kind: 2, index }
}

fn entry_at(directory: &Directory, place: Place) -> Entry {
    directory.bucket(place.bucket).expect("a bucket").entry(place.slot)
}

/// A directory in which a worker was stopped in the middle of an insertion.
fn with_tentative(index: u32) -> (Directory, Place, Entry) {
    let directory = Directory::new(100).expect("address space");
    let (place, entry) = directory.insert_half(HASH, record(index));
    (directory, place, entry)
}

#[test]
fn readers_overlook_a_tentative_entry() {
    let (directory, place, entry) = with_tentative(1);
    assert_eq!(directory.find(HASH, |_| true), None);
    assert_eq!(directory.candidate(&directory.home(HASH)), None);
    assert!(!directory.remove(HASH, record(1)) && !directory.replace(HASH, record(1), record(2)));
    assert_eq!(entry_at(&directory, place), entry);
}

/// A tentative entry may still lose to a third one, so no insertion may return it; and its worker may not run for long.
#[test]
fn a_tentative_entry_that_stays_is_undone() {
    let (directory, place, entry) = with_tentative(1);
    let mut looks = 0;
    let inserted = directory.insert(HASH, record(2), |to| {
        looks += u32::from(to == record(1));
        true
    });
    assert_eq!(inserted, Inserted::New);
    assert_eq!(looks, 65, "it gets time");
    let bucket = directory.bucket(place.bucket).expect("a bucket");
    assert!(!bucket.change(place.slot, entry, Entry::live(1, record(1))), "its inserter notices");
    assert_eq!(directory.insert(HASH, record(1), |_| true), Inserted::Known(record(2)));
    assert_eq!(directory.len(), 1);
}

/// One of a later place at once, and one of another key not at all.
#[test]
fn a_tentative_entry_behind_an_insertion_is_undone_at_once() {
    let directory = Directory::new(100).expect("address space");
    assert_eq!(directory.insert(HASH, record(0), |_| false), Inserted::New);
    let halves = [1, 2].map(|index| directory.insert_half(HASH, record(index)));
    assert!(directory.remove(HASH, record(0)));
    let mut looks = 0;
    let inserted = directory.insert(HASH, record(3), |to| {
        looks += u32::from(to == record(1));
        to != record(2)
    });
    assert_eq!((inserted, looks), (Inserted::New, 1));
    let left = halves.map(|(place, _)| entry_at(&directory, place));
    assert_eq!(left, [Entry::FREE, halves[1].1]);
}

/// Counts of passes go up and down by the same, so that searches stay short in a directory that was full before.
#[test]
fn nothing_is_left_of_entries_that_are_gone() {
    let (directory, hash) = (Directory::new(1000).expect("address space"), KeyedHash::new([9; 4]));
    for round in 0..3 {
        let keys = || (0..1150).map(|n| (n, hash.hash(&[u64::from(round * 10_000 + n)])));
        let there: Vec<_> =
            keys().filter(|(n, hash)| directory.insert(*hash, record(*n), |_| false) == Inserted::New).collect();
        assert!(there.len() > 1100);
        let passed =
            directory.buckets.iter().flat_map(|bucket| (0..SLOTS).filter(|spot| bucket.is_passed(*spot as u16)));
        assert!(passed.count() > 20, "some have overflowed");
        assert!(there.iter().all(|(n, hash)| directory.remove(*hash, record(*n))));
        assert!(is_clean(&directory));
    }
}

/// Neither entries nor passes are left.
fn is_clean(directory: &Directory) -> bool {
    let is_clean =
        |bucket: &Bucket| (0..SLOTS).all(|slot| bucket.entry(slot) == Entry::FREE && !bucket.is_passed(slot as u16));
    directory.is_empty() && directory.buckets.iter().all(is_clean)
}

/// Another worker inserts the same key while an insertion in the overflow area looks for others: before the place of that one, which has
/// then been undone; or behind it, where it waits in vain.
#[test]
fn an_insertion_that_was_undone_begins_again_and_leaves_nothing() {
    for is_before in [true, false] {
        let directory = Directory::new(100).expect("address space");
        let others: Vec<_> = (10..26).map(record).collect();
        others.iter().for_each(|other| assert_eq!(directory.insert(HASH, *other, |_| false), Inserted::New));
        let (first, second, mut looks) = (record(0), record(1), 0);
        let inserted = directory.insert(HASH, first, |to| {
            looks += 1;
            // It has searched all others before it stored its entry, and now again.
            if looks == 2 * others.len() {
                assert!(!is_before || directory.remove(HASH, others[0]));
                assert_eq!(directory.insert(HASH, second, |to| to == first), Inserted::New);
            }
            to == second
        });
        assert_eq!(inserted, Inserted::Known(second));
        others.iter().skip(is_before.into()).chain([&second]).for_each(|to| assert!(directory.remove(HASH, *to)));
        assert!(is_clean(&directory), "{is_before}");
    }
}
