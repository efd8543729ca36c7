//! Snapshots: the control thread replaces a value, workers read whichever version is current.
//!
//! Reading costs one acquire load. A version that was replaced lives on in the [`Domain`] until no reader
//! can hold it, so a worker's frame sees one version from beginning to end if it reads once per frame.
//! Changes by [`Publisher::edit`] can wait for each other: see [`crate::waiting`].
#![allow(unsafe_code)]
use crate::epoch::{Domain, Guard};
use crate::simulation::seam;
use crate::sync::{AtomicPtr, Ordering};
use crate::waiting::Waiting;
use std::ptr::null_mut;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicPtr as StdAtomicPtr};

struct Current<T: Send + Sync + 'static> {
    /// From `Box::into_raw`, never null; owned by this cell. Only the publisher replaces it.
    value: AtomicPtr<T>,
    /// The next value while its changes wait: from `Box::into_raw` or null, and owned by this cell. No reader has met it.
    next: StdAtomicPtr<T>,
    /// Whether the domain has this cell among those that wait.
    is_listed: AtomicBool,
    domain: Domain,
}

impl<T: Send + Sync + 'static> Current<T> {
    /// Replaces the value by a box's.
    fn replace(&self, new: *mut T) {
        seam("about to publish");
        let old = self.value.swap(new, Ordering::AcqRel);
        self.domain.retire(Version(old));
    }
}

impl<T: Send + Sync + 'static> Waiting for Current<T> {
    fn publish(&self) {
        self.is_listed.store(false, Ordering::Release);
        let next = self.next.swap(null_mut(), Ordering::AcqRel);
        if !next.is_null() {
            self.replace(next);
        }
    }
}

impl<T: Send + Sync + 'static> Drop for Current<T> {
    fn drop(&mut self) {
        let next = self.next.swap(null_mut(), Ordering::AcqRel);
        if !next.is_null() {
            drop(Version(next));
        }
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

/// A next value that is being changed, out of its cell meanwhile. Its end puts it there, or publishes it.
struct Editing<'p, T: Send + Sync + 'static> {
    of: &'p Arc<Current<T>>,
    next: *mut T,
    /// Whether it has no other changes.
    is_fresh: bool,
}

impl<T: Send + Sync + 'static> Drop for Editing<'_, T> {
    fn drop(&mut self) {
        // Half a change is not published if it is the only one.
        if self.is_fresh && std::thread::panicking() {
            return drop(Version(self.next));
        }
        self.of.next.store(self.next, Ordering::Release);
        if !self.of.domain.is_held() {
            self.of.publish();
        } else if !self.of.is_listed.swap(true, Ordering::AcqRel) {
            self.of.domain.wait(self.of.clone());
        }
    }
}

/// The only writer of a value. Dropping it leaves the last version to its snapshots.
pub struct Publisher<T: Send + Sync + 'static>(Arc<Current<T>>);

impl<T: Send + Sync + 'static> Publisher<T> {
    /// A cell with its first value.
    pub fn new(domain: &Domain, value: T) -> Publisher<T> {
        let value = AtomicPtr::new(Box::into_raw(Box::new(value)));
        let (next, is_listed) = (StdAtomicPtr::new(null_mut()), AtomicBool::new(false));
        Publisher(Arc::new(Current { value, next, is_listed, domain: domain.clone() }))
    }

    /// A reader's handle.
    pub fn snapshot(&self) -> Snapshot<T> {
        Snapshot(Arc::clone(&self.0))
    }

    /// Replaces the value, behind all changes that wait. Readers go on with the old one until they read again.
    pub fn publish(&mut self, value: T) {
        self.0.domain.flush();
        self.0.replace(Box::into_raw(Box::new(value)));
    }

    /// Changes the value: a copy is published at once, or, between [`Domain::hold`] and [`Domain::release`], with all changes
    /// that wait. Only the first of these copies the value, so what they share with the old one should be cheap to copy, as
    /// in [`Paged`](crate::Paged).
    pub fn edit<R>(&mut self, change: impl FnOnce(&mut T) -> R) -> R
    where
        T: Clone,
    {
        let waiting = self.0.next.swap(null_mut(), Ordering::AcqRel);
        let is_fresh = waiting.is_null();
        let next = match is_fresh {
            true => Box::into_raw(Box::new(self.current().clone())),
            false => waiting,
        };
        let editing = Editing { of: &self.0, next, is_fresh };
        // SAFETY: the pointer is that of a live box, which is out of its cell while `editing` has it. References to its value
        // come from `current`; they ended with `&mut self`.
        change(unsafe { &mut *editing.next })
    }

    /// The value as it was published or changed last.
    pub fn current(&self) -> &T {
        let next = self.0.next.load(Ordering::Acquire);
        let current = if next.is_null() { self.0.value.load(Ordering::Relaxed) } else { next };
        // SAFETY: the pointer is that of a live box. Only `publish` and `edit` change or replace its value; they take
        // `&mut self`, which ends this borrow. A flush of the domain moves a next value's pointer to where readers find it, and
        // retires none but a value that had a next one.
        unsafe { &*current }
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

    #[test]
    fn changes_that_wait_are_published_together_and_known_to_the_writer_before() {
        let domain = Domain::new();
        let reader = domain.register();
        let (mut first, mut second) = (Publisher::new(&domain, vec![0]), Publisher::new(&domain, 0));
        let (read, other) = (first.snapshot(), second.snapshot());
        let found = || (read.read(reader.guard()).clone(), *other.read(reader.guard()));
        first.edit(|list| list.push(1));
        assert_eq!(found(), (vec![0, 1], 0), "nothing holds it");
        domain.hold();
        domain.hold();
        first.edit(|list| list.push(2));
        second.edit(|value| *value = 7);
        first.edit(|list| list.push(3));
        assert!(!domain.release());
        assert_eq!((found(), first.current().len(), *second.current()), ((vec![0, 1], 0), 4, 7));
        assert!(domain.release());
        assert_eq!(found(), (vec![0, 1, 2, 3], 7));
        assert_eq!(domain.epoch(), 3, "each value is published once");
    }

    #[test]
    fn a_change_that_does_not_wait_goes_behind_those_before_it() {
        let domain = Domain::new();
        let reader = domain.register();
        let (mut waits, mut goes) = (Publisher::new(&domain, 0), Publisher::new(&domain, 0));
        let (first, second) = (waits.snapshot(), goes.snapshot());
        domain.hold();
        waits.edit(|value| *value = 1);
        goes.publish(1);
        waits.edit(|value| *value = 2);
        assert_eq!((*first.read(reader.guard()), *second.read(reader.guard())), (1, 1));
        domain.flush();
        assert_eq!(*first.read(reader.guard()), 2);
        // Also while another change is being made.
        waits.edit(|value| {
            domain.flush();
            *value = 3;
        });
        domain.release();
        assert_eq!(*first.read(reader.guard()), 3);
        waits.publish(4);
        assert_eq!((*first.read(reader.guard()), *waits.current()), (4, 4));
    }

    #[test]
    fn what_goes_while_changes_wait_is_kept_until_they_are_published() {
        let domain = Domain::new();
        let mut reader = domain.register();
        let mut publisher = Publisher::new(&domain, 1);
        let snapshot = publisher.snapshot();
        domain.hold();
        publisher.edit(|value| *value = 0);
        domain.retire("what 1 leads to");
        reader.quiescent();
        assert_eq!((*snapshot.read(reader.guard()), domain.reclaim(), domain.pending()), (1, 0, 1));
        domain.release();
        assert_eq!((domain.reclaim(), domain.pending()), (0, 2), "the reader may hold both");
        reader.quiescent();
        assert_eq!((domain.reclaim(), *snapshot.read(reader.guard())), (2, 0));
    }

    #[test]
    fn a_change_that_panics_leaves_those_before_it() {
        let domain = Domain::new();
        let reader = domain.register();
        let mut publisher = Publisher::new(&domain, vec![0]);
        let snapshot = publisher.snapshot();
        let fail = |publisher: &mut Publisher<Vec<u32>>| {
            let failing = std::panic::AssertUnwindSafe(|| publisher.edit(|_| panic!("as intended")));
            assert!(std::panic::catch_unwind(failing).is_err());
        };
        fail(&mut publisher);
        domain.hold();
        fail(&mut publisher);
        publisher.edit(|list| list.push(1));
        fail(&mut publisher);
        domain.release();
        assert_eq!(*snapshot.read(reader.guard()), [0, 1]);
    }

    #[test]
    fn a_next_value_is_published_without_its_publisher_too() {
        let domain = Domain::new();
        let reader = domain.register();
        let mut publisher = Publisher::new(&domain, 1);
        let snapshot = publisher.snapshot();
        domain.hold();
        publisher.edit(|value| *value = 2);
        drop(publisher);
        domain.release();
        assert_eq!(*snapshot.read(reader.guard()), 2);
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
