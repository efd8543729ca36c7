//! Synchronization beside queues of crates: the system's primitives, or loom's, to try every interleaving.

#[cfg(not(loom))]
pub(crate) use crossbeam_queue::{ArrayQueue, SegQueue};
#[cfg(not(loom))]
pub(crate) use std::sync::Arc;
#[cfg(not(loom))]
pub(crate) use std::sync::atomic::{AtomicBool, Ordering, fence};

#[cfg(loom)]
pub(crate) use loom::sync::Arc;
#[cfg(loom)]
pub(crate) use loom::sync::atomic::{AtomicBool, Ordering, fence};
#[cfg(loom)]
pub(crate) use model::{ArrayQueue, SegQueue};

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// A descriptor that becomes readable when it is signaled, and stays so until it is cleared.
pub(crate) struct Event {
    descriptor: OwnedFd,
    #[cfg(loom)]
    signalled: AtomicBool,
}

impl Event {
    pub fn new() -> Result<Event, std::io::Error> {
        let flags = rustix::event::EventfdFlags::NONBLOCK | rustix::event::EventfdFlags::CLOEXEC;
        Ok(Event {
            descriptor: rustix::event::eventfd(0, flags)?,
            #[cfg(loom)]
            signalled: AtomicBool::new(false),
        })
    }
    pub fn signal(&self) {
        #[cfg(loom)]
        self.signalled.swap(true, Ordering::AcqRel);
        // A counter that is full is readable, too.
        let _ = rustix::io::write(&self.descriptor, &1u64.to_ne_bytes());
    }
    pub fn clear(&self) {
        #[cfg(loom)]
        self.signalled.swap(false, Ordering::AcqRel);
        let _ = rustix::io::read(&self.descriptor, &mut [0u8; 8]);
    }
    /// Whether a poll of the descriptor returns at once.
    #[cfg(loom)]
    pub fn is_signalled(&self) -> bool {
        self.signalled.load(Ordering::Acquire)
    }
}
impl AsFd for Event {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.descriptor.as_fd()
    }
}

/// Crossbeam's queues know nothing of loom. These do, and promise less: a look at the length orders nothing but what the
/// push released.
#[cfg(loom)]
mod model {
    use loom::sync::Mutex;
    use loom::sync::atomic::{AtomicUsize, Ordering};
    use std::collections::VecDeque;

    pub struct SegQueue<T> {
        values: Mutex<VecDeque<T>>,
        len: AtomicUsize,
    }
    impl<T> SegQueue<T> {
        pub fn new() -> SegQueue<T> {
            SegQueue { values: Mutex::new(VecDeque::new()), len: AtomicUsize::new(0) }
        }
        pub fn push(&self, value: T) {
            let mut values = self.values.lock().unwrap();
            values.push_back(value);
            self.len.fetch_add(1, Ordering::Release);
        }
        pub fn pop(&self) -> Option<T> {
            let mut values = self.values.lock().unwrap();
            let value = values.pop_front()?;
            self.len.fetch_sub(1, Ordering::Release);
            Some(value)
        }
        pub fn len(&self) -> usize {
            self.len.load(Ordering::Acquire)
        }
        pub fn is_empty(&self) -> bool {
            self.len() == 0
        }
    }

    pub struct ArrayQueue<T> {
        queue: SegQueue<T>,
        capacity: usize,
    }
    impl<T> ArrayQueue<T> {
        pub fn new(capacity: usize) -> ArrayQueue<T> {
            ArrayQueue { queue: SegQueue::new(), capacity }
        }
        pub fn capacity(&self) -> usize {
            self.capacity
        }
        pub fn push(&self, value: T) -> Result<(), T> {
            if self.queue.len() >= self.capacity {
                return Err(value);
            }
            self.queue.push(value);
            Ok(())
        }
        pub fn pop(&self) -> Option<T> {
            self.queue.pop()
        }
        pub fn len(&self) -> usize {
            self.queue.len()
        }
        pub fn is_empty(&self) -> bool {
            self.queue.is_empty()
        }
    }
}
