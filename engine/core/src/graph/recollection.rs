//! Questions of rehearsals to workers. A rehearsed node begins without a worker's state of earlier packets. Where that
//! state decides, it asks its own instance on the worker at which the packet would be.
//!
//! A rehearsal never waits. The first question without an answer makes its result void: the question goes to the worker
//! as a letter, and the packet is rehearsed again from its beginning with the answer. It asks the same questions in the
//! same order then, and comes further.

use std::any::Any;

use futures_channel::oneshot;

use super::wiring::NodeId;

/// Questions at most about one packet.
pub(super) const QUESTIONS_MAX: usize = 16;

/// A worker's answer.
pub(crate) type Answer = Box<dyn Any + Send>;

/// A question to the instance of a node, with the worker's time in nanoseconds; the argument is None if there is no
/// such node.
pub(crate) type Question = Box<dyn FnOnce(Option<&mut dyn Any>, u64) -> Answer + Send>;

/// Answers for the rehearsals of one packet, in the order of the questions.
#[derive(Default)]
pub struct Recollection {
    pub(super) answers: Vec<Answer>,
    /// Number of answers that the rehearsal has used.
    pub(super) used: usize,
    /// The question that comes next, for which worker, and for which node there.
    pub(crate) question: Option<(usize, NodeId, Question)>,
    /// Workers that hand packets to each other: none as long as they are not connected.
    pub(crate) connected: usize,
}

impl Recollection {
    /// Begins a rehearsal, in which so many workers may hand the packet to each other.
    pub(crate) fn rewind(&mut self, connected: usize) {
        (self.used, self.question, self.connected) = (0, None, connected);
    }
    /// Takes a worker's answer; returns whether another rehearsal can bring anything new.
    #[must_use]
    pub fn learn(&mut self, answer: Result<Answer, oneshot::Canceled>) -> bool {
        let is_new = answer.is_ok();
        self.answers.extend(answer);
        is_new
    }
}
