//! Every interleaving of a reader and a writer, under loom's memory model:
//! `RUSTFLAGS="--cfg loom" cargo test --release -p quiver-table --test loom`
#![cfg(loom)]
use loom::cell::UnsafeCell;
use loom::thread;
use quiver_table::spsc;
use quiver_table::{Domain, Publisher};

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
