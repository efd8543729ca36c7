//! Every interleaving of a reader and a writer, under loom's memory model:
//! `RUSTFLAGS="--cfg loom" cargo test --release -p quiver-table --test loom`
#![cfg(loom)]
use loom::cell::UnsafeCell;
use loom::thread;
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
