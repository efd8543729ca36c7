//! From workers to control: bounded queues that never block, and a doorbell that wakes the control thread.

use crate::graph::Seed;
use crate::sync::{Arc, ArrayQueue, AtomicBool, Event, Ordering};
use quiver_table::simulation::seam;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::atomic::AtomicU64;

/// Wakes the control thread. Ringing costs a system call only if it is the first ring since control last answered.
#[derive(Clone)]
pub struct Doorbell(Arc<Bell>);
struct Bell {
    rung: AtomicBool,
    event: Event,
}

impl Doorbell {
    /// A bell on an eventfd, for the control thread's poll.
    pub fn new() -> Result<Doorbell, std::io::Error> {
        Ok(Doorbell(Arc::new(Bell { rung: AtomicBool::new(false), event: Event::new()? })))
    }
    /// Wakes control.
    pub fn ring(&self) {
        if !self.0.rung.swap(true, Ordering::AcqRel) {
            self.0.event.signal();
        }
    }
    /// Clears the bell; call it before the queues are emptied. True if it was rung.
    pub fn answer(&self) -> bool {
        // In this order: a ring in between finds the bell still rung and writes nothing, and its message is seen when the
        // queues are emptied. The other way round its write would be read away, and no later ring would write again.
        self.0.event.clear();
        seam("the bell's descriptor read, the bell not silenced");
        self.0.rung.swap(false, Ordering::AcqRel)
    }
}
impl AsFd for Doorbell {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.event.as_fd()
    }
}

/// The workers' end; without a queue, messages go nowhere.
pub struct Outbox<T>(Option<Arc<Queue<T>>>);
/// Control's end.
pub struct Inbox<T>(Arc<Queue<T>>);
struct Queue<T> {
    queue: ArrayQueue<T>,
    lost: AtomicU64,
    bell: Doorbell,
}

/// A queue of at most `capacity` messages.
pub fn channel<T: Send>(capacity: usize, bell: &Doorbell) -> (Outbox<T>, Inbox<T>) {
    let queue = Queue { queue: ArrayQueue::new(capacity.max(1)), lost: AtomicU64::new(0), bell: bell.clone() };
    let queue = Arc::new(queue);
    (Outbox(Some(queue.clone())), Inbox(queue))
}

impl<T> Clone for Outbox<T> {
    fn clone(&self) -> Self {
        Outbox(self.0.clone())
    }
}
impl<T: Send> Outbox<T> {
    /// An outbox for an instance of a node; in a rehearsal messages are discarded.
    pub fn of(&self, seed: Seed) -> Outbox<T> {
        Outbox(self.0.clone().filter(|_| !seed.is_rehearsal))
    }
    /// Whether messages are received: not in a rehearsal.
    pub fn is_heard(&self) -> bool {
        self.0.is_some()
    }
    /// Sends; a full queue loses the message, counts it and returns false.
    pub fn send(&self, message: T) -> bool {
        let Some(to) = &self.0 else { return true };
        let sent = to.queue.push(message).is_ok();
        if !sent {
            to.lost.fetch_add(1, Ordering::Relaxed);
        }
        seam("a message sent, the bell not rung");
        to.bell.ring();
        sent
    }
    /// Number of messages that fit at present.
    pub fn room(&self) -> usize {
        self.0.as_ref().map_or(usize::MAX, |to| to.queue.capacity().saturating_sub(to.queue.len()))
    }
}
impl<T: Send> Inbox<T> {
    /// The next message.
    pub fn receive(&self) -> Option<T> {
        self.0.queue.pop()
    }
    /// Takes the messages that are waiting now, in order. Messages that arrive meanwhile are left: a flood of them
    /// would keep the thread from its other work.
    pub fn waiting(&self) -> impl Iterator<Item = T> {
        (0..self.len()).map_while(|_| self.receive())
    }
    /// Messages lost because the queue was full.
    pub fn lost(&self) -> u64 {
        self.0.lost.load(Ordering::Relaxed)
    }
    /// Messages waiting.
    pub fn len(&self) -> usize {
        self.0.queue.len()
    }
    /// Whether none are waiting.
    pub fn is_empty(&self) -> bool {
        self.0.queue.is_empty()
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_full_queue_loses_and_counts() {
        let bell = Doorbell::new().expect("eventfd");
        let (outbox, inbox) = channel(2, &bell);
        assert!(!bell.answer());
        assert_eq!([1, 2, 3].map(|n| (outbox.room(), outbox.send(n))), [(2, true), (1, true), (0, false)]);
        assert!(bell.answer() && !bell.answer());
        assert_eq!((inbox.receive(), inbox.receive(), inbox.receive(), inbox.lost()), (Some(1), Some(2), None, 1));
        assert!(outbox.send(4) && bell.answer());
    }

    #[test]
    fn what_comes_meanwhile_is_left_waiting() {
        let (outbox, inbox) = channel(8, &Doorbell::new().expect("eventfd"));
        assert_eq!([1, 2, 3].map(|n| outbox.send(n)), [true; 3]);
        let taken: Vec<_> = inbox.waiting().inspect(|n| assert!(outbox.send(n + 10))).collect();
        assert_eq!((taken, inbox.len()), (vec![1, 2, 3], 3));
        assert_eq!(inbox.waiting().collect::<Vec<_>>(), [11, 12, 13]);
    }
}

/// Every interleaving of workers and control: `cargo xtask memory loom`.
#[cfg(all(test, loom))]
mod models {
    use super::*;
    use loom::thread;

    /// Control answers the bell and empties the queue.
    fn serve(bell: &Doorbell, inbox: &Inbox<u32>) -> Vec<u32> {
        bell.answer();
        std::iter::from_fn(|| inbox.receive()).collect()
    }

    #[test]
    fn no_message_is_left_beside_a_silent_bell() {
        loom::model(|| {
            let bell = Doorbell::new().unwrap();
            let (outbox, inbox) = channel(4, &bell);
            let worker = thread::spawn(move || {
                outbox.send(1);
                outbox.send(2);
            });
            let mut seen = serve(&bell, &inbox);
            worker.join().unwrap();
            assert!(inbox.is_empty() || bell.0.event.is_signalled(), "control sleeps beside a message");
            seen.extend(serve(&bell, &inbox));
            assert_eq!(seen, [1, 2]);
        });
    }

    #[test]
    fn two_workers_ring_one_bell() {
        loom::model(|| {
            let bell = Doorbell::new().unwrap();
            let (outbox, inbox) = channel(4, &bell);
            let other = outbox.clone();
            let workers = [thread::spawn(move || outbox.send(1)), thread::spawn(move || other.send(2))];
            let mut seen = serve(&bell, &inbox);
            workers.into_iter().for_each(|worker| assert!(worker.join().unwrap()));
            assert!(inbox.is_empty() || bell.0.event.is_signalled(), "control sleeps beside a message");
            seen.extend(serve(&bell, &inbox));
            seen.sort();
            assert_eq!(seen, [1, 2]);
        });
    }
}
