//! Limit on the rate of events.

use std::time::Duration;

use quiver_control::Time;

/// A rate limit: at most `most` events in a window, which begins with the first of them.
#[derive(Debug)]
pub(crate) struct Rate {
    most: u32,
    window: Duration,
    since: Time,
    spent: u32,
}

impl Rate {
    pub const fn new(most: u32, window: Duration) -> Rate {
        Rate { most, window, since: Time(0), spent: 0 }
    }
    /// Whether one more may happen; if so it is counted.
    pub fn allows(&mut self, now: Time) -> bool {
        if now.since(self.since) >= self.window {
            (self.since, self.spent) = (now, 0);
        }
        let allowed = self.spent < self.most;
        self.spent += u32::from(allowed);
        allowed
    }
    /// When the next window begins.
    pub fn again(&self) -> Time {
        self.since + self.window
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_has_so_many_and_the_next_as_many_again() {
        let mut rate = Rate::new(2, Duration::from_nanos(10));
        let times = [0, 3, 4, 9, 10, 10, 11, 19, 25, 26, 34, 35];
        let allowed: Vec<u64> = times.into_iter().filter(|now| rate.allows(Time(*now))).collect();
        assert_eq!(allowed, [0, 3, 10, 10, 25, 26, 35]);
        assert_eq!(rate.again(), Time(45));
    }
}
