//! Sequence numbers: each packet of a stream ends with its number, so that the receiver tells loss, duplication and
//! reordering apart.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use crate::tag::{StampedTag, Tag};
use crate::timing::{Last, Timing};

/// Streams at most.
pub(crate) const STREAMS_MAX: usize = 32;
/// Numbers that are remembered behind the highest one: an older one counts as a duplicate, so that no loss is hidden.
const REMEMBERED: u64 = 2048;

/// Counts of a stream. The sending worker and all receiving workers write them, so they are atomic.
#[derive(Default, Debug)]
pub(crate) struct Score {
    /// The run that counts.
    pub run: AtomicU64,
    pub sent: AtomicU64,
    pub received: AtomicU64,
    pub duplicated: AtomicU64,
    pub reordered: AtomicU64,
    /// One more than the highest number received.
    next: AtomicU64,
    /// The highest number received of those that share a place, by [`mark`]. Made with the first run.
    seen: OnceLock<Box<[AtomicU64]>>,
    /// Made with the first stream of this place that is timed.
    timing: OnceLock<Timing>,
}

impl Score {
    /// Starts a run with counts of zero.
    pub fn begin(&self, run: u16) {
        // Marks of earlier runs are known by their run.
        self.seen.get_or_init(|| (0..REMEMBERED).map(|_| AtomicU64::new(0)).collect());
        self.run.store(run.into(), Relaxed);
        for count in [&self.sent, &self.received, &self.duplicated, &self.reordered, &self.next] {
            count.store(0, Relaxed);
        }
        self.timing.get().into_iter().for_each(Timing::clear);
    }
    /// Gets ready to time packets that so many workers receive.
    pub fn time(&self, workers: usize) {
        self.timing.get_or_init(|| Timing::new(workers));
    }
    /// Times of packets, if any stream in this place was timed.
    pub fn timing(&self) -> Option<&Timing> {
        self.timing.get()
    }
    /// The number whose lower 32 bits these are: the one nearest to the highest that was received, `next` being what a worker
    /// knows of that beside the score.
    fn whole(&self, low: u32, next: u64) -> u64 {
        let next = self.next.load(Relaxed).max(next);
        next.saturating_add_signed(low.wrapping_sub(next as u32).cast_signed().into())
    }
    /// Numbers passed over and not seen since, whichever worker saw the others. For a moment, while a worker has not sent
    /// yet what is before the last packet of another one, it counts that, too.
    pub fn lost(&self) -> u64 {
        self.next.load(Relaxed).saturating_sub(self.arrived())
    }
    /// Packets sent that have not arrived, on their way or lost.
    #[inline]
    pub fn missing(&self) -> u64 {
        self.sent.load(Relaxed).saturating_sub(self.arrived())
    }
    fn arrived(&self) -> u64 {
        self.received.load(Relaxed).saturating_sub(self.duplicated.load(Relaxed))
    }
    /// Notes a number. Whether it is here for the first time, as far as is remembered.
    #[inline]
    fn see(&self, tag: Tag, is_alone: bool) -> bool {
        let Some(place) = self.seen.get().and_then(|seen| seen.get((tag.number % REMEMBERED) as usize)) else {
            return true;
        };
        let mark = mark(tag);
        let is_new = |old: u64| old >> RUN_SHIFT != u64::from(tag.run) || old < mark;
        if is_alone {
            // PERF: to compare and exchange costs 20 ticks and more, also where nobody else writes.
            let is_first = is_new(place.load(Relaxed));
            if is_first {
                place.store(mark, Relaxed);
            }
            return is_first;
        }
        place.fetch_update(Relaxed, Relaxed, |old| is_new(old).then_some(mark)).is_ok()
    }
}

/// Where a mark has its run.
const RUN_SHIFT: u32 = 48;

/// A number and its run. Runs are never zero, so zero is none. Any number may come with a packet.
fn mark(tag: Tag) -> u64 {
    u64::from(tag.run) << RUN_SHIFT | tag.number.wrapping_add(1) & ((1 << RUN_SHIFT) - 1)
}

/// The scores of all streams, by slot.
#[derive(Debug)]
pub(crate) struct Scoreboard {
    pub scores: [Score; STREAMS_MAX],
}

impl Default for Scoreboard {
    fn default() -> Scoreboard {
        Scoreboard { scores: std::array::from_fn(|_| Score::default()) }
    }
}

/// State of one stream at the receiving end of one queue: the order of its packets. Packets that different workers send
/// have no order between them.
#[derive(Clone, Default)]
pub(crate) struct Tracker {
    run: u16,
    /// One more than the highest number that this queue has sent.
    next: u64,
    /// The last packet with a stamp.
    last: Last,
    /// Whether no other worker receives packets of the stream.
    is_alone: bool,
    untold: Untold,
}

/// Counts since the score was updated last.
#[derive(Clone, Copy, Default)]
struct Untold {
    received: u64,
    duplicated: u64,
    reordered: u64,
}

/// The receiving worker of a packet, and the time of the engine's clock.
#[derive(Clone, Copy)]
pub(crate) struct Receipt {
    pub worker: usize,
    pub now: u64,
}

impl Tracker {
    /// For a queue of the only worker, or of one of several.
    pub fn new(is_alone: bool) -> Tracker {
        Tracker { is_alone, ..Tracker::default() }
    }
    /// Notes a packet and counts it; the score is told later. Whether it is one of this run that is here for the first time.
    #[inline]
    pub fn note(&mut self, tag: Tag, score: &Score) -> bool {
        if score.run.load(Relaxed) != u64::from(tag.run) {
            return false;
        }
        if self.run != tag.run {
            *self = Tracker { run: tag.run, ..Tracker::new(self.is_alone) };
        }
        let is_late = tag.number < self.next;
        self.next = self.next.max(tag.number.saturating_add(1));
        let is_first = score.see(tag, self.is_alone);
        self.untold.received += 1;
        self.untold.duplicated += u64::from(!is_first);
        self.untold.reordered += u64::from(is_first && is_late);
        is_first
    }
    /// Tells the score what was counted since it was told last.
    pub fn tell(&mut self, score: &Score) {
        let Untold { received, duplicated, reordered } = std::mem::take(&mut self.untold);
        // A run that has begun meanwhile is another one's.
        if received == 0 || score.run.load(Relaxed) != u64::from(self.run) {
            return;
        }
        score.next.fetch_max(self.next, Relaxed);
        let counts = [(&score.received, received), (&score.duplicated, duplicated), (&score.reordered, reordered)];
        counts.into_iter().filter(|(_, count)| *count > 0).for_each(|(sum, count)| _ = sum.fetch_add(count, Relaxed));
    }
    /// Notes and counts a packet with a stamp, and how long it was on its way.
    #[cold]
    pub fn note_stamped(&mut self, tag: StampedTag, score: &Score, receipt: Receipt) {
        let StampedTag { slot, run, number, stamp } = tag;
        let number = score.whole(number, if self.run == run { self.next } else { 0 });
        if self.note(Tag { slot: slot.into(), run, number }, score)
            && let Some(timing) = score.timing()
        {
            let delay = stamp.until(timing.moment(receipt.now));
            timing.received(receipt.worker, number, delay, &mut self.last);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tag::Stamp;

    fn tag(run: u16, number: u64) -> Tag {
        Tag { slot: 0, run, number }
    }
    /// (received, lost, duplicated, reordered) after these numbers: the same for the only worker and one of several.
    fn counts(numbers: impl IntoIterator<Item = u64, IntoIter: Clone>) -> [u64; 4] {
        let numbers = numbers.into_iter();
        let [alone, among_others] = [true, false].map(|is_alone| counted(numbers.clone(), is_alone));
        assert_eq!(alone, among_others);
        alone
    }
    fn counted(numbers: impl Iterator<Item = u64>, is_alone: bool) -> [u64; 4] {
        let (mut tracker, score) = (Tracker::new(is_alone), Score::default());
        score.begin(3);
        numbers.for_each(|number| _ = tracker.note(tag(3, number), &score));
        tracker.tell(&score);
        told(&score)
    }
    fn told(score: &Score) -> [u64; 4] {
        let [received, duplicated, reordered] =
            [&score.received, &score.duplicated, &score.reordered].map(|count| count.load(Relaxed));
        [received, score.lost(), duplicated, reordered]
    }

    #[test]
    fn loss_duplication_and_reordering_are_told_apart() {
        assert_eq!(counts([0, 1, 2, 3]), [4, 0, 0, 0]);
        assert_eq!(counts([0, 3]), [2, 2, 0, 0], "two are missing");
        assert_eq!(counts([0, 2, 1]), [3, 0, 0, 1], "one was late");
        assert_eq!(counts([0, 1, 1, 0]), [4, 0, 2, 0], "two came again");
        assert_eq!(counts([0, 2, 1, 1]), [4, 0, 1, 1], "late, and again");
        assert_eq!(counts([5]), [1, 5, 0, 0], "the first ones count");
    }

    #[test]
    fn long_runs_and_long_gaps_are_remembered_right() {
        assert_eq!(counts((0..10_000).chain(9_000..9_010)), [10_010, 0, 10, 0]);
        let late = (0..REMEMBERED * 3).filter(|number| *number != 5_000).chain([5_000]);
        assert_eq!(counts(late), [REMEMBERED * 3, 0, 0, 1]);
        assert_eq!(counts((0..5000).filter(|number| *number != 7).chain([7])), [5000, 1, 1, 0], "too late to tell");
        assert_eq!(counts([0, 100_000, 99_999]), [3, 99_998, 0, 1]);
    }

    #[test]
    fn a_stream_that_leaves_by_several_queues_is_one_stream() {
        /// Counts after these numbers, each sent by the queue beside it.
        fn counts(sent: impl IntoIterator<Item = (usize, u64)>) -> [u64; 4] {
            let (mut queues, score) = ([Tracker::default(), Tracker::default()], Score::default());
            score.begin(3);
            sent.into_iter().for_each(|(queue, number)| _ = queues[queue].note(tag(3, number), &score));
            queues.iter_mut().for_each(|queue| queue.tell(&score));
            told(&score)
        }
        assert_eq!(counts((0..9000).map(|number| ((number % 2) as usize, number))), [9000, 0, 0, 0]);
        assert_eq!(counts([(0, 0), (0, 2), (1, 1), (1, 3)]), [4, 0, 0, 0], "neither queue's packets overtake");
        assert_eq!(counts([(0, 0), (1, 3), (0, 1)]), [3, 1, 0, 0], "one is lost, whoever should have had it");
        assert_eq!(counts([(0, 0), (1, 1), (0, 1)]), [3, 0, 1, 0], "sent by both");
        assert_eq!(counts([(0, 0), (0, 2), (0, 1), (1, 3)]), [4, 0, 0, 1], "overtaken within a queue");
    }

    #[test]
    fn numbers_go_on_behind_32_bits() {
        let (mut tracker, score) = (Tracker::default(), Score::default());
        score.begin(3);
        let (end, mut note) = (1_u64 << 32, |number: u64| {
            let low = StampedTag { slot: 0, run: 3, number: number as u32, stamp: Stamp::new(0) };
            tracker.note_stamped(low, &score, Receipt { worker: 0, now: 0 });
        });
        note(0);
        // As far as the lower half tells numbers apart, a gap of two thousand million.
        note(end / 2 - 1);
        note(end - 2);
        [end - 1, end, end + 2, end + 1, end + 1].into_iter().for_each(note);
        tracker.tell(&score);
        assert_eq!(told(&score), [8, end + 3 - 7, 1, 1]);
    }

    #[test]
    fn packets_of_an_earlier_run_do_not_count() {
        let (mut tracker, score) = (Tracker::default(), Score::default());
        score.begin(1);
        tracker.note(tag(1, 0), &score);
        score.begin(2);
        tracker.tell(&score);
        tracker.note(tag(1, 1), &score);
        tracker.note(tag(2, 0), &score);
        tracker.tell(&score);
        assert_eq!(told(&score), [1, 0, 0, 0]);
        // Nor do their marks, where they had a higher number.
        (0..5000).for_each(|number| _ = tracker.note(tag(2, number), &score));
        score.begin(3);
        (0..10).for_each(|number| _ = tracker.note(tag(3, number), &score));
        tracker.tell(&score);
        assert_eq!(told(&score), [10, 0, 0, 0]);
    }
}
