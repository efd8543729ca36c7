//! Epochs: memory that workers may be reading is freed only after each of them has passed a quiescent point.
//!
//! This is quiescent-state based reclamation (QSBR). A worker promises once per turn that it holds no
//! reference from an earlier turn ([`Reader::quiescent`]), at the cost of one load and one store; reading
//! itself costs nothing. What the control thread has unpublished it hands to [`Domain::retire`]; a later
//! [`Domain::reclaim`] drops it once every online reader has passed a quiescent point since.
//! A worker that sleeps is offline and holds nothing up.
//!
//! # Why the orderings suffice
//! `retire` follows the unpublication in program order and advances the epoch from `e` to `e + 1` (release).
//! - A reader that has announced `e + 1` read it with acquire, so it sees the unpublication: no later load
//!   of it finds the old object. What it read earlier is ordered before its announcement (release), which
//!   `reclaim` loads with acquire before it frees.
//! - A reader that comes online may announce an epoch that is already old. It does so before a SeqCst fence, and
//!   loads pointers after it; `reclaim` loads the announcements after a SeqCst fence of its own. Either
//!   `reclaim` sees the announcement and keeps what is younger, or the reader sees the unpublication.
//!
//! `RUSTFLAGS="--cfg loom" cargo test --release -p quiver-table --test loom` tries all interleavings.
use crate::simulation::{Account, Reading, seam};
use crate::sync::{AtomicU64, Mutex, MutexGuard, Ordering, fence};
use crate::waiting::{Turn, Waiting};
use crossbeam_queue::SegQueue;
use std::cell::Cell;
use std::collections::VecDeque;
use std::marker::PhantomData;
use std::sync::{Arc, PoisonError};

/// Announcements above every epoch, so that the lowest announcement is the oldest online reader's.
const OFFLINE: u64 = u64::MAX;
const GONE: u64 = u64::MAX - 1;

/// The epoch that a reader last announced, alone on its pair of cache lines (they are fetched in pairs).
#[repr(align(128))]
struct Announcement(AtomicU64);

struct Retired {
    /// The epoch at which it was retired; a reader that announced a later one cannot reach it.
    epoch: u64,
    /// The moment in the simulation's account.
    moment: u64,
    garbage: Box<dyn Send>,
}

struct Shared {
    epoch: AtomicU64,
    /// Taken by `register` and `reclaim` only; a registered reader never locks.
    readers: Mutex<Vec<Arc<Announcement>>>,
    /// Lock-free, because a worker may drop the last handle of a table.
    incoming: SegQueue<Retired>,
    waiting: Mutex<VecDeque<Retired>>,
    account: Account,
    turn: Turn,
}

/// A set of readers and the memory that waits for them. Clones are handles of the same domain.
#[derive(Clone)]
pub struct Domain(Arc<Shared>);

/// Reclaims a domain's memory when it is dropped: after the last reader, and after the rooms that retired it.
pub struct ReclaimOnDrop(Domain);

impl Drop for ReclaimOnDrop {
    fn drop(&mut self) {
        while self.0.reclaim() > 0 {}
    }
}

impl Domain {
    /// A guard that reclaims the domain's memory when it is dropped.
    pub fn reclaim_on_drop(&self) -> ReclaimOnDrop {
        ReclaimOnDrop(self.clone())
    }

    /// A domain without readers.
    #[expect(clippy::new_without_default, reason = "each call makes a different identity, not a default value")]
    pub fn new() -> Domain {
        Domain(Arc::new(Shared {
            epoch: AtomicU64::new(0),
            readers: Mutex::new(Vec::new()),
            incoming: SegQueue::new(),
            waiting: Mutex::new(VecDeque::new()),
            account: Account::default(),
            turn: Turn::default(),
        }))
    }

    /// A new reader, offline until its first [`Reader::online`] or [`Reader::guard`]. For one worker.
    pub fn register(&self) -> Reader {
        let announced = Arc::new(Announcement(AtomicU64::new(OFFLINE)));
        lock(&self.0.readers).push(Arc::clone(&announced));
        Reader { domain: self.clone(), announced, reading: self.0.account.register(), not_sync: PhantomData }
    }

    /// Keeps `garbage` until no reader can hold a reference into it, then drops it in a call of
    /// [`Domain::reclaim`]. It must be out of the readers' reach already, or out of it once the changes that wait are published.
    pub fn retire(&self, garbage: impl Send + 'static) {
        if let Some(garbage) = self.0.turn.keep(Box::new(garbage)) {
            self.retire_now(garbage);
        }
    }
    fn retire_now(&self, garbage: Box<dyn Send>) {
        seam("out of reach, not retired yet");
        let moment = self.0.account.tick();
        let epoch = self.0.epoch.fetch_add(1, Ordering::Release);
        self.0.incoming.push(Retired { epoch, moment, garbage });
    }

    /// Lets changes of tables wait for each other, up to [`Domain::release`]: see [`crate::waiting`]. May be called again before that.
    pub fn hold(&self) {
        self.0.turn.begin();
    }
    /// Ends one [`Domain::hold`]; the last end publishes the changes. Says whether it was the last.
    pub fn release(&self) -> bool {
        if self.0.turn.is_outermost() {
            self.flush();
        }
        self.0.turn.end()
    }
    /// Whether changes wait for each other.
    pub fn is_held(&self) -> bool {
        self.0.turn.is_inside()
    }
    /// Publishes the changes that wait, before one that does not wait and that readers may find together with them.
    #[inline]
    pub fn flush(&self) {
        if self.0.turn.waits() {
            self.0.turn.publish();
            while let Some(garbage) = self.0.turn.take_garbage() {
                self.retire_now(garbage);
            }
        }
    }
    /// Has a table's changes published with those that wait, in the order of these calls.
    pub fn wait(&self, changes: Arc<dyn Waiting>) {
        self.0.turn.add(changes);
    }
    /// The same behind all tables.
    pub fn wait_behind(&self, changes: Arc<dyn Waiting>) {
        self.0.turn.add_behind(changes);
    }

    /// Drops what every online reader has left behind; returns how many retired objects that were.
    /// The control thread calls it now and then. It never waits for a reader.
    pub fn reclaim(&self) -> usize {
        let left_behind: Vec<Retired> = {
            let mut waiting = lock(&self.0.waiting);
            while let Some(retired) = self.0.incoming.pop() {
                waiting.push_back(retired);
            }
            let oldest = self.oldest_announcement();
            let count =
                waiting.iter().take_while(|retired| retired.epoch < oldest || self.0.account.is_hasty()).count();
            waiting.drain(..count).collect()
        };
        seam("about to free");
        // The lock is released by now: dropping one object may retire others.
        let freed = left_behind.len();
        for Retired { moment, garbage, .. } in left_behind {
            if self.0.account.may_free(moment) {
                drop(garbage);
            } else {
                // Somebody reads it: it stays in quarantine for good, so that the finding can be told.
                std::mem::forget(garbage);
            }
        }
        freed
    }

    /// Plants a bug for a simulation to find: reclamation skips the grace period.
    #[cfg(feature = "simulation")]
    pub fn plant_skipped_grace_period(&self) {
        self.0.account.be_hasty();
    }

    /// Takes what was found wrong: memory freed while a reader could still refer to it. It was not really freed.
    #[cfg(feature = "simulation")]
    pub fn findings(&self) -> Vec<String> {
        self.0.account.take_findings()
    }

    /// The epoch of the online reader that is furthest behind.
    fn oldest_announcement(&self) -> u64 {
        // Pairs with the fence in `Reader::enter`.
        fence(Ordering::SeqCst);
        let mut oldest = OFFLINE;
        lock(&self.0.readers).retain(|reader| {
            let announced = reader.0.load(Ordering::Acquire);
            oldest = oldest.min(announced);
            announced != GONE
        });
        oldest
    }

    /// Number of retired objects that wait for readers.
    pub fn pending(&self) -> usize {
        lock(&self.0.waiting).len() + self.0.incoming.len() + self.0.turn.kept()
    }

    /// The current epoch: the number of objects retired so far.
    pub fn epoch(&self) -> u64 {
        self.0.epoch.load(Ordering::Relaxed)
    }

    /// Whether both are handles of the same domain.
    #[inline(always)]
    pub fn is(&self, other: &Domain) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

/// A panic while the lock is held leaves the list whole: no update of it has a half-way state.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A worker's membership in a [`Domain`]. It moves between threads but is not shared by them: were it, one
/// could announce an epoch while the other holds references from an older one.
pub struct Reader {
    domain: Domain,
    announced: Arc<Announcement>,
    reading: Arc<Reading>,
    not_sync: PhantomData<Cell<()>>,
}

impl Reader {
    /// Announces that this thread holds no reference obtained before; the borrow checker sees to it.
    /// Called once per worker turn. Does nothing offline.
    #[inline]
    pub fn quiescent(&mut self) {
        self.reading.end();
        if self.is_online() {
            let epoch = self.domain.0.epoch.load(Ordering::Acquire);
            seam("epoch read, not announced yet");
            self.announced.0.store(epoch, Ordering::Release);
        }
    }

    /// Leaves: a sleeping worker must not hold up reclamation.
    pub fn offline(&mut self) {
        self.reading.end();
        self.announced.0.store(OFFLINE, Ordering::Release);
    }

    /// Comes back after [`Reader::offline`].
    pub fn online(&mut self) {
        if !self.is_online() {
            self.enter();
        }
    }

    /// Whether reclamation waits for this reader.
    #[inline(always)]
    pub fn is_online(&self) -> bool {
        // Only this reader writes its announcement, so a relaxed load is exact.
        self.announced.0.load(Ordering::Relaxed) != OFFLINE
    }

    /// Leave to hold references until the next quiescent point. Takes an offline reader online.
    #[inline]
    pub fn guard(&self) -> Guard<'_> {
        if !self.is_online() {
            self.enter();
        }
        self.reading.begin(&self.domain.0.account);
        Guard { reader: self }
    }

    #[cold]
    fn enter(&self) {
        let epoch = self.domain.0.epoch.load(Ordering::Acquire);
        seam("epoch read, not announced yet");
        self.announced.0.store(epoch, Ordering::Release);
        // The announcement must be visible before anything is read. Pairs with `oldest_announcement`.
        fence(Ordering::SeqCst);
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        self.reading.end();
        self.announced.0.store(GONE, Ordering::Release);
    }
}

/// Proof that this thread is online in a domain. References obtained with it live at most as long as it,
/// and it ends before the next [`Reader::quiescent`] or [`Reader::offline`], which borrow the reader mutably.
#[derive(Clone, Copy)]
pub struct Guard<'g> {
    reader: &'g Reader,
}

impl Guard<'_> {
    /// The domain whose memory this guard protects.
    #[inline(always)]
    pub fn domain(&self) -> &Domain {
        &self.reader.domain
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

    struct Counted(Arc<AtomicUsize>);
    impl Drop for Counted {
        fn drop(&mut self) {
            self.0.fetch_add(1, SeqCst);
        }
    }

    #[test]
    fn garbage_waits_for_the_slowest_reader() {
        let (domain, drops) = (Domain::new(), Arc::new(AtomicUsize::new(0)));
        let (mut fast, mut slow) = (domain.register(), domain.register());
        fast.online();
        slow.online();
        domain.retire(Counted(Arc::clone(&drops)));
        fast.quiescent();
        assert_eq!((domain.reclaim(), domain.pending(), drops.load(SeqCst)), (0, 1, 0));
        slow.quiescent();
        assert_eq!((domain.reclaim(), domain.pending(), drops.load(SeqCst)), (1, 0, 1));
    }

    #[test]
    fn a_reader_that_came_later_holds_nothing_older_up() {
        let domain = Domain::new();
        domain.retire(1);
        let mut reader = domain.register();
        reader.online();
        assert_eq!(domain.reclaim(), 1);
        domain.retire(2);
        assert_eq!(domain.reclaim(), 0, "it may hold what was retired since");
    }

    #[test]
    fn reclamation_completes_while_all_readers_sleep() {
        let domain = Domain::new();
        let mut readers: Vec<Reader> = (0..100).map(|_| domain.register()).collect();
        for reader in &mut readers {
            reader.online();
        }
        domain.retire("garbage");
        assert_eq!(domain.reclaim(), 0);
        for reader in &mut readers {
            reader.offline();
            reader.quiescent();
            assert!(!reader.is_online(), "a quiescent point does not wake a sleeper");
        }
        assert_eq!(domain.reclaim(), 1);
    }

    #[test]
    fn a_guard_takes_a_sleeper_online() {
        let domain = Domain::new();
        let mut reader = domain.register();
        reader.offline();
        let guard = reader.guard();
        domain.retire("garbage");
        assert_eq!(domain.reclaim(), 0);
        assert!(guard.domain().is(&domain) && !guard.domain().is(&Domain::new()));
        reader.offline();
        assert_eq!(domain.reclaim(), 1);
    }

    #[test]
    fn a_dropped_reader_is_forgotten() {
        let domain = Domain::new();
        let reader = domain.register();
        reader.guard();
        domain.retire("garbage");
        assert_eq!(domain.reclaim(), 0);
        drop(reader);
        assert_eq!(domain.reclaim(), 1);
        assert_eq!(lock(&domain.0.readers).len(), 0);
    }

    #[test]
    fn garbage_may_retire_more_garbage() {
        struct Nested(Domain, Arc<AtomicUsize>);
        impl Drop for Nested {
            fn drop(&mut self) {
                self.0.retire(Counted(Arc::clone(&self.1)));
            }
        }
        let (domain, drops) = (Domain::new(), Arc::new(AtomicUsize::new(0)));
        domain.retire(Nested(domain.clone(), Arc::clone(&drops)));
        assert_eq!((domain.reclaim(), domain.pending()), (1, 1));
        assert_eq!((domain.reclaim(), drops.load(SeqCst)), (1, 1));
    }
}
