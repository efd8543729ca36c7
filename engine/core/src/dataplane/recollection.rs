//! What rehearsals ask workers for: a rehearsed node begins with nothing that a worker keeps of packets before, and where that
//! decides, it asks the instance of itself at the worker at which the packet would be.
//!
//! A rehearsal never waits. The first question that has no answer yet ends what it is good for: the question goes to the worker
//! as a letter, and the packet is rehearsed again from its beginning with the answer. It asks the same questions in the same order
//! then, and comes further.

use std::any::Any;

use futures_channel::oneshot;

use super::Dataplane;
use crate::graph::{Context, Node};
use crate::worker::Worker;

/// Questions at most about one packet.
const QUESTIONS_MAX: usize = 16;

/// What a worker says.
type Answer = Box<dyn Any + Send>;

/// What a worker is asked.
type Question = Box<dyn FnOnce(&mut Worker) -> Answer + Send>;

/// What rehearsals of one packet were told, in the order in which they ask.
#[derive(Default)]
pub struct Recollection {
    answers: Vec<Answer>,
    /// How many of them the rehearsal has used.
    used: usize,
    /// The question that comes next, and for which worker.
    question: Option<(usize, Question)>,
    /// Workers that hand packets to each other: none as long as they are not connected.
    pub(crate) connected: usize,
}

impl Recollection {
    /// Begins a rehearsal, in which so many workers may hand the packet to each other.
    pub(crate) fn rewind(&mut self, connected: usize) {
        (self.used, self.question, self.connected) = (0, None, connected);
    }
    /// Takes what a worker said; whether anything new can come of it.
    #[must_use]
    pub fn learn(&mut self, answer: Result<Answer, oneshot::Canceled>) -> bool {
        let is_new = answer.is_ok();
        self.answers.extend(answer);
        is_new
    }
}

impl Context<'_> {
    /// Whether nothing comes of this turn, since nobody sees it.
    pub fn is_rehearsal(&self) -> bool {
        self.recollection.is_some()
    }
    /// In a rehearsal, what the node's instance on this worker says, at that worker's time in nanoseconds; None as long as it was not
    /// asked, and outside of rehearsals.
    pub fn recall<N: Node, T: Clone + Send + 'static>(
        &mut self,
        question: impl FnOnce(&mut N, u64) -> T + Send + 'static,
    ) -> Option<T> {
        let (node, worker) = (self.node, self.worker);
        let recollection = self.recollection.as_deref_mut()?;
        let place = recollection.used;
        recollection.used += 1;
        if let Some(answer) = recollection.answers.get(place) {
            // Of another type only if the configuration has changed meanwhile.
            return answer.downcast_ref::<Option<T>>().cloned().flatten();
        }
        if recollection.question.is_none() && place < QUESTIONS_MAX {
            let ask = move |worker: &mut Worker| {
                let now = worker.now();
                let told: Option<T> = worker.graph().node_mut::<N>(node).map(|this| question(this, now));
                Box::new(told) as Answer
            };
            recollection.question = Some((worker, Box::new(ask)));
        }
        None
    }
}

impl Dataplane {
    /// Asks what the last rehearsal wanted to know; None if that was nothing. The answer is for [`Recollection::learn`].
    pub fn recall(&self, recollection: &mut Recollection) -> Option<oneshot::Receiver<Answer>> {
        let (worker, question) = recollection.question.take()?;
        Some(self.ask(worker, question))
    }
}
