//! From control to a worker: work to be done between two turns. There is no barrier; a letter is read within one turn, or
//! after one nap, and a sleeping worker is woken for it.

use crate::sync::{AtomicBool, Event, Ordering, SegQueue, fence};
use crate::worker::Worker;
use quiver_table::simulation::seam;
use std::os::fd::{AsFd, BorrowedFd};

/// Work for a worker. It runs on the worker's thread, so it must be short and give large values back to be dropped
/// elsewhere.
pub type Letter = Box<dyn FnOnce(&mut Worker) + Send>;

/// A worker's letters.
pub struct Mailbox {
    letters: SegQueue<Letter>,
    asleep: AtomicBool,
    stop: AtomicBool,
    event: Event,
}

impl Mailbox {
    pub(crate) fn new() -> Result<Mailbox, std::io::Error> {
        let (asleep, stop) = (AtomicBool::new(false), AtomicBool::new(false));
        Ok(Mailbox { letters: SegQueue::new(), asleep, stop, event: Event::new()? })
    }
    /// Posts a letter, and wakes the worker if it sleeps.
    pub fn post(&self, letter: impl FnOnce(&mut Worker) + Send + 'static) {
        seam("about to post");
        self.letters.push(Box::new(letter));
        seam("a letter posted, its reader not woken");
        self.wake();
    }
    /// Wakes the worker if it sleeps, for its letters or for packets that another one has handed over.
    pub(crate) fn wake(&self) {
        // Pairs with the fence in `fall_asleep`: either we see the sleeper, or it sees the letter or the packets.
        fence(Ordering::SeqCst);
        if self.asleep.load(Ordering::SeqCst) {
            self.event.signal();
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
    /// Announces sleep. False, and there is none, if there are letters; whoever sleeps looks for handed-over packets then.
    pub(crate) fn fall_asleep(&self) -> bool {
        self.asleep.store(true, Ordering::SeqCst);
        seam("asleep announced, letters not looked for");
        fence(Ordering::SeqCst);
        if !self.letters.is_empty() || self.stopped() {
            self.awake();
            return false;
        }
        true
    }
    pub(crate) fn awake(&self) {
        self.asleep.store(false, Ordering::SeqCst);
        self.event.clear();
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

/// Every interleaving of a worker and control: `cargo xtask memory loom`.
#[cfg(all(test, loom))]
mod tests {
    use super::*;
    use loom::sync::Arc;
    use loom::thread;

    /// A worker that sleeps is woken if a letter lies there, or the thread is to end.
    fn has_not_overslept(mailbox: &Mailbox, sleeps: bool) {
        let work = !mailbox.is_empty() || mailbox.stopped();
        assert!(!(sleeps && work) || mailbox.event.is_signalled(), "the worker sleeps beside its work");
    }

    #[test]
    fn a_letter_wakes_whoever_falls_asleep_meanwhile() {
        loom::model(|| {
            let mailbox = Arc::new(Mailbox::new().unwrap());
            let ours = mailbox.clone();
            let worker = thread::spawn(move || ours.fall_asleep());
            mailbox.post(|_| {});
            has_not_overslept(&mailbox, worker.join().unwrap());
        });
    }

    #[test]
    fn a_letter_that_comes_while_the_worker_wakes_is_not_forgotten() {
        loom::model(|| {
            let mailbox = Arc::new(Mailbox::new().unwrap());
            let ours = mailbox.clone();
            let worker = thread::spawn(move || {
                if ours.fall_asleep() {
                    ours.awake();
                }
                while ours.take().is_some() {}
                ours.fall_asleep()
            });
            mailbox.post(|_| {});
            mailbox.post(|_| {});
            has_not_overslept(&mailbox, worker.join().unwrap());
        });
    }

    #[test]
    fn a_sleeper_is_woken_to_end() {
        loom::model(|| {
            let mailbox = Arc::new(Mailbox::new().unwrap());
            let ours = mailbox.clone();
            let worker = thread::spawn(move || ours.fall_asleep());
            mailbox.stop();
            has_not_overslept(&mailbox, worker.join().unwrap());
        });
    }
}
