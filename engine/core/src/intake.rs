//! The receive queues of a worker: which of them are polled in a turn, and how they come and go.
//!
//! A queue moves from worker to worker as a letter, and control does not wait for it. The new worker is told first: it
//! gets the queue's place, without the queue, and what concerns the queue meanwhile (up or down, its mode)
//! is noted there, or waits there. So the queue finds on arrival what control has said last, in the order in which control
//! said it, and nothing that control does depends on where the queue is just now.

use crate::letters::Letters;
use crate::place::{Held, Place, QueueId};
use crate::rx::RxQueue;
use crate::worker::{Letter, Worker};
use std::any::Any;
use std::sync::Arc;

impl Worker {
    /// Makes room for a queue that is on its way.
    pub(crate) fn expect(&mut self, place: Place<Letter>) {
        self.places.push(place);
    }
    /// Takes an expected queue, and reads the letters that waited for it. Returned if its interface went meanwhile.
    pub(crate) fn arrive(&mut self, id: QueueId, queue: Box<dyn RxQueue>) -> Option<Box<dyn RxQueue>> {
        // The first place: a queue that is to go on from here and to come back once more has another one.
        let Some(place) = self.places.iter_mut().find(|place| place.id == id) else { return Some(queue) };
        place.queue = Some(queue);
        std::mem::take(&mut place.waiting).into_iter().for_each(|letter| letter(self));
        None
    }
    /// Receives nothing of an interface until all packets that were handed to other workers are through. Called before
    /// the worker of a flow changes.
    pub fn hold(&mut self, interface: u32) {
        let Worker { places, .. } = self;
        let ids: Vec<_> =
            places.iter().filter(|p| p.interface == interface && p.held.is_none()).map(|p| p.id).collect();
        ids.into_iter().for_each(|id| self.hold_until_drained(id, None));
    }
    fn hold_until_drained(&mut self, id: QueueId, then: Option<Letter>) {
        let until = self.outbound().marks();
        if let Some(place) = self.places.iter_mut().find(|place| place.id == id && place.queue.is_some()) {
            place.held = Some(Held { until, then });
            self.graph.settle(&mut place.chain);
        }
    }
    /// Lets queues be polled again, or go on, that have waited for the rings to drain.
    pub(crate) fn let_go(&mut self) {
        for at in (0..self.places.len()).rev() {
            let Some(held) = self.places[at].held.take() else { continue };
            match (self.outbound().is_drained(&held.until), held.then) {
                (false, then) => self.places[at].held = Some(Held { then, ..held }),
                (true, Some(then)) => then(self),
                (true, None) => {}
            }
        }
    }
    /// Sends a queue to the worker of this mailbox, which expects it, as soon as no packet that it has received can be
    /// overtaken. What is left goes to control to be dropped.
    pub(crate) fn depart(
        &mut self,
        id: QueueId,
        to: Arc<Letters<Letter>>,
        left: impl Fn(Box<dyn Any + Send>) + Send + Clone + 'static,
    ) {
        let now = self.outbound().marks();
        if !self.outbound().is_drained(&now) {
            return self.hold_until_drained(id, Some(Box::new(move |worker: &mut Worker| worker.send(id, &to, left))));
        }
        self.send(id, &to, left);
    }
    fn send(&mut self, id: QueueId, to: &Letters<Letter>, left: impl Fn(Box<dyn Any + Send>) + Send + Clone + 'static) {
        let Some(at) = self.places.iter().position(|place| place.id == id && place.queue.is_some()) else { return };
        let mut place = self.places.remove(at);
        self.graph.settle(&mut place.chain);
        if let Some(queue) = place.queue.take() {
            let refused = left.clone();
            to.put(Box::new(move |worker: &mut Worker| {
                if let Some(queue) = worker.arrive(id, queue) {
                    refused(Box::new(queue));
                }
            }));
        }
        left(Box::new(place));
    }
    /// Runs a letter about a queue as soon as the queue is here. It finds none if the queue has gone for ever.
    pub(crate) fn when_here(&mut self, id: QueueId, letter: impl FnOnce(&mut Worker) + Send + 'static) {
        match self.place(id) {
            Some(place) if place.queue.is_none() => place.waiting.push(Box::new(letter)),
            _ => letter(self),
        }
    }
    /// The place that control speaks of: the last one, if the queue is to come here more than once.
    pub(crate) fn place(&mut self, id: QueueId) -> Option<&mut Place<Letter>> {
        self.places.iter_mut().rev().find(|place| place.id == id)
    }
}
