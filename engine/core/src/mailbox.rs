//! From control to a worker: work to be done between two turns. There is no barrier; a letter is read within one turn,
//! and a sleeping worker is woken for it.

use crate::sync::{AtomicBool, AtomicU8, Event, Ordering, SegQueue, fence};
use crate::worker::Worker;
use quiver_table::simulation::seam;
use std::os::fd::{AsFd, BorrowedFd};

/// Work for a worker. It runs on the worker's thread, so it must be short and give large values back to be dropped
/// elsewhere.
pub type Letter = Box<dyn FnOnce(&mut Worker) + Send>;

/// How a worker rests.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub(crate) enum Rest {
    /// Not at all.
    Awake,
    /// Until its time is over; only letters wake it.
    Nap,
    /// Until letters or packets come.
    Sleep,
}

/// A worker's letters.
pub struct Mailbox {
    letters: SegQueue<Letter>,
    rest: AtomicU8,
    stop: AtomicBool,
    event: Event,
}

impl Mailbox {
    pub(crate) fn new() -> Result<Mailbox, std::io::Error> {
        let (event, rest) = (Event::new()?, AtomicU8::new(Rest::Awake as u8));
        Ok(Mailbox { letters: SegQueue::new(), rest, stop: AtomicBool::new(false), event })
    }
    /// Posts a letter, and wakes the worker if it sleeps.
    pub fn post(&self, letter: impl FnOnce(&mut Worker) + Send + 'static) {
        seam("about to post");
        self.letters.push(Box::new(letter));
        seam("a letter posted, its reader not woken");
        self.wake(Rest::Nap);
    }
    /// Wakes the worker if it sleeps: another one has handed packets over.
    pub(crate) fn packets_came(&self) {
        self.wake(Rest::Sleep);
    }
    /// Wakes the worker if it rests so deeply, or more.
    fn wake(&self, least: Rest) {
        // Pairs with the fence in `fall_asleep`: either we see the sleeper, or it sees the letter or the packets.
        fence(Ordering::SeqCst);
        if self.rest.load(Ordering::SeqCst) >= least as u8 {
            self.event.signal();
        }
    }
    /// Asks the worker's thread to end.
    pub fn stop(&self) {
        self.stop.store(true, Ordering::SeqCst);
        self.wake(Rest::Nap);
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
    /// Announces rest. False, and none is taken, if there are letters; whoever rests looks for handed-over packets then.
    pub(crate) fn fall_asleep(&self, rest: Rest) -> bool {
        self.rest.store(rest as u8, Ordering::SeqCst);
        seam("asleep announced, letters not looked for");
        fence(Ordering::SeqCst);
        if !self.letters.is_empty() || self.stopped() {
            self.awake();
            return false;
        }
        true
    }
    pub(crate) fn awake(&self) {
        self.rest.store(Rest::Awake as u8, Ordering::SeqCst);
        self.event.clear();
    }
    /// Whether the worker sleeps or naps.
    pub fn is_asleep(&self) -> bool {
        self.rest.load(Ordering::SeqCst) != Rest::Awake as u8
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
            let worker = thread::spawn(move || ours.fall_asleep(Rest::Sleep));
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
                if ours.fall_asleep(Rest::Sleep) {
                    ours.awake();
                }
                while ours.take().is_some() {}
                ours.fall_asleep(Rest::Sleep)
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
            let worker = thread::spawn(move || ours.fall_asleep(Rest::Sleep));
            mailbox.stop();
            has_not_overslept(&mailbox, worker.join().unwrap());
        });
    }
}
