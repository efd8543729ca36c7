//! Asks a worker a rehearsal's next question.

use super::Dataplane;
use crate::graph::{Answer, Recollection};
use futures_channel::oneshot;

impl Dataplane {
    /// Asks what the last rehearsal wanted to know; None if that was nothing. The answer is for [`Recollection::learn`].
    pub fn recall(&self, recollection: &mut Recollection) -> Option<oneshot::Receiver<Answer>> {
        let (worker, node, question) = recollection.question.take()?;
        Some(self.ask(worker, move |worker| {
            let now = worker.now();
            question(worker.graph().any_node_mut(node), now)
        }))
    }
}
