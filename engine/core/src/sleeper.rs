//! A worker's sleep, and how it is woken.

use crate::sync::{AtomicBool, Event, Ordering, fence};
use quiver_table::simulation::seam;
use std::os::fd::{AsFd, BorrowedFd};

/// A worker's sleep. Senders of letters and packets wake it.
pub(crate) struct Sleeper {
    asleep: AtomicBool,
    event: Event,
}

impl Sleeper {
    pub fn new() -> Result<Sleeper, std::io::Error> {
        Ok(Sleeper { asleep: AtomicBool::new(false), event: Event::new()? })
    }
    /// Wakes the worker if it sleeps, for its letters or for packets that another one has handed over.
    pub fn wake(&self) {
        // Pairs with the fence in `fall_asleep`: either we see the sleeper, or it sees the letter or the packets.
        fence(Ordering::SeqCst);
        if self.asleep.load(Ordering::SeqCst) {
            self.event.signal();
        }
    }
    /// Announces sleep. False, and there is none, if `is_awaited` finds something to do then.
    pub fn fall_asleep(&self, is_awaited: impl FnOnce() -> bool) -> bool {
        self.asleep.store(true, Ordering::SeqCst);
        seam("asleep announced, letters not looked for");
        fence(Ordering::SeqCst);
        if is_awaited() {
            self.awake();
            return false;
        }
        true
    }
    pub fn awake(&self) {
        self.asleep.store(false, Ordering::SeqCst);
        self.event.clear();
    }
    /// Whether the worker sleeps.
    pub fn is_asleep(&self) -> bool {
        self.asleep.load(Ordering::SeqCst)
    }
    /// Whether a poll of the descriptor returns at once.
    #[cfg(all(test, loom))]
    pub fn is_signalled(&self) -> bool {
        self.event.is_signalled()
    }
}

impl AsFd for Sleeper {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.event.as_fd()
    }
}
