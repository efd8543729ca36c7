//! A worker's queue of letters, generic over the letter.

use crate::sleeper::Sleeper;
use crate::sync::{Arc, AtomicBool, Ordering, SegQueue};
use quiver_table::simulation::seam;
use std::os::fd::{AsFd, BorrowedFd};

/// A worker's letters.
pub struct Letters<L> {
    letters: SegQueue<L>,
    stop: AtomicBool,
    pub(crate) sleeper: Arc<Sleeper>,
}

impl<L> Letters<L> {
    pub(crate) fn new() -> Result<Letters<L>, std::io::Error> {
        let (letters, stop) = (SegQueue::new(), AtomicBool::new(false));
        Ok(Letters { letters, stop, sleeper: Arc::new(Sleeper::new()?) })
    }
    /// Posts a letter, and wakes the worker if it sleeps.
    pub(crate) fn put(&self, letter: L) {
        self.push(letter);
        seam("a letter posted, its reader not woken");
        self.wake();
    }
    /// Posts a letter. The caller wakes the worker later, by [`Letters::wake`].
    pub(crate) fn push(&self, letter: L) {
        seam("about to post");
        self.letters.push(letter);
    }
    /// Wakes the worker if it sleeps.
    pub(crate) fn wake(&self) {
        self.sleeper.wake();
    }
    /// Asks the worker's thread to end.
    pub fn stop(&self) {
        self.stop.store(true, Ordering::SeqCst);
        self.sleeper.wake();
    }
    /// Whether the thread is to end.
    pub fn stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }
    #[inline]
    pub(crate) fn take(&self) -> Option<L> {
        if self.letters.is_empty() {
            return None;
        }
        self.letters.pop()
    }
    /// Whether there are no letters.
    pub fn is_empty(&self) -> bool {
        self.letters.is_empty()
    }
    /// Announces sleep. False, and the worker must not sleep, if there are letters. A worker that sleeps checks for
    /// handed-over packets afterwards.
    pub(crate) fn fall_asleep(&self) -> bool {
        self.sleeper.fall_asleep(|| !self.letters.is_empty() || self.stopped())
    }
    pub(crate) fn awake(&self) {
        self.sleeper.awake();
    }
    /// Whether the worker sleeps.
    pub fn is_asleep(&self) -> bool {
        self.sleeper.is_asleep()
    }
}

impl<L> AsFd for Letters<L> {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.sleeper.as_fd()
    }
}
