//! A worker's free records, and the times at which its sessions are looked at next.
//!
//! The data path writes `last seen` only. A session is looked at when its timeout could have passed; if it has not, the session is
//! looked at again later. Records of ended sessions rest until every worker has passed the end of a turn, because a packet of another
//! worker may still be compared with them.

use std::collections::VecDeque;

use quiver_engine::Lead;

use crate::events::Log;
use crate::sources::Free;

/// Slots of the wheel.
const SLOTS: usize = 1024;
/// No slot.
const NEVER: u16 = u16::MAX;
/// The next round, whenever it is.
const SOON: u16 = NEVER - 1;

/// A worker's free records, and its wheel of sessions.
#[derive(Default)]
pub struct Shard {
    /// Records that were never used begin here.
    fresh: u32,
    free: Vec<u32>,
    /// Records that rest, by the number of rounds that they have rested.
    resting: [Vec<u32>; 3],
    wheel: Wheel,
    /// Sessions.
    live: usize,
    /// That of control's clock over the worker's.
    pub(crate) lead: Lead,
    /// Sessions that are looked at because of pressure.
    pub(crate) sweep: Sweep,
    /// Free counts of sources.
    pub(crate) sources: Free,
    /// Where events are written, if they are.
    pub(crate) events: Option<Box<Log>>,
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
        self.wheel.insert_soon(index);
    }
    /// A session is looked at again in the interval `due`.
    pub(crate) fn look_at(&mut self, index: u32, due: u32) {
        self.wheel.insert(index, due);
    }
    /// The next session to look at, in the interval `now`. Each call is bounded work; `Some(None)` means that there was an entry that is
    /// outdated.
    pub(crate) fn due(&mut self, now: u32) -> Option<Option<u32>> {
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

/// Looks at all records, some in each interval, while the wheel's plans are too late.
#[derive(Default)]
pub(crate) struct Sweep {
    /// The interval in which it began last.
    interval: u32,
    /// The next record, records there are, and how many to look at in this interval.
    next: u32,
    used: u32,
    left: u32,
}

impl Sweep {
    /// Intervals until all records have been looked at; as in pf.
    const INTERVALS: u32 = 10;

    /// Begins to look at a part of so many records, once in an interval.
    pub(crate) fn begin(&mut self, interval: u32, used: u32) {
        if self.interval != interval {
            (self.interval, self.used, self.left) = (interval, used, used.div_ceil(Sweep::INTERVALS));
        }
    }
    /// The next record to look at.
    pub(crate) fn next(&mut self) -> Option<u32> {
        self.left = self.left.checked_sub(1)?;
        let index = if self.next < self.used { self.next } else { 0 };
        self.next = index + 1;
        Some(index)
    }
}

/// Sessions by the interval in which they are looked at.
#[derive(Default)]
struct Wheel {
    /// The list of interval `n` is in slot `n % SLOTS`.
    slots: Vec<Vec<u32>>,
    /// The slot in which each session is: an entry of another slot is outdated.
    planned: Vec<u16>,
    /// Sessions of the next round: entries as those of slots.
    soon: Vec<u32>,
    /// The first interval that has not been reached.
    next: u32,
    /// Lists of reached intervals, with their slots.
    reached: VecDeque<(u16, Vec<u32>)>,
}

impl Wheel {
    fn insert(&mut self, index: u32, due: u32) {
        if self.slots.is_empty() {
            self.slots.resize_with(SLOTS, Vec::new);
        }
        // What is due later than the wheel reaches is looked at before, once.
        let ahead = due.wrapping_sub(self.next);
        let ahead = if ahead > u32::MAX / 2 { 0 } else { ahead.min(SLOTS as u32 - 1) };
        let slot = self.next.wrapping_add(ahead) as usize % SLOTS;
        if self.plan(index, slot as u16) {
            self.slots[slot].push(index);
        }
    }
    fn insert_soon(&mut self, index: u32) {
        if self.plan(index, SOON) {
            self.soon.push(index);
        }
    }
    /// Plans a session; whether it was planned otherwise, so that it needs an entry.
    fn plan(&mut self, index: u32, slot: u16) -> bool {
        let index = index as usize;
        if self.planned.len() <= index {
            self.planned.resize(index + 1, NEVER);
        }
        std::mem::replace(&mut self.planned[index], slot) != slot
    }
    fn remove(&mut self, index: u32) {
        if let Some(planned) = self.planned.get_mut(index as usize) {
            *planned = NEVER;
        }
    }
    fn due(&mut self, now: u32) -> Option<Option<u32>> {
        if let Some(index) = self.soon.pop() {
            return Some(self.unplan(index, SOON));
        }
        self.reach(now);
        let (slot, list) = self.reached.front_mut()?;
        let slot = *slot;
        let Some(index) = list.pop() else {
            self.reached.pop_front();
            return Some(None);
        };
        Some(self.unplan(index, slot))
    }
    /// The session of an entry, unless the entry is outdated.
    fn unplan(&mut self, index: u32, slot: u16) -> Option<u32> {
        let planned = self.planned.get_mut(index as usize).filter(|planned| **planned == slot)?;
        *planned = NEVER;
        Some(index)
    }
    /// Moves the lists of all intervals up to `now` to those that are reached. After a long time without sessions these are all lists.
    fn reach(&mut self, now: u32) {
        let passed = now.wrapping_sub(self.next).wrapping_add(1);
        for interval in 0..passed.min(SLOTS as u32) {
            let slot = self.next.wrapping_add(interval) as usize % SLOTS;
            match self.slots.get_mut(slot) {
                Some(list) if !list.is_empty() => self.reached.push_back((slot as u16, std::mem::take(list))),
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
        // Of what is asked for often, little is kept.
        (0..1000).for_each(|_| shard.look_soon(7));
        assert_eq!(shard.wheel.soon.len(), 1);
        shard.look_at(7, 12);
        assert_eq!(all_due(&mut shard, 11), [0u32; 0]);
        assert_eq!(all_due(&mut shard, 12), [7]);
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
        for due in [u32::MAX - 1, u32::MAX, 0] {
            let mut shard = Shard::default();
            assert_eq!(all_due(&mut shard, u32::MAX - 3), [0u32; 0]);
            shard.begun(1, due);
            assert_eq!(all_due(&mut shard, due.wrapping_sub(1)), [0u32; 0]);
            assert_eq!(all_due(&mut shard, due), [1]);
        }
    }

    #[test]
    fn sessions_end_after_any_time_without_sessions() {
        let mut shard = Shard::default();
        for (index, now) in [1 << 30, 3 << 30, 5, 1 << 31].into_iter().enumerate() {
            shard.begun(index as u32, now + 1);
            all_due(&mut shard, now);
            shard.look_at(index as u32, now + 1);
            assert_eq!(all_due(&mut shard, now), [0u32; 0]);
            assert_eq!(all_due(&mut shard, now + 1), [index as u32]);
            shard.ended(index as u32);
        }
    }

    #[test]
    fn a_sweep_looks_at_all_records_in_ten_intervals_and_no_more_often() {
        let mut sweep = Sweep::default();
        let mut looked = vec![];
        for interval in 1..=20 {
            for _ in 0..3 {
                sweep.begin(interval, 95);
                looked.extend(std::iter::from_fn(|| sweep.next()));
            }
        }
        let expected: Vec<u32> = (0..95).cycle().take(200).collect();
        assert_eq!(looked, expected);
        sweep.begin(21, 0);
        assert_eq!(sweep.next(), None);
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
