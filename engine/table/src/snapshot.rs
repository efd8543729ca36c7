//! Snapshots: the control thread replaces a value, workers read whichever version is current.
//!
//! Reading costs one acquire load. A version that was replaced lives on in the [`Domain`] until no reader
//! can hold it, so a worker's frame sees one version from beginning to end if it reads once per frame.
#![allow(unsafe_code)]
use crate::epoch::{Domain, Guard};
use crate::simulation::seam;
use crate::sync::{AtomicPtr, Ordering};
use std::sync::Arc;

struct Current<T: Send + Sync + 'static> {
    /// From `Box::into_raw`, never null; owned by this cell. Only the publisher replaces it.
    value: AtomicPtr<T>,
    domain: Domain,
}

impl<T: Send + Sync + 'static> Drop for Current<T> {
    fn drop(&mut self) {
        // A reference outlives the handle it was read through, up to the reader's next quiescent point;
        // and a worker that drops the last handle should not spend its turn on freeing a table.
        self.domain.retire(Version(self.value.load(Ordering::Relaxed)));
    }
}

/// A version on its way out. A raw pointer and not a `Box`, since readers may still refer to it.
struct Version<T>(*mut T);
// SAFETY: it owns its `T` as a box does, and hands it to whoever drops it.
unsafe impl<T: Send> Send for Version<T> {}
impl<T> Drop for Version<T> {
    fn drop(&mut self) {
        // SAFETY: the pointer came from `Box::into_raw` and only this value owns it. The domain drops it
        // when every reader is past the quiescent point that ends its references.
        drop(unsafe { Box::from_raw(self.0) });
    }
}

/// The reader's side of a published value: cheap to clone, free of locks.
pub struct Snapshot<T: Send + Sync + 'static>(Arc<Current<T>>);

impl<T: Send + Sync + 'static> Clone for Snapshot<T> {
    fn clone(&self) -> Self {
        Snapshot(Arc::clone(&self.0))
    }
}

impl<T: Send + Sync + 'static> Snapshot<T> {
    /// The current value, for as long as the guard lives. Read it once per frame: a second call may see
    /// a newer version.
    ///
    /// # Panics
    /// If the guard is of another domain than the snapshot, which is a mistake in the program's wiring.
    #[inline(always)]
    pub fn read<'g>(&self, guard: Guard<'g>) -> &'g T {
        assert!(guard.domain().is(&self.0.domain), "the guard belongs to another domain than the snapshot");
        // SAFETY: the pointer is that of a live box. Whoever replaces it retires the box in this domain,
        // which keeps it until the guard's reader is quiescent or offline; the guard cannot outlive that.
        let value = unsafe { &*self.0.value.load(Ordering::Acquire) };
        seam("snapshot read");
        value
    }
}

/// The only writer of a value. Dropping it leaves the last version to its snapshots.
pub struct Publisher<T: Send + Sync + 'static>(Arc<Current<T>>);

impl<T: Send + Sync + 'static> Publisher<T> {
    /// A cell with its first value.
    pub fn new(domain: &Domain, value: T) -> Publisher<T> {
        let value = AtomicPtr::new(Box::into_raw(Box::new(value)));
        Publisher(Arc::new(Current { value, domain: domain.clone() }))
    }

    /// A reader's handle.
    pub fn snapshot(&self) -> Snapshot<T> {
        Snapshot(Arc::clone(&self.0))
    }

    /// Replaces the value. Readers go on with the old one until they read again.
    pub fn publish(&mut self, value: T) {
        let new = Box::into_raw(Box::new(value));
        seam("about to publish");
        let old = self.0.value.swap(new, Ordering::AcqRel);
        self.0.domain.retire(Version(old));
    }

    /// The value published last.
    pub fn current(&self) -> &T {
        // SAFETY: only `publish` replaces the value; it takes `&mut self`, which ends this borrow.
        unsafe { &*self.0.value.load(Ordering::Relaxed) }
    }

    /// Replaces the value by one made from it.
    pub fn update(&mut self, change: impl FnOnce(&T) -> T) {
        let value = change(self.current());
        self.publish(value);
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
    use std::thread;

    #[test]
    fn readers_see_the_version_published_last() {
        let domain = Domain::new();
        let mut reader = domain.register();
        let mut publisher = Publisher::new(&domain, 1);
        let snapshot = publisher.snapshot();
        let old = snapshot.read(reader.guard());
        publisher.update(|value| value + 1);
        assert_eq!((*old, *snapshot.read(reader.guard()), *publisher.current()), (1, 2, 2));
        assert_eq!(domain.reclaim(), 0, "version 1 is still read");
        reader.quiescent();
        assert_eq!(domain.reclaim(), 1);
    }

    #[test]
    #[should_panic(expected = "another domain")]
    fn a_guard_of_another_domain_is_refused() {
        let publisher = Publisher::new(&Domain::new(), 1);
        publisher.snapshot().read(Domain::new().register().guard());
    }

    #[test]
    fn the_last_version_goes_with_the_last_handle_but_not_before_its_readers() {
        let domain = Domain::new();
        let mut reader = domain.register();
        let publisher = Publisher::new(&domain, String::from("last"));
        let snapshot = publisher.snapshot();
        let value = snapshot.read(reader.guard());
        drop(publisher);
        assert_eq!(domain.pending(), 0);
        drop(snapshot);
        assert_eq!((domain.pending(), domain.reclaim()), (1, 0));
        assert_eq!(value, "last");
        reader.quiescent();
        assert_eq!(domain.reclaim(), 1);
    }

    /// Threads read, sleep and wake while versions fly by; each version knows whether it was dropped.
    #[test]
    fn no_version_is_freed_under_a_guard() {
        const VERSIONS: usize = if cfg!(miri) { 60 } else { 20_000 };
        struct Version {
            number: usize,
            dead: AtomicBool,
            drops: Arc<AtomicUsize>,
        }
        impl Drop for Version {
            fn drop(&mut self) {
                self.dead.store(true, SeqCst);
                self.drops.fetch_add(1, SeqCst);
            }
        }
        let (domain, drops) = (Domain::new(), Arc::new(AtomicUsize::new(0)));
        let version = |number| Version { number, dead: AtomicBool::new(false), drops: Arc::clone(&drops) };
        let mut publisher = Publisher::new(&domain, version(0));
        let done = AtomicBool::new(false);
        thread::scope(|scope| {
            for worker in 0..3 {
                let (mut reader, snapshot, done) = (domain.register(), publisher.snapshot(), &done);
                scope.spawn(move || {
                    let (mut turn, mut newest) = (worker, 0);
                    while !done.load(SeqCst) {
                        let first = snapshot.read(reader.guard());
                        thread::yield_now();
                        let second = snapshot.read(reader.guard());
                        assert!(newest <= first.number && first.number <= second.number);
                        assert!(!first.dead.load(SeqCst) && !second.dead.load(SeqCst));
                        newest = second.number;
                        turn += 1;
                        if turn % 5 == 0 { reader.offline() } else { reader.quiescent() }
                    }
                });
            }
            for number in 1..=VERSIONS {
                publisher.publish(version(number));
                domain.reclaim();
            }
            done.store(true, SeqCst);
        });
        domain.reclaim();
        assert_eq!((drops.load(SeqCst), domain.pending()), (VERSIONS, 0), "all but the current version");
    }
}
