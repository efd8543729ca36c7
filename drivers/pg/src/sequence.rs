//! Sequence numbers: each packet of a stream ends with its number, so that whoever receives it tells loss, duplication
//! and reordering apart.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Streams at most.
pub(crate) const STREAMS_MAX: usize = 32;
/// Numbers that are remembered behind the highest one: an older one counts as a duplicate, so that no loss is hidden.
const REMEMBERED: u64 = 2048;
const WORDS: usize = REMEMBERED as usize / 64;
const MAGIC: [u8; 4] = *b"QvPg";

/// The last bytes of a packet. The end, because headers in front come and go on the way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Tag {
    /// The stream's place on the scoreboard.
    pub slot: u16,
    /// Which run of it: packets of an earlier one, late, are not counted.
    pub run: u16,
    /// The packet's number in the run.
    pub number: u64,
}

impl Tag {
    /// Bytes of a tag.
    pub const LENGTH: usize = 16;

    pub fn to_bytes(self) -> [u8; Tag::LENGTH] {
        let mut bytes = [0; Tag::LENGTH];
        bytes[..4].copy_from_slice(&MAGIC);
        bytes[4..6].copy_from_slice(&self.slot.to_be_bytes());
        bytes[6..8].copy_from_slice(&self.run.to_be_bytes());
        bytes[8..].copy_from_slice(&self.number.to_be_bytes());
        bytes
    }
    /// The tag at the end of these bytes, if there is one.
    #[inline]
    pub fn of(bytes: &[u8]) -> Option<Tag> {
        let tag: &[u8; Tag::LENGTH] = bytes.last_chunk()?;
        let [m0, m1, m2, m3, s0, s1, r0, r1, number @ ..] = *tag;
        let (slot, run) = (u16::from_be_bytes([s0, s1]), u16::from_be_bytes([r0, r1]));
        ([m0, m1, m2, m3] == MAGIC).then_some(Tag { slot, run, number: u64::from_be_bytes(number) })
    }
    /// The same of a packet in several parts.
    pub fn of_parts<'p>(parts: impl Iterator<Item = &'p [u8]>) -> Option<Tag> {
        let mut end = Vec::with_capacity(2 * Tag::LENGTH);
        for part in parts {
            end.extend_from_slice(&part[part.len().saturating_sub(Tag::LENGTH)..]);
            end.drain(..end.len().saturating_sub(Tag::LENGTH));
        }
        Tag::of(&end)
    }
}

/// What is counted of a stream. Written by the sending worker and by all that receive, hence atomic.
#[derive(Default, Debug)]
pub(crate) struct Score {
    /// The run that counts.
    pub run: AtomicU64,
    pub sent: AtomicU64,
    pub received: AtomicU64,
    /// Numbers passed over and not seen since.
    pub lost: AtomicU64,
    pub duplicated: AtomicU64,
    pub reordered: AtomicU64,
}

impl Score {
    /// Starts a run with counts of zero.
    pub fn begin(&self, run: u16) {
        self.run.store(run.into(), Relaxed);
        for count in [&self.sent, &self.received, &self.lost, &self.duplicated, &self.reordered] {
            count.store(0, Relaxed);
        }
    }
    /// Packets sent that have not arrived, on their way or lost.
    #[inline]
    pub fn missing(&self) -> u64 {
        let arrived = self.received.load(Relaxed).saturating_sub(self.duplicated.load(Relaxed));
        self.sent.load(Relaxed).saturating_sub(arrived)
    }
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

/// What the receiving end of one queue remembers of one stream.
#[derive(Clone)]
pub(crate) struct Tracker {
    run: u16,
    /// One more than the highest number seen.
    next: u64,
    /// A bit for each of the last numbers.
    seen: [u64; WORDS],
}

impl Default for Tracker {
    fn default() -> Tracker {
        Tracker { run: 0, next: 0, seen: [0; WORDS] }
    }
}

impl Tracker {
    /// Notes a packet and counts it.
    pub fn note(&mut self, tag: Tag, score: &Score) {
        if score.run.load(Relaxed) != u64::from(tag.run) {
            return;
        }
        if self.run != tag.run {
            *self = Tracker { run: tag.run, ..Tracker::default() };
        }
        score.received.fetch_add(1, Relaxed);
        if tag.number >= self.next {
            let skipped = tag.number - self.next;
            if skipped > 0 {
                score.lost.fetch_add(skipped, Relaxed);
            }
            self.forget(skipped);
            self.next = tag.number + 1;
            self.mark(tag.number);
        } else if self.next - tag.number > REMEMBERED || self.has(tag.number) {
            score.duplicated.fetch_add(1, Relaxed);
        } else {
            self.mark(tag.number);
            score.reordered.fetch_add(1, Relaxed);
            score.lost.fetch_sub(1, Relaxed);
        }
    }
    /// Clears the bits of the numbers skipped, and of the one behind them.
    fn forget(&mut self, skipped: u64) {
        if skipped >= REMEMBERED {
            self.seen = [0; WORDS];
            return;
        }
        for number in self.next..=self.next + skipped {
            let (word, bit) = place(number);
            self.seen[word] &= !bit;
        }
    }
    fn mark(&mut self, number: u64) {
        let (word, bit) = place(number);
        self.seen[word] |= bit;
    }
    fn has(&self, number: u64) -> bool {
        let (word, bit) = place(number);
        self.seen[word] & bit != 0
    }
}

fn place(number: u64) -> (usize, u64) {
    ((number % REMEMBERED / 64) as usize, 1 << (number % 64))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// (received, lost, duplicated, reordered) after these numbers.
    fn counts(numbers: impl IntoIterator<Item = u64>) -> [u64; 4] {
        let (mut tracker, score) = (Tracker::default(), Score::default());
        score.begin(3);
        numbers.into_iter().for_each(|number| tracker.note(Tag { slot: 0, run: 3, number }, &score));
        [&score.received, &score.lost, &score.duplicated, &score.reordered].map(|count| count.load(Relaxed))
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
    fn tags_stand_at_the_end_of_whatever_came_before() {
        let tag = Tag { slot: 3, run: 9, number: 1 << 40 };
        let packet = [&[0xff; 50][..], &tag.to_bytes()].concat();
        assert_eq!((Tag::of(&packet), Tag::of(&packet[..65]), Tag::of(&[])), (Some(tag), None, None));
        for cut in [0, 40, 55, 66] {
            let (first, second) = packet.split_at(cut);
            assert_eq!(Tag::of_parts([first, second].into_iter()), Some(tag), "{cut}");
        }
    }

    #[test]
    fn packets_of_an_earlier_run_do_not_count() {
        let (mut tracker, score) = (Tracker::default(), Score::default());
        score.begin(1);
        tracker.note(Tag { slot: 0, run: 1, number: 0 }, &score);
        score.begin(2);
        tracker.note(Tag { slot: 0, run: 1, number: 1 }, &score);
        tracker.note(Tag { slot: 0, run: 2, number: 0 }, &score);
        assert_eq!((score.received.load(Relaxed), score.lost.load(Relaxed)), (1, 0));
    }
}
