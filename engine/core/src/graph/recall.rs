//! A rehearsed node asks the instance of itself at a worker.

use std::any::Any;

use super::node::{Context, Node};
use super::recollection::{Answer, QUESTIONS_MAX};

impl Context<'_> {
    /// Whether this is a rehearsal, without effect on the data plane.
    pub fn is_rehearsal(&self) -> bool {
        self.recollection.is_some()
    }
    /// In a rehearsal, the answer of the node's instance on this worker, at that worker's time in nanoseconds; None as
    /// long as it was not asked, and outside of rehearsals.
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
            let ask = move |instance: Option<&mut dyn Any>, now| {
                let told: Option<T> = instance.and_then(|any| any.downcast_mut()).map(|this| question(this, now));
                Box::new(told) as Answer
            };
            recollection.question = Some((worker, node, Box::new(ask)));
        }
        None
    }
}
