//! A worker's free records, and the times at which its sessions are looked at next.
//!
//! The data path writes `last seen` only. A session is looked at when its timeout could have passed; if it has not, the session is
//! looked at again later. Records of ended sessions rest until every worker has passed the end of a turn, because a packet of another
//! worker may still be compared with them.

use std::collections::VecDeque;

use quiver_engine::Lead;

/// Slots of the wheel.
const SLOTS: usize = 1024;
/// No slot.
const NEVER: u32 = u32::MAX;

/// A worker's free records, and its wheel of sessions.
#[derive(Default)]
pub struct Shard {
    /// Records that were never used begin here.
    fresh: u32,
    free: Vec<u32>,
    /// Records that rest, by the number of rounds that they have rested.
    resting: [Vec<u32>; 3],
    wheel: Wheel,
    /// Sessions whose timeout has become shorter.
    sooner: Vec<u32>,
    /// Sessions.
    live: usize,
    /// That of control's clock over the worker's.
    pub(crate) lead: Lead,
}

impl Shard {
    /// A free record for a new session; None if all `most` are used.
    pub(crate) fn take(&mut self, most: u32) -> Option<u32> {
        if let Some(index) = self.free.pop() {
            return Some(index);
        }
        (self.fresh < most).then(|| {
            self.fresh += 1;
            self.fresh - 1
        })
    }
    /// Returns a record in which no session began.
    pub(crate) fn put_back(&mut self, index: u32) {
        // Other workers may have seen it in the directory for a moment.
        self.resting[0].push(index);
    }
    /// A session has begun, and is looked at in the interval `due`.
    pub(crate) fn begun(&mut self, index: u32, due: u32) {
        self.live += 1;
        self.wheel.insert(index, due);
    }
    /// A session has ended.
    pub(crate) fn ended(&mut self, index: u32) {
        self.live -= 1;
        self.wheel.remove(index);
        self.resting[0].push(index);
    }
    /// Has a session looked at in the next round, because its timeout has become shorter.
    pub(crate) fn look_soon(&mut self, index: u32) {
        self.sooner.push(index);
    }
    /// A session is looked at again in the interval `due`.
    pub(crate) fn look_at(&mut self, index: u32, due: u32) {
        self.wheel.insert(index, due);
    }
    /// The next session to look at, in the interval `now`. Each call is bounded work; `Some(None)` means that there was an entry that is
    /// outdated.
    pub(crate) fn due(&mut self, now: u32) -> Option<Option<u32>> {
        if let Some(index) = self.sooner.pop() {
            return Some(Some(index));
        }
        self.wheel.due(now)
    }
    /// Begins a round: all workers have passed the end of a turn since the last one began.
    pub(crate) fn begin_round(&mut self) {
        let [first, second, third] = &mut self.resting;
        // PERF: the longer of both lists stays where it is.
        if third.len() > self.free.len() {
            std::mem::swap(third, &mut self.free);
        }
        self.free.append(third);
        std::mem::swap(second, third);
        std::mem::swap(first, second);
    }
    /// Number of sessions.
    pub(crate) fn live(&self) -> usize {
        self.live
    }
    /// Whether records rest.
    pub(crate) fn rests(&self) -> bool {
        self.resting.iter().any(|resting| !resting.is_empty())
    }
    /// The record behind the last one that was ever used.
    pub(crate) fn used(&self) -> u32 {
        self.fresh
    }
}

/// Sessions by the interval in which they are looked at.
#[derive(Default)]
struct Wheel {
    /// The list of interval `n` is in slot `n % SLOTS`.
    slots: Vec<Vec<u32>>,
    /// The interval in which each session is looked at: an entry of another interval is outdated.
    planned: Vec<u32>,
    /// The first interval that has not been reached.
    next: u32,
    /// Lists of reached intervals, with their intervals.
    reached: VecDeque<(u32, Vec<u32>)>,
}

impl Wheel {
    fn insert(&mut self, index: u32, due: u32) {
        if self.slots.is_empty() {
            self.slots.resize_with(SLOTS, Vec::new);
        }
        // What is due later than the wheel reaches is looked at before, once.
        let ahead = due.wrapping_sub(self.next);
        let ahead = if ahead > u32::MAX / 2 { 0 } else { ahead.min(SLOTS as u32 - 1) };
        let at = self.next.wrapping_add(ahead);
        let planned = index as usize;
        if self.planned.len() <= planned {
            self.planned.resize(planned + 1, NEVER);
        }
        if std::mem::replace(&mut self.planned[planned], at) != at {
            self.slots[at as usize % SLOTS].push(index);
        }
    }
    fn remove(&mut self, index: u32) {
        if let Some(planned) = self.planned.get_mut(index as usize) {
            *planned = NEVER;
        }
    }
    fn due(&mut self, now: u32) -> Option<Option<u32>> {
        self.reach(now);
        let (interval, list) = self.reached.front_mut()?;
        let interval = *interval;
        let Some(index) = list.pop() else {
            self.reached.pop_front();
            return Some(None);
        };
        let planned = &mut self.planned[index as usize];
        let is_planned = *planned == interval;
        if is_planned {
            *planned = NEVER;
        }
        Some(is_planned.then_some(index))
    }
    /// Moves the lists of all intervals up to `now` to those that are reached.
    fn reach(&mut self, now: u32) {
        let passed = now.wrapping_sub(self.next).wrapping_add(1);
        if passed > u32::MAX / 2 {
            return;
        }
        for interval in 0..passed.min(SLOTS as u32) {
            let interval = self.next.wrapping_add(interval);
            match self.slots.get_mut(interval as usize % SLOTS) {
                Some(slot) if !slot.is_empty() => self.reached.push_back((interval, std::mem::take(slot))),
                _ => {}
            }
        }
        self.next = now.wrapping_add(1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all_due(shard: &mut Shard, now: u32) -> Vec<u32> {
        let mut due = vec![];
        while let Some(entry) = shard.due(now) {
            due.extend(entry);
        }
        due.sort_unstable();
        due
    }

    #[test]
    fn sessions_are_due_in_their_interval_and_not_before() {
        let mut shard = Shard::default();
        for (index, due) in [(0, 3), (1, 5), (2, 3), (3, 2000)] {
            shard.begun(index, due);
        }
        assert_eq!(all_due(&mut shard, 2), [0u32; 0]);
        assert_eq!(all_due(&mut shard, 3), [0, 2]);
        shard.look_at(0, 5);
        shard.ended(2);
        assert_eq!(all_due(&mut shard, 10), [0, 1]);
        // Beyond the wheel's reach it is looked at before.
        assert_eq!(all_due(&mut shard, 1023), [3]);
        shard.look_at(3, 2000);
        assert_eq!(all_due(&mut shard, 1999), [0u32; 0]);
        assert_eq!(all_due(&mut shard, 2000), [3]);
    }

    #[test]
    fn a_moved_session_is_due_once() {
        let mut shard = Shard::default();
        shard.begun(7, 5);
        shard.look_at(7, 9);
        shard.look_at(7, 5);
        shard.look_at(7, 5);
        assert_eq!(all_due(&mut shard, 9), [7]);
        shard.look_soon(7);
        assert_eq!(all_due(&mut shard, 9), [7]);
    }

    #[test]
    fn after_a_leap_of_the_clock_everything_is_due() {
        let mut shard = Shard::default();
        (0..5000).for_each(|index| shard.begun(index, index));
        assert_eq!(all_due(&mut shard, 1_000_000).len(), 5000);
        shard.begun(5000, 1_000_001);
        assert_eq!(all_due(&mut shard, 1_000_001), [5000]);
    }

    #[test]
    fn intervals_come_round() {
        let mut shard = Shard::default();
        assert_eq!(all_due(&mut shard, u32::MAX / 2 - 1), [0u32; 0]);
        assert_eq!(all_due(&mut shard, u32::MAX - 2), [0u32; 0]);
        shard.begun(1, 1);
        assert_eq!(all_due(&mut shard, u32::MAX), [0u32; 0]);
        assert_eq!(all_due(&mut shard, 1), [1]);
    }

    #[test]
    fn a_record_rests_for_three_rounds() {
        let mut shard = Shard::default();
        let first = shard.take(2).expect("there are two");
        shard.begun(first, 1);
        shard.ended(first);
        assert!(shard.rests());
        assert_eq!((shard.take(2), shard.take(2)), (Some(1), None));
        for _ in 0..2 {
            shard.begin_round();
            assert_eq!(shard.take(2), None);
        }
        shard.begin_round();
        assert_eq!((shard.take(2), shard.rests()), (Some(first), false));
    }
}
