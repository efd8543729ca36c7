//! End of a run of the lab: a flag ([`Stop`]), waits with limits that heed it ([`Wait`]), and children that are asked
//! to end ([`output_of`]).
#![forbid(unsafe_code)]

mod child;

pub use child::{StopTarget, output_of};

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// Longest wait for an answer once the run is to end; a responsive peer has sent its counters by then.
const HEED: Duration = Duration::from_millis(700);
/// Interval at which a blocking wait checks the flag.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// Request to end the run. All clones are the same flag.
#[derive(Clone, Debug, Default)]
pub struct Stop(Arc<AtomicBool>);

impl Stop {
    /// The flag, to be set by a signal's handler, for example.
    pub fn flag(&self) -> Arc<AtomicBool> {
        self.0.clone()
    }

    /// Whether it was asked for.
    pub fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// A wait of so long at most, that begins now.
    pub fn wait(&self, limit: Duration) -> Wait {
        let begun = Instant::now();
        Wait { stop: self.clone(), begun, limit, is_hurried: false }
    }
}

/// A wait with a limit, which becomes short when the run is to end.
#[derive(Clone, Debug)]
pub struct Wait {
    stop: Stop,
    begun: Instant,
    limit: Duration,
    is_hurried: bool,
}

impl Wait {
    /// Whether there is nothing more to wait for.
    pub fn is_over(&mut self) -> bool {
        if !self.is_hurried && self.stop.is_set() {
            self.is_hurried = true;
            self.limit = self.limit.min(self.spent() + HEED);
        }
        self.spent() >= self.limit
    }

    /// The time for which a call may block before [`Wait::is_over`] is asked again. Never zero.
    pub fn turn(&self) -> Duration {
        LOOK_EVERY.min(self.limit.saturating_sub(self.spent())).max(Duration::from_millis(1))
    }

    /// Sleeps for so long, or for a turn if that is shorter.
    pub fn sleep(&self, time: Duration) {
        thread::sleep(time.min(self.turn()));
    }

    /// Limit of the wait: shorter than at its beginning once the run is to end.
    pub fn limit(&self) -> Duration {
        self.limit
    }

    /// Time spent so far.
    pub fn spent(&self) -> Duration {
        self.begun.elapsed()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_ends_by_its_limit() {
        let mut wait = Stop::default().wait(Duration::from_millis(20));
        assert!(!wait.is_over() && wait.turn() <= Duration::from_millis(20));
        while !wait.is_over() {
            wait.sleep(Duration::from_secs(9));
        }
        assert!(wait.spent() >= Duration::from_millis(20));
    }

    #[test]
    fn a_wait_that_has_begun_is_cut_short_but_not_at_once() {
        let stop = Stop::default();
        let mut wait = stop.wait(Duration::from_secs(3600));
        assert!(!wait.is_over() && !stop.is_set());
        stop.flag().store(true, Ordering::Relaxed);
        let set = Instant::now();
        assert!(!wait.is_over(), "who answers at once is heard");
        while !wait.is_over() {
            wait.sleep(Duration::from_secs(9));
        }
        assert!(set.elapsed() >= HEED && set.elapsed() < Duration::from_secs(60), "{:?}", set.elapsed());
    }
}

/// The page of this room, whose example is a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Page;
