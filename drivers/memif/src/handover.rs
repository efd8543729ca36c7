//! Passes a value from control to a queue of a worker, and back to be freed: a connection's rings, whose memory is
//! mapped and unmapped by control alone. Neither side waits for the other.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crossbeam_queue::{ArrayQueue, SegQueue};

/// Things on their way at most. Control takes the oldest back when there are more: a sleeping worker wants the last one.
const ON_THE_WAY: usize = 4;

struct Shared<T> {
    given: ArrayQueue<Option<T>>,
    returned: SegQueue<T>,
    is_broken: AtomicBool,
}

/// Control's end.
pub(crate) struct Giver<T>(Arc<Shared<T>>);

/// The worker's end, with the current value.
pub(crate) struct Holder<T> {
    shared: Arc<Shared<T>>,
    held: Option<T>,
}

/// Both ends; nothing is held yet.
pub(crate) fn handover<T>() -> (Giver<T>, Holder<T>) {
    let (given, returned) = (ArrayQueue::new(ON_THE_WAY), SegQueue::new());
    let shared = Arc::new(Shared { given, returned, is_broken: AtomicBool::new(false) });
    (Giver(shared.clone()), Holder { shared, held: None })
}

impl<T> Giver<T> {
    /// Lets the worker hold this from its next turn on, or nothing.
    pub fn give(&self, thing: Option<T>) {
        drop(self.0.given.force_push(thing));
    }
    /// Whether the holder has found its value broken since the last call. Returned values are freed.
    pub fn look(&self) -> bool {
        while let Some(thing) = self.0.returned.pop() {
            drop(thing);
        }
        self.0.is_broken.swap(false, Ordering::Acquire)
    }
}

impl<T> Holder<T> {
    /// The value that control gave last.
    #[inline]
    pub fn get(&mut self) -> Option<&mut T> {
        while !self.shared.given.is_empty()
            && let Some(thing) = self.shared.given.pop()
        {
            self.replace(thing);
        }
        self.held.as_mut()
    }
    /// The value as of the last [`Holder::get`].
    pub fn held(&self) -> Option<&T> {
        self.held.as_ref()
    }
    /// The same, to change.
    pub fn held_mut(&mut self) -> Option<&mut T> {
        self.held.as_mut()
    }
    /// Whether there is something new to be held.
    pub fn is_stale(&self) -> bool {
        !self.shared.given.is_empty()
    }
    fn replace(&mut self, thing: Option<T>) {
        if let Some(old) = std::mem::replace(&mut self.held, thing) {
            self.shared.returned.push(old);
        }
    }
    /// Releases the value, and tells control that it is broken.
    pub fn broken(&mut self) {
        self.replace(None);
        self.shared.is_broken.store(true, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_given_last_is_held_and_everything_comes_back() {
        let (giver, mut holder) = handover();
        let count = Arc::new(());
        assert!(holder.get().is_none());
        for _ in 0..10 {
            giver.give(Some(count.clone()));
        }
        assert!(holder.get().is_some() && !giver.look());
        assert_eq!(Arc::strong_count(&count), 2, "one is held");
        giver.give(None);
        assert!(holder.held().is_some() && holder.get().is_none());
        assert_eq!(Arc::strong_count(&count), 2, "freed by control only");
        assert!(!giver.look());
        assert_eq!(Arc::strong_count(&count), 1);
        giver.give(Some(count.clone()));
        assert!(holder.get().is_some());
        holder.broken();
        assert!(holder.get().is_none() && giver.look() && !giver.look());
        assert_eq!(Arc::strong_count(&count), 1);
    }
}
