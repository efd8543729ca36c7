//! From control to a worker: work to be done between two turns. There is no barrier; a letter is read within one turn,
//! and a sleeping worker is woken for it.

use crate::worker::Worker;
use crossbeam_queue::SegQueue;
use quiver_table::simulation::seam;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};

/// Work for a worker. It runs on the worker's thread, so it must be short and give large values back to be dropped
/// elsewhere.
pub type Letter = Box<dyn FnOnce(&mut Worker) + Send>;

/// A worker's letters.
pub struct Mailbox {
    letters: SegQueue<Letter>,
    asleep: AtomicBool,
    stop: AtomicBool,
    event: OwnedFd,
}

impl Mailbox {
    pub(crate) fn new() -> Result<Mailbox, std::io::Error> {
        let flags = rustix::event::EventfdFlags::NONBLOCK | rustix::event::EventfdFlags::CLOEXEC;
        let event = rustix::event::eventfd(0, flags)?;
        Ok(Mailbox { letters: SegQueue::new(), asleep: AtomicBool::new(false), stop: AtomicBool::new(false), event })
    }
    /// Posts a letter, and wakes the worker if it sleeps.
    pub fn post(&self, letter: impl FnOnce(&mut Worker) + Send + 'static) {
        seam("about to post");
        self.letters.push(Box::new(letter));
        seam("a letter posted, its reader not woken");
        self.wake();
    }
    fn wake(&self) {
        // Pairs with the exchange in `fall_asleep`: either we see the sleeper, or it sees the letter.
        std::sync::atomic::fence(Ordering::SeqCst);
        if self.asleep.load(Ordering::SeqCst) {
            let _ = rustix::io::write(&self.event, &1u64.to_ne_bytes());
        }
    }
    /// Asks the worker's thread to end.
    pub fn stop(&self) {
        self.stop.store(true, Ordering::SeqCst);
        self.wake();
    }
    /// Whether the thread is to end.
    pub fn stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }
    #[inline]
    pub(crate) fn take(&self) -> Option<Letter> {
        if self.letters.is_empty() {
            return None;
        }
        self.letters.pop()
    }
    /// Whether there are no letters.
    pub fn is_empty(&self) -> bool {
        self.letters.is_empty()
    }
    /// Announces sleep. False, and no sleep, if there is work.
    pub(crate) fn fall_asleep(&self) -> bool {
        self.asleep.store(true, Ordering::SeqCst);
        seam("asleep announced, letters not looked for");
        std::sync::atomic::fence(Ordering::SeqCst);
        if !self.letters.is_empty() || self.stopped() {
            self.awake();
            return false;
        }
        true
    }
    pub(crate) fn awake(&self) {
        self.asleep.store(false, Ordering::SeqCst);
        let _ = rustix::io::read(&self.event, &mut [0u8; 8]);
    }
    /// Whether the worker sleeps.
    pub fn is_asleep(&self) -> bool {
        self.asleep.load(Ordering::SeqCst)
    }
}
impl AsFd for Mailbox {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.event.as_fd()
    }
}
