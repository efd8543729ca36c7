//! Which worker polls a receive queue, and when: changed while packets flow, without a stop and without loss.

use super::{Dataplane, QueueInfo};
use crate::place::{Place, QueueId};
use crate::rx::RxMode;
use crate::worker::Worker;

/// Why a receive queue stays as it is.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum PlacementError {
    /// There is no such queue, any more or yet.
    #[error("the receive queue is not there")]
    NoQueue,
    /// There is no such worker.
    #[error("there is no worker {worker}: workers have the numbers 0 to {last}")]
    NoWorker {
        /// The worker asked for.
        worker: usize,
        /// The last one that there is.
        last: usize,
    },
    /// The queue's driver cannot say when packets wait.
    #[error("its driver cannot say when packets wait, so it can only be polled")]
    NoInterrupts,
}

impl Dataplane {
    /// Lets another worker poll a queue; None is the one that it was given when it was attached. Packets are received by
    /// the old one up to some turn, and by the new one from then on; those that wait in between stay in the queue.
    pub fn place(&mut self, id: QueueId, worker: Option<usize>) -> Result<(), PlacementError> {
        let last = self.workers.len().saturating_sub(1);
        let queue = self.queues.get_mut(id).ok_or(PlacementError::NoQueue)?;
        let worker = worker.unwrap_or(queue.home);
        if worker > last {
            return Err(PlacementError::NoWorker { worker, last });
        }
        let from = std::mem::replace(&mut queue.worker, worker);
        if from == worker {
            return Ok(());
        }
        let QueueInfo { interface, index, input, up, mode, .. } = *queue;
        let counters = self.counted.rx_rows(index, self.blueprint.arcs(input), worker);
        let place = Place::new(id, interface, input, counters, up, mode);
        // In this order: the queue cannot arrive before it is expected.
        self.post(worker, move |w| w.expect(place));
        let (to, attic) = (self.workers[worker].mailbox.clone(), self.attic.clone());
        // What is left on the way is dropped by control.
        self.post_where(from, id, move |w| w.depart(id, to, move |left| attic.store(left)));
        Ok(())
    }
    /// Changes when a queue is polled.
    pub fn set_rx_mode(&mut self, id: QueueId, mode: RxMode) -> Result<(), PlacementError> {
        let queue = self.queues.get_mut(id).ok_or(PlacementError::NoQueue)?;
        if mode == RxMode::Interrupt && !queue.has_interrupts {
            return Err(PlacementError::NoInterrupts);
        }
        queue.mode = mode;
        let worker = queue.worker;
        self.post(worker, move |w| w.place(id).into_iter().for_each(|place| place.set_mode(mode)));
        Ok(())
    }
    /// Posts work on a receive queue to the worker that polls it; if the queue is on its way there, the work waits for it.
    pub fn post_to_queue(&self, id: QueueId, letter: impl FnOnce(&mut Worker) + Send + 'static) {
        if let Some(queue) = self.queues.get(id) {
            self.post_where(queue.worker, id, letter);
        }
    }
    /// Lets workers hand packets to each other: what [`Context::hand_off`](crate::Context::hand_off) needs. Until then it
    /// costs them nothing.
    pub fn connect_workers(&mut self) {
        if std::mem::replace(&mut self.connected, true) {
            return;
        }
        let sleepers: Vec<_> = self.workers.iter().map(|worker| worker.mailbox.sleeper.clone()).collect();
        for (worker, pairs) in crate::handoff::rings(&sleepers, &self.buffers).into_iter().enumerate() {
            let generations = self.generations.clone();
            self.post(worker, move |w| w.connect(pairs, &generations));
        }
    }
    fn post_where(&self, worker: usize, id: QueueId, letter: impl FnOnce(&mut Worker) + Send + 'static) {
        self.post(worker, move |w| w.when_here(id, letter));
    }
}
