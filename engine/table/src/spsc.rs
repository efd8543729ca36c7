//! A bounded ring from one thread to one other, without locks: what a worker hands to another worker.
//!
//! The writer fills the next free slot where it lies, over as many calls as it likes, and then publishes it. The reader
//! takes published slots in their order, and gives them back, later, all at once: until then [`Writer::is_drained`] is not
//! true, so that the writer can tell when what it sent has been dealt with.
#![allow(unsafe_code)]

use crate::sync::{AtomicU64, Ordering, UnsafeCell};
use std::sync::Arc;

/// An index on lines of its own: processors fetch two of 64 bytes at once, and neither side is to wait for what the other
/// one writes.
#[repr(align(128))]
struct Index(AtomicU64);

struct Ring<T> {
    /// Slots published so far; written by the writer.
    published: Index,
    /// Slots given back so far; written by the reader.
    released: Index,
    slots: Box<[UnsafeCell<T>]>,
}

// SAFETY: a slot is the writer's from its release to its publication, and the reader's from then to its release; the two
// indices hand it over with release and acquire. So no two threads have one slot at a time, and `T: Send` is enough.
unsafe impl<T: Send> Sync for Ring<T> {}

/// The sending end.
pub struct Writer<T> {
    ring: Arc<Ring<T>>,
    published: u64,
    /// The reader's index when it was last looked at.
    released: u64,
}

/// The receiving end.
pub struct Reader<T> {
    ring: Arc<Ring<T>>,
    /// The writer's index when it was last looked at.
    published: u64,
    /// Slots taken so far, and those of them that were given back.
    taken: u64,
    released: u64,
}

/// A ring of so many slots, rounded up to a power of two.
pub fn ring<T: Send>(capacity: usize, slot: impl Fn() -> T) -> (Writer<T>, Reader<T>) {
    let slots = (0..capacity.next_power_of_two()).map(|_| UnsafeCell::new(slot())).collect();
    let (published, released) = (Index(AtomicU64::new(0)), Index(AtomicU64::new(0)));
    let ring = Arc::new(Ring { published, released, slots });
    (Writer { ring: ring.clone(), published: 0, released: 0 }, Reader { ring, published: 0, taken: 0, released: 0 })
}

impl<T> Ring<T> {
    fn slot(&self, index: u64) -> &UnsafeCell<T> {
        // A power of two.
        &self.slots[index as usize & (self.slots.len() - 1)]
    }
}

impl<T: Send> Writer<T> {
    /// Lets `fill` write into the slot that is published next. None if the ring is full.
    #[inline]
    pub fn fill<R>(&mut self, fill: impl FnOnce(&mut T) -> R) -> Option<R> {
        if self.published - self.released == self.ring.slots.len() as u64 {
            self.released = self.ring.released.0.load(Ordering::Acquire);
            if self.published - self.released == self.ring.slots.len() as u64 {
                return None;
            }
        }
        // SAFETY: the slot was released (acquired above) and is not published, so it is this writer's, which is one.
        Some(self.ring.slot(self.published).with_mut(|slot| fill(unsafe { &mut *slot })))
    }
    /// Lets the reader have the slot that was filled.
    #[inline]
    pub fn publish(&mut self) {
        self.published += 1;
        self.ring.published.0.store(self.published, Ordering::Release);
    }
    /// Slots published so far: a mark for [`Writer::is_drained`].
    pub fn mark(&self) -> u64 {
        self.published
    }
    /// Whether the reader has yet to give back more than so many slots.
    #[inline]
    pub fn is_behind(&mut self, slots: u64) -> bool {
        // What was seen last can only be too old: the reader's line is asked for if that matters.
        if self.published - self.released > slots {
            self.released = self.ring.released.0.load(Ordering::Acquire);
        }
        self.published - self.released > slots
    }
    /// Whether the reader has given back everything that was published up to a mark.
    pub fn is_drained(&self, mark: u64) -> bool {
        self.ring.released.0.load(Ordering::Acquire) >= mark
    }
}

impl<T: Send> Reader<T> {
    /// Lets `take` work on the next published slot. None if there is none.
    #[inline]
    pub fn take<R>(&mut self, take: impl FnOnce(&mut T) -> R) -> Option<R> {
        if self.is_empty() {
            return None;
        }
        let index = self.taken;
        self.taken += 1;
        // SAFETY: the slot was published (acquired by `is_empty`) and is not released, so it is this reader's, which is one.
        Some(self.ring.slot(index).with_mut(|slot| take(unsafe { &mut *slot })))
    }
    /// Whether there is nothing to take.
    #[inline]
    pub fn is_empty(&mut self) -> bool {
        if self.taken == self.published {
            self.published = self.ring.published.0.load(Ordering::Acquire);
        }
        self.taken == self.published
    }
    /// Gives back every slot that was taken.
    #[inline]
    pub fn release(&mut self) {
        if self.released != self.taken {
            self.released = self.taken;
            self.ring.released.0.store(self.released, Ordering::Release);
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn slots_come_in_order_and_a_full_ring_says_so() {
        let (mut writer, mut reader) = ring(4, || 0);
        for number in 1..=4 {
            assert_eq!(writer.fill(|slot| *slot = number), Some(()));
            writer.publish();
        }
        assert_eq!(writer.fill(|_| ()), None);
        assert_eq!((reader.take(|slot| *slot), reader.take(|slot| *slot)), (Some(1), Some(2)));
        assert_eq!(writer.fill(|_| ()), None, "taken is not given back");
        assert!(!writer.is_drained(2));
        assert!(writer.is_behind(3) && !writer.is_behind(4));
        reader.release();
        assert!(writer.is_drained(2) && !writer.is_drained(writer.mark()));
        assert!(writer.is_behind(1) && !writer.is_behind(2));
        assert_eq!(writer.fill(|slot| *slot = 5), Some(()));
        assert_eq!(writer.fill(|slot| *slot += 1), Some(()), "the same slot until it is published");
        writer.publish();
        assert_eq!(std::iter::from_fn(|| reader.take(|slot| *slot)).collect::<Vec<_>>(), [3, 4, 6]);
    }

    #[test]
    fn two_threads_lose_nothing() {
        let (mut writer, mut reader) = ring(8, || 0);
        let thread = std::thread::spawn(move || {
            for number in 0..100_000 {
                while writer.fill(|slot| *slot = number).is_none() {
                    std::hint::spin_loop();
                }
                writer.publish();
            }
        });
        let mut next = 0;
        while next < 100_000 {
            while let Some(number) = reader.take(|slot| *slot) {
                assert_eq!(number, next);
                next += 1;
            }
            reader.release();
            std::thread::yield_now();
        }
        thread.join().expect("no panic");
    }
}
