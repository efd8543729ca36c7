//! A worker's clock that goes ahead when control's does.

/// The lead of control's clock over a worker's since a node first heard of it: control's can be set ahead (`set clock adjust`).
#[derive(Debug, Default)]
pub struct Lead {
    /// Time by control's clock, until it was read.
    said: Option<u64>,
    /// Lead of control's clock over the worker's when it was first heard.
    behind: Option<u64>,
    by: u64,
}

impl Lead {
    /// Notes the time by control's clock, in nanoseconds.
    pub fn say(&mut self, now: u64) {
        self.said = Some(now);
    }
    /// Whether control's clock was heard since the last call; `now` is the worker's clock.
    pub fn hears(&mut self, now: u64) -> bool {
        let Some(said) = self.said.take() else { return false };
        // Both begin anywhere; the difference says how far one has gone ahead.
        let behind = said.wrapping_sub(now);
        let first = *self.behind.get_or_insert(behind);
        let further = behind.wrapping_sub(first);
        // A letter that took its time makes the other seem to be late.
        self.by = self.by.max(if further > u64::MAX / 2 { 0 } else { further });
        true
    }
    /// The worker's time in nanoseconds, ahead as control's is, when its own clock says `now`.
    pub fn now(&self, now: u64) -> u64 {
        now.saturating_add(self.by)
    }
    /// The lead in nanoseconds.
    pub fn nanoseconds(&self) -> u64 {
        self.by
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_goes_ahead_with_the_other_and_never_back() {
        let mut lead = Lead::default();
        assert!(!lead.hears(5));
        for (said, now, then) in [(100, 1000, 1000), (140, 1050, 1050), (900, 1100, 1800), (1000, 1300, 2000)] {
            lead.say(said);
            assert!(lead.hears(now) && !lead.hears(now));
            assert_eq!(lead.now(now), then, "{said} {now}");
        }
    }
}
