//! The ring: in a memory file that exporters map or read, and cannot write.
//!
//! A writer overwrites the oldest event, and knows nothing of readers: no reader can delay it, and there is nothing of a reader's that
//! it could trust. A reader that is behind by more than the ring counts what it has lost: events have consecutive numbers.
//!
//! All of it is words of 64 bits. The first page: [`MAGIC`], workers, slots, instance, whether it has ended. Then for each worker a page
//! with the number of published events, the number of claimed ones, and the time of tick 0; and behind it its slots.

use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicU64, fence};

use crate::event::{Event, TICKS, WORDS};

/// The first word: name and version of this layout.
pub const MAGIC: u64 = u64::from_le_bytes(*b"qvevent1");
/// Words of a page.
pub const PAGE: usize = 512;
/// Fewest and most slots of a worker.
pub const SLOTS: std::ops::RangeInclusive<u32> = 256..=1 << 24;
/// Workers that there can be.
pub const WORKERS_MAX: usize = 1 << 10;

/// Words of the first page.
pub(crate) mod head {
    pub const MAGIC: usize = 0;
    pub const WORKERS: usize = 1;
    pub const SLOTS: usize = 2;
    pub const INSTANCE: usize = 3;
    pub const ENDED: usize = 4;
}

/// Words of a worker's page.
pub(crate) mod own {
    pub const PUBLISHED: usize = 0;
    pub const CLAIMED: usize = 1;
    pub const EPOCH: usize = 8;
}

/// Size of a ring.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size {
    /// Workers.
    pub workers: usize,
    /// Slots of each, a power of two.
    pub slots: u32,
}

impl Size {
    /// The size for workers with so many slots each, rounded up to a power of two within [`SLOTS`].
    pub fn new(workers: usize, slots: u32) -> Size {
        Size { workers: workers.min(WORKERS_MAX), slots: slots.clamp(*SLOTS.start(), *SLOTS.end()).next_power_of_two() }
    }
    /// Words of a worker.
    fn stride(self) -> usize {
        PAGE + self.slots as usize * WORDS
    }
    /// The word at which a worker's page begins.
    pub(crate) fn page(self, worker: usize) -> usize {
        PAGE + worker * self.stride()
    }
    /// The word at which the slot of an event begins.
    pub(crate) fn slot(self, worker: usize, number: u64) -> usize {
        self.page(worker) + PAGE + (number % u64::from(self.slots)) as usize * WORDS
    }
    /// Bytes of the whole ring.
    pub fn bytes(self) -> usize {
        self.page(self.workers) * 8
    }
}

/// Makes a ring in memory of zeros. `instance` differs from that of rings before.
pub fn begin(words: &[AtomicU64], size: Size, instance: u64) {
    let set = |at: usize, value: u64| {
        if let Some(word) = words.get(at) {
            word.store(value, Relaxed);
        }
    };
    set(head::WORKERS, size.workers as u64);
    set(head::SLOTS, size.slots.into());
    set(head::INSTANCE, instance);
    fence(Release);
    set(head::MAGIC, MAGIC);
}

/// Tells readers that no event follows.
pub fn end(words: &[AtomicU64]) {
    if let Some(word) = words.get(head::ENDED) {
        word.store(1, Release);
    }
}

/// Number of events that a worker has written.
pub fn written(words: &[AtomicU64], size: Size, worker: usize) -> u64 {
    words.get(size.page(worker) + own::PUBLISHED).map_or(0, |word| word.load(Relaxed))
}

/// The writing end of a worker.
#[derive(Debug)]
pub struct Writer {
    size: Size,
    worker: usize,
    next: u64,
}

impl Writer {
    /// That of a worker's part of a new ring.
    pub fn new(size: Size, worker: usize) -> Writer {
        Writer { size, worker, next: 0 }
    }
    /// Says what time tick 0 was, in milliseconds since 1970: the time now less the ticks now. Small differences are the jitter of
    /// letters, and change nothing.
    pub fn set_time(&self, words: &[AtomicU64], (now_ms, ticks): (u64, u32)) {
        const JITTER_MS: u64 = 100;
        let Some(word) = words.get(self.size.page(self.worker) + own::EPOCH) else { return };
        let epoch = now_ms.wrapping_sub(u64::from(ticks) * u64::from(1000 / TICKS));
        if word.load(Relaxed).abs_diff(epoch) > JITTER_MS {
            word.store(epoch, Relaxed);
        }
    }
    /// Writes an event over the oldest one.
    pub fn write(&mut self, words: &[AtomicU64], event: &Event) {
        let (page, at) = (self.size.page(self.worker), self.size.slot(self.worker, self.next));
        let (Some(own), Some(slot)) = (words.get(page..page + PAGE), words.get(at..at + WORDS)) else { return };
        self.next += 1;
        own[own::CLAIMED].store(self.next, Relaxed);
        // A reader that sees a word of this event also sees the claim.
        fence(Release);
        let mut event = event.words();
        event[WORDS - 1] = self.next;
        for at in 0..WORDS {
            slot[at].store(event[at], Relaxed);
        }
        own[own::PUBLISHED].store(self.next, Release);
    }
}

/// Whether all words of an event that was read before the claim are its own.
pub(crate) fn is_intact(size: Size, number: u64, claimed: u64) -> bool {
    claimed <= number.saturating_add(size.slots.into())
}

/// An order for reads of the ring by system calls: a read before it is one before the reads behind it.
pub(crate) fn order() {
    fence(Acquire);
}
